/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml/yaml.h"

#include "base/json/span.h"
#include "tests/unit/base/yaml/yaml_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void assert_writes(const char *json, const char *yaml)
{
    ab_buf out;
    ab_error err = {0};
    ab_buf_init(&out, 1 << 24);
    if (ab_yaml_from_json(ab_str_of(json), &out, &err) != AB_ERR_OK)
        fail_msg("%s: %s", json, err.text);
    assert_string_equal(out.ptr, yaml);
    ab_buf_fini(&out);
}

static void json_is_written_as_a_person_would(void **state)
{
    (void)state;
    assert_writes("{\"kind\":\"Application\",\"spec\":{\"sources\":[{\"chart\":\"x\",\"helm\":"
                  "{\"values\":\"a: 1\\n\\nb:\\n  c: 2\\n\",\"params\":[]}},[1,[2]],{}],"
                  "\"m\":null},\"z\":true}",
                  "kind: Application\n"
                  "spec:\n"
                  "  sources:\n"
                  "  - chart: x\n"
                  "    helm:\n"
                  "      values: |\n"
                  "        a: 1\n"
                  "\n"
                  "        b:\n"
                  "          c: 2\n"
                  "      params: []\n"
                  "  - - 1\n"
                  "    - - 2\n"
                  "  - {}\n"
                  "  m: null\n"
                  "z: true\n");
    assert_writes("[]", "[]\n");
    assert_writes("{}", "{}\n");
    assert_writes("\"a\\nb\"", "|-\n  a\n  b\n");
    assert_writes("18446744073709551616", "18446744073709551616\n");
}

static void strings_are_plain_only_where_they_read_back(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "a",     "a b",    "--flag",         "-x",    "a#b", "a:b",
        "1.2.3", "v1",     "https://x.y/z?", "x-y_z", "1a",  "tRUE",
        "a'b",   "a\"b",   "\xC3\xA9",       "/a/b",  "(a)", "10.0.0.1",
        "$HOME", "a, [b]", "argoproj.io/v1", "..",    "e1"};
    static const char *const quoted[] = {"",           " ",        "a ",
                                         " a",         "~",        "null",
                                         "true",       "yes",      "no",
                                         "on",         "y",        "1",
                                         "-1",         "1.5",      ".5",
                                         "1e3",        "0x1F",     "017",
                                         "1_000",      ".inf",     ".nan",
                                         "-",          "?",        ":",
                                         "- a",        "? a",      ": a",
                                         "a:",         "a: b",     "a #b",
                                         "#a",         "&a",       "*a",
                                         "!a",         "|",        ">",
                                         "'a",         "%a",       "@a",
                                         "`a",         "[a",       "{a",
                                         "]",          "}",        ",a",
                                         "---",        "...",      "--- a",
                                         "<<",         "=",        "1:30",
                                         "2026-01-02", "12:30:45", "2026-01-02T03:04:05Z",
                                         "-.inf",      "08",       "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < COUNT_OF(plain) + COUNT_OF(quoted); i++) {
        bool is_plain = i < COUNT_OF(plain);
        const char *text = is_plain ? plain[i] : quoted[i - COUNT_OF(plain)];
        ab_buf json;
        ab_buf yaml;
        ab_buf_init(&json, 100);
        ab_buf_init(&yaml, 100);
        ab_spanw w = ab_spanw_to(&json);
        ab_spanw_str(&w, ab_str_of(text));
        assert_int_equal(ab_yaml_from_json(ab_buf_str(&json), &yaml, NULL), AB_ERR_OK);
        if ((yaml.ptr[0] != '"') != is_plain)
            fail_msg("%s is written as %s", text, yaml.ptr);
        assert_round_trip(ab_buf_str(&json));
        ab_buf_fini(&json);
        ab_buf_fini(&yaml);
    }
}

static void lines_are_literal_only_where_they_read_back(void **state)
{
    (void)state;
    assert_writes("{\"a\":\"x\\n\"}", "a: |\n  x\n");
    assert_writes("{\"a\":\"x\\ny\"}", "a: |-\n  x\n  y\n");
    assert_writes("[\"x\\n\\n\",1]", "- |+\n  x\n\n- 1\n...\n");
    assert_writes("{\"a\":\" x\\n\"}", "a: |2\n   x\n");
    assert_writes("{\"a\":\"\\nx\"}", "a: |2-\n\n  x\n");
    assert_writes("{\"a\":\"\\n\"}", "a: \"\\n\"\n");
    assert_writes("{\"a\":\"x\\r\\ny\"}", "a: \"x\\r\\ny\"\n");
    assert_writes("{\"a\":\"x\\ny\\u2028\"}", "a: \"x\\ny\\L\"\n");
    assert_writes("{\"a\":\"\\t\"}", "a: \"\\t\"\n");
    assert_writes("{\"a\\nb\":1}", "? \"a\\nb\"\n: 1\n");
}

static void awkward_documents_come_back_the_same(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "null",
        "\"\"",
        "[[[[]]]]",
        "{\"\":{\"\":[{\"\":\"\"}]}}",
        "[\"\\u0000\\u001f\\u007f\\u0085\"]",
        "[\"\\ufeff\",\"\\ufffe\",\"\\uffff\",\"\\u2029\",\"\\ud83d\\ude00\"]",
        "[\" \\n \",\"\\n \\n\",\"\\t\\nx\",\"x\\n\\t\"]",
        "[\"x\\n \\n\\n\",\"# c\\n\",\"---\\nx\\n\",\"x\\n...\\n\"]",
        "{\"a\":[\"|\\n\",\"\\n\\n x\"],\"b\":\"\\n\\n x\\n\\n\"}",
        "[9007199254740993,-0,1e400,1.10,1E5]",
        "{\"<<\":{\"a\":1},\"true\":1,\"~\":2,\"1\":3,\"? a\":4}",
        "[{\"a\":[[{\"b\":[]}]]}]"};
    for (size_t i = 0; i < COUNT_OF(documents); i++)
        assert_round_trip(ab_str_of(documents[i]));
}

static void long_keys_come_back_the_same(void **state)
{
    (void)state;
    for (size_t length = 100; length < 2000; length += 61) {
        ab_buf json;
        ab_buf_init(&json, 100000);
        ab_buf_puts(&json, "[{\"a\":{\"");
        for (size_t i = 0; i < length; i++)
            ab_buf_puts(&json, i % 2 == 0 ? "k" : "\\u0001");
        ab_buf_puts(&json, "\":[{\"b\":\"x\\n\"}],\"z\":1}}]");
        assert_round_trip(ab_buf_str(&json));
        ab_buf_fini(&json);
    }
}

static void the_deepest_document_comes_back_the_same(void **state)
{
    (void)state;
    ab_buf json;
    ab_buf_init(&json, 10000);
    for (int i = 0; i < AB_SPAN_DEPTH_MAX; i++)
        ab_buf_puts(&json, i % 3 == 0 ? "{\"a\":" : "[");
    ab_buf_puts(&json, "\"x\\ny\"");
    for (int i = AB_SPAN_DEPTH_MAX - 1; i >= 0; i--)
        ab_buf_putc(&json, i % 3 == 0 ? '}' : ']');
    assert_round_trip(ab_buf_str(&json));
    ab_buf_fini(&json);
}

static void what_yaml_cannot_hold_is_refused(void **state)
{
    (void)state;
    ab_buf out;
    ab_error err = {0};
    ab_buf_init(&out, 1000);
    assert_int_equal(ab_yaml_from_json(AB_STR("[\"\\ud800\"]"), &out, &err), AB_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "lone surrogate"));
    ab_buf_clear(&out);
    assert_int_equal(ab_yaml_from_json(AB_STR("{\"\\udc00\":1}"), &out, NULL), AB_ERR_UNSUPPORTED);
    ab_buf_clear(&out);
    assert_int_equal(ab_yaml_from_json(AB_STR("[1"), &out, &err), AB_ERR_PARSE);
    ab_buf_fini(&out);
    ab_buf_init(&out, 5);
    assert_int_equal(ab_yaml_from_json(AB_STR("[\"abc\",\"def\"]"), &out, &err), AB_ERR_TOOBIG);
    ab_buf_fini(&out);
}

/* xorshift64: a seed gives the same documents everywhere. */
static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

static const char *const pieces[] = {"a",
                                     "b",
                                     "Z",
                                     "0",
                                     "1",
                                     "9",
                                     " ",
                                     " ",
                                     "-",
                                     ":",
                                     ": ",
                                     "#",
                                     " #",
                                     "\\n",
                                     "\\n",
                                     "\\n ",
                                     "\\n\\n",
                                     "\\t",
                                     "\\r",
                                     "\\\"",
                                     "\\\\",
                                     "\\/",
                                     "'",
                                     "|",
                                     ">",
                                     "&",
                                     "*",
                                     "!",
                                     "%",
                                     "@",
                                     "`",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     "?",
                                     ".",
                                     "_",
                                     "e",
                                     "x",
                                     "~",
                                     "<<",
                                     "=",
                                     "true",
                                     "no",
                                     "null",
                                     "---",
                                     "...",
                                     "\\u0000",
                                     "\\u0007",
                                     "\\u007f",
                                     "\\u0085",
                                     "\\u00a0",
                                     "\\u2028",
                                     "\\ufeff",
                                     "\\ufffe",
                                     "\xC3\xA9",
                                     "\xE2\x82\xAC",
                                     "\\ud83d\\ude00",
                                     "\xF0\x9F\x98\x80",
                                     "2026-01-02",
                                     "0x1F",
                                     ".inf",
                                     "some longer words of text"};

static void draw_string(uint64_t *seed, ab_buf *out)
{
    ab_buf_putc(out, '"');
    for (uint64_t left = draw(seed, 9); left > 0; left--)
        ab_buf_puts(out, pieces[draw(seed, COUNT_OF(pieces))]);
    ab_buf_putc(out, '"');
}

static void draw_number(uint64_t *seed, ab_buf *out)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "-1",
                                          "9007199254740993",
                                          "18446744073709551616",
                                          "-9223372036854775809",
                                          "0.1",
                                          "1.50",
                                          "1e400",
                                          "1E+2",
                                          "-2.5e-3",
                                          "100000"};
    ab_buf_puts(out, numbers[draw(seed, COUNT_OF(numbers))]);
}

static void draw_scalar(uint64_t *seed, ab_buf *out)
{
    static const char *const words[] = {"null", "true", "false", "{}", "[]"};
    uint64_t kind = draw(seed, 10);
    if (kind < 6)
        draw_string(seed, out);
    else if (kind < 8)
        draw_number(seed, out);
    else
        ab_buf_puts(out, words[draw(seed, COUNT_OF(words))]);
}

/* Opens and closes containers at random; member names differ by a counter. */
static void draw_document(uint64_t *seed, ab_buf *out)
{
    bool in_object[20];
    bool first[20];
    size_t depth = 0;
    int names = 0;
    uint64_t left = draw(seed, 40);
    do {
        if (depth > 0 && !first[depth - 1])
            ab_buf_putc(out, ',');
        if (depth > 0 && in_object[depth - 1]) {
            draw_string(seed, out);
            out->len--; /* its closing quote */
            ab_buf_printf(out, "_%d\":", names++);
        }
        if (depth > 0)
            first[depth - 1] = false;
        if (left > 0 && depth < 20 && draw(seed, 3) == 0) {
            in_object[depth] = draw(seed, 2) == 0;
            first[depth] = true;
            ab_buf_putc(out, in_object[depth++] ? '{' : '[');
        } else {
            draw_scalar(seed, out);
        }
        while (depth > 0 && !first[depth - 1] && (left == 0 || draw(seed, 4) == 0))
            ab_buf_putc(out, in_object[--depth] ? '}' : ']');
        left -= left > 0;
    } while (depth > 0);
}

static void generated_documents_come_back_the_same(void **state)
{
    (void)state;
    const char *given = getenv("AB_TEST_SEED");
    uint64_t seed = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    seed = seed * 2 + 1; /* xorshift wants no 0 */
    print_message("seed %llu\n", (unsigned long long)seed / 2);
    for (int i = 0; i < 5000; i++) {
        ab_buf json;
        ab_buf_init(&json, 1 << 20);
        draw_document(&seed, &json);
        assert_round_trip(ab_buf_str(&json));
        ab_buf_fini(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_written_as_a_person_would),
        cmocka_unit_test(strings_are_plain_only_where_they_read_back),
        cmocka_unit_test(lines_are_literal_only_where_they_read_back),
        cmocka_unit_test(awkward_documents_come_back_the_same),
        cmocka_unit_test(long_keys_come_back_the_same),
        cmocka_unit_test(the_deepest_document_comes_back_the_same),
        cmocka_unit_test(what_yaml_cannot_hold_is_refused),
        cmocka_unit_test(generated_documents_come_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
