/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a login: tokens, their refresh, identities that last, and what ends them.
 */
#include "tests/unit/auth/world.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HASH      "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define OTHER     "$2b$05$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define SECOND_US ((int64_t)1000000)

/* A world with agents w1 and w2, each with a certificate good for 30 days. */
typedef struct {
    world w;
    made_cert certs[2];
    caller callers[2];
    caller nobody; /* without a certificate */
} fixture;

static void setup(fixture *f, const char *const *settings)
{
    static const char *const names[] = {"w1", "w2"};
    *f = (fixture){0};
    world_init(&f->w);
    world_write(&f->w, "users", "w1:" HASH "\nw2:" HASH "\n");
    world_write(&f->w, "revoked", "# none\n");
    caller_init(&f->nobody, "192.0.2.9", NULL);
    for (int i = 0; i < 2; i++) {
        f->certs[i] = make_cert(&(made_cert_spec){
            .type = "EC-P-256", .name = names[i], .from_s = -60, .until_s = 30 * 86400});
        caller_init(&f->callers[i], "192.0.2.1", f->certs[i].cert);
    }
    if (world_open(&f->w, settings) != AB_ERR_OK)
        fail_msg("%s", f->w.err.text);
}

static void teardown(fixture *f)
{
    for (int i = 0; i < 2; i++) {
        caller_fini(&f->callers[i]);
        made_cert_free(&f->certs[i]);
    }
    world_fini(&f->w);
}

#define ALL                                                                                        \
    WORDS("grpc.auth.accept=mtls,userpass", "grpc.auth.userpass.file=%s/users",                    \
          "grpc.auth.revoked=%s/revoked")

static outcome by_certificate(fixture *f, int agent)
{
    outcome o = log_in(&f->w, &f->callers[agent], "mtls", "managed", NULL, NULL);
    assert_int_equal(o.code, AB_ERR_OK);
    return o;
}

static outcome by_password(fixture *f)
{
    outcome o = log_in(&f->w, &f->nobody, "userpass", "managed", "w1", "secret");
    assert_int_equal(o.code, AB_ERR_OK);
    return o;
}

static void pass(fixture *f, int64_t seconds)
{
    f->w.wall_us += seconds * SECOND_US;
    f->w.mono_ms += seconds * 1000;
}

static void revoke_certificate(fixture *f, int agent)
{
    uint8_t hash[AB_AUTH_HASH_BYTES];
    char text[2 * AB_AUTH_HASH_BYTES + 2];
    assert_int_equal(X509_digest(f->callers[agent].peer.certificate, EVP_sha256(), hash, NULL), 1);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(text + 2 * i, 3, "%02X", hash[i]);
    int before = f->w.changes;
    world_write(&f->w, "revoked", text);
    world_wait_changes(&f->w, before + 1);
}

/* ----- access tokens ----- */

static void an_access_token_says_who_calls(void **state)
{
    (void)state;
    fixture f;
    ab_auth_identity identity;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    int64_t now_s = f.w.wall_us / SECOND_US;
    assert_int_equal(
        ab_auth_verify(f.w.auth, &f.callers[0].peer, ab_str_of(o.access), &identity, NULL),
        AB_ERR_OK);
    assert_string_equal(identity.agent, "w1");
    assert_string_equal(identity.mode, "managed");
    assert_string_equal(identity.method, "mtls");
    assert_int_equal(identity.expires_s, now_s + 300);
    assert_int_equal(identity.until_s, now_s + 86400);
    assert_true(identity.bound);
    assert_int_equal(o.identity.expires_s, identity.expires_s);
    teardown(&f);
}

static void a_refresh_token_gives_no_access_and_the_reverse(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    assert_not_verified(&f.w, &f.callers[0], o.refresh, "the token is for another use");
    outcome r = refresh(&f.w, &f.callers[0], o.access);
    assert_refused(&r, "the token is for another use");
    teardown(&f);
}

static void an_access_token_ends(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    pass(&f, 299);
    assert_verified(&f.w, &f.callers[0], o.access, "w1");
    pass(&f, 1);
    assert_not_verified(&f.w, &f.callers[0], o.access, "the token has expired");
    teardown(&f);
}

static void a_stolen_token_is_of_no_use_with_another_certificate(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    static const char reason[] = "the token was given to another certificate";
    assert_not_verified(&f.w, &f.callers[1], o.access, reason);
    assert_not_verified(&f.w, &f.nobody, o.access, reason);
    outcome r = refresh(&f.w, &f.callers[1], o.refresh);
    assert_refused(&r, reason);
    r = refresh(&f.w, &f.nobody, o.refresh);
    assert_refused(&r, reason);
    teardown(&f);
}

static void a_password_with_a_certificate_binds_too(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = log_in(&f.w, &f.callers[0], "userpass", "managed", "w2", "secret");
    assert_granted(&o, "w2");
    assert_verified(&f.w, &f.callers[0], o.access, "w2");
    assert_not_verified(&f.w, &f.nobody, o.access, "the token was given to another certificate");
    teardown(&f);
}

static void a_renewed_certificate_must_log_in_again(void **state)
{
    (void)state;
    fixture f;
    caller renewed;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    made_cert cert = renew_cert(&f.certs[0], &(made_cert_spec){.type = "EC-P-256", .name = "w1"});
    caller_init(&renewed, "192.0.2.1", cert.cert);
    assert_not_verified(&f.w, &renewed, o.access, "the token was given to another certificate");
    o = log_in(&f.w, &renewed, "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    caller_fini(&renewed);
    made_cert_free(&cert);
    teardown(&f);
}

static void garbage_is_refused_with_one_reason_each(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    assert_not_verified(&f.w, &f.callers[0], NULL, "there is no token");
    assert_not_verified(&f.w, &f.callers[0], "", "there is no token");
    assert_not_verified(&f.w, &f.callers[0], "a.b.c",
                        "the token is not a JWT: three parts of base64url, JSON in two");
    outcome r = refresh(&f.w, &f.callers[0], "");
    assert_refused(&r, "there is no token");
    teardown(&f);
}

static void principals_with_one_key_take_each_others_tokens_and_others_do_not(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    world_close(&f.w);
    assert_int_equal(world_open(&f.w, ALL), AB_ERR_OK);
    assert_verified(&f.w, &f.callers[0], o.access, "w1");
    world_close(&f.w);
    made_cert other = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "x"});
    world_write(&f.w, "token.key", other.key);
    assert_int_equal(world_open(&f.w, ALL), AB_ERR_OK);
    assert_not_verified(&f.w, &f.callers[0], o.access, "the token is not signed with our key");
    made_cert_free(&other);
    teardown(&f);
}

/* The users, looked at in the same turn, tell when it has been read. */
static void write_key(fixture *f, const char *text)
{
    int before = f->w.changes;
    world_write(&f->w, "token.key", text);
    world_write(&f->w, "users", "w1:" HASH "\nw2:" HASH "\n");
    world_wait_changes(&f->w, before + 1);
}

static void change_key(fixture *f)
{
    made_cert other = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "x"});
    write_key(f, other.key);
    made_cert_free(&other);
}

static void another_key_signs_and_what_the_former_one_signed_is_taken(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome first = by_certificate(&f, 0);
    change_key(&f);
    outcome second = by_certificate(&f, 0);
    assert_verified(&f.w, &f.callers[0], first.access, "w1");
    assert_verified(&f.w, &f.callers[0], second.access, "w1");
    change_key(&f);
    assert_not_verified(&f.w, &f.callers[0], first.access, "the token is not signed with our key");
    assert_verified(&f.w, &f.callers[0], second.access, "w1");
    teardown(&f);
}

/* Else a file that is written again would end the tokens of the former key early. */
static void the_same_key_once_more_is_no_other_key(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome first = by_certificate(&f, 0);
    made_cert other = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "x"});
    write_key(&f, other.key);
    write_key(&f, "nonsense\n");
    write_key(&f, other.key);
    assert_verified(&f.w, &f.callers[0], first.access, "w1");
    made_cert_free(&other);
    teardown(&f);
}

static void a_short_key_leaves_the_key_as_it_was(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome first = by_certificate(&f, 0);
    made_cert weak = make_cert(&(made_cert_spec){.type = "RSA-1024", .name = "x"});
    write_key(&f, weak.key);
    made_cert_free(&weak);
    change_key(&f);
    assert_verified(&f.w, &f.callers[0], first.access, "w1");
    teardown(&f);
}

static void a_file_that_holds_no_key_leaves_the_key_as_it_was(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    write_key(&f, "nonsense\n");
    assert_verified(&f.w, &f.callers[0], o.access, "w1");
    (void)by_certificate(&f, 0);
    teardown(&f);
}

static void without_a_key_one_is_made(void **state)
{
    (void)state;
    fixture f;
    setup(&f, WORDS("grpc.auth.token.key="));
    outcome o = by_certificate(&f, 0);
    assert_verified(&f.w, &f.callers[0], o.access, "w1");
    teardown(&f);
}

static void a_method_that_is_no_longer_accepted_ends_its_tokens(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_password(&f);
    world_close(&f.w);
    assert_int_equal(world_open(&f.w, WORDS("grpc.auth.accept=mtls")), AB_ERR_OK);
    assert_not_verified(&f.w, &f.nobody, o.access, "the method is not one of grpc.auth.accept");
    teardown(&f);
}

static void an_expression_that_was_changed_ends_the_tokens_of_the_old(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    world_close(&f.w);
    assert_int_equal(world_open(&f.w, WORDS("grpc.auth.mtls.identity=subject:O=(made)")),
                     AB_ERR_OK);
    assert_not_verified(&f.w, &f.callers[0], o.access,
                        "the token is of another agent than the peer");
    teardown(&f);
}

static void a_token_by_header_needs_the_header_again(void **state)
{
    (void)state;
    fixture f;
    caller c;
    setup(&f, WORDS("grpc.auth.accept=header", "grpc.auth.header.name=x-peer",
                    "grpc.auth.header.identity=^(.*)$"));
    caller_init(&c, "127.0.0.1", NULL);
    c.header = "x-peer";
    c.value = "w1";
    outcome o = log_in(&f.w, &c, "header", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    assert_verified(&f.w, &c, o.access, "w1");
    c.value = "w2";
    assert_not_verified(&f.w, &c, o.access, "the token is of another agent than the peer");
    c.header_count = 0;
    assert_not_verified(&f.w, &c, o.access, "the header grpc.auth.header.name is missing");
    teardown(&f);
}

/* ----- refresh ----- */

static void a_refresh_gives_access_and_keeps_a_refresh_token_that_lasts(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    pass(&f, 86400 - 600);
    outcome r = refresh(&f.w, &f.callers[0], o.refresh);
    assert_granted(&r, "w1");
    assert_string_equal(r.identity.mode, "managed");
    assert_string_equal(r.refresh, o.refresh);
    assert_verified(&f.w, &f.callers[0], r.access, "w1");
    teardown(&f);
}

static void a_refresh_token_that_ends_soon_is_replaced(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    pass(&f, 86400 - 599);
    outcome r = refresh(&f.w, &f.callers[0], o.refresh);
    assert_granted(&r, "w1");
    assert_string_not_equal(r.refresh, o.refresh);
    pass(&f, 600);
    outcome late = refresh(&f.w, &f.callers[0], o.refresh);
    assert_refused(&late, "the token has expired");
    late = refresh(&f.w, &f.callers[0], r.refresh);
    assert_granted(&late, "w1");
    teardown(&f);
}

static void an_agent_that_is_gone_gets_no_refresh(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    f.w.unserved = "w1";
    outcome r = refresh(&f.w, &f.callers[0], o.refresh);
    assert_refused(&r, "the agent is no longer served");
    f.w.unserved = NULL;
    r = refresh(&f.w, &f.callers[0], o.refresh);
    assert_granted(&r, "w1");
    teardown(&f);
}

/* ----- revocation ----- */

/* The first one's, by `revoke`. */
static void assert_refused_everywhere(void (*revoke)(fixture *f))
{
    static const char reason[] = "its certificate is revoked";
    fixture f;
    ab_error err = {0};
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    outcome other = by_certificate(&f, 1);
    ab_auth_identity identity = o.identity;
    revoke(&f);
    assert_int_equal(ab_auth_renew(f.w.auth, &f.callers[0].peer, &identity, &err), AB_ERR_DENIED);
    assert_string_equal(err.text, reason);
    assert_not_verified(&f.w, &f.callers[0], o.access, reason);
    outcome r = refresh(&f.w, &f.callers[0], o.refresh);
    assert_refused(&r, reason);
    r = log_in(&f.w, &f.callers[0], "mtls", "managed", NULL, NULL);
    assert_refused(&r, reason);
    r = log_in(&f.w, &f.callers[0], "userpass", "managed", "w1", "secret");
    assert_refused(&r, reason);
    assert_verified(&f.w, &f.callers[1], other.access, "w2");
    teardown(&f);
}

static void by_the_list(fixture *f)
{
    revoke_certificate(f, 0);
}

static void a_revoked_certificate_is_refused_everywhere_at_once(void **state)
{
    (void)state;
    assert_refused_everywhere(by_the_list);
}

static void by_the_environment(fixture *f)
{
    f->w.revoked = f->callers[0].peer.certificate;
}

static void so_is_one_that_only_the_environment_calls_revoked(void **state)
{
    (void)state;
    assert_refused_everywhere(by_the_environment);
}

static void one_that_is_revoked_while_it_logs_in_is_refused(void **state)
{
    (void)state;
    fixture f;
    outcome o = {0};
    setup(&f, ALL);
    begin_login(&f.w, &f.callers[0], "mtls", "managed", NULL, NULL, &o);
    f.w.revoked = f.callers[0].peer.certificate;
    world_wait(&f.w, &o.ended);
    assert_refused(&o, "its certificate is revoked");
    f.w.revoked = NULL;
    teardown(&f);
}

static void a_certificate_that_is_given_back_is_taken_again(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    revoke_certificate(&f, 0);
    world_write(&f.w, "revoked", "");
    world_wait_changes(&f.w, 2);
    (void)by_certificate(&f, 0);
    teardown(&f);
}

static void a_broken_list_leaves_revoked_what_was(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    revoke_certificate(&f, 0);
    world_write(&f.w, "revoked", "nonsense\n");
    world_write(&f.w, "users", "w1:" OTHER "\n");
    world_wait_changes(&f.w, 2); /* of the users, looked at in the same turn */
    outcome o = log_in(&f.w, &f.callers[0], "mtls", "managed", NULL, NULL);
    assert_refused(&o, "its certificate is revoked");
    teardown(&f);
}

static void on_closing(void *arg)
{
    *(bool *)arg = true;
}

typedef struct {
    ab_err code;
    bool ended;
} ending;

static void on_end(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *grant)
{
    ending *e = arg;
    (void)err;
    (void)grant;
    e->code = code;
    e->ended = true;
}

static void logins_under_way_end_when_it_closes(void **state)
{
    (void)state;
    fixture f;
    bool closed = false;
    ending endings[20] = {0};
    setup(&f, ALL);
    const ab_auth_request request = {.method = AB_STR("mtls"), .mode = AB_STR("managed")};
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            ab_auth_authenticate(f.w.auth, &f.callers[0].peer, &request, on_end, &endings[i]),
            AB_ERR_OK);
    ab_auth_close(f.w.auth, on_closing, &closed);
    assert_int_equal(
        ab_auth_authenticate(f.w.auth, &f.callers[0].peer, &request, on_end, &endings[0]),
        AB_ERR_CLOSED);
    assert_int_equal(ab_auth_refresh(f.w.auth, &f.callers[0].peer, AB_STR("x"), on_end, NULL),
                     AB_ERR_CLOSED);
    world_wait(&f.w, &closed);
    for (int i = 0; i < 20; i++)
        assert_true(endings[i].ended && endings[i].code == AB_ERR_CLOSED);
    ab_auth_free(f.w.auth);
    f.w.auth = NULL;
    teardown(&f);
}

/* ----- identities of open streams ----- */

static void an_identity_is_renewed_until_the_agent_must_log_in_again(void **state)
{
    (void)state;
    fixture f;
    ab_error err = {0};
    setup(&f, ALL);
    outcome o = by_certificate(&f, 0);
    ab_auth_identity identity = o.identity;
    int64_t begin_s = f.w.wall_us / SECOND_US;
    pass(&f, 300);
    assert_int_equal(ab_auth_renew(f.w.auth, &f.callers[0].peer, &identity, &err), AB_ERR_OK);
    assert_int_equal(identity.expires_s, begin_s + 600);
    pass(&f, 86400 - 400);
    assert_int_equal(ab_auth_renew(f.w.auth, &f.callers[0].peer, &identity, &err), AB_ERR_OK);
    assert_int_equal(identity.expires_s, begin_s + 86400);
    pass(&f, 100);
    assert_int_equal(ab_auth_renew(f.w.auth, &f.callers[0].peer, &identity, &err), AB_ERR_TIMEOUT);
    assert_string_equal(err.text, AB_AUTH_AGAIN);
    assert_int_equal(identity.expires_s, begin_s + 86400);
    assert_true(world_metric(&f.w, "argobus_auth_total{method=\"renew\",result=\"refused\"} ") <=
                0);
    teardown(&f);
}

static void nothing_outlives_the_certificate(void **state)
{
    (void)state;
    fixture f;
    caller c;
    ab_error err = {0};
    setup(&f, ALL);
    made_cert cert = make_cert(
        &(made_cert_spec){.type = "EC-P-256", .name = "w3", .from_s = -60, .until_s = 100});
    caller_init(&c, "192.0.2.1", cert.cert);
    outcome o = log_in(&f.w, &c, "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w3");
    int64_t now_s = f.w.wall_us / SECOND_US;
    assert_true(o.identity.expires_s <= now_s + 101);
    assert_true(o.identity.until_s <= now_s + 101);
    ab_auth_identity identity = o.identity;
    pass(&f, 50);
    assert_int_equal(ab_auth_renew(f.w.auth, &c.peer, &identity, &err), AB_ERR_OK);
    assert_true(identity.expires_s <= now_s + 101);
    pass(&f, 60);
    assert_int_equal(ab_auth_renew(f.w.auth, &c.peer, &identity, &err), AB_ERR_DENIED);
    assert_not_verified(&f.w, &c, o.access, "its certificate has expired");
    outcome r = refresh(&f.w, &c, o.refresh);
    assert_refused(&r, "its certificate has expired");
    r = log_in(&f.w, &c, "mtls", "managed", NULL, NULL);
    assert_refused(&r, "its certificate has expired");
    caller_fini(&c);
    made_cert_free(&cert);
    teardown(&f);
}

static void another_password_ends_what_the_old_one_gave(void **state)
{
    (void)state;
    static const char reason[] = "its user was removed or has another password";
    fixture f;
    ab_error err = {0};
    setup(&f, ALL);
    outcome o = by_password(&f);
    ab_auth_identity identity = o.identity;
    assert_verified(&f.w, &f.nobody, o.access, "w1");
    world_write(&f.w, "users", "w1:" OTHER "\n");
    world_wait_changes(&f.w, 1);
    assert_not_verified(&f.w, &f.nobody, o.access, reason);
    outcome r = refresh(&f.w, &f.nobody, o.refresh);
    assert_refused(&r, reason);
    assert_int_equal(ab_auth_renew(f.w.auth, &f.nobody.peer, &identity, &err), AB_ERR_DENIED);
    assert_string_equal(err.text, reason);
    teardown(&f);
}

static void a_removed_user_is_out_at_once(void **state)
{
    (void)state;
    fixture f;
    setup(&f, ALL);
    outcome o = by_password(&f);
    world_write(&f.w, "users", "w2:" HASH "\n");
    world_wait_changes(&f.w, 1);
    assert_not_verified(&f.w, &f.nobody, o.access, "its user was removed or has another password");
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_token_says_who_calls),
        cmocka_unit_test(a_refresh_token_gives_no_access_and_the_reverse),
        cmocka_unit_test(an_access_token_ends),
        cmocka_unit_test(a_stolen_token_is_of_no_use_with_another_certificate),
        cmocka_unit_test(a_password_with_a_certificate_binds_too),
        cmocka_unit_test(a_renewed_certificate_must_log_in_again),
        cmocka_unit_test(garbage_is_refused_with_one_reason_each),
        cmocka_unit_test(principals_with_one_key_take_each_others_tokens_and_others_do_not),
        cmocka_unit_test(another_key_signs_and_what_the_former_one_signed_is_taken),
        cmocka_unit_test(the_same_key_once_more_is_no_other_key),
        cmocka_unit_test(a_short_key_leaves_the_key_as_it_was),
        cmocka_unit_test(a_file_that_holds_no_key_leaves_the_key_as_it_was),
        cmocka_unit_test(without_a_key_one_is_made),
        cmocka_unit_test(a_method_that_is_no_longer_accepted_ends_its_tokens),
        cmocka_unit_test(an_expression_that_was_changed_ends_the_tokens_of_the_old),
        cmocka_unit_test(a_token_by_header_needs_the_header_again),
        cmocka_unit_test(a_refresh_gives_access_and_keeps_a_refresh_token_that_lasts),
        cmocka_unit_test(a_refresh_token_that_ends_soon_is_replaced),
        cmocka_unit_test(an_agent_that_is_gone_gets_no_refresh),
        cmocka_unit_test(a_revoked_certificate_is_refused_everywhere_at_once),
        cmocka_unit_test(so_is_one_that_only_the_environment_calls_revoked),
        cmocka_unit_test(one_that_is_revoked_while_it_logs_in_is_refused),
        cmocka_unit_test(a_certificate_that_is_given_back_is_taken_again),
        cmocka_unit_test(a_broken_list_leaves_revoked_what_was),
        cmocka_unit_test(logins_under_way_end_when_it_closes),
        cmocka_unit_test(an_identity_is_renewed_until_the_agent_must_log_in_again),
        cmocka_unit_test(nothing_outlives_the_certificate),
        cmocka_unit_test(another_password_ends_what_the_old_one_gave),
        cmocka_unit_test(a_removed_user_is_out_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
