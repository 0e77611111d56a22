/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *pattern;
    const char *text;
    bool matches;
} sample;

static ab_patterns *patterns_of(const char *text)
{
    ab_error err = {0};
    ab_patterns *p = ab_patterns_new();
    assert_non_null(p);
    if (ab_patterns_add(p, ab_str_of(text), &err) != AB_ERR_OK)
        fail_msg("%s: %s", text, err.text);
    return p;
}

static void check(const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const sample *s = &samples[i];
        ab_patterns *p = patterns_of(s->pattern);
        if (ab_patterns_match(p, ab_str_of(s->text)) != s->matches)
            fail_msg("%s and %s: expected %d", s->pattern, s->text, s->matches);
        ab_patterns_free(p);
    }
}
#define CHECK(samples) check(samples, sizeof(samples) / sizeof((samples)[0]))

static void check_refused(const char *pattern, const char *words)
{
    ab_error err = {0};
    ab_patterns *p = ab_patterns_new();
    assert_non_null(p);
    assert_int_equal(ab_patterns_add(p, ab_str_of(pattern), &err), AB_ERR_INVALID);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s: %s", pattern, err.text);
    ab_patterns_free(p);
}

static void text_without_signs_matches_itself_only(void **state)
{
    (void)state;
    const sample samples[] = {
        {"argocd", "argocd", true},  {"argocd", "argocd2", false}, {"argocd", "xargocd", false},
        {"argocd", "Argocd", false}, {"argocd", "", false},        {"a.c", "abc", false},
    };
    CHECK(samples);
}

static void a_star_takes_anything_a_slash_too(void **state)
{
    (void)state;
    const sample samples[] = {
        {"*", "", true},
        {"*", "a/b", true},
        {"team-*", "team-", true},
        {"team-*", "team-a/b", true},
        {"team-*", "tea", false},
        {"*-prod", "a-prod-prod", true},
        {"*-prod", "a-prod-", false},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "aXcXb", false},
        {"**x", "abx", true},
        {"https://*/repo", "https://host/a/repo", true},
    };
    CHECK(samples);
}

static void a_question_mark_takes_one_character(void **state)
{
    (void)state;
    const sample samples[] = {
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"a?c", "abbc", false},
        {"a?c", "a/c", true},
        {"a?c", "a\u00e9c", true},
        {"a??c", "a\u00e9c", false},
        {"a?c",
         "a\xff"
         "c",
         true},
    };
    CHECK(samples);
}

static void a_class_takes_one_of_its_characters(void **state)
{
    (void)state;
    const sample samples[] = {
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[a-c]x", "x", false},
        {"[!a-c]x", "dx", true},
        {"[!a-c]x", "bx", false},
        {"[^a]", "b", true},
        {"[]a]", "]", true},
        {"[a-]", "-", true},
        {"[a-]", "b", false},
        {"[*?]", "*", true},
        {"[*?]", "x", false},
        {"[\u00e0-\u00ef]", "\u00e9", true},
        {"[\u00e0-\u00ef]", "e", false},
        {"[{]", "{", true},
    };
    CHECK(samples);
}

static void braces_take_one_of_their_alternatives(void **state)
{
    (void)state;
    const sample samples[] = {
        {"{a,bc}", "a", true},        {"{a,bc}", "bc", true},        {"{a,bc}", "b", false},
        {"{a,bc}", "a,bc", false},    {"x{,y}z", "xz", true},        {"x{,y}z", "xyz", true},
        {"{a,b}-{c,d}", "b-c", true}, {"{a,b}-{c,d}", "b-b", false}, {"{a*,[,]}", "abc", true},
        {"{a*,[,]}", ",", true},      {"{a\\,b,c}", "a,b", true},    {"{a\\,b,c}", "b", false},
        {"a,b}", "a,b}", true},
    };
    CHECK(samples);
}

static void a_backslash_takes_the_meaning_from_a_sign(void **state)
{
    (void)state;
    const sample samples[] = {
        {"a\\*", "a*", true}, {"a\\*", "ab", false}, {"\\[a]", "[a]", true},
        {"\\{a", "{a", true}, {"\\\\", "\\", true},
    };
    CHECK(samples);
}

static void a_pattern_between_slashes_is_an_expression(void **state)
{
    (void)state;
    const sample samples[] = {
        {"/^team-[0-9]+$/", "team-12", true},
        {"/^team-[0-9]+$/", "team-x", false},
        {"/^team-[0-9]+$/", "my-team-1", false},
        {"/prod/", "my-prod-1", true},
        {"/^(a|b){2}$/", "ab", true},
        {"/^(a|b){2}$/", "aba", false},
        {"/a\\.b/", "a.b", true},
        {"/a\\.b/", "axb", false},
        {"/^[[:alpha:]]+$/", "abc", true},
        {"/", "/", true},
        {"/a", "/a", true},
    };
    CHECK(samples);
}

static void a_text_needs_no_end_mark(void **state)
{
    (void)state;
    ab_patterns *p = patterns_of("/^team$/");
    assert_int_equal(ab_patterns_add(p, AB_STR("argo*"), NULL), AB_ERR_OK);
    assert_true(ab_patterns_match(p, (ab_str){"teams", 4}));
    assert_false(ab_patterns_match(p, (ab_str){"teams", 5}));
    assert_true(ab_patterns_match(p, (ab_str){"argocd", 4}));
    assert_false(ab_patterns_match(p, (ab_str){"argocd", 3}));
    assert_false(ab_patterns_match(p, AB_STR_NONE));
    ab_patterns_free(p);
}

static void any_pattern_of_a_list_will_do(void **state)
{
    (void)state;
    ab_patterns *p = ab_patterns_new();
    assert_non_null(p);
    assert_false(ab_patterns_match(p, AB_STR("a")));
    assert_false(ab_patterns_match(p, AB_STR("")));
    assert_int_equal(ab_patterns_add(p, AB_STR("a"), NULL), AB_ERR_OK);
    assert_int_equal(ab_patterns_add(p, AB_STR("[b"), NULL), AB_ERR_INVALID);
    assert_int_equal(ab_patterns_add(p, AB_STR("/^b/"), NULL), AB_ERR_OK);
    assert_true(ab_patterns_match(p, AB_STR("a")));
    assert_true(ab_patterns_match(p, AB_STR("bc")));
    assert_false(ab_patterns_match(p, AB_STR("c")));
    ab_patterns_free(p);
    ab_patterns_free(NULL);
}

static void what_is_no_glob_is_refused(void **state)
{
    (void)state;
    check_refused("", "1 to 1024 bytes");
    check_refused("[a", "without ]");
    check_refused("[]", "without ]");
    check_refused("[!]", "without ]");
    check_refused("a\\", "backslash at the end");
    check_refused("{a,b", "braces");
    check_refused("{a,[b}", "braces");
    check_refused("{a,{b,c}}", "or nested");
    assert_false(ab_glob_match(AB_STR("{a"), AB_STR("{a")));
}

static void what_is_no_expression_is_refused(void **state)
{
    (void)state;
    check_refused("//", "empty expression");
    check_refused("/(a/", "/(a/");
    check_refused("/[a/", "/[a/");
}

static void classes_of_other_dialects_are_refused(void **state)
{
    (void)state;
    check_refused("/^\\d+$/", "[0-9] for \\d");
    check_refused("/\\w/", "unsupported backslash class");
    check_refused("/[\\s]/", "unsupported backslash class");
    check_refused("/(a)\\1/", "unsupported backslash class");
    check_refused("/a\\>/", "unsupported backslash class");
    check_refused("/(?i)a/", "(?");
}

static void what_would_take_much_time_or_memory_is_refused(void **state)
{
    (void)state;
    char text[1100];
    check_refused("/((a{100}){100}){100}/", "too many repetitions");
    check_refused("/((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)/", "too many repetitions");
    check_refused("/a++++++++++++++/", "too many repetitions");
    check_refused("/a{1,30000}/", "too many repetitions");
    check_refused("/a{99999999999999999999999}/", "too many repetitions");
    check_refused("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "too many combinations");
    memset(text, 'a', sizeof(text));
    text[1025] = '\0';
    check_refused(text, "1 to 1024 bytes");
    assert_false(ab_glob_match((ab_str){text, 1025}, (ab_str){text, 1025}));
    assert_true(ab_glob_match((ab_str){text, 1024}, (ab_str){text, 1024}));
}

static void many_stars_do_not_multiply_the_time(void **state)
{
    (void)state;
    char text[4001];
    memset(text, 'a', 4000);
    text[4000] = '\0';
    assert_false(ab_glob_match(AB_STR("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), ab_str_of(text)));
}

static void a_repetition_of_a_repetition_is_refused(void **state)
{
    (void)state;
    check_refused("/a??b/", "repetition of a repetition");
    check_refused("/a+*/", "repetition of a repetition");
    check_refused("/.*?b/", "repetition of a repetition");
    check_refused("/a{2}{3}/", "repetition of a repetition");
    const sample taken[] = {
        {"/^[*?+]+$/", "*?+", true},
        {"/^a[+*]*$/", "a+*", true},
        {"/^[]?*]+$/", "]?*", true},
        {"/^[[:alpha:]*?]+$/", "a?*", true},
        {"/^a\\*?$/", "a*", true},
        {"/^(a?)?$/", "a", true},
        {"/^[[:alpha:]]*[^]*?]?$/", "ab", true},
    };
    check(taken, sizeof(taken) / sizeof(taken[0]));
}

/* ----- one expression ----- */

static void assert_group(const char *expression, ab_str text, const char *wanted)
{
    ab_expression *x = NULL;
    ab_error err = {0};
    if (ab_expression_new(ab_str_of(expression), &x, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    ab_str got = ab_expression_first_group(x, text);
    if (!ab_str_is(got, wanted))
        fail_msg("%s took \"%.*s\"", expression, AB_STR_ARG(got));
    ab_expression_free(x);
}

static void an_expression_gives_its_first_group(void **state)
{
    (void)state;
    assert_group("CN=([^,]+)", AB_STR("O=x,CN=w1,C=DE"), "w1");
    assert_group("(a)(b)", AB_STR("xab"), "a");
    assert_group("x(y*)", AB_STR("x"), "");
    assert_group("a(.)c", AB_STR("a\0c"), NULL);
}

static void an_expression_that_does_not_match_gives_nothing(void **state)
{
    (void)state;
    char giant[4098];
    memset(giant, 'a', sizeof(giant));
    assert_group("(a)", AB_STR("b"), NULL);
    assert_group("(a)", AB_STR_NONE, NULL);
    assert_group("(a)|b", AB_STR("b"), NULL);
    assert_group("(a)", ((ab_str){giant, sizeof(giant)}), NULL);
}

static void an_expression_without_a_group_or_of_another_dialect_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "abc",      "(a",
                                      "(\\d+)", "(?:a)(b)", "(a){1,30}(b){1,30}{1,30}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_expression *x = NULL;
        ab_error err = {0};
        assert_int_equal(ab_expression_new(ab_str_of(bad[i]), &x, &err), AB_ERR_INVALID);
        assert_true(err.text[0] != '\0');
        assert_null(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_without_signs_matches_itself_only),
        cmocka_unit_test(a_star_takes_anything_a_slash_too),
        cmocka_unit_test(a_question_mark_takes_one_character),
        cmocka_unit_test(a_class_takes_one_of_its_characters),
        cmocka_unit_test(braces_take_one_of_their_alternatives),
        cmocka_unit_test(a_backslash_takes_the_meaning_from_a_sign),
        cmocka_unit_test(a_pattern_between_slashes_is_an_expression),
        cmocka_unit_test(a_text_needs_no_end_mark),
        cmocka_unit_test(any_pattern_of_a_list_will_do),
        cmocka_unit_test(what_is_no_glob_is_refused),
        cmocka_unit_test(what_is_no_expression_is_refused),
        cmocka_unit_test(classes_of_other_dialects_are_refused),
        cmocka_unit_test(what_would_take_much_time_or_memory_is_refused),
        cmocka_unit_test(many_stars_do_not_multiply_the_time),
        cmocka_unit_test(a_repetition_of_a_repetition_is_refused),
        cmocka_unit_test(an_expression_gives_its_first_group),
        cmocka_unit_test(an_expression_that_does_not_match_gives_nothing),
        cmocka_unit_test(an_expression_without_a_group_or_of_another_dialect_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
