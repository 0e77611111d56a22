/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/event/formats.h"

#include "samples.h"
#include "schema/attributes.h"

#include <stdlib.h>

/* Members of every event; more follow it. */
#define LEAST "{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s\",\"type\":\"t\""

static ab_event *must_decode(const char *text)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_event_from_json(ab_str_of(text), AB_STR_NONE, &e, &err), AB_ERR_OK, &err);
    return e;
}

static void refused(const char *text, ab_err code, const char *says)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_event_from_json(ab_str_of(text), AB_STR_NONE, &e, &err), code, &err);
    assert_says(&err, says);
    assert_null(e);
}

/** The event's text; the caller frees it. */
static char *encoded(const ab_event_draft *d)
{
    ab_event *e = must_make(d);
    ab_buf b;
    ab_buf_init(&b, 1 << 20);
    assert_err(event_to_json(e, &b), AB_ERR_OK, NULL);
    ab_event_unref(e);
    return ab_buf_take(&b);
}

static void expect_encoded(const ab_event_draft *d, const char *expected)
{
    char *text = encoded(d);
    assert_string_equal(text, expected);
    free(text);
}

static void json_data_keeps_its_text_both_ways(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    d.data = AB_STR("{ \"n\":9007199254740993, \"e\":1E400, \"z\":\"\\u0000\" }");
    char *text = encoded(&d);
    assert_non_null(
        strstr(text, "\"data\":{ \"n\":9007199254740993, \"e\":1E400, \"z\":\"\\u0000\" }"));
    ab_event *e = must_decode(text);
    assert_str(ab_event_data(e), d.data);
    ab_event_unref(e);
    free(text);
}

static void attributes_are_written_by_their_type(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event_set_typed(&d, AB_STR("flag"), AB_STR("true"), AB_ATTR_BOOLEAN);
    ab_event_set_typed(&d, AB_STR("count"), AB_STR("-5"), AB_ATTR_INTEGER);
    ab_event_set_typed(&d, AB_STR("raw"), AB_STR("Zm8="), AB_ATTR_BYTES);
    ab_event_set_text(&d, "quote", "\"\\");
    expect_encoded(&d,
                   LEAST ",\"flag\":true,\"count\":-5,\"raw\":\"Zm8=\",\"quote\":\"\\\"\\\\\"}");
}

static void booleans_and_integers_keep_their_type_when_read(void **state)
{
    (void)state;
    ab_event *e = must_decode(LEAST ",\"flag\":false,\"count\":-5,\"text\":\"5\"}");
    assert_attr(e, "flag", "false");
    assert_int_equal(ab_event_attr_at(e, 4).type, AB_ATTR_BOOLEAN);
    assert_attr(e, "count", "-5");
    assert_int_equal(ab_event_attr_at(e, 5).type, AB_ATTR_INTEGER);
    assert_int_equal(ab_event_attr_at(e, 6).type, AB_ATTR_STRING);
    ab_event_unref(e);
}

static void data_that_is_not_json_becomes_base64(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        ab_str data;
    } cases[] = {
        {"text/plain", {"foo", 3}},
        {"application/octet-stream", {"\0\xff", 2}},
        {"application/json", {"{", 1}},
        {"application/json", {"", 0}},
        {"application/json", {"1,2", 3}},
        {"application/json", {"1],[2", 5}},
        {"application/json", {" {}", 3}},
        {"application/json", {"{}\n", 3}},
        {"application/json", {"\"\xff\"", 3}},
        {"text/plain", {"{}", 2}},
        {NULL, {"not json", 8}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, cases[i].type);
        d.data = cases[i].data;
        char *text = encoded(&d);
        assert_non_null(strstr(text, "\"data_base64\":\""));
        ab_event *e = must_decode(text);
        assert_str(ab_event_data(e), cases[i].data);
        ab_event_unref(e);
        free(text);
    }
}

static void every_json_media_type_is_known(void **state)
{
    (void)state;
    static const char *const types[] = {NULL,
                                        "application/json",
                                        "text/JSON",
                                        "application/x+json",
                                        "application/json; charset=utf-8",
                                        "application/json ;x"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, types[i]);
        d.data = AB_STR("null");
        char *text = encoded(&d);
        assert_non_null(strstr(text, "\"data\":null}"));
        free(text);
    }
}

static void data_as_deep_as_the_parser_goes_can_be_read_back(void **state)
{
    (void)state;
    char data[2 * 100];
    memset(data, '[', 100);
    memset(data + 100, ']', 100);
    for (size_t depth = 97; depth <= 100; depth++) {
        ab_event_draft d = sample_least();
        d.data = (ab_str){data + 100 - depth, 2 * depth};
        char *text = encoded(&d);
        ab_event *e = must_decode(text);
        assert_str(ab_event_data(e), d.data);
        ab_event_unref(e);
        free(text);
    }
}

static void a_string_is_the_data_itself_where_the_type_is_not_json(void **state)
{
    (void)state;
    ab_event *e =
        must_decode(LEAST ",\"datacontenttype\":\"text/plain\",\"data\":\"a\\n\\u0000b\"}");
    assert_str(ab_event_data(e), (ab_str){"a\n\0b", 4});
    ab_event_unref(e);
    e = must_decode(LEAST ",\"data\":\"a\\nb\",\"datacontenttype\":\"application/json\"}");
    assert_str(ab_event_data(e), AB_STR("\"a\\nb\""));
    ab_event_unref(e);
    e = must_decode(LEAST ",\"data\":\"\",\"datacontenttype\":\"text/plain\"}");
    assert_str(ab_event_data(e), AB_STR(""));
    ab_event_unref(e);
}

static void without_a_data_member_there_is_no_data(void **state)
{
    (void)state;
    ab_event *e = must_decode(LEAST "}");
    assert_null(ab_event_data(e).ptr);
    ab_event_unref(e);
}

static void escapes_in_values_are_resolved(void **state)
{
    (void)state;
    ab_event *e =
        must_decode(LEAST ",\"a\":\"\\u0061\\/\\\"\",\"b\":\"\\ud83d\\ude00\",\"c\":\"plain\"}");
    assert_attr(e, "a", "a/\"");
    assert_attr(e, "b", "\xf0\x9f\x98\x80");
    assert_attr(e, "c", "plain");
    ab_event_unref(e);
}

static void a_null_attribute_is_not_there(void **state)
{
    (void)state;
    ab_event *e = must_decode(LEAST ",\"subject\":null}");
    assert_attr(e, AB_CE_SUBJECT, NULL);
    ab_event_unref(e);
}

static void each_required_member_is_named_when_it_is_missing(void **state)
{
    (void)state;
    refused("{\"specversion\":\"1.0\",\"source\":\"s\",\"type\":\"t\"}", AB_ERR_INVALID, "id");
    refused("{\"specversion\":\"1.0\",\"id\":\"1\",\"type\":\"t\"}", AB_ERR_INVALID, "source");
    refused("{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s\"}", AB_ERR_INVALID, "type");
    refused("{\"specversion\":\"0.3\",\"id\":\"1\",\"source\":\"s\",\"type\":\"t\"}",
            AB_ERR_INVALID, "specversion");
    refused("{\"id\":\"\",\"source\":\"s\",\"type\":\"t\"}", AB_ERR_INVALID, "id");
    refused("{\"id\":null,\"source\":\"s\",\"type\":\"t\"}", AB_ERR_INVALID, "id");
}

static void what_is_no_event_is_refused(void **state)
{
    (void)state;
    refused("", AB_ERR_PARSE, "");
    refused("{", AB_ERR_PARSE, "");
    refused("[]", AB_ERR_PARSE, "object");
    refused("\"x\"", AB_ERR_PARSE, "object");
    refused(LEAST "} x", AB_ERR_PARSE, "");
    refused(LEAST ",\"id\":\"2\"}", AB_ERR_PARSE, "");
    refused(LEAST ",\"\\u0069d\":\"2\"}", AB_ERR_PARSE, "");
    refused(LEAST ",\"\\u0061\":\"2\"}", AB_ERR_INVALID, "escape");
    refused(LEAST ",\"a\":[]}", AB_ERR_INVALID, "a is an object or an array");
    refused(LEAST ",\"a\":{}}", AB_ERR_INVALID, "a is an object or an array");
    refused(LEAST ",\"a\":1.5}", AB_ERR_INVALID, "a");
    refused(LEAST ",\"a\":2147483648}", AB_ERR_INVALID, "a");
    refused(LEAST ",\"a_b\":\"x\"}", AB_ERR_INVALID, "attribute 4");
    refused(LEAST ",\"a\":\"\\u0000\"}", AB_ERR_INVALID, "a");
    refused(LEAST ",\"time\":\"now\"}", AB_ERR_INVALID, "time");
}

static void bad_base64_and_data_twice_are_refused(void **state)
{
    (void)state;
    refused(LEAST ",\"data_base64\":\"Zg=\"}", AB_ERR_INVALID, "data_base64");
    refused(LEAST ",\"data_base64\":5}", AB_ERR_INVALID, "data_base64");
    refused(LEAST ",\"data_base64\":null}", AB_ERR_INVALID, "data_base64");
    refused(LEAST ",\"data\":1,\"data_base64\":\"Zg==\"}", AB_ERR_INVALID, "mutually exclusive");
    refused(LEAST ",\"data_base64\":\"Zg==\",\"data\":1}", AB_ERR_INVALID, "mutually exclusive");
}

static void too_many_members_and_too_long_values_are_refused(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 1 << 20);
    ab_buf_puts(&b, LEAST);
    for (int i = 0; i <= AB_EVENT_ATTRS_MAX; i++)
        ab_buf_printf(&b, ",\"x%d\":\"\\u0041\"", i);
    ab_buf_putc(&b, '}');
    refused(b.ptr, AB_ERR_TOOBIG, "64 attributes");
    ab_buf_clear(&b);
    ab_buf_puts(&b, LEAST ",\"a\":\"\\u0041");
    for (unsigned i = 0; i < AB_EVENT_ATTR_VALUE_MAX; i++)
        ab_buf_putc(&b, 'x');
    ab_buf_puts(&b, "\"}");
    refused(b.ptr, AB_ERR_TOOBIG, "");
    ab_buf_fini(&b);
}

static void a_buffer_that_is_too_small_is_reported(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 50);
    assert_err(event_to_json(e, &b), AB_ERR_TOOBIG, NULL);
    ab_buf_fini(&b);
    ab_event_unref(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_data_keeps_its_text_both_ways),
        cmocka_unit_test(attributes_are_written_by_their_type),
        cmocka_unit_test(booleans_and_integers_keep_their_type_when_read),
        cmocka_unit_test(data_that_is_not_json_becomes_base64),
        cmocka_unit_test(every_json_media_type_is_known),
        cmocka_unit_test(data_as_deep_as_the_parser_goes_can_be_read_back),
        cmocka_unit_test(a_string_is_the_data_itself_where_the_type_is_not_json),
        cmocka_unit_test(without_a_data_member_there_is_no_data),
        cmocka_unit_test(escapes_in_values_are_resolved),
        cmocka_unit_test(a_null_attribute_is_not_there),
        cmocka_unit_test(each_required_member_is_named_when_it_is_missing),
        cmocka_unit_test(what_is_no_event_is_refused),
        cmocka_unit_test(bad_base64_and_data_twice_are_refused),
        cmocka_unit_test(too_many_members_and_too_long_values_are_refused),
        cmocka_unit_test(a_buffer_that_is_too_small_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
