/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/event/formats.h"

#include "samples.h"
#include "schema/attributes.h"
#include "schema/proto/cloudevents.pb-c.h"

#include <stdlib.h>

/* The four required fields: tag, length, bytes. */
#define ID     "\x0a\x01i"
#define SOURCE "\x12\x01s"
#define VERSION                                                                                    \
    "\x1a\x03"                                                                                     \
    "1.0"
#define TYPE  "\x22\x01t"
#define LEAST ID SOURCE VERSION TYPE

static ab_event *must_decode(ab_str bytes, bool lenient)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(event_from_protobuf(bytes, lenient, &e, &err), AB_ERR_OK, &err);
    return e;
}

static void refused(ab_str bytes, bool lenient, ab_err code, const char *says)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(event_from_protobuf(bytes, lenient, &e, &err), code, &err);
    assert_says(&err, says);
    assert_null(e);
}

/** Is the attribute in the event's bytes as this entry: value's tag, then value? */
static void expect_entry(const ab_event_draft *d, ab_str entry)
{
    ab_event *e = must_make(d);
    ab_buf b;
    ab_buf_init(&b, 1 << 16);
    assert_err(event_to_protobuf(e, &b), AB_ERR_OK, NULL);
    assert_non_null(memmem(b.ptr, b.len, entry.ptr, entry.len));
    ab_buf_fini(&b);
    ab_event_unref(e);
}

static void the_least_event_has_these_bytes(void **state)
{
    (void)state;
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    ab_event_set_text(&d, AB_CE_ID, "i");
    ab_event_set_text(&d, AB_CE_SOURCE, "s");
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 1 << 16);
    assert_err(event_to_protobuf(e, &b), AB_ERR_OK, NULL);
    assert_str(ab_buf_str(&b), AB_STR(LEAST));
    ab_buf_fini(&b);
    ab_event_unref(e);
}

static void attributes_are_written_as_peers_expect_them(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    expect_entry(&d, AB_STR("\x0a\x0a"
                            "dataschema"
                            "\x12\x0d\x2a\x0b"
                            "application"));
    expect_entry(&d, AB_STR("\x0a\x0f"
                            "datacontenttype"
                            "\x12\x12\x1a\x10"
                            "application/json"));
    expect_entry(&d, AB_STR("\x0a\x07"
                            "subject"
                            "\x12\x12\x1a\x10"
                            "argocd/guestbook"));
    expect_entry(&d, AB_STR("\x0a\x0a"
                            "resourceid"
                            "\x12\x10\x1a\x0e"
                            "guestbook_c4f5"));
    d = sample_all_types();
    expect_entry(&d, AB_STR("\x0a\x04"
                            "flag"
                            "\x12\x02\x08\x01"));
    expect_entry(&d, AB_STR("\x0a\x06"
                            "noflag"
                            "\x12\x02\x08\x00"));
    expect_entry(&d, AB_STR("\x0a\x04"
                            "zero"
                            "\x12\x02\x10\x00"));
    expect_entry(&d, AB_STR("\x0a\x03"
                            "raw"
                            "\x12\x05\x22\x03\x00\xff\x41"));
    expect_entry(&d, AB_STR("\x0a\x04"
                            "path"
                            "\x12\x06\x32\x04../x"));
}

static void every_type_survives(void **state)
{
    (void)state;
    ab_event_draft d = sample_all_types();
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 1 << 16);
    assert_err(event_to_protobuf(e, &b), AB_ERR_OK, NULL);
    ab_event *back = must_decode(ab_buf_str(&b), false);
    assert_same_event(e, back);
    /* The required four come first in both; the others keep their order. */
    for (size_t i = 4; i < ab_event_attr_count(e); i++) {
        assert_int_equal(ab_event_attr_at(back, i).type, ab_event_attr_at(e, i).type);
    }
    ab_buf_fini(&b);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void each_required_field_is_named_when_it_is_missing_or_empty(void **state)
{
    (void)state;
    refused(AB_STR(SOURCE VERSION TYPE), false, AB_ERR_INVALID, "id");
    refused(AB_STR(ID VERSION TYPE), false, AB_ERR_INVALID, "source");
    refused(AB_STR(ID SOURCE VERSION), false, AB_ERR_INVALID, "type");
    refused(AB_STR("\x0a\x00" SOURCE VERSION TYPE), false, AB_ERR_INVALID, "id");
    refused(AB_STR(ID SOURCE "\x1a\x03"
                             "0.3" TYPE),
            false, AB_ERR_INVALID, "specversion");
    refused(AB_STR(""), false, AB_ERR_INVALID, "id");
}

static void a_lenient_reader_does_without_id_and_source_only(void **state)
{
    (void)state;
    ab_event *e = must_decode(AB_STR(VERSION TYPE), true);
    assert_attr(e, AB_CE_ID, "-");
    assert_attr(e, AB_CE_SOURCE, "-");
    ab_event_unref(e);
    e = must_decode(AB_STR(LEAST), true);
    assert_attr(e, AB_CE_ID, "i");
    assert_attr(e, AB_CE_SOURCE, "s");
    ab_event_unref(e);
    refused(AB_STR(ID SOURCE VERSION), true, AB_ERR_INVALID, "type");
}

static void dataschema_is_read_as_string_too(void **state)
{
    (void)state;
    ab_event *e = must_decode(AB_STR(LEAST "\x2a\x1b\x0a\x0a"
                                           "dataschema"
                                           "\x12\x0d\x1a\x0b"
                                           "application"),
                              false);
    assert_attr(e, AB_CE_DATASCHEMA, "application");
    assert_int_equal(ab_event_attr_at(e, 4).type, AB_ATTR_URI);
    ab_event_unref(e);
}

static void data_is_read_in_all_three_forms(void **state)
{
    (void)state;
    static const struct {
        ab_str bytes;
        ab_str data;
    } cases[] = {
        {{LEAST, sizeof(LEAST) - 1}, {NULL, 0}},
        {{LEAST "\x32\x00", sizeof(LEAST) + 1}, {"", 0}},
        {{LEAST "\x32\x02\x00\xff", sizeof(LEAST) + 3}, {"\0\xff", 2}},
        {{LEAST "\x3a\x03{\0}", sizeof(LEAST) + 4}, {"{\0}", 3}},
        {{LEAST "\x3a\x00", sizeof(LEAST) + 1}, {"", 0}},
        {{LEAST "\x42\x07\x0a\x01u\x12\x02"
                "ab",
          sizeof(LEAST) + 8},
         {"ab", 2}},
        {{LEAST "\x42\x00", sizeof(LEAST) + 1}, {"", 0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ab_event *e = must_decode(cases[i].bytes, false);
        assert_str(ab_event_data(e), cases[i].data);
        ab_event_unref(e);
    }
}

static void a_nul_does_not_end_a_text(void **state)
{
    (void)state;
    refused(AB_STR("\x0a\x03i\0x" SOURCE VERSION TYPE), false, AB_ERR_INVALID, "id");
    refused(AB_STR(LEAST "\x2a\x0c\x0a\x03"
                         "a\0b"
                         "\x12\x05\x1a\x03"
                         "x\0y"),
            false, AB_ERR_INVALID, "attribute 4");
}

static void an_attribute_without_value_is_not_there(void **state)
{
    (void)state;
    ab_event *e = must_decode(AB_STR(LEAST "\x2a\x03\x0a\x01"
                                           "a"
                                           "\x2a\x05\x0a\x01"
                                           "b"
                                           "\x12\x00"),
                              false);
    assert_int_equal(ab_event_attr_count(e), 4);
    ab_event_unref(e);
}

static void bad_attributes_are_refused(void **state)
{
    (void)state;
    refused(AB_STR(LEAST "\x2a\x08\x0a\x01"
                         "A"
                         "\x12\x03\x1a\x01x"),
            false, AB_ERR_INVALID, "attribute 4");
    refused(AB_STR(LEAST "\x2a\x08\x0a\x01"
                         "a"
                         "\x12\x03\x1a\x01\xff"),
            false, AB_ERR_INVALID, "a has");
    refused(AB_STR(LEAST "\x2a\x09\x0a\x02"
                         "id"
                         "\x12\x03\x1a\x01x"),
            false, AB_ERR_INVALID, "id is given twice");
    refused(AB_STR(LEAST "\x2a\x08\x0a\x01"
                         "a"
                         "\x12\x03\x1a\x01x"
                         "\x2a\x08\x0a\x01"
                         "a"
                         "\x12\x03\x1a\x01x"),
            false, AB_ERR_INVALID, "a is given twice");
    /* The first second of year 10000; minus one nanosecond. */
    refused(AB_STR(LEAST "\x2a\x0e\x0a\x01\x61\x12\x09\x3a\x07\x08\x80\x83\xd1\xff\xaf\x07"), false,
            AB_ERR_INVALID, "a: ");
    refused(
        AB_STR(LEAST
               "\x2a\x12\x0a\x01\x61\x12\x0d\x3a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        false, AB_ERR_INVALID, "a: ");
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    refused(AB_STR("\x0a\x05"
                   "abc"),
            false, AB_ERR_PARSE, "");
    refused(AB_STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false, AB_ERR_PARSE, "");
    refused(AB_STR(LEAST "\x08\x01"), false, AB_ERR_PARSE, "");
    refused(AB_STR(LEAST "\x2a\x02\x0a\x05"), false, AB_ERR_PARSE, "");
}

static void unknown_fields_are_skipped(void **state)
{
    (void)state;
    ab_event *e = must_decode(AB_STR(LEAST "\x7a\x01x"), false);
    assert_int_equal(ab_event_attr_count(e), 4);
    ab_event_unref(e);
}

static void a_message_of_millions_of_empty_attributes_is_refused(void **state)
{
    (void)state;
    size_t len = 4u << 20;
    char *bytes = malloc(len);
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i += 2) {
        bytes[i] = '\x2a';
        bytes[i + 1] = '\0';
    }
    refused((ab_str){bytes, len}, false, AB_ERR_TOOBIG, "64 attributes");
    refused((ab_str){bytes, 2 * 65}, false, AB_ERR_TOOBIG, "64 attributes");
    free(bytes);
}

static void an_event_of_the_most_attributes_survives(void **state)
{
    (void)state;
    char names[AB_EVENT_ATTRS_MAX][8];
    static char value[AB_EVENT_ATTR_VALUE_MAX];
    memset(value, 'v', sizeof(value));
    ab_event_draft d = sample_least();
    for (size_t i = d.count; i < AB_EVENT_ATTRS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "x%zu", i);
        ab_event_set(&d, names[i], (ab_str){value, i % 2 == 0 ? sizeof(value) : 1});
    }
    d.data = (ab_str){value, 1};
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 4u << 20);
    assert_err(event_to_protobuf(e, &b), AB_ERR_OK, NULL);
    ab_event *back = must_decode(ab_buf_str(&b), false);
    assert_same_event(e, back);
    ab_buf_fini(&b);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void of_a_field_that_comes_twice_the_last_counts(void **state)
{
    (void)state;
    ab_event *e = must_decode(AB_STR(LEAST "\x0a\x01j"
                                           "\x32\x01"
                                           "a"
                                           "\x3a\x01"
                                           "b"
                                           "\x2a\x0b\x0a\x01x\x12\x06\x08\x01\x1a\x02"
                                           "ok"),
                              false);
    assert_attr(e, AB_CE_ID, "j");
    assert_attr(e, "x", "ok");
    assert_str(ab_event_data(e), AB_STR("b"));
    ab_event_unref(e);
}

static void large_data_is_not_copied_again(void **state)
{
    (void)state;
    static char data[AB_PB_LARGE];
    memset(data, 'x', sizeof(data));
    ab_event_draft d = sample_least();
    d.data = (ab_str){data, sizeof(data)};
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 1 << 16);
    assert_err(event_to_protobuf(e, &b), AB_ERR_OK, NULL);
    ab_pb_arena arena;
    const ProtobufCMessage *m = NULL;
    assert_err(ab_event_unpack(&arena, &io__cloudevents__v1__cloud_event__descriptor,
                               ab_buf_str(&b), &m, NULL),
               AB_ERR_OK, NULL);
    const Io__Cloudevents__V1__CloudEvent *message = (const void *)m;
    const uint8_t *at = message->binary_data.data;
    ab_event *back = NULL;
    assert_err(ab_event_from_message(message, &arena, false, &back, NULL), AB_ERR_OK, NULL);
    ab_pb_arena_fini(&arena);
    assert_ptr_equal(ab_event_data(back).ptr, at);
    assert_same_event(e, back);
    ab_buf_fini(&b);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void large_data_of_a_refused_event_is_released(void **state)
{
    (void)state;
    static char bytes[8 + AB_PB_LARGE];
    /* Field 6 of AB_PB_LARGE bytes, and no required attribute. */
    memcpy(bytes, "\x32\x80\x80\x02", 4);
    refused((ab_str){bytes, 4 + AB_PB_LARGE}, false, AB_ERR_INVALID, "id");
}

static void a_buffer_that_is_too_small_is_reported(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    ab_event *e = must_make(&d);
    ab_buf b;
    ab_buf_init(&b, 50);
    assert_err(event_to_protobuf(e, &b), AB_ERR_TOOBIG, NULL);
    ab_buf_fini(&b);
    ab_event_unref(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_event_has_these_bytes),
        cmocka_unit_test(attributes_are_written_as_peers_expect_them),
        cmocka_unit_test(every_type_survives),
        cmocka_unit_test(each_required_field_is_named_when_it_is_missing_or_empty),
        cmocka_unit_test(a_lenient_reader_does_without_id_and_source_only),
        cmocka_unit_test(dataschema_is_read_as_string_too),
        cmocka_unit_test(data_is_read_in_all_three_forms),
        cmocka_unit_test(a_nul_does_not_end_a_text),
        cmocka_unit_test(an_attribute_without_value_is_not_there),
        cmocka_unit_test(bad_attributes_are_refused),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(a_message_of_millions_of_empty_attributes_is_refused),
        cmocka_unit_test(an_event_of_the_most_attributes_survives),
        cmocka_unit_test(of_a_field_that_comes_twice_the_last_counts),
        cmocka_unit_test(large_data_is_not_copied_again),
        cmocka_unit_test(large_data_of_a_refused_event_is_released),
        cmocka_unit_test(a_buffer_that_is_too_small_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
