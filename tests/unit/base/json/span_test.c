/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <time.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static ab_span *parse(const char *text)
{
    ab_span *doc = NULL;
    ab_error err = {0};
    if (ab_span_parse(ab_str_of(text), &doc, &err) != AB_ERR_OK)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void assert_canonical(const char *text, const char *wanted)
{
    ab_span *doc = parse(text);
    ab_buf out;
    ab_buf_init(&out, 1 << 20);
    assert_int_equal(ab_span_canonical(ab_span_root(doc), &out), AB_ERR_OK);
    assert_string_equal(out.ptr, wanted);
    ab_buf_fini(&out);
    ab_span_free(doc);
}

static void assert_refused(ab_str text, ab_err code, const char *reason)
{
    ab_span *doc = NULL;
    ab_error err = {0};
    assert_int_equal(ab_span_parse(text, &doc, &err), code);
    assert_null(doc);
    if (strstr(err.text, reason) == NULL)
        fail_msg("wanted \"%s\" in \"%s\"", reason, err.text);
}

static void every_type_is_told(void **state)
{
    (void)state;
    ab_span *doc = parse(" [null, false, true, -1.5e+3, \"s\", [], {}] ");
    static const ab_span_type types[] = {AB_SPAN_NULL,   AB_SPAN_FALSE,  AB_SPAN_TRUE,
                                         AB_SPAN_NUMBER, AB_SPAN_STRING, AB_SPAN_ARRAY,
                                         AB_SPAN_OBJECT};
    assert_int_equal(ab_span_typeof(ab_span_root(doc)), AB_SPAN_ARRAY);
    assert_int_equal(ab_span_count(ab_span_root(doc)), COUNT_OF(types));
    ab_spanv v = ab_span_first(ab_span_root(doc));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        assert_int_equal(ab_span_typeof(v), types[i]);
        v = ab_span_next(v);
    }
    assert_false(ab_span_present(v));
    ab_span_free(doc);
}

static void an_absent_value_answers_absent(void **state)
{
    (void)state;
    ab_spanv none = {0};
    assert_int_equal(ab_span_typeof(none), AB_SPAN_NONE);
    assert_false(ab_span_present(ab_span_get(none, "a")));
    assert_false(ab_span_present(ab_span_path(none, "a", "b", NULL)));
    assert_false(ab_span_present(ab_span_first(none)));
    assert_false(ab_span_present(ab_span_next(none)));
    assert_int_equal(ab_span_count(none), 0);
    assert_null(ab_span_raw(none).ptr);
    assert_null(ab_span_raw_key(none).ptr);
    assert_null(ab_span_plain(none).ptr);
    assert_null(ab_span_plain_key(none).ptr);
    assert_false(ab_span_is(none, ""));
    int64_t n = 0;
    assert_int_equal(ab_span_i64(none, &n), AB_ERR_INVALID);
    ab_span_free(NULL);
}

static void members_are_found_at_every_level(void **state)
{
    (void)state;
    ab_span *doc = parse("{\"a\":{\"x\":[1,{\"y\":2}],\"b\":{\"c\":\"deep\"}},\"ab\":2,\"\":3}");
    ab_spanv root = ab_span_root(doc);
    assert_true(ab_span_is(ab_span_path(root, "a", "b", "c", NULL), "deep"));
    assert_true(ab_str_is(ab_span_raw(ab_span_get(root, "ab")), "2"));
    assert_true(ab_str_is(ab_span_raw(ab_span_get(root, "")), "3"));
    assert_false(ab_span_present(ab_span_get(root, "b")));
    assert_false(ab_span_present(ab_span_get(root, "abc")));
    assert_false(ab_span_present(ab_span_path(root, "a", "zz", "c", NULL)));
    assert_false(ab_span_present(ab_span_get(ab_span_path(root, "a", "x", NULL), "y")));
    assert_int_equal(ab_span_count(root), 3);
    ab_span_free(doc);
}

static void the_original_text_is_kept(void **state)
{
    (void)state;
    static const char *const texts[] = {"9007199254740993",
                                        "18446744073709551616",
                                        "1e400",
                                        "-0",
                                        "1.10",
                                        "1E+2",
                                        "\"\\u0000\"",
                                        "\"\\/\\u00e9\"",
                                        "{ \"b\" : 1 , \"a\" : [ ] }"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        ab_buf text;
        ab_buf_init(&text, 1000);
        ab_buf_printf(&text, "\t{\"v\": %s }\r\n", texts[i]);
        ab_span *doc = parse(text.ptr);
        assert_true(ab_str_is(ab_span_raw(ab_span_get(ab_span_root(doc), "v")), texts[i]));
        ab_span_free(doc);
        ab_buf_fini(&text);
    }
}

static void members_keep_their_order_and_names(void **state)
{
    (void)state;
    ab_span *doc = parse("{\"z\":1,\"\\u0061\":2,\"m\\\"\":3}");
    ab_spanv v = ab_span_first(ab_span_root(doc));
    assert_true(ab_str_is(ab_span_raw_key(v), "\"z\""));
    assert_true(ab_str_is(ab_span_plain_key(v), "z"));
    v = ab_span_next(v);
    assert_true(ab_str_is(ab_span_raw_key(v), "\"\\u0061\""));
    assert_null(ab_span_plain_key(v).ptr);
    v = ab_span_next(v);
    assert_true(ab_str_is(ab_span_raw_key(v), "\"m\\\"\""));
    assert_null(ab_span_raw_key(ab_span_root(doc)).ptr);
    ab_span_free(doc);
}

static void members_are_left_out_however_their_names_are_written(void **state)
{
    static const char *const left_out[] = {"a/b", "c", NULL};
    (void)state;
    ab_span *doc = parse("{\"a\\/b\":1,\"\\u0063\":2,\"c\\u0063\":3,\"d\":4}");
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_spanw w = ab_spanw_to(&out);
    ab_spanw_object(&w);
    ab_spanw_members(&w, ab_span_root(doc), left_out);
    ab_spanw_object_end(&w);
    assert_true(ab_str_is(ab_buf_str(&out), "{\"c\\u0063\":3,\"d\":4}"));
    assert_true(ab_span_key_is(ab_span_first(ab_span_root(doc)), "a/b"));
    assert_false(ab_span_key_is(ab_span_root(doc), ""));
    assert_false(ab_span_key_is((ab_spanv){0}, "a"));
    ab_buf_fini(&out);
    ab_span_free(doc);
}

static void names_are_compared_after_unescaping(void **state)
{
    (void)state;
    ab_span *doc = parse("{\"\\u0061\\n\":1,\"\\ud83d\\ude00\":2,\"n\\u0000\":3}");
    ab_spanv root = ab_span_root(doc);
    assert_true(ab_str_is(ab_span_raw(ab_span_get(root, "a\n")), "1"));
    assert_true(ab_str_is(ab_span_raw(ab_span_get(root, "\xF0\x9F\x98\x80")), "2"));
    assert_true(ab_str_is(ab_span_raw(ab_span_get_str(root, AB_STR("n\0"))), "3"));
    assert_false(ab_span_present(ab_span_get(root, "n")));
    assert_false(ab_span_present(ab_span_get_str(root, AB_STR("a\n\x80"))));
    ab_span_free(doc);
}

static void strings_are_read_with_and_without_escapes(void **state)
{
    (void)state;
    ab_span *doc = parse("[\"plain \xC3\xA9\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\ud83d"
                         "\\ude00\",\"\\ud83dx\\udc00\",7]");
    ab_spanv plain = ab_span_first(ab_span_root(doc));
    ab_spanv escaped = ab_span_next(plain);
    ab_spanv lone = ab_span_next(escaped);
    ab_buf out;
    ab_buf_init(&out, 1000);
    assert_true(ab_str_is(ab_span_plain(plain), "plain \xC3\xA9"));
    assert_true(ab_span_is(plain, "plain \xC3\xA9"));
    assert_false(ab_span_is(plain, "plain"));
    assert_null(ab_span_plain(escaped).ptr);
    assert_int_equal(ab_span_copy(escaped, &out), AB_ERR_OK);
    assert_true(ab_str_eq(ab_buf_str(&out), AB_STR("\"\\/\b\f\n\r\t\0\xC3\xA9\xF0\x9F\x98\x80")));
    ab_buf_clear(&out);
    assert_int_equal(ab_span_copy(lone, &out), AB_ERR_OK);
    assert_string_equal(out.ptr, "\xEF\xBF\xBDx\xEF\xBF\xBD");
    assert_int_equal(ab_span_copy(ab_span_next(lone), &out), AB_ERR_INVALID);
    ab_buf_fini(&out);
    ab_span_free(doc);
}

static void copying_stops_at_the_cap_of_the_buffer(void **state)
{
    (void)state;
    ab_span *doc = parse("\"abcdef\"");
    ab_buf out;
    ab_buf_init(&out, 5);
    assert_int_equal(ab_span_copy(ab_span_root(doc), &out), AB_ERR_TOOBIG);
    ab_buf_fini(&out);
    ab_span_free(doc);
}

static void integers_are_read_exactly(void **state)
{
    (void)state;
    ab_span *doc = parse("[0,-1,9007199254740993,9223372036854775807,-9223372036854775808,-0]");
    static const int64_t wanted[] = {0, -1, INT64_C(9007199254740993), INT64_MAX, INT64_MIN, 0};
    ab_spanv v = ab_span_first(ab_span_root(doc));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        int64_t n = 42;
        assert_int_equal(ab_span_i64(v, &n), AB_ERR_OK);
        assert_true(n == wanted[i]);
        v = ab_span_next(v);
    }
    ab_span_free(doc);
}

static void what_is_no_int64_is_refused(void **state)
{
    (void)state;
    ab_span *doc = parse("[1.0,1e3,9223372036854775808,-9223372036854775809,\"1\",null,[],"
                         "18446744073709551617]");
    int64_t n = 42;
    for (ab_spanv v = ab_span_first(ab_span_root(doc)); ab_span_present(v); v = ab_span_next(v))
        assert_int_equal(ab_span_i64(v, &n), AB_ERR_INVALID);
    assert_int_equal(n, 42);
    ab_span_free(doc);
}

static void text_that_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          " ",           "{",        "}",      "[",
        "]",         "[1,]",        "[,1]",     "{,}",    "{\"a\"}",
        "{\"a\":",   "{\"a\":1,}",  "{\"a\":1", "{a:1}",  "'a'",
        "[1 2]",     "1 2",         "{}{}",     "01",     "-",
        "-a",        "+1",          ".5",       "1.",     "1.e1",
        "1e",        "1e+",         "0x10",     "NaN",    "nul",
        "truex",     "True",        "\"",       "\"\\",   "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "\"\t\"", "\"\\\"",
        "[1}",       "{\"a\":1]",   "//",       "[1]//",  "\xEF\xBB\xBF{}",
        "[\"a\":1]", "nulL",        "{1:2}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "JSON line 1, column ");
    assert_refused(AB_STR("[1]\0"), AB_ERR_PARSE, "unexpected text");
    assert_refused(AB_STR("\"a\0\""), AB_ERR_PARSE, "control characters");
    assert_refused(AB_STR_NONE, AB_ERR_PARSE, "ends unexpectedly");
}

static void every_truncation_of_a_document_is_refused(void **state)
{
    (void)state;
    ab_str text = AB_STR("{\"a\":[1.5e3,\"\\u00e9\\n\xC3\xA9\",true,null,{\"b\":{}}],\"c\":-1}");
    for (size_t len = 0; len < text.len; len++)
        assert_refused((ab_str){text.ptr, len}, AB_ERR_PARSE, "JSON line 1");
}

static void an_error_says_line_and_column(void **state)
{
    (void)state;
    assert_refused(AB_STR("{\n  \"a\": 1,\n  \"b\": x\n}"), AB_ERR_PARSE, "line 3, column 8");
}

static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"\x80\"",         "\"\xC0\x80\"",
                                      "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"",
                                      "\"\xC3",           "{\"\xFF\":1}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "invalid UTF-8");
}

static void duplicate_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"b\":{\"x\":1},\"\\u0061\":2}",
        "[{\"a\":{\"q\":1,\"q\":1}}]",
        "{\"\":1,\"\":2}",
        "{\"\\ud800\":1,\"\\udfff\":2}", /* both are U+FFFD to a reader */
        "{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"3\":0}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "occurs twice");
    ab_span_free(parse("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}],\"A\":1,\"ab\":1}"));
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 1 << 22);
    for (int i = 0; i < AB_SPAN_DEPTH_MAX; i++)
        ab_buf_putc(&text, '[');
    for (int i = 0; i < AB_SPAN_DEPTH_MAX; i++)
        ab_buf_putc(&text, ']');
    assert_canonical(text.ptr, text.ptr);
    ab_buf_clear(&text);
    for (int i = 0; i < 1 << 21; i++)
        ab_buf_putc(&text, '[');
    assert_refused(ab_buf_str(&text), AB_ERR_TOOBIG, "nested too deeply");
    ab_buf_fini(&text);
}

static void text_and_values_are_bounded(void **state)
{
    (void)state;
    assert_refused((ab_str){"1", (size_t)AB_SPAN_SIZE_MAX + 1}, AB_ERR_TOOBIG, "exceeds the limit");
    ab_buf text;
    ab_buf_init(&text, 1 << 24);
    ab_buf_putc(&text, '[');
    for (uint32_t i = 0; i < AB_SPAN_NODES_MAX; i++)
        ab_buf_puts(&text, "1,");
    ab_buf_puts(&text, "1]");
    assert_refused(ab_buf_str(&text), AB_ERR_TOOBIG, "too many values");
    ab_buf_fini(&text);
}

static void a_big_document_costs_little_time_and_memory(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 1 << 24);
    for (int i = 0; i < 100000; i++)
        ab_buf_printf(&text, "%s\"member-%d\":\"%d\"", i == 0 ? "{" : ",", 99999 - i, i);
    ab_buf_putc(&text, '}');
    clock_t start = clock();
    ab_span *doc = parse(text.ptr);
    ab_digest digest;
    assert_int_equal(ab_span_digest(ab_span_root(doc), &digest), AB_ERR_OK);
    /* A comparison of each name with each takes 10 to 100 times as long. */
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5.0);
    assert_int_equal(ab_span_count(ab_span_root(doc)), 100000);
    ab_span_free(doc);
    ab_buf_fini(&text);
}

static void canonical_text_is_sorted_and_escaped_in_one_way(void **state)
{
    (void)state;
    assert_canonical(" { \"b\" : [ 1 , { \"d\":1, \"c\":2 } ] , \"a\" : null } ",
                     "{\"a\":null,\"b\":[1,{\"c\":2,\"d\":1}]}");
    assert_canonical("\"\\u0041\\/\\u000a\\u001F\\u0022\\u005c\\u00e9\\u0000\\u007f\"",
                     "\"A/\\n\\u001f\\\"\\\\\xC3\xA9\\u0000\x7F\"");
    assert_canonical("{\"\\u0062\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
    assert_canonical("{\"\xF0\x9F\x98\x80\":1,\"\xEF\xBF\xBD\":2,\"a\":3,\"ab\":4,\"\":5}",
                     "{\"\":5,\"a\":3,\"ab\":4,\"\xEF\xBF\xBD\":2,\"\xF0\x9F\x98\x80\":1}");
    assert_canonical("\"\\ud800\"", "\"\xEF\xBF\xBD\"");
    assert_canonical("[1.0,1,1e2,-0,18446744073709551616]", "[1.0,1,1e2,-0,18446744073709551616]");
    assert_canonical("[[],{},[[]],[{}]]", "[[],{},[[]],[{}]]");
}

static void equal_contents_are_the_same_and_others_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        bool same;
    } pairs[] = {
        {"{\"a\":1,\"b\":2}", "{ \"b\":2, \"a\":1 }", true},
        {"\"\\u0061\"", "\"a\"", true},
        {"[1,2]", "[2,1]", false},
        {"1.0", "1", false},
        {"1", "\"1\"", false},
        {"null", "{}", false},
        {"\"a\"", "\"a\\u0000\"", false},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        ab_span *a = parse(pairs[i].a);
        ab_span *b = parse(pairs[i].b);
        ab_digest da;
        ab_digest db;
        assert_int_equal(ab_span_same(ab_span_root(a), ab_span_root(b)), pairs[i].same);
        assert_int_equal(ab_span_digest(ab_span_root(a), &da), AB_ERR_OK);
        assert_int_equal(ab_span_digest(ab_span_root(b), &db), AB_ERR_OK);
        assert_int_equal(ab_digest_eq(&da, &db), pairs[i].same);
        assert_false(ab_span_same(ab_span_root(a), (ab_spanv){0}));
        ab_span_free(a);
        ab_span_free(b);
    }
    assert_true(ab_span_same((ab_spanv){0}, (ab_spanv){0}));
}

static void the_digest_is_that_of_the_canonical_text(void **state)
{
    (void)state;
    ab_span *doc = parse("{ \"b\":1, \"a\":2 }");
    ab_digest of_value;
    ab_digest of_text;
    assert_int_equal(ab_span_digest(ab_span_root(doc), &of_value), AB_ERR_OK);
    assert_int_equal(ab_digest_of(AB_STR("{\"a\":2,\"b\":1}"), &of_text), AB_ERR_OK);
    assert_true(ab_digest_eq(&of_value, &of_text));
    assert_int_equal(ab_span_digest_text(AB_STR("{ \"b\":1, \"a\":2 }"), &of_value), AB_ERR_OK);
    assert_true(ab_digest_eq(&of_value, &of_text));
    assert_int_equal(ab_span_digest_text(AB_STR("{"), &of_value), AB_ERR_PARSE);
    assert_int_equal(ab_span_digest((ab_spanv){0}, &of_value), AB_ERR_OK);
    assert_int_equal(ab_digest_of(AB_STR(""), &of_text), AB_ERR_OK);
    assert_true(ab_digest_eq(&of_value, &of_text));
    ab_span_free(doc);
}

static void the_writer_puts_commas_and_escapes(void **state)
{
    (void)state;
    ab_span *doc = parse("{\"num\" : 1.50, \"k\\u0065y\":[1, 2]}");
    ab_spanv num = ab_span_first(ab_span_root(doc));
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_spanw w = ab_spanw_object_to(&out);
    ab_spanw_key_str(&w, "s\"", AB_STR("a\"\\\n\x01\0z"));
    ab_spanw_key_str(&w, "none", AB_STR_NONE);
    ab_spanw_key_raw(&w, "none", AB_STR_NONE);
    ab_spanw_key_raw(&w, "raw", AB_STR("{}"));
    ab_spanw_member(&w, num);
    ab_spanw_member(&w, ab_span_next(num));
    ab_spanw_member(&w, (ab_spanv){0});
    ab_spanw_key_int(&w, "int", -1);
    ab_spanw_key_object(&w, "object");
    ab_spanw_object_end(&w);
    ab_spanw_key_array(&w, "list");
    ab_spanw_int(&w, INT64_MIN);
    ab_spanw_raw(&w, AB_STR("true"));
    ab_spanw_raw(&w, AB_STR("false"));
    ab_spanw_raw(&w, AB_STR_NONE);
    ab_spanw_value(&w, num);
    ab_spanw_value(&w, (ab_spanv){0});
    ab_spanw_array(&w);
    ab_spanw_array_end(&w);
    ab_spanw_object(&w);
    ab_spanw_object_end(&w);
    ab_spanw_array_end(&w);
    ab_spanw_object_end(&w);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    assert_string_equal(out.ptr,
                        "{\"s\\\"\":\"a\\\"\\\\\\n\\u0001\\u0000z\",\"raw\":{},\"num\":1.50,"
                        "\"k\\u0065y\":[1, 2],\"int\":-1,\"object\":{},"
                        "\"list\":[-9223372036854775808,true,false,null,1.50,null,[],{}]}");
    ab_span_free(parse(out.ptr));
    ab_buf_fini(&out);
    ab_span_free(doc);
}

static void writing_invalid_utf8_fails_for_good(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_spanw w = ab_spanw_to(&out);
    ab_spanw_array(&w);
    ab_spanw_str(&w, AB_STR("\xC3("));
    ab_spanw_str(&w, AB_STR("fine"));
    ab_spanw_array_end(&w);
    assert_int_equal(ab_buf_status(&out), AB_ERR_INVALID);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_told),
        cmocka_unit_test(an_absent_value_answers_absent),
        cmocka_unit_test(members_are_found_at_every_level),
        cmocka_unit_test(the_original_text_is_kept),
        cmocka_unit_test(members_keep_their_order_and_names),
        cmocka_unit_test(members_are_left_out_however_their_names_are_written),
        cmocka_unit_test(names_are_compared_after_unescaping),
        cmocka_unit_test(strings_are_read_with_and_without_escapes),
        cmocka_unit_test(copying_stops_at_the_cap_of_the_buffer),
        cmocka_unit_test(integers_are_read_exactly),
        cmocka_unit_test(what_is_no_int64_is_refused),
        cmocka_unit_test(text_that_is_not_json_is_refused),
        cmocka_unit_test(every_truncation_of_a_document_is_refused),
        cmocka_unit_test(an_error_says_line_and_column),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(duplicate_names_are_refused),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(text_and_values_are_bounded),
        cmocka_unit_test(a_big_document_costs_little_time_and_memory),
        cmocka_unit_test(canonical_text_is_sorted_and_escaped_in_one_way),
        cmocka_unit_test(equal_contents_are_the_same_and_others_are_not),
        cmocka_unit_test(the_digest_is_that_of_the_canonical_text),
        cmocka_unit_test(the_writer_puts_commas_and_escapes),
        cmocka_unit_test(writing_invalid_utf8_fails_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
