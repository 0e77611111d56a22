/* SPDX-License-Identifier: Apache-2.0
 *
 * What Kubernetes takes for a label, and many of them in one text.
 */
#include "schema/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool is_valid(const char *key, const char *value)
{
    return ab_label_is_valid(ab_str_of(key), ab_str_of(value));
}

static void labels_are_as_kubernetes_has_them(void **state)
{
    char name[65];
    (void)state;
    memset(name, 'a', sizeof(name));
    name[64] = '\0';
    assert_true(is_valid("region", "eu-west_1.a"));
    assert_true(is_valid("example.com/tier", "Gold"));
    assert_true(is_valid("a", ""));
    assert_true(is_valid(name + 1, name + 1));
    assert_false(is_valid(name, "x"));
    assert_false(is_valid("a", name));
    assert_false(is_valid("", "x"));
    assert_false(is_valid("-a", "x"));
    assert_false(is_valid("a", "x-"));
    assert_false(is_valid("a b", "x"));
    assert_false(is_valid("a", "x/y"));
    assert_false(is_valid("Example.com/a", "x"));
    assert_false(is_valid("a..b/c", "x"));
    assert_false(is_valid("/c", "x"));
    assert_false(is_valid("a/b/c", "x"));
    assert_false(ab_label_is_valid(AB_STR("a"), AB_STR_NONE));
}

static void a_text_is_taken_apart(void **state)
{
    (void)state;
    ab_str rest = AB_STR("a=1,b,c=,,d=2=3"), key, value;
    static const struct {
        const char *key, *value;
    } rows[] = {{"a", "1"}, {"b", NULL}, {"c", ""}, {"", NULL}, {"d", "2=3"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(ab_labels_next(&rest, &key, &value));
        assert_true(ab_str_is(key, rows[i].key));
        assert_int_equal(value.ptr == NULL, rows[i].value == NULL);
        assert_true(rows[i].value == NULL || ab_str_is(value, rows[i].value));
    }
    assert_false(ab_labels_next(&rest, &key, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_as_kubernetes_has_them),
        cmocka_unit_test(a_text_is_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
