/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* The beginnings of the SHA-256 examples of FIPS 180-4 and of the empty text. */
#define SHA256_ABC   "ba7816bf8f01cfea414140de5dae2223"
#define SHA256_EMPTY "e3b0c44298fc1c149afbf4c8996fb924"

static void the_digest_is_the_beginning_of_sha256(void **state)
{
    (void)state;
    ab_digest d;
    char text[AB_DIGEST_HEX];
    assert_int_equal(ab_digest_of(AB_STR("abc"), &d), AB_ERR_OK);
    ab_digest_format(&d, text);
    assert_string_equal(text, SHA256_ABC);
    assert_int_equal(ab_digest_of(AB_STR_NONE, &d), AB_ERR_OK);
    ab_digest_format(&d, text);
    assert_string_equal(text, SHA256_EMPTY);
}

static void a_digest_is_read_back_in_either_case(void **state)
{
    (void)state;
    ab_digest a;
    ab_digest b;
    assert_int_equal(ab_digest_parse(AB_STR(SHA256_ABC), &a), AB_ERR_OK);
    assert_int_equal(ab_digest_of(AB_STR("abc"), &b), AB_ERR_OK);
    assert_true(ab_digest_eq(&a, &b));
    assert_int_equal(ab_digest_parse(AB_STR("BA7816BF8F01CFEA414140DE5DAE2223"), &a), AB_ERR_OK);
    assert_true(ab_digest_eq(&a, &b));
    a.bytes[15] ^= 1;
    assert_false(ab_digest_eq(&a, &b));
}

static void what_is_no_digest_is_refused(void **state)
{
    (void)state;
    ab_digest d = {{0}};
    assert_int_equal(ab_digest_parse(AB_STR(""), &d), AB_ERR_PARSE);
    assert_int_equal(ab_digest_parse(AB_STR("ba7816"), &d), AB_ERR_PARSE);
    assert_int_equal(ab_digest_parse(AB_STR(SHA256_ABC "0"), &d), AB_ERR_PARSE);
    assert_int_equal(ab_digest_parse(AB_STR("ga7816bf8f01cfea414140de5dae2223"), &d), AB_ERR_PARSE);
    assert_true(ab_digest_is_none(&d));
}

static void only_a_digest_never_set_is_none(void **state)
{
    (void)state;
    ab_digest d = {{0}};
    assert_true(ab_digest_is_none(&d));
    d.bytes[15] = 1;
    assert_false(ab_digest_is_none(&d));
}

static void a_uuid_has_the_form_of_version_4(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        char text[37];
        assert_int_equal(ab_uuid(text), AB_ERR_OK);
        assert_int_equal(strlen(text), 36);
        for (size_t i = 0; i < 36; i++) {
            bool dash = i == 8 || i == 13 || i == 18 || i == 23;
            assert_true(dash ? text[i] == '-' : strchr("0123456789abcdef", text[i]) != NULL);
        }
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
    }
}

static void two_uuids_differ(void **state)
{
    (void)state;
    char a[37];
    char b[37];
    assert_int_equal(ab_uuid(a), AB_ERR_OK);
    assert_int_equal(ab_uuid(b), AB_ERR_OK);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_the_beginning_of_sha256),
        cmocka_unit_test(a_digest_is_read_back_in_either_case),
        cmocka_unit_test(what_is_no_digest_is_refused),
        cmocka_unit_test(only_a_digest_never_set_is_none),
        cmocka_unit_test(a_uuid_has_the_form_of_version_4),
        cmocka_unit_test(two_uuids_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
