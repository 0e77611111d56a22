/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that must decode forever: logs of Kafka outlive releases, and peers are not upgraded at
 * once. The protobuf files were written by another implementation of protobuf. A file is never
 * changed, only added.
 */
#include "event/codec_kafka.h"
#include "samples.h"
#include "schema/attributes.h"
#include "tests/unit/event/formats.h"
#include "tests/unit/event/record_text.h"

static char file[1 << 16];

static ab_str read_golden(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("cannot open %s", path);
    size_t len = fread(file, 1, sizeof(file), f);
    fclose(f);
    return (ab_str){file, len};
}

static ab_event *from_json(const char *name)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_event_from_json(read_golden(name), AB_STR_NONE, &e, &err), AB_ERR_OK, &err);
    return e;
}

static ab_event *from_protobuf(const char *name, bool lenient)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(event_from_protobuf(read_golden(name), lenient, &e, &err), AB_ERR_OK, &err);
    return e;
}

static ab_event *from_kafka(const char *name)
{
    ab_error err = {0};
    ab_event *e = NULL;
    ab_record r;
    record_from_text(read_golden(name), &r);
    assert_err(ab_kafka_decode(&r, &e, &err), AB_ERR_OK, &err);
    return e;
}

/** Compare, and give both up. */
static void expect(ab_event *decoded, const ab_event_draft *expected)
{
    ab_event *e = must_make(expected);
    assert_same_event(e, decoded);
    ab_event_unref(e);
    ab_event_unref(decoded);
}

static void the_application_decodes_from_every_format(void **state)
{
    (void)state;
    ab_event_draft d = sample_application();
    expect(from_json("application.json"), &d);
    expect(from_protobuf("application.pb", false), &d);
    expect(from_kafka("application.kafka"), &d);
    expect(from_kafka("application_structured.kafka"), &d);
}

static void what_key_and_id_say_needs_no_header(void **state)
{
    (void)state;
    ab_event_draft d = sample_state();
    expect(from_kafka("state.kafka"), &d);
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05.678Z");
    expect(from_kafka("state_time.kafka"), &d);
}

static void all_types_decode_from_every_format(void **state)
{
    (void)state;
    ab_event_draft d = sample_all_types();
    expect(from_json("all_types.json"), &d);
    expect(from_protobuf("all_types.pb", false), &d);
    expect(from_kafka("all_types.kafka"), &d);
}

static void a_tombstone_decodes_to_an_event_without_data(void **state)
{
    (void)state;
    ab_event *e = from_kafka("tombstone.kafka");
    assert_attr(e, AB_CE_TYPE, "io.argoproj.argocd-agent.event.delete");
    assert_attr(e, AB_CE_PARTITIONKEY, "application/argocd/guestbook");
    assert_null(ab_event_data(e).ptr);
    ab_event_unref(e);
}

static void what_argocd_agent_sends_decodes_leniently(void **state)
{
    (void)state;
    ab_event *e = from_protobuf("argocd_agent.pb", true);
    assert_attr(e, AB_CE_ID, "-");
    assert_attr(e, AB_CE_SOURCE, "-");
    assert_attr(e, AB_CE_DATASCHEMA, "application");
    assert_attr(e, AB_CE_EVENTID, "guestbook_c4f5_4711");
    assert_str(ab_event_data(e), AB_STR("{\"metadata\":{\"name\":\"guestbook\"}}"));
    ab_event_unref(e);

    ab_event *refused = NULL;
    assert_err(event_from_protobuf(read_golden("argocd_agent.pb"), false, &refused, NULL),
               AB_ERR_INVALID, NULL);
}

static void text_data_and_a_dataschema_of_type_string_decode(void **state)
{
    (void)state;
    ab_event *e = from_protobuf("text_data.pb", false);
    assert_attr(e, AB_CE_SOURCE, "agent://agent-managed");
    assert_attr(e, AB_CE_DATASCHEMA, "application");
    assert_str(ab_event_data(e), AB_STR("{\"metadata\":{\"name\":\"guestbook\"}}"));
    ab_event_unref(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_application_decodes_from_every_format),
        cmocka_unit_test(what_key_and_id_say_needs_no_header),
        cmocka_unit_test(all_types_decode_from_every_format),
        cmocka_unit_test(a_tombstone_decodes_to_an_event_without_data),
        cmocka_unit_test(what_argocd_agent_sends_decodes_leniently),
        cmocka_unit_test(text_data_and_a_dataschema_of_type_string_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
