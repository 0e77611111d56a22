/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/version.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_epoch_counts_before_the_version(void **state)
{
    (void)state;
    assert_true(ab_version_cmp((ab_version){2, 1}, (ab_version){1, 9}) > 0);
    assert_true(ab_version_cmp((ab_version){1, 9}, (ab_version){2, 1}) < 0);
    assert_true(ab_version_cmp((ab_version){2, 1}, (ab_version){2, 2}) < 0);
    assert_true(ab_version_cmp((ab_version){2, 2}, (ab_version){2, 1}) > 0);
    assert_int_equal(ab_version_cmp((ab_version){2, 2}, (ab_version){2, 2}), 0);
}

static void versions_past_63_bits_are_ordered(void **state)
{
    (void)state;
    assert_true(ab_version_cmp((ab_version){0, UINT64_MAX}, (ab_version){0, 1}) > 0);
    assert_true(ab_version_cmp((ab_version){UINT64_MAX, 0}, (ab_version){1, 0}) > 0);
}

static void none_is_both_parts_zero(void **state)
{
    (void)state;
    assert_true(ab_version_is_none((ab_version){0}));
    assert_false(ab_version_is_none((ab_version){1, 0}));
    assert_false(ab_version_is_none((ab_version){0, 1}));
}

static void a_formatted_version_is_parsed_again(void **state)
{
    (void)state;
    char text[AB_VERSION_TEXT];
    ab_version v = {0};
    ab_version_format((ab_version){UINT64_MAX, UINT64_MAX}, text);
    assert_string_equal(text, "18446744073709551615.18446744073709551615");
    assert_int_equal(ab_version_parse(ab_str_of(text), &v), AB_ERR_OK);
    assert_true(v.epoch == UINT64_MAX && v.version == UINT64_MAX);
}

static void what_is_no_version_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", ".", "1", "1.", ".1", "1.2.3", "-1.2", "1. 2", "a.1", "1.18446744073709551616", NULL};
    ab_version v = {7, 7};
    for (const char *const *b = bad; *b != NULL; b++)
        assert_int_equal(ab_version_parse(ab_str_of(*b), &v), AB_ERR_PARSE);
    assert_int_equal(ab_version_parse(AB_STR_NONE, &v), AB_ERR_PARSE);
    assert_true(v.epoch == 7 && v.version == 7);
}

static void an_event_carries_its_version(void **state)
{
    (void)state;
    ab_version v;
    ab_event *event = sample_event("k", NULL, 12);
    assert_int_equal(ab_version_of(event, &v, NULL), AB_ERR_OK);
    assert_true(v.epoch == 1 && v.version == 12);
    ab_event_unref(event);
}

static void an_event_without_a_version_is_refused(void **state)
{
    (void)state;
    ab_version v;
    ab_event *event;
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, "/x");
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    ab_event_set_text(&d, AB_CE_WRITEREPOCH, "1");
    ab_event_set_text(&d, AB_CE_OBJVERSION, "newest");
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    assert_int_equal(ab_version_of(event, &v, NULL), AB_ERR_INVALID);
    ab_event_unref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_epoch_counts_before_the_version),
        cmocka_unit_test(versions_past_63_bits_are_ordered),
        cmocka_unit_test(none_is_both_parts_zero),
        cmocka_unit_test(a_formatted_version_is_parsed_again),
        cmocka_unit_test(what_is_no_version_is_refused),
        cmocka_unit_test(an_event_carries_its_version),
        cmocka_unit_test(an_event_without_a_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
