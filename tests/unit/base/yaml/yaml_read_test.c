/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml/yaml.h"

#include "tests/unit/base/yaml/yaml_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void assert_reads(const char *yaml, const char *json)
{
    collected c;
    ab_error err = {0};
    collected_init(&c);
    ab_err e = ab_yaml_to_json(ab_str_of(yaml), &ab_yaml_default_limits, collect, &c, &err);
    if (e != AB_ERR_OK)
        fail_msg("%s: %s", yaml, err.text);
    assert_int_equal(err.code, AB_ERR_OK);
    if (!ab_str_is(ab_buf_str(&c.text), json))
        fail_msg("%s gives %s, wanted %s", yaml, c.text.ptr, json);
    ab_buf_fini(&c.text);
}

static void assert_refused(ab_str yaml, ab_err code, const char *reason)
{
    collected c;
    ab_error err = {0};
    collected_init(&c);
    assert_int_equal(ab_yaml_to_json(yaml, &ab_yaml_default_limits, collect, &c, &err), code);
    if (strstr(err.text, reason) == NULL)
        fail_msg("wanted \"%s\" in \"%s\"", reason, err.text);
    ab_buf_fini(&c.text);
}

static void assert_limited(ab_str yaml, ab_yaml_limits limits, const char *reason)
{
    collected c;
    ab_error err = {0};
    collected_init(&c);
    assert_int_equal(ab_yaml_to_json(yaml, &limits, collect, &c, &err), AB_ERR_TOOBIG);
    if (strstr(err.text, reason) == NULL)
        fail_msg("wanted \"%s\" in \"%s\"", reason, err.text);
    ab_buf_fini(&c.text);
}

static void collections_give_json_in_their_order(void **state)
{
    (void)state;
    assert_reads("b: 1\na:\n- x\n- - w\n  - z: {}\n- []\n",
                 "{\"b\":1,\"a\":[\"x\",[\"w\",{\"z\":{}}],[]]}");
    assert_reads("{b: [1, 2], a: {c: d}}", "{\"b\":[1,2],\"a\":{\"c\":\"d\"}}");
    assert_reads("? k\n: v\n", "{\"k\":\"v\"}");
    assert_reads("text", "\"text\"");
}

static void plain_words_are_typed_as_kubectl_types_them(void **state)
{
    (void)state;
    assert_reads("[~, null, Null, NULL, !!null ]", "[null,null,null,null,null]");
    assert_reads("a:\nb: ~\n", "{\"a\":null,\"b\":null}");
    assert_reads("[true, True, TRUE, yes, Yes, YES, y, Y, on, On, ON]",
                 "[true,true,true,true,true,true,true,true,true,true,true]");
    assert_reads("[false, False, FALSE, no, No, NO, n, N, off, Off, OFF]",
                 "[false,false,false,false,false,false,false,false,false,false,false]");
    assert_reads("[tRUE, yES, nULL, oN, nil, none]",
                 "[\"tRUE\",\"yES\",\"nULL\",\"oN\",\"nil\",\"none\"]");
}

static void integers_are_read_in_every_base(void **state)
{
    (void)state;
    assert_reads(
        "[0, 1, -1, +1, 1_000, 1_0_, 0x1F, 0X1f, -0x10, 0o17, 017, -017, 0b101, -0b11, 00]",
        "[0,1,-1,1,1000,10,31,31,-16,15,15,-15,5,-3,0]");
    assert_reads("[0xFFFFFFFFFFFFFFFF, -0x8000000000000000]",
                 "[18446744073709551615,-9223372036854775808]");
    assert_reads("[0x10000000000000000, -0x8000000000000001, +0xFFFFFFFFFFFFFFFF]",
                 "[\"0x10000000000000000\",\"-0x8000000000000001\",\"+0xFFFFFFFFFFFFFFFF\"]");
    assert_reads("[0x, 0b2, 0o8, 0xG, -, +, '-', 1a, _1, 1-2, 0b, --1]",
                 "[\"0x\",\"0b2\",\"0o8\",\"0xG\",\"-\",\"+\",\"-\",\"1a\",\"_1\",\"1-2\",\"0b\","
                 "\"--1\"]");
    assert_reads("[08, 0789, 1:30, 12:30:45]", "[8,789,\"1:30\",\"12:30:45\"]");
}

static void numbers_keep_their_text_where_json_allows_it(void **state)
{
    (void)state;
    assert_reads("[9007199254740993, 18446744073709551616, -0, 1.10, 1e400, 1E+5, 0.0]",
                 "[9007199254740993,18446744073709551616,-0,1.10,1e400,1E+5,0.0]");
    assert_reads("[.5, 1., +.5, -1.e3, 007.5, +1.50, 1_0.5]", "[0.5,1,0.5,-1e3,7.5,1.50,10.5]");
    assert_reads("[., .e1, 1e, 1.2.3, e1, 1e+, .5_0]",
                 "[\".\",\".e1\",\"1e\",\"1.2.3\",\"e1\",\"1e+\",\".5_0\"]");
}

static void infinity_and_nan_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a: .inf", "a: -.INF", "a: +.Inf", "a: .nan", "a: .NaN"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "line 1, column 4: JSON has no infinity");
    assert_reads("'.inf'", "\".inf\"");
}

static void quoted_scalars_and_dates_are_strings(void **state)
{
    (void)state;
    assert_reads("['1', \"true\", '', \"~\", ! 5]", "[\"1\",\"true\",\"\",\"~\",\"5\"]");
    assert_reads("[2026-01-02, 2026-01-02T03:04:05Z]", "[\"2026-01-02\",\"2026-01-02T03:04:05Z\"]");
    assert_reads("a: |\n  1\nb: >\n  x\n  y\n", "{\"a\":\"1\\n\",\"b\":\"x y\\n\"}");
    assert_reads("\"\\0\\x01\\u00e9\\U0001F600\"", "\"\\u0000\\u0001\xC3\xA9\xF0\x9F\x98\x80\"");
}

static void tags_of_yaml_are_honoured(void **state)
{
    (void)state;
    assert_reads("[!!str 5, !!str, !!int '7', !!int 0x10, !!float 1, !!float '1.5', !!bool yes, "
                 "!!null ~, !!null '']",
                 "[\"5\",\"\",7,16,1,1.5,true,null,null]");
    assert_reads("!!map {a: !!seq [1]}", "{\"a\":[1]}");
}

static void values_that_belie_their_tags_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"!!int x",  "!!int 1.5", "!!int true",   "!!float yes",
                                      "!!bool 1", "!!null 0",  "!!float .inf", "!!int ''"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "does not match its tag");
}

static void other_tags_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a: !mine x",
                                      "a: !!binary aGk=",
                                      "a: !!timestamp 2026-01-02",
                                      "a: !<tag:example.org,2000:t> x",
                                      "a: !!set {x}",
                                      "a: !!map [x]",
                                      "a: !mine [x]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "line 1, column 4: ");
}

static void keys_become_text_as_kubectl_has_it(void **state)
{
    (void)state;
    assert_reads("{1: a, 0x10: b, yes: c, 1.50: d, 'x y': e}",
                 "{\"1\":\"a\",\"16\":\"b\",\"true\":\"c\",\"1.50\":\"d\",\"x y\":\"e\"}");
    assert_refused(AB_STR("~: 1"), AB_ERR_PARSE, "a key must be");
    assert_refused(AB_STR("? [a]\n: 1"), AB_ERR_PARSE, "a key must be");
    assert_refused(AB_STR("? {}\n: 1"), AB_ERR_PARSE, "a key must be");
}

static void duplicate_keys_are_refused(void **state)
{
    (void)state;
    assert_refused(AB_STR("a: 1\nb: 2\na: 3\n"), AB_ERR_PARSE, "line 3, column 1: duplicate key");
    assert_refused(AB_STR("x:\n  'a': 1\n  \"\\x61\": 2\n"), AB_ERR_PARSE, "line 3, column 3: dup");
    assert_refused(AB_STR("{1: a, '1': b}"), AB_ERR_PARSE, "duplicate key");
    assert_reads("{a: {a: {a: 1}}, b: [{a: 1}, {a: 1}]}",
                 "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}");
}

static void aliases_are_unfolded(void **state)
{
    (void)state;
    assert_reads("a: &x [1, &y {b: c}]\nd: *x\ne: *y\n",
                 "{\"a\":[1,{\"b\":\"c\"}],\"d\":[1,{\"b\":\"c\"}],\"e\":{\"b\":\"c\"}}");
    assert_reads("a: &x 1\nb: *x\nc: &x 2\nd: *x\n*x : e\n",
                 "{\"a\":1,\"b\":1,\"c\":2,\"d\":2,\"2\":\"e\"}");
}

static void undefined_and_recursive_aliases_are_refused(void **state)
{
    (void)state;
    assert_refused(AB_STR("a: *x"), AB_ERR_PARSE, "line 1, column 4: alias of an anchor");
    assert_refused(AB_STR("&x a: 1\n---\nb: *x"), AB_ERR_PARSE, "line 3, column 4: alias of");
    assert_refused(AB_STR("&x [*x]"), AB_ERR_PARSE, "an alias refers to a value that contains it");
    assert_refused(AB_STR("&x {a: {b: *x}}"), AB_ERR_PARSE,
                   "an alias refers to a value that contains it");
    assert_refused(AB_STR("&x {<<: *x}"), AB_ERR_PARSE,
                   "an alias refers to a value that contains it");
}

static void merge_keys_add_what_is_not_said(void **state)
{
    (void)state;
    assert_reads("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n", "{\"a\":{\"x\":1,\"true\":2},\"b\":"
                                                            "{\"x\":3,\"true\":2}}");
    assert_reads("b: {<<: [{x: 1}, {x: 2, z: 3}], w: 4}\n", "{\"b\":{\"w\":4,\"x\":1,\"z\":3}}");
    assert_reads("- &a {x: 1}\n- &b {<<: *a, v: 2}\n- {<<: *b, v: 3}\n",
                 "[{\"x\":1},{\"v\":2,\"x\":1},{\"v\":3,\"x\":1}]");
    assert_reads("{<<: {}, '<<': 1}", "{\"<<\":1}");
    assert_reads("{<<: {a: {b: [c]}}}", "{\"a\":{\"b\":[\"c\"]}}");
    assert_reads("[<<]", "[\"<<\"]");
}

static void merging_what_is_no_map_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{<<: 1}", "{<<: [1]}", "{<<: [[{a: 1}]]}", "{<<: }"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(ab_str_of(bad[i]), AB_ERR_PARSE, "a merge key needs a mapping");
}

static void every_document_is_given_in_order_with_its_line(void **state)
{
    (void)state;
    collected c;
    collected_init(&c);
    c.lines = true;
    ab_str yaml = AB_STR("# none\n---\n---\na: 1\n---\n# nothing\n--- text\n...\n---\nnull\n");
    assert_int_equal(ab_yaml_to_json(yaml, &ab_yaml_default_limits, collect, &c, NULL), AB_ERR_OK);
    assert_string_equal(c.text.ptr, "@3 {\"a\":1}\n@7 \"text\"\n@9 null");
    ab_buf_fini(&c.text);
}

static void an_empty_stream_has_no_documents(void **state)
{
    (void)state;
    assert_reads("", "");
    assert_reads("\n# only a comment\n", "");
    assert_reads("---\n", "");
}

static void documents_before_a_fault_are_given(void **state)
{
    (void)state;
    collected c;
    ab_error err = {0};
    collected_init(&c);
    ab_str yaml = AB_STR("a: 1\n---\nb: [\n---\nc: 3\n");
    assert_int_equal(ab_yaml_to_json(yaml, &ab_yaml_default_limits, collect, &c, &err),
                     AB_ERR_PARSE);
    assert_string_equal(c.text.ptr, "{\"a\":1}");
    ab_buf_fini(&c.text);
}

static void an_error_of_the_receiver_stops_the_stream(void **state)
{
    (void)state;
    collected c;
    collected_init(&c);
    c.stop_after = 1;
    assert_int_equal(
        ab_yaml_to_json(AB_STR("a\n---\nb\n"), &ab_yaml_default_limits, collect, &c, NULL),
        AB_ERR_DENIED);
    assert_int_equal(c.count, 1);
    ab_buf_fini(&c.text);
}

static void json_is_read_as_json_first(void **state)
{
    (void)state;
    assert_reads(
        " \n{ \"a\\/b\" : [ 1 , 1e400, \"x \\\" {y\" ],\t\"b\":\"\\ud83d\\ude00\\u0000\"}\n",
        "{\"a\\/b\":[1,1e400,\"x \\\" {y\"],\"b\":\"\\ud83d\\ude00\\u0000\"}");
    assert_reads("{a: 1}", "{\"a\":1}");
    assert_reads("[1, \"a\"]", "[1,\"a\"]");
    collected c;
    collected_init(&c);
    c.lines = true;
    assert_int_equal(
        ab_yaml_to_json(AB_STR("\n\n{\"a\":1}"), &ab_yaml_default_limits, collect, &c, NULL),
        AB_ERR_OK);
    assert_string_equal(c.text.ptr, "@3 {\"a\":1}");
    ab_buf_fini(&c.text);
}

static void a_byte_order_mark_is_no_part_of_the_text(void **state)
{
    (void)state;
    assert_reads("\xef\xbb\xbfkey: 1\nother: 2\n", "{\"key\":1,\"other\":2}");
    assert_reads("\xef\xbb\xbf{\"key\": 1}", "{\"key\":1}");
    assert_reads("\xef\xbb\xbf", "");
}

static void a_tab_that_indents_is_named(void **state)
{
    (void)state;
    assert_refused(AB_STR("a:\n\tb: 1\n"), AB_ERR_PARSE, "YAML line 2, column 1");
    assert_refused(AB_STR("a:\n\tb: 1\n"), AB_ERR_PARSE, "indent with spaces, not with a tab");
    assert_refused(AB_STR("a:\n  b: 1\n  \tc: 1\n"), AB_ERR_PARSE, "not with a tab");
}

static void text_that_is_not_yaml_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused(AB_STR("a: [1, 2\nb: 3\n"), AB_ERR_PARSE, "line 2, column ");
    assert_refused(AB_STR("a: \"x\n"), AB_ERR_PARSE, "YAML line ");
    assert_refused(AB_STR("a: b: c\n"), AB_ERR_PARSE, "line 1, column 5");
    assert_refused(AB_STR("a:\n\t- b\n"), AB_ERR_PARSE, "line 2, column 1");
    assert_refused(AB_STR("- a\n b: 1\n- %\n"), AB_ERR_PARSE, "YAML line ");
    assert_refused(AB_STR("a: @x"), AB_ERR_PARSE, "line 1, column 4");
    assert_refused(AB_STR("%YAML 3.0\n---\na"), AB_ERR_PARSE, "YAML line ");
    assert_refused(AB_STR("{\"a\": 1} x"), AB_ERR_PARSE, "line 1, column 10");
}

static void invalid_characters_are_refused_with_their_place(void **state)
{
    (void)state;
    assert_refused(AB_STR("a: b\nc: \x80\n"), AB_ERR_PARSE, "line 2, column 4");
    assert_refused(AB_STR("a: \xC0\x80\n"), AB_ERR_PARSE, "line 1, column 4");
    assert_refused(AB_STR("a: \xED\xA0\x80\n"), AB_ERR_PARSE, "line 1, column 4");
    assert_refused(AB_STR("a: \xC3"), AB_ERR_PARSE, "line 1, column 4");
    assert_refused(AB_STR("a: x\0y"), AB_ERR_PARSE, "line 1, column 5");
    assert_refused(AB_STR("a\0: \0b\0"), AB_ERR_PARSE, "YAML line 1");
    assert_refused(AB_STR("\"\\uD800\""), AB_ERR_PARSE, "YAML line 1");
}

static void every_truncation_is_an_answer(void **state)
{
    (void)state;
    ab_str yaml =
        AB_STR("a: &x {b: \"c\\n\", d: [1, 2]}\ne:\n- |2\n   f\n- *x\n- {<<: *x}\n--- >-\n g");
    for (size_t len = 0; len <= yaml.len; len++) {
        collected c;
        ab_error err = {0};
        collected_init(&c);
        char *exact = ab_str_dup((ab_str){yaml.ptr, len});
        ab_err e =
            ab_yaml_to_json((ab_str){exact, len}, &ab_yaml_default_limits, collect, &c, &err);
        assert_true(e == AB_ERR_OK || (e == AB_ERR_PARSE && strstr(err.text, "YAML line") != NULL));
        free(exact);
        ab_buf_fini(&c.text);
    }
}

static void input_is_bounded(void **state)
{
    (void)state;
    ab_yaml_limits limits = ab_yaml_default_limits;
    limits.bytes_max = 8;
    assert_limited(AB_STR("a: 456789"), limits, "9 bytes");
    limits = ab_yaml_default_limits;
    limits.nodes_max = 4;
    assert_limited(AB_STR("[1, 2, 3, 4]"), limits, "too many nodes");
    assert_limited(AB_STR("[1, 2, 3, 4 }"), limits, "too many nodes"); /* before more is read */
    assert_limited(AB_STR("{\"a\":[1,2,3]}"), limits, "JSON document");
    limits = ab_yaml_default_limits;
    limits.depth_max = 3;
    assert_limited(AB_STR("a:\n- b:\n  - 1\n"), limits, "nested too deeply");
    assert_limited(AB_STR("{\"a\":[[{}]]}"), limits, "JSON document");
    assert_limited(AB_STR("- &a [[1]]\n- [*a]\n"), limits, "nested too deeply");
    limits = ab_yaml_default_limits;
    limits.documents_max = 2;
    assert_limited(AB_STR("a\n---\n---\nb\n---\nc\n"), limits, "line 5: more than 2 documents");
}

static void deep_nesting_is_refused_quickly(void **state)
{
    (void)state;
    ab_buf yaml;
    ab_buf_init(&yaml, 1 << 22);
    for (int i = 0; i < 1 << 20; i++)
        ab_buf_putc(&yaml, '[');
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "nested too deeply");
    ab_buf_clear(&yaml);
    for (int i = 0; i < 1 << 19; i++)
        ab_buf_puts(&yaml, "{\"a\":");
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "JSON document");
    ab_buf_clear(&yaml);
    for (int i = 0; i < 1 << 19; i++)
        ab_buf_puts(&yaml, "- ");
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "nested too deeply");
    ab_buf_fini(&yaml);
}

static void alias_bombs_are_refused_quickly(void **state)
{
    (void)state;
    ab_buf yaml;
    clock_t start = clock();
    ab_buf_init(&yaml, 1 << 22);
    ab_buf_puts(&yaml, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 30; i++)
        ab_buf_printf(&yaml, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1,
                      i - 1);
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "too many nodes");
    ab_buf_clear(&yaml);
    ab_buf_puts(&yaml, "s: &s ");
    for (int i = 0; i < 100000; i++)
        ab_buf_putc(&yaml, 'x');
    ab_buf_puts(&yaml, "\nl: [");
    for (int i = 0; i < 1000; i++)
        ab_buf_puts(&yaml, "*s, ");
    ab_buf_puts(&yaml, "]\n");
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "larger than the limit");
    ab_buf_clear(&yaml);
    ab_buf_puts(&yaml, "m: &m {");
    for (int i = 0; i < 1000; i++)
        ab_buf_printf(&yaml, "k%d: 1, ", i);
    ab_buf_puts(&yaml, "}\nl: {<<: [");
    for (int i = 0; i < 10000; i++)
        ab_buf_puts(&yaml, "*m, ");
    ab_buf_puts(&yaml, "]}\n");
    assert_refused(ab_buf_str(&yaml), AB_ERR_TOOBIG, "too many nodes");
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10.0);
    ab_buf_fini(&yaml);
}

static void two_mebibytes_are_read(void **state)
{
    (void)state;
    ab_buf yaml;
    collected c;
    collected_init(&c);
    ab_buf_init(&yaml, 1 << 22);
    ab_buf_puts(&yaml, "kind: ConfigMap\ndata:\n");
    for (int i = 0; yaml.len < 2u << 20; i++)
        ab_buf_printf(&yaml,
                      "  key-%d: |\n    some text of some length, so that it adds up\n"
                      "    and more\n",
                      i);
    assert_int_equal(ab_buf_status(&yaml), AB_ERR_OK);
    assert_int_equal(ab_yaml_to_json(ab_buf_str(&yaml), &ab_yaml_default_limits, collect, &c, NULL),
                     AB_ERR_OK);
    assert_int_equal(c.count, 1);
    assert_true(c.text.len > 1u << 20);
    assert_round_trip(ab_buf_str(&c.text));
    ab_buf_fini(&c.text);
    ab_buf_fini(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collections_give_json_in_their_order),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_text),
        cmocka_unit_test(a_tab_that_indents_is_named),
        cmocka_unit_test(plain_words_are_typed_as_kubectl_types_them),
        cmocka_unit_test(integers_are_read_in_every_base),
        cmocka_unit_test(numbers_keep_their_text_where_json_allows_it),
        cmocka_unit_test(infinity_and_nan_are_refused),
        cmocka_unit_test(quoted_scalars_and_dates_are_strings),
        cmocka_unit_test(tags_of_yaml_are_honoured),
        cmocka_unit_test(values_that_belie_their_tags_are_refused),
        cmocka_unit_test(other_tags_are_refused),
        cmocka_unit_test(keys_become_text_as_kubectl_has_it),
        cmocka_unit_test(duplicate_keys_are_refused),
        cmocka_unit_test(aliases_are_unfolded),
        cmocka_unit_test(undefined_and_recursive_aliases_are_refused),
        cmocka_unit_test(merge_keys_add_what_is_not_said),
        cmocka_unit_test(merging_what_is_no_map_is_refused),
        cmocka_unit_test(every_document_is_given_in_order_with_its_line),
        cmocka_unit_test(an_empty_stream_has_no_documents),
        cmocka_unit_test(documents_before_a_fault_are_given),
        cmocka_unit_test(an_error_of_the_receiver_stops_the_stream),
        cmocka_unit_test(json_is_read_as_json_first),
        cmocka_unit_test(text_that_is_not_yaml_is_refused_with_its_place),
        cmocka_unit_test(invalid_characters_are_refused_with_their_place),
        cmocka_unit_test(every_truncation_is_an_answer),
        cmocka_unit_test(input_is_bounded),
        cmocka_unit_test(deep_nesting_is_refused_quickly),
        cmocka_unit_test(alias_bombs_are_refused_quickly),
        cmocka_unit_test(two_mebibytes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
