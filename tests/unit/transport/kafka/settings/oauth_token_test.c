/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/oauth_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* {"alg":"none"} . {"sub":"w1","exp":1900000000} */
#define JWT "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ3MSIsImV4cCI6MTkwMDAwMDAwMH0."
/* The same with {"sub":"w1"}. */
#define ENDLESS "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ3MSJ9."

static ab_error err;

static ab_err take(const char *json, ab_oauth_token *out)
{
    return ab_oauth_token_take(ab_str_of(json), "client", 5000, out, &err);
}

static void a_file_holds_a_jwt(void **state)
{
    (void)state;
    ab_oauth_token t = {0};
    assert_int_equal(ab_oauth_token_read(AB_STR("  " JWT "\n"), &t, &err), AB_ERR_OK);
    assert_string_equal(t.text, JWT);
    assert_string_equal(t.name, "w1");
    assert_true(t.expires_ms == INT64_C(1900000000000));
    ab_oauth_token_fini(&t);
    assert_int_equal(ab_oauth_token_read(AB_STR(ENDLESS), &t, &err), AB_ERR_PARSE);
    assert_string_equal(err.text, "the token is not a JWT with the claim exp");
    assert_int_equal(ab_oauth_token_read(AB_STR("opaque"), &t, &err), AB_ERR_PARSE);
    assert_int_equal(ab_oauth_token_read(AB_STR(" \n"), &t, &err), AB_ERR_INVALID);
    assert_int_equal(ab_oauth_token_read(AB_STR("a b"), &t, &err), AB_ERR_INVALID);
}

static void a_server_gives_a_jwt_or_another_token_with_an_end(void **state)
{
    (void)state;
    ab_oauth_token t = {0};
    assert_int_equal(take("{\"access_token\":\"" JWT "\",\"expires_in\":1}", &t), AB_ERR_OK);
    assert_string_equal(t.name, "w1");
    assert_true(t.expires_ms == INT64_C(1900000000000));
    ab_oauth_token_fini(&t);
    assert_int_equal(take("{\"access_token\":\"abc\",\"expires_in\":300}", &t), AB_ERR_OK);
    assert_string_equal(t.name, "client");
    assert_true(t.expires_ms == 305000);
    ab_oauth_token_fini(&t);
    assert_int_equal(take("{\"access_token\":\"abc\"}", &t), AB_ERR_PARSE);
    assert_string_equal(err.text, "neither the token nor expires_in says when it ends");
    assert_int_equal(take("{\"access_token\":\"abc\",\"expires_in\":-1}", &t), AB_ERR_PARSE);
}

static void a_refusal_is_told_in_the_servers_words(void **state)
{
    (void)state;
    ab_oauth_token t = {0};
    assert_int_equal(take("{\"error\":\"invalid_client\"}", &t), AB_ERR_PARSE);
    assert_string_equal(err.text, "invalid_client");
    assert_int_equal(take("{\"error\":\"a\",\"error_description\":\"b c\"}", &t), AB_ERR_PARSE);
    assert_string_equal(err.text, "a: b c");
    assert_int_equal(take("{\"error\":\"\\u0007\"}", &t), AB_ERR_PARSE);
    assert_string_equal(err.text, "the answer has no access_token");
    assert_int_equal(take("<html>", &t), AB_ERR_PARSE);
    assert_string_equal(err.text, "the answer is not JSON");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_holds_a_jwt),
        cmocka_unit_test(a_server_gives_a_jwt_or_another_token_with_an_end),
        cmocka_unit_test(a_refusal_is_told_in_the_servers_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
