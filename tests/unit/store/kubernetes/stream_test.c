/* SPDX-License-Identifier: Apache-2.0
 *
 * Every sample is read in one piece, byte by byte, and cut in two at every place.
 */
#include "store/kubernetes/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OBJECT_MAX 256

/* What was given out: each value on a line, the rest of a list after "rest ". */
typedef struct {
    ab_buf seen;
    size_t refuse_at; /* this value is refused, counted from 1; 0: none */
    size_t count;
} reading;

static ab_err on_value(void *arg, ab_str json)
{
    reading *r = arg;
    if (++r->count == r->refuse_at)
        return AB_ERR_CONFLICT;
    ab_buf_put(&r->seen, json);
    ab_buf_putc(&r->seen, '\n');
    return AB_ERR_OK;
}

static ab_err on_rest(void *arg, ab_str json)
{
    reading *r = arg;
    ab_buf_puts(&r->seen, "rest ");
    ab_buf_put(&r->seen, json);
    return AB_ERR_OK;
}

static ab_kube_stream *open_stream(ab_kube_shape shape, reading *r)
{
    const ab_kube_stream_env env = {shape, OBJECT_MAX, on_value, on_rest, r};
    ab_kube_stream *s = ab_kube_stream_new(&env);
    assert_non_null(s);
    return s;
}

/* Each piece in memory of its own, so that a sanitizer sees a read past its end. */
static ab_err feed_piece(ab_kube_stream *s, const char *text, size_t len)
{
    char *own = malloc(len + 1);
    assert_non_null(own);
    memcpy(own, text, len);
    char *exact = realloc(own, len == 0 ? 1 : len);
    assert_non_null(exact);
    ab_error err = {0};
    ab_err e = ab_kube_stream_feed(s, (ab_str){exact, len}, &err);
    assert_int_equal(err.code, e);
    free(exact);
    return e;
}

/* Read `text` with its first piece `cut` bytes long, further ones `step`. */
static ab_err read_cut(ab_kube_shape shape, const char *text, size_t cut, size_t step, reading *r)
{
    ab_kube_stream *s = open_stream(shape, r);
    size_t len = strlen(text);
    ab_err e = feed_piece(s, text, cut);
    for (size_t at = cut; e == AB_ERR_OK && at < len; at += step)
        e = feed_piece(s, text + at, step < len - at ? step : len - at);
    if (e == AB_ERR_OK)
        e = ab_kube_stream_end(s, NULL);
    ab_kube_stream_free(s);
    return e;
}

static void check_cut(ab_kube_shape shape, const char *text, size_t cut, size_t step, ab_err code,
                      const char *seen)
{
    reading r = {0};
    ab_buf_init(&r.seen, 65536);
    assert_int_equal(read_cut(shape, text, cut, step, &r), code);
    assert_true(ab_str_is(ab_buf_str(&r.seen), seen));
    ab_buf_fini(&r.seen);
}

static void check(ab_kube_shape shape, const char *text, ab_err code, const char *seen)
{
    size_t len = strlen(text);
    check_cut(shape, text, 0, 1, code, seen);
    for (size_t cut = 0; cut <= len; cut++)
        check_cut(shape, text, cut, len + 1, code, seen);
}

static void items_come_one_by_one_and_the_rest_at_the_end(void **state)
{
    (void)state;
    check(AB_KUBE_LIST,
          "{\"kind\":\"AppProjectList\",\"metadata\":{\"resourceVersion\":\"7\"},"
          "\"items\":[{\"a\":1},{\"b\":[{}]}]}",
          AB_ERR_OK,
          "{\"a\":1}\n{\"b\":[{}]}\n"
          "rest {\"kind\":\"AppProjectList\",\"metadata\":{\"resourceVersion\":\"7\"}}");
}

static void metadata_may_come_after_the_items(void **state)
{
    (void)state;
    check(AB_KUBE_LIST, "{\"items\":[{\"a\":1}],\"metadata\":{\"continue\":\"x\"},\"n\":12}",
          AB_ERR_OK, "{\"a\":1}\nrest {\"metadata\":{\"continue\":\"x\"},\"n\":12}");
}

static void white_space_may_stand_anywhere(void **state)
{
    (void)state;
    check(AB_KUBE_LIST,
          " \n{ \"n\" : -1.5e3 ,\t\"t\" : true\r\n, \"items\" : [ { \"a\" : 1 } , {} ] } \n",
          AB_ERR_OK, "{ \"a\" : 1 }\n{}\nrest {\"n\":-1.5e3,\"t\":true}");
    check(AB_KUBE_WATCH, "\n {\"type\": \"BOOKMARK\"} \r\n\n {}\n", AB_ERR_OK,
          "{\"type\": \"BOOKMARK\"}\n{}\n");
}

static void a_list_of_nothing_has_an_end(void **state)
{
    (void)state;
    check(AB_KUBE_LIST, "{\"items\":[]}", AB_ERR_OK, "rest {}");
    check(AB_KUBE_LIST, "{\"items\":null,\"kind\":\"SecretList\"}", AB_ERR_OK,
          "rest {\"kind\":\"SecretList\"}");
    check(AB_KUBE_LIST, "{\"kind\":null,\"items\":[ ]}", AB_ERR_OK, "rest {\"kind\":null}");
}

static void strings_hide_brackets_quotes_and_escapes(void **state)
{
    (void)state;
    check(AB_KUBE_LIST, "{\"items\":[{\"a\":\"]}\\\"{[\\\\\"},{\"\\\\\\\"}\":\"\\u005d\"}]}",
          AB_ERR_OK, "{\"a\":\"]}\\\"{[\\\\\"}\n{\"\\\\\\\"}\":\"\\u005d\"}\nrest {}");
    check(AB_KUBE_LIST, "{\"it\\\"ems\":\"\\\\\",\"items\":[]}", AB_ERR_OK,
          "rest {\"it\\\"ems\":\"\\\\\"}");
}

static void a_member_called_items_deeper_down_is_part_of_its_value(void **state)
{
    (void)state;
    check(AB_KUBE_LIST, "{\"metadata\":{\"items\":[1]},\"items\":[{\"items\":[{}]}]}", AB_ERR_OK,
          "{\"items\":[{}]}\nrest {\"metadata\":{\"items\":[1]}}");
}

static void events_of_a_watch_follow_one_another(void **state)
{
    (void)state;
    check(AB_KUBE_WATCH,
          "{\"type\":\"ADDED\",\"object\":{\"a\":\"}\"}}\n{\"type\":\"DELETED\"}{\"c\":3}\n",
          AB_ERR_OK,
          "{\"type\":\"ADDED\",\"object\":{\"a\":\"}\"}}\n{\"type\":\"DELETED\"}\n{\"c\":3}\n");
    check(AB_KUBE_WATCH, "", AB_ERR_OK, "");
}

static void a_whole_document_is_one_value(void **state)
{
    (void)state;
    check(AB_KUBE_WHOLE, " {\"kind\":\"Status\",\"code\":404}\n", AB_ERR_OK,
          "{\"kind\":\"Status\",\"code\":404}\n");
    check(AB_KUBE_WHOLE, "{}{}", AB_ERR_PARSE, "{}\n");
    check(AB_KUBE_WHOLE, "404 page not found\n", AB_ERR_PARSE, "");
    check(AB_KUBE_WHOLE, "", AB_ERR_PARSE, "");
}

/* Taken for an empty list, such an answer would delete everything. */
static void a_list_without_items_is_refused(void **state)
{
    (void)state;
    check(AB_KUBE_LIST, "{}", AB_ERR_PARSE, "");
    check(AB_KUBE_LIST, "{\"kind\":\"Status\",\"code\":500}", AB_ERR_PARSE, "");
    check(AB_KUBE_LIST, "{\"items\":{}}", AB_ERR_PARSE, "");
    check(AB_KUBE_LIST, "{\"items\":0}", AB_ERR_PARSE, "");
    check(AB_KUBE_LIST, "{\"items\":[],\"items\":[]}", AB_ERR_PARSE, "");
}

static void what_has_not_this_shape_is_refused(void **state)
{
    (void)state;
    const char *const bad[] = {
        "[]",
        "<html>",
        "{,}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{\"a\":x}",
        "{\"a\":1,}",
        "{\"a\":1 2}",
        "{\"a\":1]",
        "{a:1}",
        "{\"items\":[1]}",
        "{\"items\":[[]]}",
        "{\"items\":[,]}",
        "{\"items\":[}",
        "{\"items\":[]]",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check(AB_KUBE_LIST, bad[i], AB_ERR_PARSE, "");
    check(AB_KUBE_LIST, "{\"items\":[{},]}", AB_ERR_PARSE, "{}\n");
    check(AB_KUBE_LIST, "{\"items\":[{} {}]}", AB_ERR_PARSE, "{}\n");
    check(AB_KUBE_LIST, "{\"items\":[]}x", AB_ERR_PARSE, "rest {}");
    check(AB_KUBE_WATCH, "[]", AB_ERR_PARSE, "");
    check(AB_KUBE_WATCH, "{},{}", AB_ERR_PARSE, "{}\n");
}

static void an_answer_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    const char *text = "{\"n\":12,\"items\":[{\"a\":\"\\\\\"}]}";
    char head[64];
    for (size_t len = 0; len < strlen(text); len++) {
        reading r = {0};
        ab_buf_init(&r.seen, 65536);
        memcpy(head, text, len);
        head[len] = '\0';
        assert_int_equal(read_cut(AB_KUBE_LIST, head, 0, 1, &r), AB_ERR_PARSE);
        ab_buf_fini(&r.seen);
    }
    check(AB_KUBE_WATCH, "{}\n{\"type\":", AB_ERR_PARSE, "{}\n");
    check(AB_KUBE_WHOLE, "{\"a\":[1", AB_ERR_PARSE, "");
}

static void put_object(ab_buf *b, size_t len)
{
    ab_buf_puts(b, "{\"a\":\"");
    for (size_t i = 0; i < len - strlen("{\"a\":\"\"}"); i++)
        ab_buf_putc(b, 'x');
    ab_buf_puts(b, "\"}");
}

static void an_object_of_the_limit_passes_and_one_byte_more_does_not(void **state)
{
    (void)state;
    ab_buf text, seen;
    ab_buf_init(&text, 65536);
    ab_buf_init(&seen, 65536);
    put_object(&text, OBJECT_MAX);
    ab_buf_put(&seen, ab_buf_str(&text));
    ab_buf_putc(&seen, '\n');
    check(AB_KUBE_WATCH, text.ptr, AB_ERR_OK, seen.ptr);
    ab_buf_clear(&text);
    put_object(&text, OBJECT_MAX + 1);
    check(AB_KUBE_WATCH, text.ptr, AB_ERR_TOOBIG, "");
    ab_buf_fini(&seen);
    ab_buf_fini(&text);
}

static void the_rest_of_a_list_is_bounded_too(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 65536);
    ab_buf_puts(&text, "{\"items\":[]");
    for (int i = 0; i < OBJECT_MAX / 4; i++)
        ab_buf_puts(&text, ",\"a\":1");
    ab_buf_putc(&text, '}');
    check(AB_KUBE_LIST, text.ptr, AB_ERR_TOOBIG, "");
    ab_buf_fini(&text);
}

static void many_items_may_be_far_larger_together_than_one(void **state)
{
    (void)state;
    ab_buf text, seen;
    ab_buf_init(&text, 65536);
    ab_buf_init(&seen, 65536);
    ab_buf_puts(&text, "{\"items\":[");
    for (int i = 0; i < 20; i++) {
        ab_buf_puts(&text, i == 0 ? "" : ",");
        put_object(&text, OBJECT_MAX / 2);
        put_object(&seen, OBJECT_MAX / 2);
        ab_buf_putc(&seen, '\n');
    }
    ab_buf_puts(&text, "]}");
    ab_buf_puts(&seen, "rest {}");
    check(AB_KUBE_LIST, text.ptr, AB_ERR_OK, seen.ptr);
    ab_buf_fini(&seen);
    ab_buf_fini(&text);
}

static void assert_member(const char *object, const char *name, const char *expected)
{
    ab_str value = ab_kube_member(ab_str_of(object), name);
    if (expected == NULL)
        assert_null(value.ptr);
    else
        assert_true(ab_str_is(value, expected));
}

static void a_member_is_found_however_deeply_others_are_nested(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 65536);
    ab_buf_puts(&text, "{ \"a\" : ");
    for (int i = 0; i < 1000; i++)
        ab_buf_puts(&text, "{\"b\":[\"}\",");
    for (int i = 0; i < 1000; i++)
        ab_buf_puts(&text, i == 0 ? "1]}" : "]}");
    ab_buf_puts(&text, ", \"b\" : \"x\\\"y\",\"n\":12,\"c\":[\"d\"] }");
    assert_member(text.ptr, "b", "\"x\\\"y\"");
    assert_member(text.ptr, "n", "12");
    assert_member(text.ptr, "c", "[\"d\"]");
    assert_member(text.ptr, "d", NULL);
    ab_buf_fini(&text);
}

static void what_is_not_an_object_has_no_member(void **state)
{
    (void)state;
    static const char *const texts[] = {"",        "{",        "{}",           "{\"a\"",
                                        "{\"a\":", "{\"a\":[", "{\"a\":\"b",   "{\"a\":1",
                                        "{]",      "[\"a\"",   "{\"b\":\"a\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_member(texts[i], "a", NULL);
    assert_null(ab_kube_member(AB_STR_NONE, "a").ptr);
}

static void what_an_upcall_says_ends_the_reading_for_good(void **state)
{
    (void)state;
    reading r = {.refuse_at = 2};
    ab_error err = {0};
    ab_buf_init(&r.seen, 65536);
    ab_kube_stream *s = open_stream(AB_KUBE_WATCH, &r);
    assert_int_equal(ab_kube_stream_feed(s, AB_STR("{\"a\":1}{}{}"), NULL), AB_ERR_CONFLICT);
    assert_true(ab_str_is(ab_buf_str(&r.seen), "{\"a\":1}\n"));
    assert_int_equal(r.count, 2);
    assert_int_equal(ab_kube_stream_feed(s, AB_STR("{}"), &err), AB_ERR_CONFLICT);
    assert_int_equal(ab_kube_stream_end(s, &err), AB_ERR_CONFLICT);
    assert_int_equal(err.code, AB_ERR_CONFLICT);
    assert_int_equal(r.count, 2);
    ab_kube_stream_free(s);
    ab_buf_fini(&r.seen);
}

static void an_error_says_where(void **state)
{
    (void)state;
    reading r = {0};
    ab_error err = {0};
    ab_buf_init(&r.seen, 65536);
    ab_kube_stream *s = open_stream(AB_KUBE_LIST, &r);
    assert_int_equal(ab_kube_stream_feed(s, AB_STR("{\"a\":1,"), NULL), AB_ERR_OK);
    assert_int_equal(ab_kube_stream_feed(s, AB_STR(" ?"), &err), AB_ERR_PARSE);
    assert_non_null(strstr(err.text, "byte 8 "));
    ab_kube_stream_free(s);
    ab_buf_fini(&r.seen);
    ab_kube_stream_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_one_by_one_and_the_rest_at_the_end),
        cmocka_unit_test(metadata_may_come_after_the_items),
        cmocka_unit_test(white_space_may_stand_anywhere),
        cmocka_unit_test(a_list_of_nothing_has_an_end),
        cmocka_unit_test(strings_hide_brackets_quotes_and_escapes),
        cmocka_unit_test(a_member_called_items_deeper_down_is_part_of_its_value),
        cmocka_unit_test(events_of_a_watch_follow_one_another),
        cmocka_unit_test(a_whole_document_is_one_value),
        cmocka_unit_test(a_list_without_items_is_refused),
        cmocka_unit_test(what_has_not_this_shape_is_refused),
        cmocka_unit_test(an_answer_cut_off_anywhere_is_refused),
        cmocka_unit_test(an_object_of_the_limit_passes_and_one_byte_more_does_not),
        cmocka_unit_test(the_rest_of_a_list_is_bounded_too),
        cmocka_unit_test(many_items_may_be_far_larger_together_than_one),
        cmocka_unit_test(a_member_is_found_however_deeply_others_are_nested),
        cmocka_unit_test(what_is_not_an_object_has_no_member),
        cmocka_unit_test(what_an_upcall_says_ends_the_reading_for_good),
        cmocka_unit_test(an_error_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
