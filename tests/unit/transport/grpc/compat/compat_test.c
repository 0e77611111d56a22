/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/compat/compat_priv.h"

#include "schema/attributes.h"
#include "tests/unit/logged.h"
#include "tests/unit/transport/grpc/compat/compat_world.h"
#include "transport/grpc/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define APP(value)                                                                                 \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"name\":"    \
    "\"a\",\"namespace\":\"w1\",\"uid\":\"u\",\"resourceVersion\":\"" value "\"},\"spec\":{\"v\":" \
    "\"" value "\"}}"
/* As Go writes a typed object. */
#define TYPED                                                                                      \
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"l\","                        \
    "\"creationTimestamp\":null},\"spec\":{},\"status\":{\"x\":1}}"

#define COUNTS(n) "{\"applicationsCount\":" n ",\"apisCount\":2,\"resourcesCount\":3}"

static const ab_event *last(const world *w)
{
    assert_true(w->told_count > 0);
    return w->told[w->told_count - 1];
}

static void assert_attr(const ab_event *event, const char *name, const char *value)
{
    ab_str got = ab_event_attr(event, name);
    if (!ab_str_is(got, value))
        fail_msg("%s is \"%.*s\", not \"%s\"", name, AB_STR_ARG(got), value);
}

static void assert_type(const ab_event *event, ab_type type)
{
    assert_attr(event, AB_CE_TYPE, ab_type_name(type));
}

static bool has(const ab_event *event, const char *text)
{
    ab_str data = ab_event_data(event);
    return memmem(data.ptr, data.len, text, strlen(text)) != NULL;
}

static world *with_agent(void **state)
{
    world *w = world_new(AB_ROLE_PRINCIPAL, "managed");
    *state = w;
    /* Once per process it is asked for what it has. */
    assert_int_equal(w->told_count, 1);
    assert_type(last(w), AB_TYPE_RESYNC_REQUEST);
    world_hear_ack(w, last(w));
    world_forget(w);
    return w;
}

static world *with_principal(void **state)
{
    world *w = world_new(AB_ROLE_AGENT, "managed");
    *state = w;
    assert_int_equal(w->told_count, 1);
    assert_type(last(w), AB_TYPE_SYNCED_LIST_REQUEST);
    world_hear_ack(w, last(w));
    world_forget(w);
    return w;
}

static int teardown(void **state)
{
    world_free(*state);
    return 0;
}

static void app(world *w, const char *value)
{
    world_say(w, AB_TARGET_APPLICATION, AB_TYPE_SPEC_UPDATE, "Application/w1/a", value);
}

/* Encoding */

static void an_event_is_encoded_as_go_does(void **state)
{
    (void)state;
    static const char expected[] = "\x0a\x83\x01" /* one field of a stream's message */
                                   "\x12\x03src\x1a\x03"
                                   "1.0"
                                   "\x22\x2aio.argoproj.argocd-agent.event.spec-update"
                                   "\x2a\x1b\x0a\x0a"
                                   "dataschema\x12\x0d\x2a\x0b" /* ce_uri */
                                   "application"
                                   "\x2a\x12\x0a\x07"
                                   "eventid\x12\x07\x1a\x05" /* ce_string */
                                   "a_u_1"
                                   "\x2a\x07";
    ab_buf out;
    ab_go_event e = {.target = AB_TARGET_APPLICATION,
                     .type = AB_TYPE_SPEC_UPDATE,
                     .eventid = "a_u_1",
                     .data = AB_STR("{}")};
    ab_buf_init(&out, 4096);
    ab_go_event_write(&e, "src", &out);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    size_t head = 3; /* the length is of all */
    size_t same = sizeof(expected) - 1 - head - 2;
    assert_memory_equal(out.ptr + head, expected + head, same);
    assert_memory_equal(out.ptr + out.len - 4, "\x32\x02{}", 4); /* binary_data */
    ab_buf_fini(&out);
}

static void an_acknowledgement_has_all_extensions_and_no_data(void **state)
{
    (void)state;
    ab_buf out;
    ab_event *event = NULL, *ack = NULL;
    ab_event_draft d = {.data = AB_STR("{}")};
    ab_event_set_text(&d, AB_CE_ID, "-");
    ab_event_set_text(&d, AB_CE_SOURCE, "-");
    ab_event_set_text(&d, AB_CE_TYPE, "x");
    ab_event_set_text(&d, AB_CE_SUBJECT, "w1/a");
    ab_event_set_text(&d, AB_CE_RESOURCEID, "r");
    ab_event_set_text(&d, "traceparent", "00-1");
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_buf_init(&out, 4096);
    ab_go_ack_write(event, AB_GO_SOURCE_PRINCIPAL, &out);
    assert_int_equal(ab_grpc_read_event(ab_buf_str(&out), &ack, NULL), AB_ERR_OK);
    assert_type(ack, AB_TYPE_PROCESSED);
    assert_attr(ack, AB_CE_DATASCHEMA, "eventProcessed");
    assert_attr(ack, AB_CE_RESOURCEID, "r");
    assert_attr(ack, "traceparent", "00-1");
    assert_null(ab_event_attr(ack, AB_CE_SUBJECT).ptr);
    assert_null(ab_event_data(ack).ptr);
    ab_event_unref(event);
    ab_event_unref(ack);
    ab_buf_fini(&out);
}

static void a_checksum_is_of_json_as_go_writes_it(void **state)
{
    (void)state;
    /* {"a":"\u003c\u0026\u003e","b":1} */
    static const uint8_t expected[] = {0x2d, 0xf7, 0x58, 0xe2, 0x48, 0x25, 0x68, 0xbf,
                                       0x28, 0xdc, 0x4a, 0x2f, 0xed, 0xf6, 0x59, 0x11,
                                       0xd3, 0x84, 0x7b, 0x67, 0xad, 0x5c, 0x54, 0x55,
                                       0xe9, 0x46, 0xb2, 0x14, 0x20, 0x82, 0x6a, 0x6d};
    ab_span *doc = NULL;
    uint8_t sum[AB_COMPAT_CHECKSUM];
    ab_str text = AB_STR("{\"spec\": {\"b\": 1, \"destination\": {}, \"a\": \"<&>\"}}");
    assert_int_equal(ab_span_parse(text, &doc, NULL), AB_ERR_OK);
    assert_true(ab_compat_checksum(ab_span_root(doc), AB_STR("Application"), sum));
    assert_memory_equal(sum, expected, sizeof(sum));
    assert_true(ab_compat_checksum(ab_span_root(doc), AB_STR("AppProject"), sum));
    assert_memory_not_equal(sum, expected, sizeof(sum));
    assert_false(ab_compat_checksum(ab_span_root(doc), AB_STR("Secret"), sum));
    ab_span_free(doc);
}

/* Sending */

static void a_state_is_told_as_argocd_agent_tells_it(void **state)
{
    world *w = with_agent(state);
    assert_int_equal(w->ready, 1);
    assert_int_equal(w->ups, 1);
    app(w, APP("7"));
    assert_attr(last(w), AB_CE_DATASCHEMA, "application");
    assert_attr(last(w), AB_CE_SUBJECT, "w1/a");
    assert_attr(last(w), AB_CE_RESOURCEID, "a_u");
    assert_attr(last(w), AB_CE_EVENTID, "a_u_7");
    assert_attr(last(w), AB_CE_PRINCIPALUID, "the-hub");
    assert_attr(last(w), AB_CE_ID, "-"); /* none */
    assert_null(ab_event_attr(last(w), AB_CE_OBJVERSION).ptr);
    assert_null(ab_event_attr(last(w), AB_CE_TIME).ptr);
}

static void one_of_a_resource_is_under_way_and_the_newest_waits(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    app(w, APP("2"));
    app(w, APP("3"));
    assert_int_equal(w->told_count, 1);
    world_hear_ack(w, w->told[0]);
    assert_int_equal(w->told_count, 2);
    assert_attr(last(w), AB_CE_EVENTID, "a_u_3");
    /* An acknowledgement that comes twice is none of the next. */
    world_hear_ack(w, w->told[0]);
    app(w, APP("4"));
    assert_int_equal(w->told_count, 2);
}

static void what_is_not_acknowledged_is_sent_again_ever_more_rarely(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_wait(w, 4900);
    assert_int_equal(w->told_count, 1);
    world_wait(w, 5200);
    assert_int_equal(w->told_count, 2);
    assert_attr(last(w), AB_CE_EVENTID, "a_u_1");
    assert_true(ab_str_eq(ab_event_attr(w->told[0], AB_CE_SENTAT),
                          ab_event_attr(w->told[1], AB_CE_SENTAT)));
    world_wait(w, 19900);
    assert_int_equal(w->told_count, 2);
    world_wait(w, 20200);
    assert_int_equal(w->told_count, 3);
    /* Something newer takes its place when it is due. */
    app(w, APP("2"));
    assert_int_equal(w->told_count, 3);
    world_wait(w, 160000);
    assert_attr(last(w), AB_CE_EVENTID, "a_u_2");
    for (size_t i = 0; i < 8; i++) {
        size_t before = w->told_count;
        world_wait(w, 240100); /* no more rarely than that */
        assert_true(w->told_count > before);
    }
}

static void who_does_not_answer_does_not_hold_back_others(void **state)
{
    world *w = with_agent(state);
    char key[64];
    for (int i = 0; i < 250; i++) {
        snprintf(key, sizeof(key), "Application/w1/a%d", i);
        world_say(w, AB_TARGET_APPLICATION, AB_TYPE_CREATE, key, APP("1"));
    }
    assert_int_equal(w->told_count, 200);
    world_hear_ack(w, w->told[3]);
    assert_int_equal(w->told_count, 201);
    world_forget(w);
    world_wait(w, 30000); /* those that wait come, and those that were not answered, again */
    assert_int_equal(w->told_count, 200 + 49);
}

/* Or with each one that was late, one less could be under way. */
static void who_has_answered_late_counts_again(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_wait(w, 30000);
    assert_int_equal(w->compat->under_way, 0);
    world_hear_ack(w, last(w));
    app(w, APP("2"));
    assert_int_equal(w->compat->under_way, 1);
    world_hear_ack(w, last(w));
    assert_int_equal(w->compat->under_way, 0);
}

static void a_deletion_goes_before_all_else_of_its_object(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    app(w, APP("2"));
    world_say(w, AB_TARGET_APPLICATION, AB_TYPE_DELETE, "Application/w1/a", NULL);
    assert_int_equal(w->told_count, 2);
    assert_type(last(w), AB_TYPE_DELETE);
    assert_attr(last(w), AB_CE_RESOURCEID, "a_u");
    assert_true(has(last(w), "\"name\":\"a\",\"namespace\":\"w1\",\"uid\":\"u\""));
}

static void a_new_stream_repeats_what_was_under_way_once(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_close(w);
    world_forget(w);
    world_open(w);
    assert_int_equal(w->told_count, 1);
    assert_attr(last(w), AB_CE_EVENTID, "a_u_1");
    assert_int_equal(w->ready, 1); /* nothing was lost */
    world_hear_ack(w, w->told[0]);
    world_close(w);
    world_forget(w);
    world_open(w);
    assert_int_equal(w->told_count, 0);
}

static void a_full_stream_is_gone_on_with(void **state)
{
    world *w = with_agent(state);
    w->full = true;
    app(w, APP("1"));
    assert_int_equal(w->told_count, 0);
    w->full = false;
    ab_compat_writable(w->compat, w);
    world_run(w);
    assert_int_equal(w->told_count, 1);
}

static void a_new_stream_is_sent_to_though_the_last_was_full(void **state)
{
    world *w = with_agent(state);
    w->full = true;
    app(w, APP("1"));
    world_close(w);
    w->full = false;
    world_open(w);
    assert_int_equal(w->told_count, 1);
    assert_attr(last(w), AB_CE_EVENTID, "a_u_1");
}

static void a_former_stream_is_not_heard(void **state)
{
    world *w = with_agent(state);
    ab_buf message;
    const ab_go_event event = {.target = AB_TARGET_APPLICATION,
                               .type = AB_TYPE_STATUS_UPDATE,
                               .resourceid = "r",
                               .eventid = "e",
                               .data = AB_STR(TYPED)};
    ab_buf_init(&message, 4096);
    ab_go_event_write(&event, AB_GO_SOURCE_AGENT, &message);
    ab_compat_receive(w->compat, &message, ab_buf_str(&message));
    world_run(w);
    assert_int_equal(w->got_count, 0);
    ab_compat_receive(w->compat, w, ab_buf_str(&message));
    world_run(w);
    assert_int_equal(w->got_count, 1);
    ab_buf_fini(&message);
}

static void a_sealed_secret_is_not_told(void **state)
{
    world *w = with_agent(state);
    world_say(w, AB_TARGET_REPOSITORY, AB_TYPE_CREATE, "Secret/argocd/r",
              "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"r\"},\"sealed\":\"x\"}");
    assert_int_equal(w->told_count, 0);
    world_say(w, AB_TARGET_REPOSITORY, AB_TYPE_CREATE, "Secret/argocd/r",
              "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"r\"},\"data\":{}}");
    assert_int_equal(w->told_count, 1);
}

static void a_request_is_answered_when_it_is_acknowledged(void **state)
{
    world *w = with_agent(state);
    world_say(
        w, AB_TARGET_APPLICATION, AB_TYPE_REFRESH, "cmd/1",
        "{\"kind\":\"Application\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":"
        "{\"argobus.io/refresh-id\":\"1\",\"argocd.argoproj.io/refresh\":\"hard\"}},"
        "\"operation\":{}}");
    assert_type(last(w), AB_TYPE_SPEC_UPDATE);
    assert_true(has(last(w), "argocd.argoproj.io/refresh"));
    assert_false(has(last(w), "argobus.io/"));
    assert_false(has(last(w), "operation"));
    assert_int_equal(w->got_count, 0);
    world_hear_ack(w, last(w));
    assert_int_equal(w->got_count, 1);
    assert_attr(w->got[0]->event, AB_CE_PARTITIONKEY, "ack/1");
    world_ack(w, 0);
}

static void an_autonomous_agent_is_told_no_state(void **state)
{
    world *w = world_new(AB_ROLE_PRINCIPAL, "autonomous");
    *state = w;
    world_forget(w);
    app(w, APP("1"));
    world_say(w, AB_TARGET_APPLICATION, AB_TYPE_DELETE, "Application/w1/a", NULL);
    assert_int_equal(w->told_count, 0);
    world_say(w, AB_TARGET_APPLICATION, AB_TYPE_SET_OPERATION, "cmd/1", APP("1"));
    assert_type(last(w), AB_TYPE_SET_OPERATION);
    assert_null(ab_event_attr(last(w), AB_CE_PRINCIPALUID).ptr);
}

/* Receiving */

static void what_comes_is_given_a_version_and_acknowledged_in_effect(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED); /* again */
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "2", TYPED);
    assert_int_equal(w->got_count, 2);
    const ab_event *first = w->got[0]->event, *second = w->got[1]->event;
    uint64_t one, two;
    assert_attr(first, AB_CE_SOURCE, "/agent/w1");
    assert_attr(first, AB_CE_PARTITIONKEY, "Application/argocd/a");
    assert_attr(first, AB_CE_SUBJECT, "argocd/a");
    assert_true(has(first, "\"kind\":\"Application\""));
    assert_int_equal(ab_event_attr_u64(first, AB_CE_OBJVERSION, &one), AB_ERR_OK);
    assert_int_equal(ab_event_attr_u64(second, AB_CE_OBJVERSION, &two), AB_ERR_OK);
    assert_true(two > one);
    assert_int_equal(w->told_count, 0);
    world_ack(w, 1);
    assert_int_equal(w->told_count, 1);
    assert_type(last(w), AB_TYPE_PROCESSED);
    assert_attr(last(w), AB_CE_EVENTID, "e-2");
    world_ack(w, 0);
    assert_attr(last(w), AB_CE_EVENTID, "e-1");
}

static void the_counts_of_an_agents_cache_come_on_the_live_lane(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_CLUSTER_CACHE_INFO, AB_TYPE_CLUSTER_CACHE_INFO_UPDATE, "1",
               COUNTS("1"));
    assert_int_equal(w->got_count, 1);
    assert_int_equal(w->got[0]->lane, AB_LANE_LIVE);
    const ab_event *got = w->got[0]->event;
    assert_attr(got, AB_CE_SOURCE, "/agent/w1");
    assert_attr(got, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_CLUSTER_CACHE_INFO));
    assert_type(got, AB_TYPE_CLUSTER_CACHE_INFO_UPDATE);
    assert_true(ab_str_is(ab_event_data(got), COUNTS("1")));
    assert_type(last(w), AB_TYPE_PROCESSED);
    assert_attr(last(w), AB_CE_EVENTID, "e-1");
    world_ack(w, 0);
}

static void a_principal_is_told_the_counts_of_the_cache_once(void **state)
{
    world *w = with_principal(state);
    world_say_live(w, AB_TARGET_CLUSTER_CACHE_INFO, AB_TYPE_CLUSTER_CACHE_INFO_UPDATE, "7",
                   COUNTS("1"));
    assert_int_equal(w->told_count, 1);
    assert_type(last(w), AB_TYPE_CLUSTER_CACHE_INFO_UPDATE);
    assert_attr(last(w), AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_CLUSTER_CACHE_INFO));
    assert_attr(last(w), AB_CE_RESOURCEID, "7");
    assert_attr(last(w), AB_CE_EVENTID, "7");
    assert_true(ab_str_is(ab_event_data(last(w)), COUNTS("1")));
    world_hear_ack(w, last(w));
    world_wait(w, 60000);
    assert_int_equal(w->told_count, 1);
}

static void what_is_dealt_with_on_a_new_stream_is_acknowledged_there(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    world_close(w);
    world_open(w);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    assert_int_equal(w->got_count, 1);
    world_ack(w, 0);
    assert_attr(last(w), AB_CE_EVENTID, "e-1");
}

static void what_comes_again_while_its_acknowledgement_waits_is_passed_over(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    w->full = true;
    world_ack(w, 0);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    assert_int_equal(w->got_count, 1);
}

static void what_is_returned_is_dealt_with_when_the_agent_repeats_it(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    world_return(w, 0);
    world_close(w);
    assert_true(TAILQ_EMPTY(&w->compat->pending));
    world_open(w);
    assert_int_equal(w->got_count, 1); /* not by itself */
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", TYPED);
    assert_int_equal(w->got_count, 2);
    world_ack(w, 1);
    assert_attr(last(w), AB_CE_EVENTID, "e-1");
}

static void a_refresh_from_a_principal_is_a_state_and_a_request(void **state)
{
    world *w = with_principal(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_SPEC_UPDATE, "1",
               "{\"metadata\":{\"name\":\"a\",\"namespace\":\"w1\",\"uid\":\"u\",\"annotations\":"
               "{\"argocd.argoproj.io/refresh\":\"hard\"}},\"spec\":{}}");
    assert_int_equal(w->got_count, 2);
    assert_type(w->got[0]->event, AB_TYPE_SPEC_UPDATE);
    assert_type(w->got[1]->event, AB_TYPE_REFRESH);
    world_ack(w, 0);
    assert_int_equal(w->told_count, 0);
    world_ack(w, 1);
    assert_type(last(w), AB_TYPE_PROCESSED);
}

static void an_application_of_the_hubs_own_namespace_is_remapped(void **state)
{
    world *w = with_principal(state);
    w->env.by_destination = true;
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_CREATE, "1",
               "{\"metadata\":{\"name\":\"a\",\"namespace\":\"hub\",\"uid\":\"u\"},\"spec\":{}}");
    assert_attr(w->got[0]->event, AB_CE_REMAPPED, "true");
    world_ack(w, 0);
}

static void with_one_agent_for_each_namespace_none_is_remapped(void **state)
{
    world *w = with_principal(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_CREATE, "1",
               "{\"metadata\":{\"name\":\"a\",\"namespace\":\"hub\",\"uid\":\"u\",\"annotations\":"
               "{\"" AB_ANN_REMAPPED "\":\"true\"}},\"spec\":{}}");
    assert_int_equal(w->got_count, 1);
    assert_null(ab_event_attr(w->got[0]->event, AB_CE_REMAPPED).ptr);
    world_ack(w, 0);
}

/* Given up, the object would be nobody's. */
static void what_only_argobus_says_is_refused_and_acknowledged(void **state)
{
    world *w = with_principal(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_RELEASE, "1", APP("1"));
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_REFRESH, "2", APP("1"));
    assert_int_equal(w->got_count, 0);
    assert_int_equal(w->told_count, 2);
    assert_type(last(w), AB_TYPE_PROCESSED);
}

static void the_other_side_s_own_is_refused_and_acknowledged(void **state)
{
    world *w = with_agent(state);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_CREATE, "1", TYPED);
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_INVENTORY, "2", "{}");
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "3", "[]");
    assert_int_equal(w->got_count, 0);
    assert_int_equal(w->told_count, 3);
    ab_compat_receive(w->compat, w, AB_STR("\xff"));
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "4", TYPED);
    assert_int_equal(w->got_count, 1);
}

/* Resync */

static void what_an_agent_has_otherwise_is_asked_to_be_compared(void **state)
{
    world *w = with_agent(state);
    world_hear(
        w, AB_TARGET_RESYNC, AB_TYPE_UPDATE_REQUEST, "1",
        "{\"name\":\"ghost\",\"namespace\":\"argocd\",\"uid\":\"g\",\"kind\":\"Application\","
        "\"checksum\":\"AAAA\"}");
    assert_int_equal(w->got_count, 0);
    world_wait(w, 500);
    assert_int_equal(w->got_count, 1);
    assert_true(has(w->got[0]->event, "\"step\":\"ask\""));
    world_say(w, AB_TARGET_RESYNC, AB_TYPE_RESYNC, "ctl/resync",
              "{\"step\":\"begin\",\"id\":\"x\"}");
    assert_true(has(w->got[1]->event, "\"step\":\"answer\",\"id\":\"x\",\"newest\":\"0.0\","
                                      "\"count\":1"));
    world_say(w, AB_TARGET_RESYNC, AB_TYPE_RESYNC, "ctl/resync",
              "{\"step\":\"want\",\"id\":\"x\",\"want\":[0]}");
    assert_true(has(w->got[2]->event, "[[\"Application/w1/ghost\",\"0.0\",\"\"]]"));
}

static void an_agent_s_missing_copy_that_is_on_its_way_is_no_difference(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_UPDATE_REQUEST, "1",
               "{\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"\",\"kind\":\"Application\","
               "\"checksum\":null}");
    world_wait(w, 500);
    assert_int_equal(w->got_count, 0);
}

static void a_list_that_differs_is_told_and_an_equal_one_is_not(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_hear_ack(w, last(w));
    world_forget(w);
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_SYNCED_LIST_REQUEST, "1", "{\"checksum\":\"AAAA\"}");
    assert_int_equal(w->told_count, 2); /* one of them says that it was taken */
    assert_type(last(w), AB_TYPE_SYNCED_RESOURCE);
    assert_true(has(last(w), "{\"name\":\"a\",\"namespace\":\"w1\",\"uid\":\"u\","
                             "\"kind\":\"Application\"}"));
    world_hear_ack(w, last(w));
    world_wait(w, 10000);
    world_forget(w);
    /* SHA-256 of "Application/a/u" */
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_SYNCED_LIST_REQUEST, "2",
               "{\"checksum\":\"7ZTNZO2F7Ae2iChnnTmQBNsC1HOM4nNj8yvG3Wn5iq8=\"}");
    assert_int_equal(w->told_count, 1);
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

/* What a peer can grow */

/* An event of a type that an agent may not send, with as much in an attribute as there may be. */
static void hear_useless(world *w, unsigned number)
{
    ab_buf message;
    ab_str head;
    ab_event *event = NULL;
    char id[16], filler[AB_EVENT_ATTR_VALUE_MAX];
    ab_event_draft d = {0};
    memset(filler, 'x', sizeof(filler));
    snprintf(id, sizeof(id), "%u", number);
    ab_event_set_text(&d, AB_CE_ID, "-");
    ab_event_set_text(&d, AB_CE_SOURCE, "-");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_EVENTID, id);
    ab_event_set(&d, "filler", (ab_str){filler, sizeof(filler)});
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_buf_init(&message, 2 * sizeof(filler));
    assert_int_equal(ab_grpc_write_event(event, &message, &head), AB_ERR_OK);
    ab_compat_receive(w->compat, w, head);
    world_run(w);
    ab_buf_fini(&message);
    ab_event_unref(event);
}

static void a_peer_that_takes_no_acknowledgements_is_not_read_until_it_does(void **state)
{
    world *w = with_agent(state);
    unsigned count = 0;
    w->full = true;
    while (!w->paused && count < WORLD_MAX)
        hear_useless(w, count++);
    assert_true(w->paused);
    assert_true(count > 100);
    w->full = false;
    ab_compat_writable(w->compat, w);
    world_run(w);
    assert_int_equal(w->told_count, count);
    assert_false(w->paused);
}

static void hear_large(world *w, const char *id)
{
    ab_buf data;
    ab_buf_init(&data, 1u << 20);
    ab_buf_printf(&data,
                  "{\"metadata\":{\"name\":\"a%s\",\"namespace\":\"argocd\"},\"status\":{\"x\":\"",
                  id);
    for (size_t i = 0; i < 700000; i++)
        ab_buf_putc(&data, 'x');
    ab_buf_puts(&data, "\"}}");
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, id, data.ptr);
    ab_buf_fini(&data);
}

static void a_peer_is_not_read_while_the_link_has_no_room(void **state)
{
    world *w = with_agent(state);
    hear_large(w, "1");
    assert_false(w->paused);
    hear_large(w, "2");
    assert_true(w->paused);
    ab_compat_writable(w->compat, w);
    world_run(w);
    assert_true(w->paused);
    world_ack(w, 0);
    assert_false(w->paused);
    world_ack(w, 1);
}

static void the_data_of_what_is_to_be_acknowledged_is_not_kept(void **state)
{
    world *w = with_agent(state);
    ab_buf data;
    ab_buf_init(&data, 1u << 20);
    ab_buf_putc(&data, '"');
    for (size_t i = 0; i < 500000; i++)
        ab_buf_putc(&data, 'x');
    ab_buf_putc(&data, '"');
    w->full = true;
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_SPEC_UPDATE, "1", data.ptr);
    assert_false(TAILQ_EMPTY(&w->compat->acked));
    assert_true(w->compat->owed_bytes < 4096);
    ab_buf_fini(&data);
}

#define ABOUT(name)                                                                                \
    "{\"name\":\"" name "\",\"namespace\":\"argocd\",\"uid\":\"u\",\"kind\":\"Application\","      \
    "\"checksum\":null}"

static void a_peer_names_so_many_resources_and_no_more(void **state)
{
    world *w = with_agent(state);
    char key[AB_OBJECT_KEY_MAX];
    for (unsigned i = 0; ab_map_count(w->compat->resources) < 65536; i++) {
        snprintf(key, sizeof(key), "Application/w1/a%u", i);
        assert_non_null(ab_compat_resource_for(w->compat, ab_str_of(key)));
    }
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_UPDATE_REQUEST, "1", ABOUT("other"));
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "2",
               "{\"metadata\":{\"name\":\"other\",\"namespace\":\"argocd\"},\"status\":{}}");
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_ERROR, "3",
               "{\"resourceName\":\"other\",\"resourceNamespace\":\"argocd\",\"message\":\"m\"}");
    assert_int_equal(ab_map_count(w->compat->resources), 65536);
    assert_int_equal(w->got_count, 0);
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_UPDATE_REQUEST, "4", ABOUT("a1"));
    assert_true(ab_compat_resource_for(w->compat, AB_STR("Application/w1/a1"))->present);
    assert_int_equal(ab_map_count(w->compat->resources), 65536);
}

static void what_cannot_be_converted_does_not_fill_the_log(void **state)
{
    world *w = with_agent(state);
    FILE *file = logged_open(&w->clock, &w->env.log);
    for (int i = 0; i < 40; i++)
        world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", "{");
    assert_int_equal(logged_count(file, "cannot convert an event"), AB_LOG_QUOTA_LINES);
    world_wait(w, 60000);
    world_hear(w, AB_TARGET_APPLICATION, AB_TYPE_STATUS_UPDATE, "1", "{");
    assert_int_equal(logged_count(file, "held_back=30"), 1);
    ab_log_free(w->env.log);
    w->env.log = NULL;
    fclose(file);
}

static void a_peer_is_told_of_all_at_intervals_however_often_it_asks(void **state)
{
    world *w = with_agent(state);
    app(w, APP("1"));
    world_hear_ack(w, last(w));
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_SYNCED_LIST_REQUEST, "1", "{\"checksum\":\"AAAA\"}");
    assert_type(last(w), AB_TYPE_SYNCED_RESOURCE);
    world_hear_ack(w, last(w));
    world_forget(w);
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_SYNCED_LIST_REQUEST, "2", "{\"checksum\":\"AAAA\"}");
    world_close(w);
    world_open(w);
    world_hear(w, AB_TARGET_RESYNC, AB_TYPE_SYNCED_LIST_REQUEST, "3", "{\"checksum\":\"AAAA\"}");
    world_wait(w, 9000);
    for (size_t i = 0; i < w->told_count; i++)
        assert_type(w->told[i], AB_TYPE_PROCESSED);
    world_wait(w, 1000);
    assert_type(last(w), AB_TYPE_SYNCED_RESOURCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_encoded_as_go_does),
        cmocka_unit_test(an_acknowledgement_has_all_extensions_and_no_data),
        cmocka_unit_test(a_checksum_is_of_json_as_go_writes_it),
        CASE(a_state_is_told_as_argocd_agent_tells_it),
        CASE(one_of_a_resource_is_under_way_and_the_newest_waits),
        CASE(what_is_not_acknowledged_is_sent_again_ever_more_rarely),
        CASE(who_does_not_answer_does_not_hold_back_others),
        CASE(who_has_answered_late_counts_again),
        CASE(a_deletion_goes_before_all_else_of_its_object),
        CASE(a_new_stream_repeats_what_was_under_way_once),
        CASE(a_full_stream_is_gone_on_with),
        CASE(a_new_stream_is_sent_to_though_the_last_was_full),
        CASE(a_former_stream_is_not_heard),
        CASE(a_sealed_secret_is_not_told),
        CASE(a_request_is_answered_when_it_is_acknowledged),
        CASE(an_autonomous_agent_is_told_no_state),
        CASE(what_comes_is_given_a_version_and_acknowledged_in_effect),
        CASE(the_counts_of_an_agents_cache_come_on_the_live_lane),
        CASE(a_principal_is_told_the_counts_of_the_cache_once),
        CASE(what_is_dealt_with_on_a_new_stream_is_acknowledged_there),
        CASE(what_comes_again_while_its_acknowledgement_waits_is_passed_over),
        CASE(what_is_returned_is_dealt_with_when_the_agent_repeats_it),
        CASE(a_refresh_from_a_principal_is_a_state_and_a_request),
        CASE(an_application_of_the_hubs_own_namespace_is_remapped),
        CASE(with_one_agent_for_each_namespace_none_is_remapped),
        CASE(what_only_argobus_says_is_refused_and_acknowledged),
        CASE(the_other_side_s_own_is_refused_and_acknowledged),
        CASE(what_an_agent_has_otherwise_is_asked_to_be_compared),
        CASE(an_agent_s_missing_copy_that_is_on_its_way_is_no_difference),
        CASE(a_list_that_differs_is_told_and_an_equal_one_is_not),
        CASE(a_peer_that_takes_no_acknowledgements_is_not_read_until_it_does),
        CASE(a_peer_is_not_read_while_the_link_has_no_room),
        CASE(the_data_of_what_is_to_be_acknowledged_is_not_kept),
        CASE(a_peer_names_so_many_resources_and_no_more),
        CASE(what_cannot_be_converted_does_not_fill_the_log),
        CASE(a_peer_is_told_of_all_at_intervals_however_often_it_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
