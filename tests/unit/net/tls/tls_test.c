/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom the two ends of a connection take for whom they say they are, when it begins and after the
 * files have changed.
 */
#include "net/tls/tls.h"

#include "tests/unit/base/crypto/made_cert.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define HOST "west.example"

static const char *const names[] = {"ca", "server", "server.key", "client", "client.key"};

typedef struct {
    char folder[64];
    char paths[5][PATH_MAX]; /* as in names */
    made_cert ca, sub, other;
    ab_tls server_files, client_files;
    ab_tls_context server, client;
    int fds[2];
    SSL *ssl[2]; /* the server's, the client's */
} fixture;

static made_cert made(const char *name, const char *san, bool ca, const made_cert *issuer)
{
    return make_cert(&(made_cert_spec){
        .type = "EC-P-256", .name = name, .san = san, .ca = ca, .issuer = issuer});
}

static void put(const fixture *f, const char *name, const char *text, const char *more)
{
    char both[16384];
    (void)snprintf(both, sizeof(both), "%s%s", text, more == NULL ? "" : more);
    write_pem(f->folder, name, both);
}

/* @param chain  what its file holds beside the certificate; NULL: nothing */
static void issue(const fixture *f, const char *name, const made_cert_spec *spec, const char *chain)
{
    char key[32];
    made_cert m = make_cert(spec);
    (void)snprintf(key, sizeof(key), "%s.key", name);
    put(f, name, m.cert, chain);
    put(f, key, m.key, NULL);
    made_cert_free(&m);
}

static void issue_server(const fixture *f, const char *san)
{
    issue(f, "server",
          &(made_cert_spec){.type = "EC-P-256",
                            .name = HOST,
                            .san = san,
                            .extended_usage = "serverAuth",
                            .issuer = &f->ca},
          NULL);
}

static void issue_client(const fixture *f, const made_cert *issuer, const char *chain)
{
    issue(f, "client",
          &(made_cert_spec){
              .type = "EC-P-256", .name = "w1", .extended_usage = "clientAuth", .issuer = issuer},
          chain);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/argobus-tls-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (size_t i = 0; i < 5; i++)
        (void)snprintf(f->paths[i], PATH_MAX, "%s/%s", f->folder, names[i]);
    f->ca = made("ca", NULL, true, NULL);
    f->sub = made("sub", NULL, true, &f->ca);
    f->other = made("other", NULL, true, NULL);
    put(f, "ca", f->ca.cert, NULL);
    issue_server(f, "DNS:" HOST);
    issue_client(f, &f->ca, NULL);
    f->server_files = (ab_tls){.ca = f->paths[0],
                               .cert = f->paths[1],
                               .key = f->paths[2],
                               .client_cert = AB_TLS_CLIENT_CERT_REQUIRE};
    f->client_files = (ab_tls){.ca = f->paths[0], .cert = f->paths[3], .key = f->paths[4]};
    *state = f;
    return 0;
}

static void part(fixture *f)
{
    for (size_t i = 0; i < 2 && f->ssl[i] != NULL; i++) {
        SSL_free(f->ssl[i]);
        f->ssl[i] = NULL;
        (void)close(f->fds[i]);
    }
    ab_tls_context_fini(&f->server);
    ab_tls_context_fini(&f->client);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    part(f);
    for (size_t i = 0; i < 5; i++)
        (void)unlink(f->paths[i]);
    (void)rmdir(f->folder);
    made_cert_free(&f->ca);
    made_cert_free(&f->sub);
    made_cert_free(&f->other);
    free(f);
    return 0;
}

static void connect_both(fixture *f)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, f->fds), 0);
    f->ssl[0] = ab_tls_context_open(&f->server, f->fds[0]);
    f->ssl[1] = ab_tls_context_open(&f->client, f->fds[1]);
    assert_non_null(f->ssl[0]);
    assert_non_null(f->ssl[1]);
}

/* @return whether both ends have taken the other one */
static bool shake(const fixture *f)
{
    int done[2] = {0};
    for (int i = 0; !done[0] || !done[1]; i = 1 - i) {
        int rc = SSL_do_handshake(f->ssl[i]);
        int why = SSL_get_error(f->ssl[i], rc);
        done[i] = rc == 1;
        if (rc != 1 && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
            return false;
    }
    return true;
}

static void init_server(fixture *f)
{
    part(f);
    assert_int_equal(ab_tls_context_init(&f->server, &f->server_files, true, "", NULL), AB_ERR_OK);
}

static bool meet(fixture *f, const char *host)
{
    init_server(f);
    assert_int_equal(ab_tls_context_init(&f->client, &f->client_files, false, host, NULL),
                     AB_ERR_OK);
    connect_both(f);
    return shake(f);
}

static void a_server_is_who_its_certificate_names(void **state)
{
    fixture *f = *state;
    assert_true(meet(f, HOST));
    assert_string_equal(SSL_get_servername(f->ssl[0], TLSEXT_NAMETYPE_host_name), HOST);
    assert_false(meet(f, "east.example"));
    f->client_files.server_name = HOST;
    assert_true(meet(f, "east.example"));
}

static void a_server_without_a_name_is_known_by_its_address(void **state)
{
    fixture *f = *state;
    issue_server(f, "IP:192.0.2.1,IP:2001:db8::1");
    assert_true(meet(f, "192.0.2.1"));
    assert_null(SSL_get_servername(f->ssl[0], TLSEXT_NAMETYPE_host_name));
    assert_true(meet(f, "2001:db8::1"));
    assert_false(meet(f, "192.0.2.2"));
    assert_false(meet(f, "2001:db8::2"));
}

static void a_wildcard_stands_for_a_whole_label(void **state)
{
    fixture *f = *state;
    issue_server(f, "DNS:*.site.example");
    assert_true(meet(f, "west.site.example"));
    issue_server(f, "DNS:w*.site.example");
    assert_false(meet(f, "west.site.example"));
}

static void a_server_of_another_authority_is_refused(void **state)
{
    fixture *f = *state;
    put(f, "ca", f->other.cert, NULL);
    assert_false(meet(f, HOST));
}

static void a_certificate_is_for_one_side(void **state)
{
    fixture *f = *state;
    f->client_files.cert = f->paths[1];
    f->client_files.key = f->paths[2];
    assert_false(meet(f, HOST));
}

static void a_client_shows_a_certificate_where_it_must(void **state)
{
    fixture *f = *state;
    assert_true(meet(f, HOST));
    assert_int_equal(sk_X509_NAME_num(SSL_get0_peer_CA_list(f->ssl[1])), 1);
    f->client_files.cert = NULL;
    f->client_files.key = NULL;
    assert_false(meet(f, HOST));
    f->server_files.client_cert = AB_TLS_CLIENT_CERT_REQUEST;
    assert_true(meet(f, HOST));
}

static void a_certificate_that_is_only_asked_for_must_be_good(void **state)
{
    fixture *f = *state;
    char byte = 0;
    ab_error err = {0};
    f->server_files.client_cert = AB_TLS_CLIENT_CERT_REQUEST;
    issue_client(f, &f->other, NULL);
    assert_false(meet(f, HOST));
    ab_tls_context_explain(f->ssl[0], &err, "from w1");
    assert_non_null(strstr(err.text, "from w1: the certificate of O=made,CN=w1"));
    assert_true(SSL_read(f->ssl[1], &byte, 1) <= 0);
    ab_tls_context_explain(f->ssl[1], &err, "to the hub");
    assert_non_null(strstr(err.text, "to the hub: the other side refuses our certificate"));
}

static bool meet_by_an_older_version(fixture *f)
{
    f->client_files.min_version = "1.2";
    init_server(f);
    assert_int_equal(ab_tls_context_init(&f->client, &f->client_files, false, HOST, NULL),
                     AB_ERR_OK);
    connect_both(f);
    assert_int_equal(SSL_set_max_proto_version(f->ssl[1], TLS1_2_VERSION), 1);
    return shake(f);
}

static void an_older_version_is_spoken_where_it_is_allowed(void **state)
{
    fixture *f = *state;
    assert_false(meet_by_an_older_version(f));
    f->server_files.min_version = "1.2";
    assert_true(meet_by_an_older_version(f));
    assert_int_equal(SSL_renegotiate(f->ssl[1]), 0);
}

/* Of those that are connected. */
static void assert_trust(fixture *f, bool trusted)
{
    assert_int_equal(ab_tls_context_reload(&f->server, NULL), AB_ERR_OK);
    assert_int_equal(ab_tls_context_reload(&f->client, NULL), AB_ERR_OK);
    assert_int_equal(ab_tls_context_trusts(&f->server, f->ssl[0]), trusted);
    assert_int_equal(ab_tls_context_trusts(&f->client, f->ssl[1]), trusted);
}

static void an_authority_that_is_removed_is_trusted_no_more(void **state)
{
    fixture *f = *state;
    assert_true(meet(f, HOST));
    assert_trust(f, true);
    put(f, "ca", f->other.cert, f->ca.cert);
    assert_trust(f, true);
    put(f, "ca", f->other.cert, NULL);
    assert_trust(f, false);
}

/* Or every reload would end its connections. */
static void who_has_an_intermediate_stays_trusted(void **state)
{
    fixture *f = *state;
    issue_client(f, &f->sub, f->sub.cert);
    assert_true(meet(f, HOST));
    assert_trust(f, true);
}

static void files_that_cannot_be_used_leave_the_former_in_use(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    init_server(f);
    unsigned reloads = f->server.reloads;
    put(f, "server", "no certificate\n", NULL);
    assert_int_equal(ab_tls_context_reload(&f->server, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, f->paths[1]));
    assert_int_equal(f->server.reloads, reloads);
    assert_int_equal(ab_tls_context_init(&f->client, &f->client_files, false, HOST, NULL),
                     AB_ERR_OK);
    connect_both(f);
    assert_true(shake(f));
}

static void a_key_of_another_certificate_is_told(void **state)
{
    fixture *f = *state;
    made_cert unlike = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "other"});
    const char *const keys[] = {f->other.key, unlike.key};
    for (size_t i = 0; i < 2; i++) {
        ab_error err = {0};
        put(f, "server.key", keys[i], NULL);
        assert_int_equal(ab_tls_check(&f->server_files, true, &err), AB_ERR_CONFIG);
        assert_non_null(strstr(err.text, "does not belong to the certificate"));
    }
    made_cert_free(&unlike);
}

/* ---- texts instead of files ---- */

static bool meet_with(fixture *f, const ab_tls_texts *texts)
{
    f->server_files.http1 = true;
    init_server(f);
    assert_int_equal(ab_tls_context_init_texts(&f->client, texts, NULL), AB_ERR_OK);
    connect_both(f);
    return shake(f);
}

static void texts_say_whom_to_trust_and_what_to_show(void **state)
{
    fixture *f = *state;
    char cas[16384];
    char chain[16384];
    made_cert own = made("w1", NULL, false, &f->sub);
    (void)snprintf(cas, sizeof(cas), "%s%s", f->other.cert, f->ca.cert);
    (void)snprintf(chain, sizeof(chain), "%s%s", own.cert, f->sub.cert);
    ab_tls_texts texts = {.ca = ab_str_of(cas),
                          .cert = ab_str_of(chain),
                          .key = ab_str_of(own.key),
                          .server_name = HOST};
    assert_true(meet_with(f, &texts));
    texts.server_name = "east.example";
    assert_false(meet_with(f, &texts));
    texts.server_name = HOST;
    texts.ca = ab_str_of(f->other.cert);
    assert_false(meet_with(f, &texts));
    made_cert_free(&own);
}

static void a_text_with_the_key_of_another_is_refused(void **state)
{
    fixture *f = *state;
    made_cert unlike = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "other"});
    const char *const keys[] = {f->other.key, unlike.key};
    for (size_t i = 0; i < 2; i++) {
        const ab_tls_texts texts = {.ca = ab_str_of(f->ca.cert),
                                    .cert = ab_str_of(f->sub.cert),
                                    .key = ab_str_of(keys[i]),
                                    .server_name = HOST};
        assert_int_equal(ab_tls_context_init_texts(&f->client, &texts, NULL), AB_ERR_CONFIG);
        part(f);
    }
    made_cert_free(&unlike);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_server_is_who_its_certificate_names),
        CASE(a_server_without_a_name_is_known_by_its_address),
        CASE(a_wildcard_stands_for_a_whole_label),
        CASE(a_server_of_another_authority_is_refused),
        CASE(a_certificate_is_for_one_side),
        CASE(a_client_shows_a_certificate_where_it_must),
        CASE(a_certificate_that_is_only_asked_for_must_be_good),
        CASE(an_older_version_is_spoken_where_it_is_allowed),
        CASE(an_authority_that_is_removed_is_trusted_no_more),
        CASE(who_has_an_intermediate_stays_trusted),
        CASE(files_that_cannot_be_used_leave_the_former_in_use),
        CASE(a_key_of_another_certificate_is_told),
        CASE(texts_say_whom_to_trust_and_what_to_show),
        CASE(a_text_with_the_key_of_another_is_refused),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
