/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in the files: revoked certificates, users.
 */
#include "transport/grpc/auth/line_priv.h"
#include "transport/grpc/auth/passwords_priv.h"
#include "transport/grpc/auth/revoked_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "secret" of w1, cost 4. */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

static void lines_lose_their_blanks_and_keep_their_numbers(void **state)
{
    (void)state;
    ab_auth_lines l = {.rest = AB_STR(" a b\t\r\n\n\n  c")};
    ab_str line;
    assert_true(ab_auth_lines_next(&l, &line) && ab_str_is(line, "a b") && l.number == 1);
    assert_true(ab_auth_lines_next(&l, &line) && line.len == 0);
    assert_true(ab_auth_lines_next(&l, &line) && line.len == 0);
    assert_true(ab_auth_lines_next(&l, &line) && ab_str_is(line, "c") && l.number == 4);
    assert_false(ab_auth_lines_next(&l, &line));
}

/* ----- revoked certificates ----- */

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

static void hash_of_hex64(uint8_t out[AB_AUTH_HASH_BYTES])
{
    for (int i = 0; i < AB_AUTH_HASH_BYTES; i++)
        out[i] = (uint8_t)(i % 16 * 0x11);
}

static void assert_revokes(const char *text)
{
    ab_auth_revoked r = {0};
    ab_error err = {0};
    uint8_t hash[AB_AUTH_HASH_BYTES];
    hash_of_hex64(hash);
    if (ab_auth_revoked_parse(ab_str_of(text), &r, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_true(ab_auth_revoked_has(&r, hash));
    hash[31] ^= 1;
    assert_false(ab_auth_revoked_has(&r, hash));
    ab_auth_revoked_fini(&r);
}

static void fingerprints_are_read_as_tools_write_them(void **state)
{
    (void)state;
    assert_revokes(HEX64);
    assert_revokes("# comment\n\n  " HEX64 "  \r\n");
    assert_revokes("sha256 Fingerprint=00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:"
                   "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\n");
    assert_revokes("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\n" HEX64
                   "\n0000000000000000000000000000000000000000000000000000000000000000\n" HEX64);
}

static void an_empty_list_revokes_nobody(void **state)
{
    (void)state;
    ab_auth_revoked r = {0};
    uint8_t hash[AB_AUTH_HASH_BYTES] = {0};
    assert_false(ab_auth_revoked_has(&r, hash));
    assert_int_equal(ab_auth_revoked_parse(AB_STR(""), &r, NULL), AB_ERR_OK);
    assert_false(ab_auth_revoked_has(&r, hash));
    ab_auth_revoked_fini(&r);
}

static void a_line_that_is_no_fingerprint_is_named(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "ff",
        "g0112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF",
        HEX64 "00",
        "00-11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:"
        "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF",
        HEX64 " # why",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        ab_auth_revoked r = {0};
        ab_error err = {0};
        (void)snprintf(text, sizeof(text), "# list\n%s\n", bad[i]);
        assert_int_equal(ab_auth_revoked_parse(ab_str_of(text), &r, &err), AB_ERR_PARSE);
        assert_non_null(strstr(err.text, "line 2"));
        assert_null(r.hashes);
    }
}

/* ----- users ----- */

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
        cmocka_unit_test(lines_lose_their_blanks_and_keep_their_numbers),
        cmocka_unit_test(fingerprints_are_read_as_tools_write_them),
        cmocka_unit_test(an_empty_list_revokes_nobody),
        cmocka_unit_test(a_line_that_is_no_fingerprint_is_named),
        cmocka_unit_test(a_password_is_checked_against_its_hash),
        cmocka_unit_test(users_and_comments_are_read),
        cmocka_unit_test(nobody_costs_as_much_as_the_costliest_user),
        cmocka_unit_test(a_line_that_is_no_user_is_named_without_its_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
