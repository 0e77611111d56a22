/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/revoked.h"

#include "base/core/file.h"
#include "base/core/text_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void lines_lose_their_blanks_and_keep_their_numbers(void **state)
{
    (void)state;
    ab_text_lines l = {.rest = AB_STR(" a b\t\r\n\n\n  c")};
    ab_str line;
    assert_true(ab_text_lines_next(&l, &line) && ab_str_is(line, "a b") && l.number == 1);
    assert_true(ab_text_lines_next(&l, &line) && line.len == 0);
    assert_true(ab_text_lines_next(&l, &line) && line.len == 0);
    assert_true(ab_text_lines_next(&l, &line) && ab_str_is(line, "c") && l.number == 4);
    assert_false(ab_text_lines_next(&l, &line));
}

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

static void hash_of_hex64(uint8_t out[AB_FINGERPRINT_BYTES])
{
    for (int i = 0; i < AB_FINGERPRINT_BYTES; i++)
        out[i] = (uint8_t)(i % 16 * 0x11);
}

static void assert_revokes(const char *text)
{
    ab_revoked r = {0};
    ab_error err = {0};
    uint8_t hash[AB_FINGERPRINT_BYTES];
    hash_of_hex64(hash);
    if (ab_revoked_parse(ab_str_of(text), &r, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_true(ab_revoked_has(&r, hash));
    hash[31] ^= 1;
    assert_false(ab_revoked_has(&r, hash));
    ab_revoked_fini(&r);
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

static void the_order_of_a_list_means_nothing(void **state)
{
    (void)state;
    static const char digits[] = "f31a05";
    char text[sizeof(digits) * (2 * AB_FINGERPRINT_BYTES + 1)] = "";
    ab_revoked r = {0};
    for (size_t i = 0; digits[i] != '\0'; i++) {
        memset(text + i * 65, digits[i], 64);
        text[i * 65 + 64] = '\n';
    }
    assert_int_equal(ab_revoked_parse(ab_str_of(text), &r, NULL), AB_ERR_OK);
    for (size_t i = 0; digits[i] != '\0'; i++) {
        uint8_t hash[AB_FINGERPRINT_BYTES];
        assert_true(ab_fingerprint_parse((ab_str){text + i * 65, 64}, hash));
        assert_true(ab_revoked_has(&r, hash));
    }
    ab_revoked_fini(&r);
}

static void an_empty_list_revokes_nobody(void **state)
{
    (void)state;
    ab_revoked r = {0};
    uint8_t hash[AB_FINGERPRINT_BYTES] = {0};
    assert_false(ab_revoked_has(&r, hash));
    assert_int_equal(ab_revoked_parse(AB_STR(""), &r, NULL), AB_ERR_OK);
    assert_false(ab_revoked_has(&r, hash));
    ab_revoked_fini(&r);
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
        ab_revoked r = {0};
        ab_error err = {0};
        (void)snprintf(text, sizeof(text), "# list\n%s\n", bad[i]);
        assert_int_equal(ab_revoked_parse(ab_str_of(text), &r, &err), AB_ERR_PARSE);
        assert_non_null(strstr(err.text, "line 2"));
        assert_null(r.hashes);
    }
}

/* ----- the list of a file ----- */

static const char PATH[] = "revoked_test.list";
static const uint8_t ff[AB_FINGERPRINT_BYTES] = {0xff};

static void write_list(const char *text)
{
    assert_int_equal(ab_file_replace(PATH, ab_str_of(text), NULL), AB_ERR_OK);
}

static void a_file_is_read_again_when_it_is_another_one(void **state)
{
    (void)state;
    ab_revoked_file f = {0};
    bool changed = true;
    write_list("# none\n");
    assert_int_equal(ab_revoked_file_open(PATH, &f, NULL), AB_ERR_OK);
    assert_int_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_OK);
    assert_false(changed);
    write_list("ff00000000000000000000000000000000000000000000000000000000000000\n");
    assert_int_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_OK);
    assert_true(changed);
    assert_true(ab_revoked_has(&f.list, ff));
    ab_revoked_file_fini(&f);
    unlink(PATH);
}

static void a_file_that_cannot_be_read_leaves_the_list_and_is_told_once(void **state)
{
    (void)state;
    ab_revoked_file f = {0};
    bool changed = true;
    write_list("ff00000000000000000000000000000000000000000000000000000000000000\n");
    assert_int_equal(ab_revoked_file_open(PATH, &f, NULL), AB_ERR_OK);
    write_list("nonsense\n");
    assert_int_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_PARSE);
    assert_false(changed);
    assert_int_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_OK);
    unlink(PATH);
    assert_int_not_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_OK);
    assert_true(ab_revoked_has(&f.list, ff));
    ab_revoked_file_fini(&f);
}

static void without_a_file_none_is_revoked(void **state)
{
    (void)state;
    ab_revoked_file f = {0};
    bool changed = true;
    assert_int_equal(ab_revoked_file_open(NULL, &f, NULL), AB_ERR_OK);
    assert_int_equal(ab_revoked_file_renew(&f, &changed, NULL), AB_ERR_OK);
    assert_false(changed || ab_revoked_has(&f.list, ff));
    assert_int_not_equal(ab_revoked_file_open("revoked_test.none", &f, NULL), AB_ERR_OK);
    ab_revoked_file_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lose_their_blanks_and_keep_their_numbers),
        cmocka_unit_test(fingerprints_are_read_as_tools_write_them),
        cmocka_unit_test(the_order_of_a_list_means_nothing),
        cmocka_unit_test(an_empty_list_revokes_nobody),
        cmocka_unit_test(a_line_that_is_no_fingerprint_is_named),
        cmocka_unit_test(a_file_is_read_again_when_it_is_another_one),
        cmocka_unit_test(a_file_that_cannot_be_read_leaves_the_list_and_is_told_once),
        cmocka_unit_test(without_a_file_none_is_revoked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
