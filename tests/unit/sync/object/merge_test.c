/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/merge.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

/* Merge three texts (NULL = absent) and compare. */
static void assert_map(const char *here, const char *source, const char *owned,
                       const ab_merge_rule *rules, size_t count, const char *prefix,
                       const char *expected)
{
    const char *texts[] = {here, source, owned};
    ab_span *docs[3] = {0};
    ab_spanv values[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        if (texts[i] == NULL)
            continue;
        docs[i] = sample_json(texts[i]);
        values[i] = ab_span_root(docs[i]);
    }
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_spanw w = ab_spanw_to(&out);
    ab_merge_map(&w, values[0], values[1], values[2], rules, count, prefix);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
    for (size_t i = 0; i < 3; i++)
        ab_span_free(docs[i]);
}

static void assert_list(const char *here, const char *source, const char *owned,
                        const char *expected)
{
    ab_span *h = sample_json(here), *s = sample_json(source), *o = sample_json(owned);
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_spanw w = ab_spanw_to(&out);
    ab_merge_list(&w, ab_span_root(h), ab_span_root(s), ab_span_root(o));
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
    ab_span_free(h);
    ab_span_free(s);
    ab_span_free(o);
}

static void what_others_added_here_is_kept(void **state)
{
    (void)state;
    assert_map("{\"theirs\":\"1\"}", "{\"a\":\"2\"}", NULL, NULL, 0, NULL,
               "{\"theirs\":\"1\",\"a\":\"2\"}");
}

static void the_source_wins_where_it_says_something(void **state)
{
    (void)state;
    assert_map("{\"a\":\"tampered\"}", "{\"a\":\"1\"}", NULL, NULL, 0, NULL, "{\"a\":\"1\"}");
}

static void what_the_source_no_longer_says_is_removed(void **state)
{
    (void)state;
    assert_map("{\"a\":\"1\",\"b\":\"2\",\"theirs\":\"3\"}", "{\"b\":\"2\"}", "[\"a\",\"b\"]", NULL,
               0, NULL, "{\"b\":\"2\",\"theirs\":\"3\"}");
}

static void nothing_here_takes_the_source_as_it_is(void **state)
{
    (void)state;
    assert_map(NULL, "{\"z\":\"1\",\"a\":\"2\"}", NULL, NULL, 0, NULL, "{\"z\":\"1\",\"a\":\"2\"}");
    assert_map(NULL, NULL, NULL, NULL, 0, NULL, "{}");
}

static void exempt_names_keep_what_stands_here(void **state)
{
    (void)state;
    const ab_merge_rule rules[] = {{.name = "mine"}};
    assert_map("{\"mine\":\"here\",\"p/x\":\"here\"}",
               "{\"mine\":\"source\",\"p/x\":\"s\",\"p/y\":\"s\"}", "[\"mine\",\"p/x\"]", rules, 1,
               "p/", "{\"mine\":\"here\",\"p/x\":\"here\"}");
}

static void a_rule_with_a_value_is_written_once(void **state)
{
    (void)state;
    const ab_merge_rule rules[] = {{.name = "uid", .value = AB_STR("new")}};
    assert_map("{\"uid\":\"old\"}", "{\"uid\":\"source\"}", NULL, rules, 1, NULL,
               "{\"uid\":\"new\"}");
}

static void a_rule_can_drop_what_stands_here(void **state)
{
    (void)state;
    const ab_merge_rule rules[] = {{.name = "mark", .dropped = true}};
    assert_map("{\"mark\":\"here\",\"a\":\"1\"}", "{\"mark\":\"source\"}", NULL, rules, 1, NULL,
               "{\"a\":\"1\"}");
}

static void values_keep_their_text(void **state)
{
    (void)state;
    assert_map("{\"theirs\":\"\\u0041\\u0000\"}", "{\"a\":\"\\/\"}", NULL, NULL, 0, NULL,
               "{\"theirs\":\"\\u0041\\u0000\",\"a\":\"\\/\"}");
}

static void a_name_with_an_escape_is_not_written_twice(void **state)
{
    (void)state;
    assert_map("{\"\\u0061\":\"1\"}", "{\"\\u0061\":\"2\"}", NULL, NULL, 0, NULL,
               "{\"\\u0061\":\"2\"}");
}

static void finalizers_of_others_are_kept_and_dropped_ones_removed(void **state)
{
    (void)state;
    assert_list("[\"theirs\",\"old\"]", "[\"new\"]", "[\"old\"]", "[\"theirs\",\"new\"]");
    assert_list("[\"a\"]", "[\"a\"]", "[\"a\"]", "[\"a\"]");
    assert_list("[]", "[]", "[\"a\"]", "[]");
}

#define OBJECT(meta)                                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Application\",\"metadata\":{\"name\":\"a\",\"namespace\":"  \
    "\"w1\"" meta "}}"

static void owned_names_are_those_of_now_and_before(void **state)
{
    (void)state;
    ab_object *source = sample_object(
        OBJECT(",\"labels\":{\"l\":\"1\"},\"annotations\":{\"x\":\"\"},\"finalizers\":[\"f\"]"));
    ab_span *before =
        sample_json("{\"labels\":[\"l\",\"m\"],\"annotations\":[],\"finalizers\":[]}");
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_merge_owned(source, ab_span_root(before), &out);
    assert_string_equal(
        out.ptr, "{\"labels\":[\"l\",\"m\"],\"annotations\":[\"x\"],\"finalizers\":[\"f\"]}");
    ab_buf_clear(&out);
    ab_merge_owned(source, (ab_spanv){0}, &out);
    assert_string_equal(out.ptr,
                        "{\"labels\":[\"l\"],\"annotations\":[\"x\"],\"finalizers\":[\"f\"]}");
    ab_buf_fini(&out);
    ab_span_free(before);
    ab_object_unref(source);
}

/* {"l0":"", "l1":"", ...}, or their names as a list. */
static ab_span *many_names(size_t count, bool as_list)
{
    ab_buf text;
    ab_span *doc;
    ab_buf_init(&text, 1 << 24);
    ab_buf_putc(&text, as_list ? '[' : '{');
    for (size_t i = 0; i < count; i++)
        ab_buf_printf(&text, "%s\"label%zu\"%s", i == 0 ? "" : ",", i, as_list ? "" : ":\"\"");
    ab_buf_putc(&text, as_list ? ']' : '}');
    doc = sample_json(text.ptr);
    ab_buf_fini(&text);
    return doc;
}

static void thousands_of_names_cost_little_time(void **state)
{
    (void)state;
    ab_span *map = many_names(60000, false), *list = many_names(60000, true);
    ab_buf out;
    ab_buf_init(&out, 1 << 24);
    clock_t start = clock();
    ab_spanw w = ab_spanw_to(&out);
    ab_spanw_array(&w);
    ab_merge_map(&w, ab_span_root(map), ab_span_root(map), ab_span_root(list), NULL, 0, NULL);
    ab_merge_map(&w, ab_span_root(map), (ab_spanv){0}, ab_span_root(list), NULL, 0, NULL);
    ab_merge_list(&w, ab_span_root(list), ab_span_root(list), ab_span_root(list));
    ab_spanw_array_end(&w);
    /* A comparison of each name with each takes 10 to 100 times as long. */
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    ab_buf_fini(&out);
    ab_span_free(map);
    ab_span_free(list);
}

static void a_name_is_exempt_however_it_is_written(void **state)
{
    (void)state;
    const ab_merge_rule rules[] = {{.name = "uid", .value = AB_STR("new")}};
    assert_map("{\"\\u0075id\":\"old\",\"theirs\":\"1\"}",
               "{\"\\u0075id\":\"s\",\"\\u0070/x\":\"s\"}", NULL, rules, 1, "p/",
               "{\"theirs\":\"1\",\"uid\":\"new\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_added_here_is_kept),
        cmocka_unit_test(the_source_wins_where_it_says_something),
        cmocka_unit_test(what_the_source_no_longer_says_is_removed),
        cmocka_unit_test(nothing_here_takes_the_source_as_it_is),
        cmocka_unit_test(exempt_names_keep_what_stands_here),
        cmocka_unit_test(a_rule_with_a_value_is_written_once),
        cmocka_unit_test(a_rule_can_drop_what_stands_here),
        cmocka_unit_test(values_keep_their_text),
        cmocka_unit_test(a_name_with_an_escape_is_not_written_twice),
        cmocka_unit_test(finalizers_of_others_are_kept_and_dropped_ones_removed),
        cmocka_unit_test(owned_names_are_those_of_now_and_before),
        cmocka_unit_test(a_name_is_exempt_however_it_is_written),
        cmocka_unit_test(thousands_of_names_cost_little_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
