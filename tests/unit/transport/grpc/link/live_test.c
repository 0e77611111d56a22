/* SPDX-License-Identifier: Apache-2.0
 *
 * The live lane of one link, whose peer is what the test says to it, on a clock that it moves.
 */
#include "transport/grpc/link/link.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "transport/grpc/link/hello.h"
#include "transport/grpc/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The stream, or a call for live events. */
typedef struct {
    int sent;
    char last[64]; /* id of the event sent last */
    bool asks;     /* a hello that was sent has asked for a call */
    bool full;
    bool paused;
    int cuts;
} way;

typedef struct {
    ab_transport_env env;
    ab_grpc_link_env link_env;
    ab_clock clock;
    int64_t now_ms;
    ab_rpc_budget received;
    ab_buf scratch;
    ab_config *config;
    ab_metrics *metrics;
    ab_grpc_link *link;
    way stream;
    way calls[2];
    int opens; /* of open_live */
    int events;
    bool keep;
    ab_delivery *open[16];
    int writable;
    int done;
    ab_err done_code;
} lab;

static int64_t mono_ms(void *arg)
{
    return ((lab *)arg)->now_ms;
}

static int64_t wall_us(void *arg)
{
    return ((lab *)arg)->now_ms * 1000;
}

static void on_event(void *arg, ab_delivery *delivery)
{
    lab *w = arg;
    assert_int_equal(delivery->lane, AB_LANE_LIVE);
    w->open[w->events++] = delivery;
    if (!w->keep)
        ab_grpc_link_ack(delivery, AB_VERDICT_APPLIED);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    (void)arg, (void)agent, (void)up, (void)peer;
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    (void)arg, (void)agent, (void)epoch;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    (void)arg, (void)agent, (void)gap;
}

static void on_caught_up(void *arg, const char *agent)
{
    (void)arg, (void)agent;
}

static void on_writable(void *arg, const char *agent)
{
    (void)agent;
    ((lab *)arg)->writable++;
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    fail_msg("%s", err->text);
}

static void on_done(void *arg, ab_err code, const ab_error *err)
{
    lab *w = arg;
    assert_true((code == AB_ERR_OK) == (err == NULL));
    w->done++;
    w->done_code = code;
}

static void wake(void *arg)
{
    (void)arg;
}

static void open_live(void *arg, ab_grpc_link *l)
{
    (void)l;
    ((lab *)arg)->opens++;
}

static ab_err way_send(void *stream, ab_str head, ab_event *event)
{
    way *s = stream;
    ab_grpc_hello hello;
    (void)head;
    if (s->full)
        return AB_ERR_FULL;
    s->sent++;
    snprintf(s->last, sizeof(s->last), "%.*s", AB_STR_ARG(ab_event_attr(event, AB_CE_ID)));
    if (ab_grpc_hello_read(event, &hello, NULL) == AB_ERR_OK)
        s->asks = hello.open_live;
    ab_grpc_hello_fini(&hello);
    return AB_ERR_OK;
}

static void way_pause(void *stream)
{
    ((way *)stream)->paused = true;
}

static void way_resume(void *stream)
{
    ((way *)stream)->paused = false;
}

static void way_cut(void *stream, const char *why)
{
    assert_non_null(why);
    ((way *)stream)->cuts++;
}

static const ab_grpc_stream_ops ops = {way_send, way_pause, way_resume, way_cut, NULL, NULL};

/* The peer says hello on a new stream. */
static void greet(lab *w, bool live_call, bool open_live_now)
{
    const ab_grpc_hello hello = {
        .base = {.mode = "managed", .version = "1", .instance = "i", .epoch = 1, .certificate = ""},
        .inflight = 4,
        .message_max = 1 << 20,
        .live_call = live_call,
        .open_live = open_live_now};
    ab_event *event = NULL;
    bool principal = w->env.role == AB_ROLE_PRINCIPAL;
    assert_int_equal(ab_grpc_hello_make(&hello, principal ? "/agent/w1" : "/principal", &event),
                     AB_ERR_OK);
    ab_grpc_link_take(w->link, &w->stream, event);
    ab_event_unref(event);
    ab_grpc_link_run(w->link);
}

static void begin(lab *w, ab_role role)
{
    const char *setting = "transport.inflight=4";
    const ab_config_sources sources = {.set = &setting, .set_count = 1};
    assert_int_equal(ab_config_load(&ab_transport_options, 1, &sources, &w->config, NULL), 0);
    w->now_ms = 1000000;
    w->clock = (ab_clock){mono_ms, wall_us, w};
    w->metrics = ab_metrics_new();
    w->env = (ab_transport_env){.config = w->config,
                                .metrics = w->metrics,
                                .clock = &w->clock,
                                .role = role,
                                .agent = role == AB_ROLE_AGENT ? "w1" : NULL,
                                .mode = role == AB_ROLE_AGENT ? "managed" : "",
                                .events = {.on_event = on_event,
                                           .on_peer = on_peer,
                                           .on_ready = on_ready,
                                           .on_gap = on_gap,
                                           .on_caught_up = on_caught_up,
                                           .on_writable = on_writable,
                                           .on_fatal = on_fatal,
                                           .arg = w}};
    ab_buf_init(&w->scratch, 65536);
    w->received = (ab_rpc_budget){.max = 1u << 20};
    w->link_env = (ab_grpc_link_env){.env = &w->env,
                                     .queue_bytes = 4096,
                                     .message_max = 1 << 20,
                                     .scratch = &w->scratch,
                                     .wake = wake,
                                     .arg = w,
                                     .open_live = open_live,
                                     .received = &w->received};
    ab_link_init(&w->link_env.woken);
    ab_link_init(&w->link_env.retired);
    assert_int_equal(ab_grpc_link_new(&w->link_env, "w1", &w->link, NULL), AB_ERR_OK);
    ab_grpc_link_attach(w->link, &ops, &w->stream);
    ab_grpc_link_run(w->link);
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(lab));
    assert_non_null(*state);
    return 0;
}

static int teardown(void **state)
{
    lab *w = *state;
    ab_grpc_link_free(w->link);
    ab_metrics_free(w->metrics);
    ab_config_free(w->config);
    ab_buf_fini(&w->scratch);
    free(w);
    return 0;
}

static ab_event *make_event(const lab *w, const char *source, const char *id, size_t size)
{
    static const char filler[131072] = {'x'};
    bool principal = w->env.role == AB_ROLE_PRINCIPAL;
    ab_event_draft d = {.data = {filler, size}};
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE,
                      source != NULL ? source
                      : principal    ? "/principal"
                                     : "/agent/w1");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_HTTP_GET));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESOURCE));
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

static ab_err put_sized(lab *w, const char *id, size_t size, int64_t deadline_ms)
{
    ab_event *event = make_event(w, NULL, id, size);
    ab_err e = ab_grpc_link_send(w->link, AB_LANE_LIVE, event, deadline_ms, on_done, w);
    ab_event_unref(event);
    return e;
}

static void put(lab *w, const char *id)
{
    assert_int_equal(put_sized(w, id, 2, 60000), AB_ERR_OK);
    ab_grpc_link_run(w->link);
}

/* The peer sends this by a call. */
static void come(lab *w, way *call, const char *source, size_t size)
{
    ab_str head;
    ab_buf whole;
    ab_event *event = make_event(w, source, "x", size);
    ab_buf_init(&whole, 1 << 20);
    assert_int_equal(ab_grpc_write_event(event, &w->scratch, &head), AB_ERR_OK);
    ab_buf_put(&whole, head);
    ab_buf_put(&whole, ab_event_data(event));
    ab_grpc_link_receive_live(w->link, call, ab_buf_str(&whole));
    ab_buf_fini(&whole);
    ab_event_unref(event);
}

static void pass(lab *w, int64_t ms)
{
    w->now_ms += ms;
    ab_grpc_link_tick(w->link);
    ab_grpc_link_run(w->link);
}

static void open_call(lab *w, way *call)
{
    ab_grpc_link_attach_live(w->link, &ops, call);
    ab_grpc_link_run(w->link);
}

/* ----- the call ----- */

static void a_principal_asks_for_a_call_when_it_has_something_to_send(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    int hellos = w->stream.sent;
    assert_false(w->stream.asks);
    put(w, "1");
    put(w, "2");
    assert_true(w->stream.asks);
    assert_int_equal(w->stream.sent, hellos + 1);
    assert_int_equal(w->done, 0);
    open_call(w, &w->calls[0]);
    assert_int_equal(w->calls[0].sent, 2);
    assert_string_equal(w->calls[0].last, "2");
    assert_int_equal(w->done, 2);
    put(w, "3");
    assert_int_equal(w->calls[0].sent, 3);
    assert_int_equal(w->stream.sent, hellos + 1);
    ab_grpc_link_greet_again(w->link);
    ab_grpc_link_run(w->link);
    assert_false(w->stream.asks);
}

static void an_agent_opens_a_call_when_asked_and_not_before(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_AGENT);
    greet(w, true, false);
    assert_int_equal(w->opens, 0);
    greet(w, true, true);
    assert_int_equal(w->opens, 1);
    greet(w, true, true);
    assert_int_equal(w->opens, 1);
    open_call(w, &w->calls[0]);
    greet(w, true, true);
    assert_int_equal(w->opens, 1);
    put(w, "1");
    assert_int_equal(w->calls[0].sent, 1);
}

static void an_agent_opens_a_call_for_what_it_sends_itself(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_AGENT);
    greet(w, true, false);
    put(w, "1");
    assert_int_equal(w->opens, 1);
    open_call(w, &w->calls[0]);
    assert_string_equal(w->calls[0].last, "1");
    ab_grpc_link_detach_live(w->link, &w->calls[0]);
    ab_grpc_link_live_over(w->link);
    put(w, "2");
    assert_int_equal(w->opens, 2);
}

static void who_waits_for_a_call_that_cannot_be_opened_is_told(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_AGENT);
    greet(w, true, false);
    put(w, "1");
    ab_grpc_link_live_over(w->link);
    ab_grpc_link_run(w->link);
    assert_int_equal(w->done, 1);
    assert_int_equal(w->done_code, AB_ERR_UNAVAILABLE);
    assert_int_equal(w->opens, 1);
}

static void who_waits_for_a_call_that_does_not_come_is_told(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    put(w, "1");
    pass(w, 9999);
    assert_int_equal(w->done, 0);
    pass(w, 1);
    assert_int_equal(w->done, 1);
    assert_int_equal(w->done_code, AB_ERR_UNAVAILABLE);
    w->stream.asks = false;
    put(w, "2");
    assert_true(w->stream.asks);
}

static void an_event_that_waits_beyond_its_deadline_is_not_sent(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    assert_int_equal(put_sized(w, "1", 2, 500), AB_ERR_OK);
    put(w, "2");
    pass(w, 500);
    assert_int_equal(w->done_code, AB_ERR_TIMEOUT);
    open_call(w, &w->calls[0]);
    assert_int_equal(w->calls[0].sent, 1);
    assert_string_equal(w->calls[0].last, "2");
}

static void a_principal_ends_a_call_that_is_idle(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    pass(w, 5 * 60000);
    come(w, &w->calls[0], "/agent/w1", 2);
    pass(w, 5 * 60000);
    put(w, "1");
    pass(w, 5 * 60000);
    assert_int_equal(w->calls[0].cuts, 0);
    pass(w, 60000);
    assert_int_equal(w->calls[0].cuts, 1);
}

static void a_call_ends_with_the_stream_and_what_waits_is_not_sent(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->calls[0].full = true;
    put(w, "1");
    ab_grpc_link_detach(w->link, &w->stream);
    ab_grpc_link_run(w->link);
    assert_int_equal(w->calls[0].cuts, 1);
    assert_int_equal(w->done_code, AB_ERR_UNAVAILABLE);
    ab_grpc_link_attach(w->link, &ops, &w->stream);
    greet(w, true, false);
    open_call(w, &w->calls[1]);
    assert_int_equal(w->calls[1].sent, 0);
}

static void the_newest_call_counts(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    open_call(w, &w->calls[1]);
    assert_int_equal(w->calls[0].cuts, 1);
    come(w, &w->calls[0], "/agent/w1", 2);
    assert_int_equal(w->events, 0);
    ab_grpc_link_detach_live(w->link, &w->calls[0]);
    come(w, &w->calls[1], "/agent/w1", 2);
    assert_int_equal(w->events, 1);
}

static void a_peer_that_knows_no_such_call_is_sent_none(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, false, false);
    int sent = w->stream.sent;
    put(w, "1");
    assert_int_equal(w->done, 1);
    assert_int_equal(w->done_code, AB_ERR_UNSUPPORTED);
    assert_int_equal(w->stream.sent, sent);
}

static void only_the_instance_that_said_hello_is_the_peer(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    assert_false(ab_grpc_link_is_peer(w->link, AB_STR("")));
    greet(w, true, false);
    assert_true(ab_grpc_link_is_peer(w->link, AB_STR("i")));
    assert_false(ab_grpc_link_is_peer(w->link, AB_STR("j")));
    assert_false(ab_grpc_link_is_peer(w->link, AB_STR_NONE));
    ab_grpc_link_detach(w->link, &w->stream);
    assert_false(ab_grpc_link_is_peer(w->link, AB_STR("i")));
}

/* ----- back-pressure ----- */

static void a_mebibyte_waits_for_a_full_call_and_no_more(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->calls[0].full = true;
    int taken = 0;
    while (taken < 100 && put_sized(w, "1", 131072, 60000) == AB_ERR_OK)
        taken++;
    assert_int_equal(taken, 7);
    ab_grpc_link_run(w->link);
    assert_int_equal(w->writable, 0);
    w->calls[0].full = false;
    ab_grpc_link_live_writable(w->link, &w->calls[0]);
    assert_int_equal(w->writable, 1);
    assert_int_equal(w->done, 7);
    ab_grpc_link_run(w->link);
    assert_int_equal(w->writable, 1);
}

static void a_call_that_was_replaced_lets_nothing_go_by_the_newest(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    open_call(w, &w->calls[1]);
    w->calls[1].full = true;
    put(w, "1");
    w->calls[1].full = false;
    ab_grpc_link_live_writable(w->link, &w->calls[0]);
    assert_int_equal(w->calls[1].sent, 0);
    ab_grpc_link_live_writable(w->link, &w->calls[1]);
    assert_int_equal(w->calls[1].sent, 1);
}

static void a_full_call_does_not_hold_up_the_stream(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->calls[0].full = true;
    put(w, "1");
    int before = w->stream.sent;
    ab_grpc_link_greet_again(w->link);
    ab_grpc_link_run(w->link);
    assert_int_equal(w->stream.sent, before + 1);
}

static void a_call_is_read_no_further_than_what_is_given_back(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->keep = true;
    for (int i = 0; i < 7; i++)
        come(w, &w->calls[0], "/agent/w1", 131072);
    assert_false(w->calls[0].paused);
    come(w, &w->calls[0], "/agent/w1", 131072);
    assert_true(w->calls[0].paused);
    assert_false(w->stream.paused);
    assert_int_equal(w->events, 8);
    come(w, &w->calls[0], "/agent/w1", 131072); /* it was on its way */
    ab_grpc_link_ack(w->open[0], AB_VERDICT_APPLIED);
    assert_true(w->calls[0].paused);
    ab_grpc_link_ack(w->open[1], AB_VERDICT_APPLIED);
    assert_false(w->calls[0].paused);
}

static void a_new_call_goes_on_though_the_last_was_full(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->keep = true;
    for (int i = 0; i < 8; i++)
        come(w, &w->calls[0], "/agent/w1", 131072);
    assert_true(w->calls[0].paused);
    w->calls[0].full = true;
    put(w, "1");
    open_call(w, &w->calls[1]);
    put(w, "2");
    assert_int_equal(w->calls[1].sent, 1);
    assert_false(w->calls[1].paused);
    come(w, &w->calls[1], "/agent/w1", 2); /* what the last one brought is not given back yet */
    assert_true(w->calls[1].paused);
}

static void a_call_whose_events_are_not_given_back_is_not_idle(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    w->keep = true;
    come(w, &w->calls[0], "/agent/w1", 2);
    pass(w, 7 * 60000);
    assert_int_equal(w->calls[0].cuts, 0);
    ab_grpc_link_ack(w->open[0], AB_VERDICT_APPLIED);
    pass(w, 0);
    assert_int_equal(w->calls[0].cuts, 1);
}

static void an_event_of_another_source_is_refused(void **state)
{
    lab *w = *state;
    begin(w, AB_ROLE_PRINCIPAL);
    greet(w, true, false);
    open_call(w, &w->calls[0]);
    come(w, &w->calls[0], "/agent/w2", 2);
    ab_grpc_link_receive_live(w->link, &w->calls[0], AB_STR("\xff\xff"));
    assert_int_equal(w->events, 0);
    come(w, &w->calls[0], "/agent/w1", 2);
    assert_int_equal(w->events, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_principal_asks_for_a_call_when_it_has_something_to_send),
        TEST(an_agent_opens_a_call_when_asked_and_not_before),
        TEST(an_agent_opens_a_call_for_what_it_sends_itself),
        TEST(who_waits_for_a_call_that_cannot_be_opened_is_told),
        TEST(who_waits_for_a_call_that_does_not_come_is_told),
        TEST(an_event_that_waits_beyond_its_deadline_is_not_sent),
        TEST(a_principal_ends_a_call_that_is_idle),
        TEST(a_call_ends_with_the_stream_and_what_waits_is_not_sent),
        TEST(the_newest_call_counts),
        TEST(a_peer_that_knows_no_such_call_is_sent_none),
        TEST(only_the_instance_that_said_hello_is_the_peer),
        TEST(a_mebibyte_waits_for_a_full_call_and_no_more),
        TEST(a_call_that_was_replaced_lets_nothing_go_by_the_newest),
        TEST(a_full_call_does_not_hold_up_the_stream),
        TEST(a_call_is_read_no_further_than_what_is_given_back),
        TEST(a_new_call_goes_on_though_the_last_was_full),
        TEST(a_call_whose_events_are_not_given_back_is_not_idle),
        TEST(an_event_of_another_source_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
