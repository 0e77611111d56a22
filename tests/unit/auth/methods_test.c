/* SPDX-License-Identifier: Apache-2.0
 *
 * Each way to log in, what all have in common, and what happens to those who fail.
 */
#include "tests/unit/auth/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* "secret" at cost 4. */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

#define USERPASS "grpc.auth.userpass.file=%s/users"
#define XFCC     "grpc.auth.header.name=X-Forwarded-Client-Cert"
#define XFCC_RE  "grpc.auth.header.identity=URI=spiffe://[^;]*/sa/([^;,]+)"

static made_cert cert_of(const char *name, const char *san)
{
    return make_cert(&(made_cert_spec){.type = "EC-P-256", .name = name, .san = san});
}

static void open_world(world *w, const char *const *settings)
{
    world_init(w);
    world_write(w, "users", "w1:" HASH "\nw2:" HASH "\n");
    if (world_open(w, settings) != AB_ERR_OK)
        fail_msg("%s", w->err.text);
}

/* One login by the certificate of `name` under `settings`. */
static void assert_by_certificate(const char *setting, const char *name, const char *san,
                                  const char *agent, const char *reason)
{
    world w;
    caller c;
    made_cert cert = cert_of(name, san);
    open_world(&w, WORDS(setting));
    caller_init(&c, "192.0.2.1", cert.cert);
    outcome o = log_in(&w, &c, "mtls", "managed", NULL, NULL);
    if (agent != NULL)
        assert_granted(&o, agent);
    else
        assert_refused(&o, reason);
    caller_fini(&c);
    made_cert_free(&cert);
    world_fini(&w);
}

#define NO_MATCH "its certificate does not match grpc.auth.mtls.identity"
#define NO_LABEL "the agent's name is not a DNS label"
#define SUBJECT  "grpc.auth.mtls.identity=subject:CN=([^,]+)"
#define SPIFFE   "grpc.auth.mtls.identity=uri:^spiffe://example[.]org/agent/([^/]+)$"

static void an_agent_is_whom_its_subject_names(void **state)
{
    (void)state;
    assert_by_certificate(SUBJECT, "w1", NULL, "w1", NULL);
    assert_by_certificate("grpc.auth.mtls.identity=subject:CN=(w[0-9]+)[.]edge", "w7.edge", NULL,
                          "w7", NULL);
    assert_by_certificate(SUBJECT, NULL, NULL, NULL, NO_MATCH);
    assert_by_certificate("grpc.auth.mtls.identity=subject:^CN=(x.*)", "w1", NULL, NULL, NO_MATCH);
}

static void an_agent_is_whom_its_uri_names(void **state)
{
    (void)state;
    assert_by_certificate(SPIFFE, "x", "URI:spiffe://other/a,URI:spiffe://example.org/agent/w1",
                          "w1", NULL);
    assert_by_certificate(SPIFFE, "w1", "DNS:w1", NULL, NO_MATCH);
    assert_by_certificate(SPIFFE, "w1", NULL, NULL, NO_MATCH);
    assert_by_certificate(SPIFFE, "w1", "URI:spiffe://example.org/agent/w1/x", NULL, NO_MATCH);
}

static void a_name_that_is_no_label_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"W1",  "w1.edge", "../w1",     "-w1", "w1-",
                                        "w 1", "w1\nw2",  "w\xc3\xa9", "*"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_by_certificate(SUBJECT, names[i], NULL, NULL, NO_LABEL);
    assert_by_certificate(SUBJECT,
                          "a234567890123456789012345678901234567890123456789012345678901234", NULL,
                          NULL, NO_LABEL);
    assert_by_certificate(SUBJECT,
                          "a23456789012345678901234567890123456789012345678901234567890123", NULL,
                          "a23456789012345678901234567890123456789012345678901234567890123", NULL);
    assert_by_certificate("grpc.auth.mtls.identity=subject:CN=(x?)", "w1", NULL, NULL, NO_LABEL);
}

static void another_name_in_the_subject_is_not_taken_for_the_common_name(void **state)
{
    (void)state;
    assert_by_certificate(SUBJECT, "w1,CN=w2", NULL, NULL, NO_LABEL);
    assert_by_certificate("grpc.auth.mtls.identity=subject:CN=(w2)", "w1,CN=w2", NULL, NULL,
                          NO_MATCH);
}

static void without_a_certificate_there_is_no_mtls(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS(NULL));
    caller_init(&c, "192.0.2.1", NULL);
    outcome o = log_in(&w, &c, "mtls", "managed", NULL, NULL);
    assert_refused(&o, "it has shown no certificate");
    world_fini(&w);
}

static void the_mode_is_one_of_two_and_kept(void **state)
{
    (void)state;
    world w;
    caller c;
    made_cert cert = cert_of("w1", NULL);
    open_world(&w, WORDS(NULL));
    caller_init(&c, "192.0.2.1", cert.cert);
    outcome o = log_in(&w, &c, "mtls", "autonomous", NULL, NULL);
    assert_granted(&o, "w1");
    assert_string_equal(o.identity.mode, "autonomous");
    static const char *const bad[] = {"", "Managed", "managed ", "autonomous-and-more"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        o = log_in(&w, &c, "mtls", bad[i], NULL, NULL);
        assert_refused(&o, "the mode is neither managed nor autonomous");
    }
    caller_fini(&c);
    made_cert_free(&cert);
    world_fini(&w);
}

static void a_method_that_is_not_accepted_is_refused(void **state)
{
    (void)state;
    static const char *const methods[] = {"", "userpass", "MTLS", "mtls2", "oidc"};
    world w;
    caller c;
    made_cert cert = cert_of("w1", NULL);
    open_world(&w, WORDS("grpc.auth.accept=mtls"));
    caller_init(&c, "192.0.2.1", cert.cert);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        outcome o = log_in(&w, &c, methods[i], "managed", "w1", "secret");
        assert_refused(&o, "the method is not one of grpc.auth.accept");
    }
    caller_fini(&c);
    made_cert_free(&cert);
    world_fini(&w);
}

/* ----- header ----- */

static outcome with_header(world *w, const char *address, const char *value, size_t count)
{
    caller c;
    caller_init(&c, address, NULL);
    c.header = "x-forwarded-client-cert";
    c.value = value;
    c.header_count = count;
    return log_in(w, &c, "header", "managed", NULL, NULL);
}

#define XFCC_VALUE "Hash=00;Subject=\"\";URI=spiffe://cluster.local/ns/argocd/sa/w1"

static void an_agent_is_whom_the_mesh_names(void **state)
{
    (void)state;
    world w;
    open_world(&w, WORDS("grpc.auth.accept=header", XFCC, XFCC_RE));
    outcome o = with_header(&w, "127.0.0.1", XFCC_VALUE, 1);
    assert_granted(&o, "w1");
    assert_false(o.identity.bound);
    o = with_header(&w, "127.0.0.1", "URI=spiffe://cluster.local/ns/argocd", 1);
    assert_refused(&o, "the header does not match grpc.auth.header.identity");
    o = with_header(&w, "127.0.0.1", "URI=spiffe://cluster.local/ns/argocd/sa/W1", 1);
    assert_refused(&o, NO_LABEL);
    o = with_header(&w, "127.0.0.1", NULL, 0);
    assert_refused(&o, "the header grpc.auth.header.name is missing");
    o = with_header(&w, "127.0.0.1", XFCC_VALUE, 2);
    assert_refused(&o, "the header grpc.auth.header.name is given twice");
    world_fini(&w);
}

static void a_header_from_another_machine_is_not_believed_unless_that_is_asked_for(void **state)
{
    (void)state;
    world w;
    open_world(&w, WORDS("grpc.auth.accept=header", XFCC, XFCC_RE));
    outcome o = with_header(&w, "192.0.2.1", XFCC_VALUE, 1);
    assert_refused(&o, "the header comes from another machine (grpc.auth.header.trust)");
    world_close(&w);
    assert_int_equal(world_open(&w, WORDS("grpc.auth.accept=header", XFCC, XFCC_RE,
                                          "grpc.auth.header.trust=network")),
                     AB_ERR_OK);
    o = with_header(&w, "192.0.2.1", XFCC_VALUE, 1);
    assert_granted(&o, "w1");
    world_fini(&w);
}

/* ----- userpass ----- */

static void an_agent_is_whose_password_it_knows(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    outcome o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_granted(&o, "w1");
    o = log_in(&w, &c, "userpass", "managed", "w1", "Secret");
    assert_refused(&o, "wrong password");
    o = log_in(&w, &c, "userpass", "managed", "w1", "");
    assert_refused(&o, "wrong password");
    o = log_in(&w, &c, "userpass", "managed", "w9", "secret");
    assert_refused(&o, "no such user in grpc.auth.userpass.file");
    o = log_in(&w, &c, "userpass", "managed", "# users", "secret");
    assert_refused(&o, NO_LABEL);
    o = log_in(&w, &c, "userpass", "managed", NULL, NULL);
    assert_refused(&o, "clientid or clientsecret is missing, repeated or too long");
    world_fini(&w);
}

static void ignore(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *grant)
{
    (void)grant;
    *(bool *)arg = true;
    assert_int_equal(code, AB_ERR_DENIED);
    assert_string_equal(err->text, "clientid or clientsecret is missing, repeated or too long");
}

static void credentials_are_there_once_and_bounded(void **state)
{
    (void)state;
    world w;
    caller c;
    char giant[1024];
    memset(giant, 'x', sizeof(giant));
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    const ab_auth_credential id = {AB_STR("clientid"), AB_STR("w1")};
    const ab_auth_credential good = {AB_STR("clientsecret"), AB_STR("secret")};
    const ab_auth_credential lists[][3] = {
        {id, good, good},
        {id, id, good},
        {id, {AB_STR("clientsecret"), AB_STR("secret\0x")}, {{0}, {0}}},
        {id, {AB_STR("clientsecret"), {giant, sizeof(giant)}}, {{0}, {0}}},
        {id, {AB_STR("ClientSecret"), AB_STR("secret")}, {{0}, {0}}},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        bool ended = false;
        const ab_auth_request request = {AB_STR("userpass"), AB_STR("managed"), lists[i], 3};
        assert_int_equal(ab_auth_authenticate(w.auth, &c.peer, &request, ignore, &ended),
                         AB_ERR_OK);
        world_wait(&w, &ended);
    }
    world_fini(&w);
}

static void users_are_read_again_when_their_file_changes(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    outcome o = log_in(&w, &c, "userpass", "managed", "w3", "secret");
    assert_int_equal(o.code, AB_ERR_DENIED);
    world_write(&w, "users", "w3:" HASH "\n");
    world_wait_changes(&w, 1);
    o = log_in(&w, &c, "userpass", "managed", "w3", "secret");
    assert_granted(&o, "w3");
    world_fini(&w);
}

static void a_file_of_users_that_is_broken_from_the_start_is_named_with_its_line(void **state)
{
    (void)state;
    world w;
    world_init(&w);
    world_write(&w, "users", "w1:" HASH "\nw2:oops\n");
    assert_int_equal(world_open(&w, WORDS("grpc.auth.accept=userpass", USERPASS)), AB_ERR_CONFIG);
    assert_non_null(strstr(w.err.text, "grpc.auth.userpass.file: /"));
    assert_non_null(strstr(w.err.text, "/users: line 2: "));
    world_fini(&w);
}

static void a_broken_file_of_users_leaves_them_as_they_were(void **state)
{
    (void)state;
    world w;
    caller c;
    world_init(&w);
    world_write(&w, "users", "w1:" HASH "\n");
    world_write(&w, "revoked", "");
    assert_int_equal(world_open(&w, WORDS("grpc.auth.accept=userpass", USERPASS,
                                          "grpc.auth.revoked=%s/revoked")),
                     AB_ERR_OK);
    caller_init(&c, "192.0.2.1", NULL);
    world_write(&w, "users", "w1:oops\n");
    world_write(&w, "revoked", "# changed\n");
    world_wait_changes(&w,
                       1); /* of the list; the users, looked at in the same turn, do not count */
    outcome o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_granted(&o, "w1");
    assert_int_equal(w.changes, 1);
    world_fini(&w);
}

/* ----- what all have in common ----- */

/* A method, and how a principal is told to take it. */
typedef struct {
    const char *method;
    const char *const *settings;
} sample;

static const sample samples[] = {
    {"mtls", WORDS("grpc.auth.accept=mtls")},
    {"header", WORDS("grpc.auth.accept=header", XFCC, "grpc.auth.header.identity=^(.*)$")},
    {"userpass", WORDS("grpc.auth.accept=userpass", USERPASS)},
};

static outcome log_in_as(world *w, caller *c, const char *method, const char *name,
                         const char *mode)
{
    made_cert cert = cert_of(name, NULL);
    caller_init(c, "127.0.0.1", strcmp(method, "mtls") == 0 ? cert.cert : NULL);
    c->header = "x-forwarded-client-cert";
    c->value = name;
    made_cert_free(&cert);
    return log_in(w, c, method, mode, name, "secret");
}

static void every_method_gives_a_name_that_is_a_label_and_tokens_that_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        world w;
        caller c;
        open_world(&w, samples[i].settings);
        outcome o = log_in_as(&w, &c, samples[i].method, "w1", "autonomous");
        assert_granted(&o, "w1");
        assert_string_equal(o.identity.method, samples[i].method);
        assert_string_equal(o.identity.mode, "autonomous");
        assert_verified(&w, &c, o.access, "w1");
        assert_int_equal(ab_auth_renew(w.auth, &c.peer, &o.identity, NULL), AB_ERR_OK);
        outcome again = refresh(&w, &c, o.refresh);
        assert_granted(&again, "w1");
        caller_fini(&c);
        world_fini(&w);
    }
}

static void every_method_refuses_names_modes_and_other_methods(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        world w;
        caller c;
        open_world(&w, samples[i].settings);
        outcome o = log_in_as(&w, &c, samples[i].method, "W1", "managed");
        assert_refused(&o, NO_LABEL);
        caller_fini(&c);
        o = log_in_as(&w, &c, samples[i].method, "w1", "both");
        assert_refused(&o, "the mode is neither managed nor autonomous");
        caller_fini(&c);
        o = log_in_as(&w, &c, samples[(i + 1) % 3].method, "w1", "managed");
        assert_refused(&o, "the method is not one of grpc.auth.accept");
        caller_fini(&c);
        world_fini(&w);
    }
}

/* ----- those who fail ----- */

static void who_fails_too_often_is_shut_out_for_a_while(void **state)
{
    (void)state;
    world w;
    caller c;
    outcome o;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    for (int i = 0; i < 10; i++) {
        o = log_in(&w, &c, "userpass", "managed", "w1", "wrong");
        assert_refused(&o, "wrong password");
    }
    o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_int_equal(o.code, AB_ERR_FULL);
    assert_string_equal(o.err.text, "it failed too often lately");
    w.mono_ms += 6000;
    o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_granted(&o, "w1");
    world_fini(&w);
}

static void a_success_does_not_count_as_a_failure(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    for (int i = 0; i < 30; i++) {
        outcome o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
        assert_granted(&o, "w1");
    }
    world_fini(&w);
}

static void others_at_the_same_address_are_not_shut_out(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    for (int i = 0; i < 100; i++)
        (void)log_in(&w, &c, "userpass", "managed", "w1", "wrong");
    outcome o = log_in(&w, &c, "userpass", "managed", "w2", "secret");
    assert_granted(&o, "w2");
    caller_init(&c, "192.0.2.2", NULL);
    o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_granted(&o, "w1");
    world_fini(&w);
}

static void guessing_over_many_names_shuts_the_address_out(void **state)
{
    (void)state;
    world w;
    caller c;
    caller elsewhere;
    outcome o;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "2001:db8::1", NULL);
    for (int i = 0; i < 60; i++) {
        char user[16];
        (void)snprintf(user, sizeof(user), "u%d", i);
        o = log_in(&w, &c, "userpass", "managed", user, "wrong");
        assert_int_equal(o.code, AB_ERR_DENIED);
    }
    o = log_in(&w, &c, "userpass", "managed", "w1", "secret");
    assert_int_equal(o.code, AB_ERR_FULL);
    caller_init(&elsewhere, "2001:db8::2", NULL); /* of the same /64 */
    o = log_in(&w, &elsewhere, "userpass", "managed", "w1", "secret");
    assert_int_equal(o.code, AB_ERR_FULL);
    caller_init(&elsewhere, "2001:db8:0:1::1", NULL);
    o = log_in(&w, &elsewhere, "userpass", "managed", "w1", "secret");
    assert_granted(&o, "w1");
    world_fini(&w);
}

static unsigned count_in(int fd, const char *text)
{
    static char lines[65536];
    unsigned count = 0;
    ssize_t len = pread(fd, lines, sizeof(lines) - 1, 0);
    assert_in_range(len, 0, sizeof(lines) - 2);
    lines[len] = '\0';
    for (const char *at = strstr(lines, text); at != NULL; at = strstr(at + 1, text))
        count++;
    return count;
}

static void asking_for_methods_that_are_not_there_shuts_the_address_out(void **state)
{
    (void)state;
    world w;
    caller c;
    outcome o;
    open_world(&w, WORDS("grpc.auth.accept=mtls"));
    caller_init(&c, "192.0.2.1", NULL);
    for (int i = 0; i < 60; i++) {
        o = log_in(&w, &c, "kerberos", "managed", NULL, NULL);
        assert_int_equal(o.code, AB_ERR_DENIED);
    }
    o = log_in(&w, &c, "kerberos", "managed", NULL, NULL);
    assert_int_equal(o.code, AB_ERR_FULL);
    world_fini(&w);
}

static void no_address_fills_the_log(void **state)
{
    (void)state;
    world w;
    caller c;
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(fd >= 0);
    world_init(&w);
    assert_int_equal(ab_log_new(fd, "info", AB_LOG_TEXT, &w.clock, &w.log, NULL), AB_ERR_OK);
    assert_int_equal(world_open(&w, WORDS(NULL)), AB_ERR_OK);
    caller_init(&c, "192.0.2.1", NULL);
    for (int i = 0; i < 100; i++)
        (void)log_in(&w, &c, "mtls", "managed", NULL, NULL);
    assert_int_equal(count_in(fd, "peer refused"), 10);
    caller_init(&c, "192.0.2.2", NULL);
    (void)log_in(&w, &c, "mtls", "managed", NULL, NULL);
    assert_int_equal(count_in(fd, "peer refused"), 11);
    world_fini(&w);
    ab_log_free(w.log);
    close(fd);
}

static void the_log_names_who_was_refused_but_no_password(void **state)
{
    (void)state;
    world w;
    caller c;
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(fd >= 0);
    world_init(&w);
    world_write(&w, "users", "w1:" HASH "\n");
    assert_int_equal(ab_log_new(fd, "debug", AB_LOG_TEXT, &w.clock, &w.log, NULL), AB_ERR_OK);
    assert_int_equal(world_open(&w, WORDS("grpc.auth.accept=userpass", USERPASS)), AB_ERR_OK);
    caller_init(&c, "192.0.2.1", NULL);
    (void)log_in(&w, &c, "userpass", "managed", "w1", "passw0rd");
    assert_int_equal(count_in(fd, "agent=w1 "), 1);
    assert_int_equal(count_in(fd, "passw0rd"), 0);
    world_fini(&w);
    ab_log_free(w.log);
    close(fd);
}

static void all_addresses_together_do_not_fill_the_log(void **state)
{
    (void)state;
    world w;
    caller c;
    char address[64];
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(fd >= 0);
    world_init(&w);
    assert_int_equal(ab_log_new(fd, "info", AB_LOG_TEXT, &w.clock, &w.log, NULL), AB_ERR_OK);
    assert_int_equal(world_open(&w, WORDS(NULL)), AB_ERR_OK);
    for (int i = 0; i < 1500; i++) { /* of three keys each: more than the limiter knows */
        snprintf(address, sizeof(address), "2001:db8:%x::1", i);
        caller_init(&c, address, NULL);
        (void)log_in(&w, &c, "mtls", "managed", NULL, NULL);
    }
    assert_int_equal(count_in(fd, "peer refused"), 100);
    w.mono_ms += 600;
    (void)log_in(&w, &c, "mtls", "managed", NULL, NULL);
    assert_int_equal(count_in(fd, "peer refused"), 101);
    assert_int_equal(count_in(fd, "unlogged=1400"), 1);
    world_fini(&w);
    ab_log_free(w.log);
    close(fd);
}

static void a_certificate_is_counted_by_itself(void **state)
{
    (void)state;
    world w;
    caller bad;
    caller good;
    outcome o = {0};
    made_cert bad_cert = cert_of("NO-LABEL", NULL);
    made_cert good_cert = cert_of("w1", NULL);
    open_world(&w, WORDS(NULL));
    caller_init(&bad, "192.0.2.1", bad_cert.cert);
    caller_init(&good, "192.0.2.1", good_cert.cert);
    for (int i = 0; i < 100; i++)
        o = log_in(&w, &bad, "mtls", "managed", NULL, NULL);
    assert_int_equal(o.code, AB_ERR_FULL);
    o = log_in(&w, &good, "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    caller_fini(&bad);
    caller_fini(&good);
    made_cert_free(&bad_cert);
    made_cert_free(&good_cert);
    world_fini(&w);
}

static void logins_are_counted_by_method_and_failures_by_reason(void **state)
{
    (void)state;
    world w;
    caller c;
    open_world(&w, WORDS("grpc.auth.accept=userpass", USERPASS));
    caller_init(&c, "192.0.2.1", NULL);
    (void)log_in(&w, &c, "userpass", "managed", "w1", "secret");
    (void)log_in(&w, &c, "userpass", "managed", "w1", "wrong");
    (void)log_in(&w, &c, "userpass", "managed", "w1", "wrong");
    (void)log_in(&w, &c, "nonsense", "managed", "w1", "wrong");
    assert_true(world_metric(&w, "argobus_auth_total{method=\"userpass\",result=\"ok\"} ") == 1);
    assert_true(world_metric(&w, "argobus_auth_total{method=\"userpass\",result=\"refused\"} ") ==
                2);
    assert_true(world_metric(&w, "argobus_auth_total{method=\"unknown\",result=\"refused\"} ") ==
                1);
    assert_true(world_metric(&w, "argobus_auth_failures_total{reason=\"password\"} ") == 2);
    assert_true(world_metric(&w, "argobus_auth_failures_total{reason=\"method\"} ") == 1);
    world_fini(&w);
}

/* ----- configuration ----- */

static void assert_config_refused(const char *const *settings, const char *mention)
{
    world w;
    world_init(&w);
    world_write(&w, "users", "w1:" HASH "\n");
    world_write(&w, "broken", "w1\n");
    world_write(&w, "key.pem", "-----BEGIN NOTHING-----\n");
    made_cert ec = cert_of("x", NULL);
    world_write(&w, "ec.pem", ec.key);
    assert_int_equal(world_open(&w, settings), AB_ERR_CONFIG);
    if (strstr(w.err.text, mention) == NULL)
        fail_msg("\"%s\" does not mention %s", w.err.text, mention);
    made_cert_free(&ec);
    world_fini(&w);
}

static void what_is_wrong_in_the_configuration_is_named(void **state)
{
    (void)state;
    assert_config_refused(WORDS("grpc.auth.accept=oidc"), "use mtls, header or userpass");
    assert_config_refused(WORDS("grpc.auth.mtls.identity=CN=(.*)"), "subject:EXPRESSION");
    assert_config_refused(WORDS("grpc.auth.mtls.identity=subject:CN=.*"), "a group");
    assert_config_refused(WORDS("grpc.auth.mtls.identity=uri:(\\d+)"),
                          "unsupported backslash class");
    assert_config_refused(WORDS("grpc.auth.accept=header"), "grpc.auth.header.name");
    assert_config_refused(WORDS("grpc.auth.accept=header", XFCC), "grpc.auth.header.identity");
    assert_config_refused(WORDS("grpc.auth.accept=header", "grpc.auth.header.name=a b", XFCC_RE),
                          "grpc.auth.header.name");
    assert_config_refused(WORDS("grpc.auth.accept=userpass"), "grpc.auth.userpass.file");
    assert_config_refused(WORDS("grpc.auth.accept=userpass", "grpc.auth.userpass.file=%s/broken"),
                          "line 1");
    assert_config_refused(WORDS("grpc.auth.revoked=%s/broken"), "line 1");
    assert_config_refused(WORDS("grpc.auth.token.key=%s/key.pem"), "not a PEM private key");
    assert_config_refused(WORDS("grpc.auth.token.key=%s/ec.pem"), "RSA key of at least 2048");
}

static void several_methods_are_accepted_at_once(void **state)
{
    (void)state;
    world w;
    caller c;
    made_cert cert = cert_of("w1", NULL);
    open_world(&w, WORDS("grpc.auth.accept=mtls,userpass,mtls", USERPASS));
    caller_init(&c, "192.0.2.1", cert.cert);
    outcome o = log_in(&w, &c, "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    o = log_in(&w, &c, "userpass", "managed", "w2", "secret");
    assert_granted(&o, "w2");
    assert_string_equal(o.identity.method, "userpass");
    caller_fini(&c);
    made_cert_free(&cert);
    world_fini(&w);
}

/* ----- the agent's side ----- */

static ab_err open_login(world *w, const char *users, ab_auth_login *out)
{
    world_init(w);
    if (users != NULL)
        world_write(w, "users", users);
    ab_err e = world_open(
        w, WORDS("grpc.auth.method=userpass", users == NULL ? "grpc.auth.accept=mtls" : USERPASS));
    assert_int_equal(e, AB_ERR_OK);
    return ab_auth_login_open(w->config, out, &w->err);
}

static void an_agent_logs_in_with_its_certificate_unless_told_otherwise(void **state)
{
    (void)state;
    world w;
    ab_auth_login login;
    world_init(&w);
    assert_int_equal(world_open(&w, WORDS(NULL)), AB_ERR_OK);
    assert_int_equal(ab_auth_login_open(w.config, &login, &w.err), AB_ERR_OK);
    assert_true(ab_str_is(login.method, "mtls"));
    assert_int_equal(login.credential_count, 0);
    ab_auth_login_fini(&login);
    world_fini(&w);
}

static void an_agent_reads_its_password_from_the_first_line(void **state)
{
    (void)state;
    world w;
    ab_auth_login login;
    assert_int_equal(open_login(&w, "w1:se:cret\nmore\n", &login), AB_ERR_OK);
    assert_true(ab_str_is(login.method, "userpass"));
    assert_int_equal(login.credential_count, 2);
    assert_true(ab_str_is(login.credentials[0].name, "clientid"));
    assert_true(ab_str_is(login.credentials[0].value, "w1"));
    assert_true(ab_str_is(login.credentials[1].name, "clientsecret"));
    assert_true(ab_str_is(login.credentials[1].value, "se:cret"));
    ab_auth_login_fini(&login);
    world_fini(&w);
}

static void an_agent_without_a_password_is_told_which_option(void **state)
{
    (void)state;
    static const char *const files[] = {NULL, "", "w1\n"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        world w;
        ab_auth_login login;
        assert_int_equal(open_login(&w, files[i], &login), AB_ERR_CONFIG);
        assert_non_null(strstr(w.err.text, "grpc.auth.userpass.file"));
        ab_auth_login_fini(&login);
        world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_whom_its_subject_names),
        cmocka_unit_test(an_agent_is_whom_its_uri_names),
        cmocka_unit_test(a_name_that_is_no_label_is_refused),
        cmocka_unit_test(another_name_in_the_subject_is_not_taken_for_the_common_name),
        cmocka_unit_test(without_a_certificate_there_is_no_mtls),
        cmocka_unit_test(the_mode_is_one_of_two_and_kept),
        cmocka_unit_test(a_method_that_is_not_accepted_is_refused),
        cmocka_unit_test(an_agent_is_whom_the_mesh_names),
        cmocka_unit_test(a_header_from_another_machine_is_not_believed_unless_that_is_asked_for),
        cmocka_unit_test(an_agent_is_whose_password_it_knows),
        cmocka_unit_test(credentials_are_there_once_and_bounded),
        cmocka_unit_test(users_are_read_again_when_their_file_changes),
        cmocka_unit_test(a_file_of_users_that_is_broken_from_the_start_is_named_with_its_line),
        cmocka_unit_test(a_broken_file_of_users_leaves_them_as_they_were),
        cmocka_unit_test(every_method_gives_a_name_that_is_a_label_and_tokens_that_hold),
        cmocka_unit_test(every_method_refuses_names_modes_and_other_methods),
        cmocka_unit_test(who_fails_too_often_is_shut_out_for_a_while),
        cmocka_unit_test(a_success_does_not_count_as_a_failure),
        cmocka_unit_test(others_at_the_same_address_are_not_shut_out),
        cmocka_unit_test(guessing_over_many_names_shuts_the_address_out),
        cmocka_unit_test(asking_for_methods_that_are_not_there_shuts_the_address_out),
        cmocka_unit_test(no_address_fills_the_log),
        cmocka_unit_test(the_log_names_who_was_refused_but_no_password),
        cmocka_unit_test(all_addresses_together_do_not_fill_the_log),
        cmocka_unit_test(a_certificate_is_counted_by_itself),
        cmocka_unit_test(logins_are_counted_by_method_and_failures_by_reason),
        cmocka_unit_test(what_is_wrong_in_the_configuration_is_named),
        cmocka_unit_test(several_methods_are_accepted_at_once),
        cmocka_unit_test(an_agent_logs_in_with_its_certificate_unless_told_otherwise),
        cmocka_unit_test(an_agent_reads_its_password_from_the_first_line),
        cmocka_unit_test(an_agent_without_a_password_is_told_which_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
