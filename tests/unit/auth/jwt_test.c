/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/jwt.h"

#include "base/core/base64.h"
#include "base/json/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/rsa.h>

#define NOW 1790000000

static EVP_PKEY *key;
static EVP_PKEY *other_key;

static int make_keys(void **state)
{
    (void)state;
    key = EVP_RSA_gen(2048);
    other_key = EVP_RSA_gen(2048);
    return key == NULL || other_key == NULL;
}

static int free_keys(void **state)
{
    (void)state;
    EVP_PKEY_free(key);
    EVP_PKEY_free(other_key);
    return 0;
}

static ab_jwt_claims usual(void)
{
    ab_jwt_claims c = {.agent = "w1",
                       .mode = "managed",
                       .method = "mtls",
                       .issued_s = NOW,
                       .expires_s = NOW + 300,
                       .bound = true};
    memset(c.fingerprint, 0xfb, sizeof(c.fingerprint));
    memset(c.mark, 7, sizeof(c.mark));
    return c;
}

static char *sign_claims(EVP_PKEY *with, ab_jwt_use use, const ab_jwt_claims *claims)
{
    ab_buf out;
    ab_buf_init(&out, AB_JWT_MAX);
    assert_int_equal(ab_jwt_sign(with, use, claims, &out), AB_ERR_OK);
    return ab_buf_take(&out);
}

static ab_auth_reason read_at(const char *token, ab_jwt_use use, int64_t now_s)
{
    ab_jwt_claims out;
    return ab_jwt_read(key, use, ab_str_of(token), now_s, &out);
}

/* ----- tokens as others make them ----- */

static void put_part(ab_str text, ab_buf *out)
{
    size_t begin = out->len;
    ab_base64_encode(text, out);
    for (size_t i = begin; i < out->len; i++)
        out->ptr[i] = (char)(out->ptr[i] == '+' ? '-' : out->ptr[i] == '/' ? '_' : out->ptr[i]);
    while (out->len > begin && out->ptr[out->len - 1] == '=')
        out->ptr[--out->len] = '\0';
}

static void put_signature(EVP_PKEY *with, const EVP_MD *md, ab_buf *out)
{
    unsigned char signature[256];
    size_t len = sizeof(signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, md, NULL, with), 1);
    assert_int_equal(
        EVP_DigestSign(ctx, signature, &len, (const unsigned char *)out->ptr, out->len), 1);
    EVP_MD_CTX_free(ctx);
    ab_buf_putc(out, '.');
    put_part((ab_str){(const char *)signature, len}, out);
}

/* Any header and payload, properly signed with `with`; NULL: no signature. */
static char *make_token(EVP_PKEY *with, const EVP_MD *md, const char *header, const char *payload)
{
    ab_buf out;
    ab_buf_init(&out, 64 * 1024);
    put_part(ab_str_of(header), &out);
    ab_buf_putc(&out, '.');
    put_part(ab_str_of(payload), &out);
    if (with != NULL)
        put_signature(with, md, &out);
    else
        ab_buf_putc(&out, '.');
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    return ab_buf_take(&out);
}

#define HEADER "{\"alg\":\"RS512\",\"typ\":\"JWT\"}"
#define ISS    "\"iss\":\"argocd-agent-server\","
#define AUD    "\"aud\":[\"argocd-agent-server-access\"],"
#define SUB    "\"sub\":\"{\\\"clientID\\\":\\\"w1\\\",\\\"mode\\\":\\\"managed\\\"}\","
#define TIMES  "\"iat\":1790000000,\"nbf\":1790000000,\"exp\":1790000300,"
#define REST   "\"amr\":[\"mtls\"],\"mark\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""

static void assert_payload(const char *payload, ab_auth_reason wanted)
{
    char *token = make_token(key, EVP_sha512(), HEADER, payload);
    ab_auth_reason r = read_at(token, AB_JWT_ACCESS, NOW);
    if (r != wanted)
        fail_msg("%s: %s", payload, ab_auth_reason_text(r));
    free(token);
}

static void assert_header(const char *header, ab_auth_reason wanted)
{
    char *token = make_token(key, EVP_sha512(), header, "{" ISS AUD SUB TIMES REST "}");
    ab_auth_reason r = read_at(token, AB_JWT_ACCESS, NOW);
    if (r != wanted)
        fail_msg("%s: %s", header, ab_auth_reason_text(r));
    free(token);
}

/* ----- tests ----- */

static void what_was_signed_is_read(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    ab_jwt_claims out;
    char *token = sign_claims(key, AB_JWT_ACCESS, &claims);
    assert_int_equal(ab_jwt_read(key, AB_JWT_ACCESS, ab_str_of(token), NOW, &out), AB_AUTH_NONE);
    assert_string_equal(out.agent, "w1");
    assert_string_equal(out.mode, "managed");
    assert_string_equal(out.method, "mtls");
    assert_int_equal(out.issued_s, NOW);
    assert_int_equal(out.expires_s, NOW + 300);
    assert_true(out.bound);
    assert_memory_equal(out.fingerprint, claims.fingerprint, sizeof(out.fingerprint));
    assert_memory_equal(out.mark, claims.mark, sizeof(out.mark));
    free(token);
}

static void a_token_without_a_certificate_is_not_bound(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    ab_jwt_claims out;
    claims.bound = false;
    char *token = sign_claims(key, AB_JWT_REFRESH, &claims);
    assert_int_equal(ab_jwt_read(key, AB_JWT_REFRESH, ab_str_of(token), NOW, &out), AB_AUTH_NONE);
    assert_false(out.bound);
    free(token);
}

static ab_span *payload_of(const char *token)
{
    ab_buf text;
    ab_buf bytes;
    ab_span *doc = NULL;
    ab_buf_init(&text, AB_JWT_MAX);
    ab_buf_init(&bytes, AB_JWT_MAX);
    const char *begin = strchr(token, '.') + 1;
    for (const char *at = begin; *at != '.'; at++)
        ab_buf_putc(&text, (char)(*at == '-' ? '+' : *at == '_' ? '/' : *at));
    while (text.len % 4 != 0)
        ab_buf_putc(&text, '=');
    assert_true(ab_base64_decode(ab_buf_str(&text), &bytes));
    assert_int_equal(ab_span_parse(ab_buf_str(&bytes), &doc, NULL), AB_ERR_OK);
    ab_buf_fini(&text);
    ab_buf_fini(&bytes);
    return doc;
}

static void the_claims_are_those_of_argocd_agent(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(key, AB_JWT_REFRESH, &claims);
    ab_span *doc = payload_of(token);
    ab_spanv root = ab_span_root(doc);
    assert_true(ab_span_is(ab_span_get(root, "iss"), "argocd-agent-server"));
    assert_true(ab_span_is(ab_span_first(ab_span_get(root, "aud")), "argocd-agent-server-refresh"));
    assert_true(ab_span_is(ab_span_get(root, "sub"), "{\"clientID\":\"w1\",\"mode\":\"managed\"}"));
    assert_int_equal(ab_span_plain(ab_span_get(root, "jti")).len, 36);
    assert_true(ab_span_present(ab_span_get(root, "nbf")));
    ab_span_free(doc);
    free(token);
}

static void each_token_has_an_id_of_its_own(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *one = sign_claims(key, AB_JWT_ACCESS, &claims);
    char *two = sign_claims(key, AB_JWT_ACCESS, &claims);
    assert_string_not_equal(one, two);
    free(one);
    free(two);
}

static void a_token_made_by_hand_is_read_so_the_negatives_below_count(void **state)
{
    (void)state;
    assert_payload("{" ISS AUD SUB TIMES REST "}", AB_AUTH_NONE);
}

static void no_token_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_at(NULL, AB_JWT_ACCESS, NOW), AB_AUTH_NO_TOKEN);
    assert_int_equal(read_at("", AB_JWT_ACCESS, NOW), AB_AUTH_NO_TOKEN);
}

static void other_algorithms_are_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{\"alg\":\"none\",\"typ\":\"JWT\"}",  "{\"alg\":\"None\",\"typ\":\"JWT\"}",
        "{\"alg\":\"HS512\",\"typ\":\"JWT\"}", "{\"alg\":\"RS256\",\"typ\":\"JWT\"}",
        "{\"alg\":\"PS512\",\"typ\":\"JWT\"}", "{\"alg\":null,\"typ\":\"JWT\"}",
        "{\"alg\":\"rs512\",\"typ\":\"JWT\"}", "{\"typ\":\"JWT\"}",
    };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        assert_header(headers[i], AB_AUTH_TOKEN_ALGORITHM);
}

static void alg_none_without_a_signature_is_refused(void **state)
{
    (void)state;
    char *token = make_token(NULL, NULL, "{\"alg\":\"none\",\"typ\":\"JWT\"}",
                             "{" ISS AUD SUB TIMES REST "}");
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_ALGORITHM);
    free(token);
    token = make_token(NULL, NULL, HEADER, "{" ISS AUD SUB TIMES REST "}");
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_FORM);
    free(token);
}

static void a_header_that_asks_for_more_is_refused(void **state)
{
    (void)state;
    assert_header("{\"alg\":\"RS512\",\"typ\":\"JWT\",\"crit\":[\"x\"]}", AB_AUTH_TOKEN_FORM);
    assert_header("{\"alg\":\"RS512\",\"typ\":\"JWT\",\"jku\":\"https://x\"}", AB_AUTH_TOKEN_FORM);
    assert_header("{\"alg\":\"RS512\",\"typ\":\"JWE\"}", AB_AUTH_TOKEN_FORM);
    assert_header("{\"alg\":\"RS512\",\"alg\":\"RS512\",\"typ\":\"JWT\"}", AB_AUTH_TOKEN_FORM);
    assert_header("[\"RS512\"]", AB_AUTH_TOKEN_FORM);
    assert_header("\xff", AB_AUTH_TOKEN_FORM);
}

static void another_key_is_refused(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(other_key, AB_JWT_ACCESS, &claims);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_SIGNATURE);
    free(token);
}

static void another_digest_than_the_header_says_is_refused(void **state)
{
    (void)state;
    char *token = make_token(key, EVP_sha256(), HEADER, "{" ISS AUD SUB TIMES REST "}");
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_SIGNATURE);
    free(token);
}

static void a_changed_payload_is_refused(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *mine = sign_claims(key, AB_JWT_ACCESS, &claims);
    (void)snprintf(claims.agent, sizeof(claims.agent), "w2");
    char *yours = sign_claims(key, AB_JWT_ACCESS, &claims);
    const char *payload = strchr(yours, '.');
    const char *end = strrchr(yours, '.');
    const char *signature = strrchr(mine, '.');
    char mixed[4096];
    (void)snprintf(mixed, sizeof(mixed), "%.*s%.*s%s", (int)(payload - yours), yours,
                   (int)(end - payload), payload, signature);
    assert_int_equal(read_at(mixed, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_SIGNATURE);
    free(mine);
    free(yours);
}

static void every_shorter_token_is_refused(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    ab_jwt_claims out;
    char *token = sign_claims(key, AB_JWT_ACCESS, &claims);
    for (size_t len = 0; len < strlen(token); len++) {
        ab_auth_reason r = ab_jwt_read(key, AB_JWT_ACCESS, (ab_str){token, len}, NOW, &out);
        assert_true(r == AB_AUTH_NO_TOKEN || r == AB_AUTH_TOKEN_FORM ||
                    r == AB_AUTH_TOKEN_SIGNATURE);
    }
    free(token);
}

static void no_second_text_means_the_same_token(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(key, AB_JWT_ACCESS, &claims);
    char longer[4096];
    (void)snprintf(longer, sizeof(longer), "%s=", token);
    assert_int_equal(read_at(longer, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_FORM);
    (void)snprintf(longer, sizeof(longer), "%s.", token);
    assert_int_equal(read_at(longer, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_FORM);
    (void)snprintf(longer, sizeof(longer), "%s ", token);
    assert_int_equal(read_at(longer, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_FORM);
    (void)snprintf(longer, sizeof(longer), "Bearer %s", token);
    assert_int_equal(read_at(longer, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_FORM);
    /* 256 bytes leave two spare bits in the last character. */
    size_t last = strlen(token) - 1;
    (void)snprintf(longer, sizeof(longer), "%s", token);
    longer[last] = (char)(longer[last] + 1);
    assert_int_not_equal(read_at(longer, AB_JWT_ACCESS, NOW), AB_AUTH_NONE);
    free(token);
}

/* All that stands before the last dot is signed. */
static void a_signed_token_has_a_header_and_one_payload(void **state)
{
    (void)state;
    for (int payloads = 0; payloads < 4; payloads++) {
        ab_buf token;
        ab_buf_init(&token, 64 * 1024);
        put_part(AB_STR(HEADER), &token);
        for (int i = 0; i < payloads; i++) {
            ab_buf_putc(&token, '.');
            put_part(AB_STR("{" ISS AUD SUB TIMES REST "}"), &token);
        }
        put_signature(key, EVP_sha512(), &token);
        assert_int_equal(read_at(token.ptr, AB_JWT_ACCESS, NOW),
                         payloads == 1 ? AB_AUTH_NONE : AB_AUTH_TOKEN_FORM);
        ab_buf_fini(&token);
    }
}

static void a_giant_token_is_refused_unread(void **state)
{
    (void)state;
    size_t len = 16u * 1024 * 1024;
    char *giant = malloc(len);
    ab_jwt_claims out;
    assert_non_null(giant);
    memset(giant, 'a', len);
    assert_int_equal(ab_jwt_read(key, AB_JWT_ACCESS, (ab_str){giant, len}, NOW, &out),
                     AB_AUTH_TOKEN_SIZE);
    free(giant);
}

static void a_token_of_another_issuer_is_refused(void **state)
{
    (void)state;
    assert_payload("{\"iss\":\"somebody\"," AUD SUB TIMES REST "}", AB_AUTH_TOKEN_ISSUER);
    assert_payload("{" AUD SUB TIMES REST "}", AB_AUTH_TOKEN_ISSUER);
}

static void a_token_for_another_use_is_refused(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(key, AB_JWT_REFRESH, &claims);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW), AB_AUTH_TOKEN_AUDIENCE);
    assert_int_equal(read_at(token, AB_JWT_REFRESH, NOW), AB_AUTH_NONE);
    free(token);
    assert_payload("{" ISS "\"aud\":[\"argocd-agent-server-resource-proxy\"]," SUB TIMES REST "}",
                   AB_AUTH_TOKEN_AUDIENCE);
    assert_payload("{" ISS "\"aud\":[\"argocd-agent-server-access\",\"x\"]," SUB TIMES REST "}",
                   AB_AUTH_TOKEN_AUDIENCE);
    assert_payload("{" ISS SUB TIMES REST "}", AB_AUTH_TOKEN_AUDIENCE);
}

static void a_token_ends_to_the_second(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(key, AB_JWT_ACCESS, &claims);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW + 299), AB_AUTH_NONE);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW + 300), AB_AUTH_TOKEN_EXPIRED);
    free(token);
}

static void a_token_from_the_future_is_refused_but_for_a_skew_of_clocks(void **state)
{
    (void)state;
    ab_jwt_claims claims = usual();
    char *token = sign_claims(key, AB_JWT_ACCESS, &claims);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW - 30), AB_AUTH_NONE);
    assert_int_equal(read_at(token, AB_JWT_ACCESS, NOW - 31), AB_AUTH_TOKEN_EARLY);
    free(token);
    assert_payload("{" ISS AUD SUB "\"iat\":1790000000,\"nbf\":1790000031,\"exp\":1790000300," REST
                   "}",
                   AB_AUTH_TOKEN_EARLY);
    assert_payload("{" ISS AUD SUB "\"iat\":1790000031,\"nbf\":1790000000,\"exp\":1790000300," REST
                   "}",
                   AB_AUTH_TOKEN_EARLY);
}

static void a_payload_that_says_something_twice_is_refused(void **state)
{
    (void)state;
    assert_payload("{" ISS ISS AUD SUB TIMES REST "}", AB_AUTH_TOKEN_FORM);
    assert_payload("{" ISS AUD SUB TIMES TIMES REST "}", AB_AUTH_TOKEN_FORM);
    assert_payload("{" ISS AUD "\"sub\":\"{\\\"clientID\\\":\\\"w1\\\",\\\"clientID\\\":\\\"w2\\\","
                   "\\\"mode\\\":\\\"managed\\\"}\"," TIMES REST "}",
                   AB_AUTH_TOKEN_CLAIMS);
}

static void a_payload_that_is_no_object_is_refused(void **state)
{
    (void)state;
    assert_payload("[]", AB_AUTH_TOKEN_FORM);
    assert_payload("{", AB_AUTH_TOKEN_FORM);
    assert_payload("null", AB_AUTH_TOKEN_FORM);
}

static void a_payload_without_our_claims_is_refused(void **state)
{
    (void)state;
    static const char *const payloads[] = {
        "{" ISS AUD TIMES REST "}",
        "{" ISS AUD SUB REST "}",
        "{" ISS AUD SUB "\"iat\":1790000000,\"nbf\":1790000000," REST "}",
        "{" ISS AUD SUB "\"iat\":1790000000,\"nbf\":1790000000,\"exp\":1790000000.5," REST "}",
        "{" ISS AUD SUB "\"iat\":1790000000,\"nbf\":1790000000,\"exp\":\"1790000300\"," REST "}",
        "{" ISS AUD SUB TIMES "\"amr\":[\"mtls\"]}",
        "{" ISS AUD SUB TIMES "\"amr\":[\"mtls\"],\"mark\":\"AAAA\"}",
        "{" ISS AUD SUB TIMES REST ",\"cnf\":{}}",
        "{" ISS AUD SUB TIMES REST ",\"cnf\":null}",
        "{" ISS AUD "\"sub\":\"w1\"," TIMES REST "}",
        "{" ISS AUD
        "\"sub\":\"{\\\"clientID\\\":\\\"W1\\\",\\\"mode\\\":\\\"managed\\\"}\"," TIMES REST "}",
        "{" ISS AUD
        "\"sub\":\"{\\\"clientID\\\":\\\"../w1\\\",\\\"mode\\\":\\\"managed\\\"}\"," TIMES REST "}",
        "{" ISS AUD "\"sub\":\"{\\\"clientID\\\":\\\"w1\\\"}\"," TIMES REST "}",
    };
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        assert_payload(payloads[i], AB_AUTH_TOKEN_CLAIMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_is_read),
        cmocka_unit_test(a_token_without_a_certificate_is_not_bound),
        cmocka_unit_test(the_claims_are_those_of_argocd_agent),
        cmocka_unit_test(each_token_has_an_id_of_its_own),
        cmocka_unit_test(a_token_made_by_hand_is_read_so_the_negatives_below_count),
        cmocka_unit_test(no_token_is_refused),
        cmocka_unit_test(other_algorithms_are_refused),
        cmocka_unit_test(alg_none_without_a_signature_is_refused),
        cmocka_unit_test(a_header_that_asks_for_more_is_refused),
        cmocka_unit_test(another_key_is_refused),
        cmocka_unit_test(another_digest_than_the_header_says_is_refused),
        cmocka_unit_test(a_changed_payload_is_refused),
        cmocka_unit_test(every_shorter_token_is_refused),
        cmocka_unit_test(no_second_text_means_the_same_token),
        cmocka_unit_test(a_signed_token_has_a_header_and_one_payload),
        cmocka_unit_test(a_giant_token_is_refused_unread),
        cmocka_unit_test(a_token_of_another_issuer_is_refused),
        cmocka_unit_test(a_token_for_another_use_is_refused),
        cmocka_unit_test(a_token_ends_to_the_second),
        cmocka_unit_test(a_token_from_the_future_is_refused_but_for_a_skew_of_clocks),
        cmocka_unit_test(a_payload_that_says_something_twice_is_refused),
        cmocka_unit_test(a_payload_that_is_no_object_is_refused),
        cmocka_unit_test(a_payload_without_our_claims_is_refused),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
