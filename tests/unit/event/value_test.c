/* SPDX-License-Identifier: Apache-2.0 */
#include "event/value_priv.h"

#include "samples.h"

static void bytes_are_written_as_base64(void **state)
{
    (void)state;
    assert_true(ab_value_is_valid(AB_ATTR_BYTES, AB_STR("Zm8=")));
    assert_true(ab_value_is_valid(AB_ATTR_BYTES, AB_STR("")));
    assert_false(ab_value_is_valid(AB_ATTR_BYTES, AB_STR("Zm8")));
}

static void an_integer_is_a_canonical_int32(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   "-",    "+1",          "01",         "-0", "00",
                                      "1 ", "0x10", "-2147483649", "2147483648", "1e3"};
    int32_t n = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (ab_value_integer_parse(ab_str_of(bad[i]), &n))
            fail_msg("\"%s\" was taken for an integer", bad[i]);
    }
    assert_true(ab_value_integer_parse(AB_STR("0"), &n) && n == 0);
    assert_true(ab_value_integer_parse(AB_STR("-10"), &n) && n == -10);
    assert_true(ab_value_integer_parse(AB_STR("2147483647"), &n) && n == INT32_MAX);
    assert_true(ab_value_integer_parse(AB_STR("-2147483648"), &n) && n == INT32_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_written_as_base64),
        cmocka_unit_test(an_integer_is_a_canonical_int32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
