/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_kafka.h"

#include "samples.h"
#include "schema/attributes.h"
#include "tests/unit/event/formats.h"

static void add(ab_record *r, const char *name, const char *value)
{
    r->headers[r->header_count++] = (ab_header){ab_str_of(name), ab_str_of(value)};
}

/** A record with the headers that every event needs. */
static ab_record least_record(void)
{
    ab_record r = {0};
    add(&r, "ce_specversion", "1.0");
    add(&r, "ce_id", "1");
    add(&r, "ce_source", "s");
    add(&r, "ce_type", "t");
    return r;
}

static ab_str header(const ab_record *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (ab_str_is(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return AB_STR_NONE;
}

static ab_event *must_decode(const ab_record *r)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_kafka_decode(r, &e, &err), AB_ERR_OK, &err);
    return e;
}

static void refused(const ab_record *r, ab_err code, const char *says)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_kafka_decode(r, &e, &err), code, &err);
    assert_says(&err, says);
    assert_null(e);
}

static void attributes_become_ce_headers_and_the_data_the_value(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    assert_int_equal(r.header_count, ab_event_attr_count(e) - 1);
    assert_str(header(&r, "ce_specversion"), AB_STR("1.0"));
    assert_str(header(&r, "ce_dataschema"), AB_STR("application"));
    assert_str(header(&r, "ce_objversion"), AB_STR("18446744073709551615"));
    assert_str(header(&r, "content-type"), AB_STR("application/json"));
    assert_null(header(&r, "ce_datacontenttype").ptr);
    assert_null(header(&r, "ce_partitionkey").ptr);
    assert_str(header(&r, "ce_subject"), AB_STR("argocd/guestbook"));
    assert_str(r.key, AB_STR("application/argocd/guestbook"));
    assert_str(r.value, d.data);
    ab_event_unref(e);
}

static void what_key_and_id_say_is_in_no_header(void **state)
{
    (void)state;
    static const char *const headers[] = {"ce_specversion", "ce_id", "ce_source", "ce_type",
                                          "content-type"};
    ab_event_draft d = sample_state();
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05.678Z");
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    assert_int_equal(r.time_ms, INT64_C(1767323045678));
    assert_int_equal(r.header_count, sizeof(headers) / sizeof(headers[0]));
    for (size_t i = 0; i < r.header_count; i++)
        assert_non_null(header(&r, headers[i]).ptr);
    ab_event *back = must_decode(&r);
    assert_same_event(e, back);
    ab_event_unref(e);
    ab_event_unref(back);
}

/** The event comes back as it was, with this attribute in a header. */
static void said_in_a_header(const ab_event_draft *d, const char *name)
{
    ab_event *e = must_make(d);
    ab_record r;
    ab_kafka_encode(e, &r);
    assert_non_null(header(&r, name).ptr);
    ab_event *back = must_decode(&r);
    assert_same_event(e, back);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void what_key_and_id_say_otherwise_is_in_a_header(void **state)
{
    (void)state;
    ab_event_draft d = sample_state();
    ab_event_set_text(&d, AB_CE_SUBJECT, "w1/other");
    said_in_a_header(&d, "ce_subject");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "cmd/w1/guestbook");
    said_in_a_header(&d, "ce_subject");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_OBJVERSION, "2");
    said_in_a_header(&d, "ce_objversion");
    said_in_a_header(&d, "ce_writerepoch");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_ID, "w1.1767323045");
    said_in_a_header(&d, "ce_objversion");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_DATASCHEMA, "appproject");
    said_in_a_header(&d, "ce_dataschema");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "cmd/w1/guestbook");
    said_in_a_header(&d, "ce_dataschema");
    d = sample_state();
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "AKindOfMoreThanThirtyOneLetters0/w1/guestbook");
    said_in_a_header(&d, "ce_dataschema");
}

static void a_time_that_a_record_cannot_say_is_in_a_header(void **state)
{
    (void)state;
    static const char *const times[] = {"2026-01-02T03:04:05.678901Z",   "2026-01-02T03:04:05.000Z",
                                        "2026-01-02T03:04:05.678+00:00", "1969-12-31T23:59:59Z",
                                        "1970-01-01T00:00:00Z",          "2026-06-30T23:59:60Z"};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        ab_event_draft d = sample_state();
        ab_event_set_text(&d, AB_CE_TIME, times[i]);
        said_in_a_header(&d, "ce_time");
    }
}

static void an_event_without_a_time_has_that_of_its_record(void **state)
{
    (void)state;
    ab_event_draft d = sample_state();
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    assert_int_equal(r.time_ms, 0);
    ab_event *back = must_decode(&r);
    assert_attr(back, AB_CE_TIME, NULL);
    ab_event_unref(back);
    r.time_ms = INT64_C(1767323045678);
    back = must_decode(&r);
    assert_attr(back, AB_CE_TIME, "2026-01-02T03:04:05.678Z");
    ab_event_unref(back);
    ab_event_unref(e);
}

static void headers_count_over_what_key_and_id_say(void **state)
{
    (void)state;
    ab_record r = least_record();
    r.headers[1].value = AB_STR("w1.5.7");
    r.key = AB_STR("Application/w1/a");
    ab_event *e = must_decode(&r);
    assert_attr(e, AB_CE_SUBJECT, "w1/a");
    assert_attr(e, AB_CE_DATASCHEMA, "application");
    assert_attr(e, AB_CE_WRITEREPOCH, "5");
    assert_attr(e, AB_CE_OBJVERSION, "7");
    ab_event_unref(e);

    add(&r, "ce_subject", "w1/b");
    add(&r, "ce_objversion", "8");
    add(&r, "ce_dataschema", "appproject");
    add(&r, "ce_time", "2026-01-02T03:04:05Z");
    r.time_ms = 1;
    e = must_decode(&r);
    assert_attr(e, AB_CE_DATASCHEMA, "appproject");
    assert_attr(e, AB_CE_TIME, "2026-01-02T03:04:05Z");
    assert_attr(e, AB_CE_SUBJECT, "w1/b");
    assert_attr(e, AB_CE_WRITEREPOCH, NULL);
    assert_attr(e, AB_CE_OBJVERSION, "8");
    ab_event_unref(e);
}

static void other_keys_and_ids_say_nothing(void **state)
{
    (void)state;
    static const char *const keys[] = {"cmd/w1/a", "application/w1/a", "Application",
                                       "Application/"};
    static const char *const ids[] = {"1",     "5.7",    "w1.5",   "w1..7",
                                      "w1.5.", "w1.5.x", "w1.x.7", "w1.5-7"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        ab_record r = least_record();
        r.headers[1].value = ab_str_of(ids[i]);
        r.key = ab_str_of(keys[i % (sizeof(keys) / sizeof(keys[0]))]);
        ab_event *e = must_decode(&r);
        assert_attr(e, AB_CE_SUBJECT, NULL);
        assert_attr(e, AB_CE_WRITEREPOCH, NULL);
        assert_attr(e, AB_CE_OBJVERSION, NULL);
        ab_event_unref(e);
    }
}

static void header_names_end_with_a_nul_for_c_libraries(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    for (size_t i = 0; i < r.header_count; i++)
        assert_int_equal(strlen(r.headers[i].name.ptr), r.headers[i].name.len);
    ab_event_unref(e);
}

static void an_event_without_data_is_a_null_value_and_one_without_key_has_none(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    assert_null(r.value.ptr);
    assert_null(r.key.ptr);
    ab_event_unref(e);

    d.data = AB_STR("");
    e = must_make(&d);
    ab_kafka_encode(e, &r);
    assert_non_null(r.value.ptr);
    ab_event *back = must_decode(&r);
    assert_same_event(e, back);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void the_longest_event_fits_a_record(void **state)
{
    (void)state;
    char names[AB_EVENT_ATTRS_MAX][AB_EVENT_ATTR_NAME_MAX + 1];
    ab_event_draft d = sample_least();
    for (size_t i = d.count; i < AB_EVENT_ATTRS_MAX; i++) {
        memset(names[i], 'n', AB_EVENT_ATTR_NAME_MAX);
        snprintf(names[i] + AB_EVENT_ATTR_NAME_MAX - 2, 3, "%02zu", i);
        ab_event_set_text(&d, names[i], "v");
    }
    ab_event *e = must_make(&d);
    ab_record r;
    ab_kafka_encode(e, &r);
    ab_event *back = must_decode(&r);
    assert_same_event(e, back);
    ab_event_unref(e);
    ab_event_unref(back);
}

static void each_required_header_is_named_when_it_is_missing(void **state)
{
    (void)state;
    static const char *const required[] = {AB_CE_ID, AB_CE_SOURCE, AB_CE_TYPE};
    for (size_t i = 0; i < 3; i++) {
        ab_record r = least_record();
        r.headers[i + 1].name = AB_STR("x");
        refused(&r, AB_ERR_INVALID, required[i]);
        r = least_record();
        r.headers[i + 1].value = AB_STR("");
        refused(&r, AB_ERR_INVALID, required[i]);
        r.headers[i + 1].value = AB_STR_NONE;
        refused(&r, AB_ERR_INVALID, required[i]);
    }
}

static void headers_of_others_and_empty_ones_are_ignored(void **state)
{
    (void)state;
    ab_record r = least_record();
    add(&r, "traceid", "1");
    add(&r, "CE_ID", "2");
    add(&r, "Ce_type", "2");
    add(&r, "ce-id", "2");
    add(&r, "ce_empty", "");
    add(&r, "ce_id", "");
    add(&r, "ce_null", NULL);
    ab_event *e = must_decode(&r);
    assert_int_equal(ab_event_attr_count(e), 4);
    assert_attr(e, AB_CE_ID, "1");
    assert_attr(e, AB_CE_TYPE, "t");
    ab_event_unref(e);
}

static void unknown_attributes_are_kept(void **state)
{
    (void)state;
    ab_record r = least_record();
    add(&r, "ce_somethingnew", "\xe2\x82\xac 100%25");
    ab_event *e = must_decode(&r);
    assert_attr(e, "somethingnew", "\xe2\x82\xac 100%25");
    ab_event_unref(e);
}

static void the_content_type_is_found_in_any_case(void **state)
{
    (void)state;
    ab_record r = least_record();
    add(&r, "Content-Type", "text/plain");
    r.value = AB_STR("{");
    ab_event *e = must_decode(&r);
    assert_attr(e, AB_CE_DATACONTENTTYPE, "text/plain");
    assert_str(ab_event_data(e), AB_STR("{"));
    ab_event_unref(e);
}

static void several_values_of_one_attribute_are_refused(void **state)
{
    (void)state;
    ab_record r = least_record();
    add(&r, "ce_id", "1");
    refused(&r, AB_ERR_INVALID, "id");
    r = least_record();
    add(&r, "content-type", "text/plain");
    add(&r, "Content-Type", "text/plain");
    refused(&r, AB_ERR_INVALID, "content-type");
    r = least_record();
    add(&r, "content-type", "text/plain");
    add(&r, "ce_datacontenttype", "text/plain");
    refused(&r, AB_ERR_INVALID, "datacontenttype");
}

static void a_header_that_names_no_attribute_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"ce_", "ce_Id", "ce_a-b", "ce_data"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_record r = least_record();
        add(&r, bad[i], "x");
        refused(&r, AB_ERR_INVALID, "attribute 4");
    }
    ab_record r = least_record();
    add(&r, "ce_ext", "a\nb");
    refused(&r, AB_ERR_INVALID, "ext");
}

static void the_key_is_the_partitionkey_whatever_the_event_says(void **state)
{
    (void)state;
    ab_record r = least_record();
    add(&r, "ce_partitionkey", "said");
    ab_event *e = must_decode(&r);
    assert_attr(e, AB_CE_PARTITIONKEY, "said");
    ab_event_unref(e);
    r.key = AB_STR("");
    e = must_decode(&r);
    assert_attr(e, AB_CE_PARTITIONKEY, "said");
    ab_event_unref(e);
    r.key = AB_STR("real");
    e = must_decode(&r);
    assert_attr(e, AB_CE_PARTITIONKEY, "real");
    ab_event_unref(e);
    r.key = AB_STR("\xff");
    refused(&r, AB_ERR_INVALID, "partitionkey");

    ab_record s = {.key = AB_STR("real")};
    add(&s, "content-type", "application/cloudevents+json");
    s.value = AB_STR("{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s\",\"type\":\"t\","
                     "\"partitionkey\":\"said\"}");
    e = must_decode(&s);
    assert_attr(e, AB_CE_PARTITIONKEY, "real");
    ab_event_unref(e);
}

static void a_structured_json_event_is_read_from_the_value_alone(void **state)
{
    (void)state;
    static const char *const types[] = {
        "application/cloudevents+json",
        "application/cloudevents+json; charset=UTF-8",
        "Application/CloudEvents+JSON",
    };
    ab_event_draft d = sample_application();
    ab_event *e = must_make(&d);
    ab_buf text;
    ab_buf_init(&text, 1 << 16);
    assert_err(event_to_json(e, &text), AB_ERR_OK, NULL);
    for (size_t i = 0; i < 3; i++) {
        ab_record r = {.value = ab_buf_str(&text), .key = ab_event_attr(e, AB_CE_PARTITIONKEY)};
        add(&r, "content-type", types[i]);
        add(&r, "ce_id", "ignored");
        ab_event *back = must_decode(&r);
        assert_same_event(e, back);
        ab_event_unref(back);
    }
    ab_buf_fini(&text);
    ab_event_unref(e);
}

static void a_structured_value_that_is_no_event_is_refused(void **state)
{
    (void)state;
    ab_record r = {0};
    add(&r, "content-type", "application/cloudevents+json");
    refused(&r, AB_ERR_PARSE, "");
    r.value = AB_STR("{\"id\":");
    refused(&r, AB_ERR_PARSE, "");
    r.value = AB_STR("[]");
    refused(&r, AB_ERR_PARSE, "object");
    r.value = AB_STR("{}");
    refused(&r, AB_ERR_INVALID, "id");
}

static void other_structured_formats_are_not_supported(void **state)
{
    (void)state;
    static const char *const types[] = {
        "application/cloudevents",
        "application/cloudevents+protobuf",
        "application/cloudevents-batch+json",
        "APPLICATION/CLOUDEVENTS+AVRO",
        "application/cloudevents+jsonx",
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        ab_record r = least_record();
        add(&r, "content-type", types[i]);
        refused(&r, AB_ERR_UNSUPPORTED, "application/cloudevents+json");
    }
}

static void too_many_headers_are_refused(void **state)
{
    (void)state;
    char names[AB_EVENT_ATTRS_MAX + 1][8];
    ab_record r = least_record();
    while (r.header_count < AB_EVENT_ATTRS_MAX + 1) {
        char *name = names[r.header_count];
        snprintf(name, sizeof(names[0]), "ce_x%zu", r.header_count);
        add(&r, name, "v");
    }
    refused(&r, AB_ERR_TOOBIG, "64 attributes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_become_ce_headers_and_the_data_the_value),
        cmocka_unit_test(what_key_and_id_say_is_in_no_header),
        cmocka_unit_test(what_key_and_id_say_otherwise_is_in_a_header),
        cmocka_unit_test(a_time_that_a_record_cannot_say_is_in_a_header),
        cmocka_unit_test(an_event_without_a_time_has_that_of_its_record),
        cmocka_unit_test(headers_count_over_what_key_and_id_say),
        cmocka_unit_test(other_keys_and_ids_say_nothing),
        cmocka_unit_test(header_names_end_with_a_nul_for_c_libraries),
        cmocka_unit_test(an_event_without_data_is_a_null_value_and_one_without_key_has_none),
        cmocka_unit_test(the_longest_event_fits_a_record),
        cmocka_unit_test(each_required_header_is_named_when_it_is_missing),
        cmocka_unit_test(headers_of_others_and_empty_ones_are_ignored),
        cmocka_unit_test(unknown_attributes_are_kept),
        cmocka_unit_test(the_content_type_is_found_in_any_case),
        cmocka_unit_test(several_values_of_one_attribute_are_refused),
        cmocka_unit_test(a_header_that_names_no_attribute_is_refused),
        cmocka_unit_test(the_key_is_the_partitionkey_whatever_the_event_says),
        cmocka_unit_test(a_structured_json_event_is_read_from_the_value_alone),
        cmocka_unit_test(a_structured_value_that_is_no_event_is_refused),
        cmocka_unit_test(other_structured_formats_are_not_supported),
        cmocka_unit_test(too_many_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
