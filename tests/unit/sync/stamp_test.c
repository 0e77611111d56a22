/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HASH "00112233445566778899aabbccddeeff"

static void assert_round_trip(const char *text)
{
    ab_stamp stamp;
    char out[AB_STAMP_TEXT];
    assert_true(ab_stamp_parse(ab_str_of(text), &stamp));
    ab_stamp_format(&stamp, out);
    assert_string_equal(out, text);
}

static void a_stamp_with_and_without_a_hash_comes_back_as_it_was(void **state)
{
    (void)state;
    assert_round_trip("7.8/w1");
    assert_round_trip("18446744073709551615.18446744073709551615/w1/" HASH);
}

static void its_parts_are_read(void **state)
{
    ab_stamp stamp;
    (void)state;
    assert_true(ab_stamp_parse(AB_STR("7.8/w1/" HASH), &stamp));
    assert_int_equal(ab_version_cmp(stamp.version, (ab_version){7, 8}), 0);
    assert_true(ab_str_is(stamp.agent, "w1"));
    assert_int_equal(stamp.hash.bytes[1], 0x11);
}

static void what_is_missing_is_none(void **state)
{
    ab_stamp stamp;
    (void)state;
    assert_true(ab_stamp_parse(AB_STR("7.8"), &stamp));
    assert_null(stamp.agent.ptr);
    assert_true(ab_stamp_parse(AB_STR("7.8/w1/nohash"), &stamp));
    assert_true(ab_str_is(stamp.agent, "w1"));
    assert_true(ab_digest_is_none(&stamp.hash));
}

static void what_does_not_begin_with_a_version_is_none(void **state)
{
    static const char *const texts[] = {"", "/", "7", "7/w1", "a.b/w1", "7.8x/w1", "-1.8/w1"};
    ab_stamp stamp;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(ab_stamp_parse(ab_str_of(texts[i]), &stamp));
    assert_false(ab_stamp_parse(AB_STR_NONE, &stamp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stamp_with_and_without_a_hash_comes_back_as_it_was),
        cmocka_unit_test(its_parts_are_read),
        cmocka_unit_test(what_is_missing_is_none),
        cmocka_unit_test(what_does_not_begin_with_a_version_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
