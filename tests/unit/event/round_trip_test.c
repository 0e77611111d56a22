/* SPDX-License-Identifier: Apache-2.0
 *
 * An event that passes through any two formats, one after the other, is the same event.
 */
#include "event/codec_kafka.h"
#include "samples.h"
#include "schema/attributes.h"
#include "tests/unit/event/formats.h"

#include <stdlib.h>

static ab_err through_kafka(const ab_event *e, ab_event **out, ab_error *err)
{
    ab_record r;
    ab_kafka_encode(e, &r);
    return ab_kafka_decode(&r, out, err);
}

static ab_err through_structured_kafka(const ab_event *e, ab_event **out, ab_error *err)
{
    ab_buf b;
    ab_buf_init(&b, AB_EVENT_DATA_MAX);
    ab_err r = event_to_json(e, &b);
    ab_record record = {
        .headers = {{AB_STR("content-type"), AB_STR("application/cloudevents+json")}},
        .header_count = 1,
        .key = ab_event_attr(e, AB_CE_PARTITIONKEY),
        .value = ab_buf_str(&b),
    };
    if (r == AB_ERR_OK)
        r = ab_kafka_decode(&record, out, err);
    ab_buf_fini(&b);
    return r;
}

static ab_err through_json(const ab_event *e, ab_event **out, ab_error *err)
{
    ab_buf b;
    ab_buf_init(&b, AB_EVENT_DATA_MAX);
    ab_err r = event_to_json(e, &b);
    if (r == AB_ERR_OK)
        r = ab_event_from_json(ab_buf_str(&b), AB_STR_NONE, out, err);
    ab_buf_fini(&b);
    return r;
}

static ab_err through_protobuf(const ab_event *e, ab_event **out, ab_error *err)
{
    ab_buf b;
    ab_buf_init(&b, AB_EVENT_DATA_MAX);
    ab_err r = event_to_protobuf(e, &b);
    if (r == AB_ERR_OK)
        r = event_from_protobuf(ab_buf_str(&b), false, out, err);
    ab_buf_fini(&b);
    return r;
}

typedef ab_err (*passage)(const ab_event *e, ab_event **out, ab_error *err);
static const passage passages[] = {through_kafka, through_structured_kafka, through_json,
                                   through_protobuf};
#define PASSAGES (sizeof(passages) / sizeof(passages[0]))

static ab_event *pass(passage p, const ab_event *e)
{
    ab_error err = {0};
    ab_event *out = NULL;
    assert_err(p(e, &out, &err), AB_ERR_OK, &err);
    return out;
}

static void survives_every_pair(const ab_event_draft *d)
{
    ab_event *e = must_make(d);
    for (size_t i = 0; i < PASSAGES * PASSAGES; i++) {
        ab_event *first = pass(passages[i / PASSAGES], e);
        ab_event *second = pass(passages[i % PASSAGES], first);
        assert_same_event(e, first);
        assert_same_event(e, second);
        ab_event_unref(first);
        ab_event_unref(second);
    }
    ab_event_unref(e);
}

static void an_application_survives_every_pair_of_formats(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    survives_every_pair(&d);
    d = sample_state();
    survives_every_pair(&d);
}

static void all_types_of_attributes_survive_every_pair_of_formats(void **state)
{
    (void)state;
    ab_event_draft d = sample_all_types();
    survives_every_pair(&d);
}

static void no_data_and_empty_data_survive_every_pair_of_formats(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    survives_every_pair(&d);
    d.data = AB_STR("");
    survives_every_pair(&d);
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    survives_every_pair(&d);
}

static void any_data_survives_every_pair_of_formats(void **state)
{
    (void)state;
    static const char *const types[] = {NULL, "application/json", "text/plain",
                                        "application/octet-stream"};
    static const ab_str data[] = {
        {"null", 4},
        {"\"a\\u0000\"", 9},
        {"9007199254740993", 16},
        {"[1, 2 ]", 7},
        {" {}", 3},
        {"{}\n", 3},
        {"not json", 8},
        {"\0\1\xff\xfe", 4},
        {"{\"a\":1,\"a\":2}", 13},
        {"-0.0E+10", 8},
        {"\xef\xbb\xbf{}", 5},
        {"\"\\ud800\"", 8},
    };
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
            ab_event_draft d = sample_least();
            ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, types[t]);
            d.data = data[i];
            survives_every_pair(&d);
        }
    }
}

/* The same every time, and all bytes occur. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void random_bytes_as_data_survive_every_pair_of_formats(void **state)
{
    (void)state;
    uint32_t seed = 1;
    char data[512];
    for (int round = 0; round < 50; round++) {
        ab_event_draft d = sample_least();
        d.data = (ab_str){data, next_random(&seed) % sizeof(data)};
        for (size_t i = 0; i < d.data.len; i++)
            data[i] = (char)next_random(&seed);
        survives_every_pair(&d);
    }
}

static void large_json_data_survives_every_pair_of_formats(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 8u << 20);
    ab_buf_putc(&b, '[');
    for (int i = 0; i < 100000; i++)
        ab_buf_printf(&b, "{\"n\":%d},", i);
    ab_buf_puts(&b, "0]");
    ab_event_draft d = sample_least();
    d.data = ab_buf_str(&b);
    survives_every_pair(&d);
    ab_buf_fini(&b);
}

static void random_bytes_are_refused_by_every_decoder_or_make_a_valid_event(void **state)
{
    (void)state;
    uint32_t seed = 7;
    char bytes[64];
    for (int round = 0; round < 20000; round++) {
        ab_str s = {bytes, next_random(&seed) % sizeof(bytes)};
        for (size_t i = 0; i < s.len; i++)
            bytes[i] = (char)next_random(&seed);
        ab_event *e = NULL;
        if (event_from_protobuf(s, true, &e, NULL) == AB_ERR_OK)
            assert_true(ab_event_attr(e, AB_CE_TYPE).len > 0);
        ab_event_unref(e);
        e = NULL;
        if (ab_event_from_json(s, AB_STR_NONE, &e, NULL) == AB_ERR_OK)
            assert_true(ab_event_attr(e, AB_CE_TYPE).len > 0);
        ab_event_unref(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_application_survives_every_pair_of_formats),
        cmocka_unit_test(all_types_of_attributes_survive_every_pair_of_formats),
        cmocka_unit_test(no_data_and_empty_data_survive_every_pair_of_formats),
        cmocka_unit_test(any_data_survives_every_pair_of_formats),
        cmocka_unit_test(random_bytes_as_data_survive_every_pair_of_formats),
        cmocka_unit_test(large_json_data_survives_every_pair_of_formats),
        cmocka_unit_test(random_bytes_are_refused_by_every_decoder_or_make_a_valid_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
