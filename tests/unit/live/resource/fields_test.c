/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void fields_are_kept_in_their_order(void **state)
{
    (void)state;
    ab_resource_fields f;
    ab_resource_fields_init(&f);
    ab_resource_fields_add(&f, AB_STR("accept"), AB_STR("a"));
    ab_resource_fields_add(&f, AB_STR("impersonate-user"), AB_STR("eve"));
    assert_int_equal(ab_resource_fields_seal(&f), AB_ERR_OK);
    assert_int_equal(f.count, 2);
    assert_true(ab_str_is(f.list[0].name, "accept"));
    assert_true(ab_str_is(f.list[1].value, "eve"));
    ab_resource_fields_fini(&f);
}

/* The last one may say whose rights the request has. */
static void one_too_many_is_no_request(void **state)
{
    (void)state;
    ab_resource_fields f;
    ab_resource_fields_init(&f);
    for (size_t i = 0; i < AB_RESOURCE_FIELDS_MAX; i++)
        ab_resource_fields_add(&f, AB_STR("accept"), AB_STR("a"));
    ab_resource_fields_add(&f, AB_STR("impersonate-user"), AB_STR("eve"));
    assert_int_equal(ab_resource_fields_seal(&f), AB_ERR_TOOBIG);
    assert_int_equal(f.count, 0);
    ab_resource_fields_fini(&f);
}

static void as_many_as_there_may_be_leave_room_for_one(void **state)
{
    (void)state;
    ab_resource_fields f;
    ab_resource_fields_init(&f);
    for (size_t i = 0; i < AB_RESOURCE_FIELDS_MAX; i++)
        ab_resource_fields_add(&f, AB_STR("accept"), AB_STR("a"));
    assert_int_equal(ab_resource_fields_seal(&f), AB_ERR_OK);
    assert_int_equal(f.count + 1, AB_LIVE_FIELDS_MAX);
    ab_resource_fields_fini(&f);
}

static void who_is_impersonated_reaches_the_api_server(void **state)
{
    (void)state;
    assert_true(ab_resource_fields_is_asked(AB_STR("impersonate-extra-scopes")));
    assert_true(ab_resource_fields_is_impersonation(AB_STR("impersonate-group")));
    assert_false(ab_resource_fields_is_impersonation(AB_STR("accept")));
    assert_false(ab_resource_fields_is_asked(AB_STR("authorization")));
    assert_false(ab_resource_fields_is_asked(AB_STR("cookie")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_kept_in_their_order),
        cmocka_unit_test(one_too_many_is_no_request),
        cmocka_unit_test(as_many_as_there_may_be_leave_room_for_one),
        cmocka_unit_test(who_is_impersonated_reaches_the_api_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
