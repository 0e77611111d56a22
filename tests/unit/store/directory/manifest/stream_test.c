/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/manifest/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOC(name, n) "kind: Application\nmetadata:\n  name: " name "\nspec:\n  a: " n "\n"
#define ONE_AS_JSON                                                                                \
    "{\"kind\":\"Application\",\"metadata\":{\"name\":\"one\",\"namespace\":\"ns\"},"              \
    "\"spec\":{\"a\":5}}"
#define ONE_AS_YAML "kind: Application\nmetadata:\n  name: one\n  namespace: ns\nspec:\n  a: 5\n"

static ab_stream read_stream(const char *text)
{
    ab_stream s = {0};
    assert_int_equal(ab_stream_read(ab_str_of(text), AB_STR("Application"), AB_STR("ns"), &s, NULL),
                     AB_ERR_OK);
    return s;
}

static void assert_change(const char *before, ab_str json, const char *after)
{
    ab_buf out;
    ab_error err = {0};
    ab_buf_init(&out, 65536);
    const ab_stream_edit edit = {AB_STR("Application"), AB_STR("ns"), "one", json, false};
    if (ab_stream_change(ab_str_of(before), &edit, &out, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    char *text = ab_buf_take(&out);
    assert_string_equal(text == NULL ? "" : text, after);
    free(text);
}

static void assert_no_change(const char *before, const char *words)
{
    ab_buf out;
    ab_error err = {0};
    ab_buf_init(&out, 65536);
    const ab_stream_edit edit = {AB_STR("Application"), AB_STR("ns"), "one", AB_STR(ONE_AS_JSON),
                                 false};
    assert_int_equal(ab_stream_change(ab_str_of(before), &edit, &out, &err), AB_ERR_INVALID);
    assert_non_null(strstr(err.text, words));
    ab_buf_fini(&out);
}

static void every_document_is_an_item_with_its_line(void **state)
{
    (void)state;
    ab_stream s = read_stream("# first\n" DOC("one", "1") "---\n# nothing\n---\n" DOC("two", "2"));
    assert_int_equal(s.count, 2);
    assert_true(s.readable);
    assert_int_equal(s.fault_count, 0);
    assert_string_equal(ab_stream_find(&s, "two")->name, "two");
    assert_null(ab_stream_find(&s, "three"));
    assert_true(s.items[1].line > 7);
    ab_stream_fini(&s);
}

static void documents_before_a_broken_one_are_kept_and_the_rest_is_unknown(void **state)
{
    (void)state;
    ab_stream s = read_stream(DOC("one", "1") "---\nkind: [\n---\n" DOC("two", "2"));
    assert_int_equal(s.count, 1);
    assert_false(s.readable);
    assert_int_equal(s.fault_count, 1);
    ab_stream_fini(&s);
}

static void a_document_of_another_place_harms_no_other(void **state)
{
    (void)state;
    ab_stream s = read_stream("kind: Secret\nmetadata: {name: x}\n---\n" DOC("two", "2"));
    assert_int_equal(s.count, 1);
    assert_int_equal(s.documents, 2);
    assert_true(s.readable);
    assert_int_equal(s.fault_count, 1);
    assert_non_null(strstr(s.faults[0].text, "line 1"));
    ab_stream_fini(&s);
}

static void the_first_document_is_replaced_and_the_others_stay_as_they_are(void **state)
{
    (void)state;
    static const char rest[] = "---\n# two\nkind:   Application\nmetadata: {name: two} # mine\n";
    char before[512] = DOC("one", "1");
    char after[512] = ONE_AS_YAML;
    strncat(before, rest, sizeof(before) - strlen(before) - 1);
    strncat(after, rest, sizeof(after) - strlen(after) - 1);
    assert_change(before, AB_STR(ONE_AS_JSON), after);
}

static void a_document_in_the_middle_is_replaced(void **state)
{
    (void)state;
    assert_change("---\n" DOC("zero", "0") "--- # here\n" DOC("one", "1") "---\n" DOC("two", "2"),
                  AB_STR(ONE_AS_JSON),
                  "---\n" DOC("zero", "0") "---\n" ONE_AS_YAML "---\n" DOC("two", "2"));
}

static void the_last_document_is_replaced_also_without_a_final_newline(void **state)
{
    (void)state;
    assert_change(DOC("zero", "0") "---\nkind: Application\nmetadata: {name: one}",
                  AB_STR(ONE_AS_JSON), DOC("zero", "0") "---\n" ONE_AS_YAML);
}

static void a_document_that_is_not_there_is_added(void **state)
{
    (void)state;
    assert_change(DOC("zero", "0"), AB_STR(ONE_AS_JSON), DOC("zero", "0") "---\n" ONE_AS_YAML);
    assert_change("kind: Application\nmetadata: {name: zero}", AB_STR(ONE_AS_JSON),
                  "kind: Application\nmetadata: {name: zero}\n---\n" ONE_AS_YAML);
}

static void documents_of_the_same_name_that_are_another_object_stay(void **state)
{
    (void)state;
    static const char others[] = "kind: Secret\nmetadata: {name: one}\n---\nkind: Application\n"
                                 "metadata: {name: one, namespace: other}\n";
    char before[512];
    char after[512];
    (void)snprintf(before, sizeof(before), "%s---\n%s", others, DOC("one", "1"));
    (void)snprintf(after, sizeof(after), "%s---\n%s", others, ONE_AS_YAML);
    assert_change(before, AB_STR(ONE_AS_JSON), after);
    assert_change(before, AB_STR_NONE, others);
}

static void a_document_is_taken_out(void **state)
{
    (void)state;
    assert_change(DOC("one", "1") "---\n" DOC("two", "2"), AB_STR_NONE, "---\n" DOC("two", "2"));
    assert_change(DOC("zero", "0") "---\n" DOC("one", "1"), AB_STR_NONE, DOC("zero", "0"));
}

static void a_line_of_dashes_inside_a_scalar_ends_no_document(void **state)
{
    (void)state;
    static const char zero[] =
        "kind: Application\nmetadata:\n  name: zero\nspec:\n  t: |\n    ---\n"
        "    x\n";
    char before[512];
    char after[512];
    (void)snprintf(before, sizeof(before), "%s---\n%s", zero, DOC("one", "1"));
    (void)snprintf(after, sizeof(after), "%s---\n%s", zero, ONE_AS_YAML);
    assert_change(before, AB_STR(ONE_AS_JSON), after);
}

static void what_cannot_be_changed_exactly_is_left_alone(void **state)
{
    (void)state;
    assert_no_change(DOC("two", "2") "---\nkind: [\n", "correct it");
    assert_no_change("%TAG !e! tag:example.com,2000:\n---\n" DOC(
                         "one", "1") "...\n%TAG !f! tag:example.com,2000:\n---\nk: !f!x [1]\n",
                     "");
}

static void what_yaml_cannot_hold_is_written_as_json(void **state)
{
    (void)state;
    static const char json[] = "{\"kind\":\"Application\",\"metadata\":{\"name\":\"one\"},"
                               "\"spec\":\"\\ud800\"}";
    ab_buf out;
    ab_buf_init(&out, 65536);
    assert_int_equal(ab_stream_write(ab_str_of(json), false, &out, NULL), AB_ERR_OK);
    assert_true(ab_str_starts(ab_buf_str(&out), json));
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_document_is_an_item_with_its_line),
        cmocka_unit_test(documents_before_a_broken_one_are_kept_and_the_rest_is_unknown),
        cmocka_unit_test(a_document_of_another_place_harms_no_other),
        cmocka_unit_test(the_first_document_is_replaced_and_the_others_stay_as_they_are),
        cmocka_unit_test(a_document_in_the_middle_is_replaced),
        cmocka_unit_test(the_last_document_is_replaced_also_without_a_final_newline),
        cmocka_unit_test(a_document_that_is_not_there_is_added),
        cmocka_unit_test(documents_of_the_same_name_that_are_another_object_stay),
        cmocka_unit_test(a_document_is_taken_out),
        cmocka_unit_test(a_line_of_dashes_inside_a_scalar_ends_no_document),
        cmocka_unit_test(what_cannot_be_changed_exactly_is_left_alone),
        cmocka_unit_test(what_yaml_cannot_hold_is_written_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
