/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_field_is_found_by_its_name(void **state)
{
    (void)state;
    const ab_http_field fields[] = {
        {AB_STR("accept"), AB_STR("a/b")}, {AB_STR("x"), AB_STR("")}, {AB_STR("x"), AB_STR("2")}};
    assert_true(ab_str_is(ab_http_field_find(fields, 3, "accept"), "a/b"));
    assert_true(ab_str_is(ab_http_field_find(fields, 3, "x"), ""));
    assert_null(ab_http_field_find(fields, 3, "accep").ptr);
    assert_null(ab_http_field_find(fields, 0, "x").ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_field_is_found_by_its_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
