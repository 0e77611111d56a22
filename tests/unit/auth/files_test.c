/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of users.
 */
#include "auth/passwords.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "secret" of w1, cost 4. */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

static void a_password_is_checked_against_its_hash(void **state)
{
    (void)state;
    assert_int_equal(ab_password_check("secret", HASH), AB_ERR_OK);
    assert_int_equal(ab_password_check("Secret", HASH), AB_ERR_DENIED);
    assert_int_equal(ab_password_check("", HASH), AB_ERR_DENIED);
}

static void users_and_comments_are_read(void **state)
{
    (void)state;
    ab_passwords *p = NULL;
    const char *text = "# users\n// of edge\n\nw1:" HASH "\nw2:" HASH "\n";
    assert_int_equal(ab_passwords_parse(ab_str_of(text), &p, NULL), AB_ERR_OK);
    assert_string_equal(ab_passwords_find(p, AB_STR("w1")), HASH);
    assert_string_equal(ab_passwords_find(p, AB_STR("w2")), HASH);
    assert_null(ab_passwords_find(p, AB_STR("w3")));
    assert_null(ab_passwords_find(p, AB_STR("# users")));
    ab_passwords_free(p);
}

static void nobody_costs_as_much_as_the_costliest_user(void **state)
{
    (void)state;
    ab_passwords *p = NULL;
    const char *text = "w1:" HASH "\n"
                       "w2:$2y$12$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";
    assert_int_equal(ab_passwords_parse(ab_str_of(text), &p, NULL), AB_ERR_OK);
    assert_int_equal(strncmp(ab_passwords_nobody(p), "$2b$12$", 7), 0);
    ab_passwords_free(p);
    assert_int_equal(ab_passwords_parse(AB_STR("w1:" HASH), &p, NULL), AB_ERR_OK);
    assert_int_equal(strlen(ab_passwords_nobody(p)), AB_BCRYPT_MAX - 1);
    assert_int_equal(strncmp(ab_passwords_nobody(p), "$2b$04$", 7), 0);
    assert_int_equal(ab_password_check("secret", ab_passwords_nobody(p)), AB_ERR_DENIED);
    ab_passwords_free(p);
}

static void a_line_that_is_no_user_is_named_without_its_hash(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "w1",
        "w1:",
        ":" HASH,
        "W1:" HASH,
        "w1.edge:" HASH,
        "w1:plaintext",
        "w1:$1$abc$def",
        "w1:" HASH "x",
        "w1:$2b$31$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
        "w1:$2z$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
        "w1:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WI:W",
        "w0:" HASH,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        ab_passwords *p = NULL;
        ab_error err = {0};
        (void)snprintf(text, sizeof(text), "w0:" HASH "\n%s\n", bad[i]);
        assert_int_equal(ab_passwords_parse(ab_str_of(text), &p, &err), AB_ERR_PARSE);
        assert_non_null(strstr(err.text, "line 2"));
        assert_null(strstr(err.text, "abcdef"));
        assert_null(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_checked_against_its_hash),
        cmocka_unit_test(users_and_comments_are_read),
        cmocka_unit_test(nobody_costs_as_much_as_the_costliest_user),
        cmocka_unit_test(a_line_that_is_no_user_is_named_without_its_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
