/* SPDX-License-Identifier: Apache-2.0
 *
 * What a principal's link takes from an agent that means harm: more bytes of events than are dealt
 * with, or than it listens to acknowledgements of, epochs that cannot be, and so on.
 */
#include "base/observe/log_quota.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "tests/unit/logged.h"
#include "transport/grpc/link/hello.h"
#include "transport/grpc/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SOURCE     AB_SOURCE_AGENT "w1"
#define QUEUE      4096
#define EVENTS_MAX 16
#define OWED_MAX   4096                      /* acknowledgements of 16 bytes each */
#define JSON_MAX   ((UINT64_C(1) << 53) - 1) /* of numbers */

typedef struct {
    ab_transport_env env;
    ab_grpc_link_env link_env;
    ab_rpc_budget received;
    ab_buf scratch;
    ab_grpc_link *link;
    ab_delivery *open[EVENTS_MAX];
    size_t events;
    bool paused;
    bool woken;
    bool full;       /* the stream takes nothing */
    unsigned writes; /* that it took */
    unsigned lists;  /* of acknowledgements, among them */
    bool fresh;      /* as the link's last hello says; so below */
    uint64_t epoch;
    uint64_t seen;
    unsigned cuts;
    unsigned gaps;
    int64_t silent_ms; /* of the stream */
    int64_t quiet_ms;
    unsigned hellos; /* that the link has said */
} fixture;

/* ----- what the link calls ----- */

static void on_event(void *arg, ab_delivery *delivery)
{
    fixture *f = arg;
    f->open[f->events++ % EVENTS_MAX] = delivery;
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    (void)arg;
    (void)agent;
    assert_true(up == (peer != NULL));
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    (void)arg;
    (void)agent;
    assert_true(epoch > 0);
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    ((fixture *)arg)->gaps++;
    (void)agent;
    assert_true(gap == AB_GAP_FIRST || gap == AB_GAP_RECREATED);
}

static void on_agent(void *arg, const char *agent)
{
    (void)arg;
    assert_string_equal(agent, "w1");
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    fail_msg("%s", err->text);
}

static void wake(void *arg)
{
    ((fixture *)arg)->woken = true;
}

static void note_hello(fixture *f, const ab_event *event)
{
    ab_grpc_hello hello;
    assert_int_equal(ab_grpc_hello_read(event, &hello, NULL), AB_ERR_OK);
    f->hellos++;
    f->fresh = hello.fresh;
    f->epoch = hello.base.epoch;
    f->seen = hello.seen;
    ab_grpc_hello_fini(&hello);
}

static ab_err stream_send(void *stream, ab_str head, ab_event *event)
{
    fixture *f = stream;
    (void)head;
    (void)event;
    f->writes += !f->full;
    f->lists +=
        ab_event_attr(event, AB_CE_ACKNOWLEDGES).ptr != NULL && ab_event_data(event).ptr != NULL;
    if (ab_str_is(ab_event_attr(event, AB_CE_DATASCHEMA), ab_target_name(AB_TARGET_HEARTBEAT)))
        note_hello(f, event);
    return f->full ? AB_ERR_FULL : AB_ERR_OK;
}

static void stream_pause(void *stream)
{
    ((fixture *)stream)->paused = true;
}

static void stream_resume(void *stream)
{
    ((fixture *)stream)->paused = false;
}

static void stream_cut(void *stream, const char *why)
{
    fixture *f = stream;
    assert_non_null(why);
    f->cuts++;
}

static int64_t stream_silent_ms(void *stream)
{
    return ((fixture *)stream)->silent_ms;
}

static int64_t stream_quiet_ms(void *stream)
{
    return ((fixture *)stream)->quiet_ms;
}

static const ab_grpc_stream_ops stream_ops = {stream_send, stream_pause,     stream_resume,
                                              stream_cut,  stream_silent_ms, stream_quiet_ms};

/* ----- the fixture ----- */

static void take(fixture *f, ab_event *event)
{
    ab_grpc_link_take(f->link, f, event);
    ab_event_unref(event);
    ab_grpc_link_run(f->link);
}

static void hear_from(fixture *f, const char *source, const char *instance, ab_grpc_hello hello)
{
    ab_event *event = NULL;
    hello.inflight = 100;
    hello.message_max = 100000;
    hello.base.certificate = "";
    snprintf(hello.base.mode, sizeof(hello.base.mode), "managed");
    snprintf(hello.base.version, sizeof(hello.base.version), "1");
    snprintf(hello.base.instance, sizeof(hello.base.instance), "%s", instance);
    assert_int_equal(ab_grpc_hello_make(&hello, source, &event), AB_ERR_OK);
    take(f, event);
}

static void hear(fixture *f, const char *instance, ab_grpc_hello hello)
{
    hear_from(f, SOURCE, instance, hello);
}

static void hear_hello_of(fixture *f, const char *instance, bool ack_lists)
{
    hear(f, instance, (ab_grpc_hello){.base.epoch = 1, .ack_lists = ack_lists});
}

static void hear_hello(fixture *f)
{
    hear_hello_of(f, "i", true);
}

static void open_link(fixture *f)
{
    assert_int_equal(ab_grpc_link_new(&f->link_env, "w1", &f->link, NULL), AB_ERR_OK);
    ab_grpc_link_attach(f->link, &stream_ops, f);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    const ab_config_sources sources = {0};
    ab_config *config = NULL;
    assert_non_null(f);
    assert_int_equal(ab_config_load(&ab_transport_options, 1, &sources, &config, NULL), AB_ERR_OK);
    f->env = (ab_transport_env){.config = config,
                                .metrics = ab_metrics_new(),
                                .clock = &ab_clock_real,
                                .role = AB_ROLE_PRINCIPAL,
                                .mode = "",
                                .events = {.on_event = on_event,
                                           .on_peer = on_peer,
                                           .on_ready = on_ready,
                                           .on_gap = on_gap,
                                           .on_caught_up = on_agent,
                                           .on_writable = on_agent,
                                           .on_fatal = on_fatal,
                                           .arg = f}};
    ab_buf_init(&f->scratch, 65536);
    f->received = (ab_rpc_budget){.max = 1u << 20};
    f->link_env = (ab_grpc_link_env){.env = &f->env,
                                     .queue_bytes = QUEUE,
                                     .message_max = 1u << 20,
                                     .scratch = &f->scratch,
                                     .wake = wake,
                                     .arg = f,
                                     .received = &f->received};
    ab_link_init(&f->link_env.woken);
    ab_link_init(&f->link_env.retired);
    open_link(f);
    hear_hello(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ab_grpc_link_free(f->link);
    assert_int_equal(f->received.used, 0);
    ab_buf_fini(&f->scratch);
    ab_metrics_free(f->env.metrics);
    ab_config_free((ab_config *)(uintptr_t)f->env.config);
    free(f);
    return 0;
}

/* From another one than the agent, if `source` says so. */
static void take_from(fixture *f, const char *source, uint64_t epoch, unsigned number, size_t size)
{
    static const char filler[8192] = {'x'};
    char key[32];
    ab_event *event = NULL;
    ab_event_draft d = {.data = {filler, size}};
    snprintf(key, sizeof(key), "app/%u", number);
    ab_event_set_text(&d, AB_CE_ID, key);
    ab_event_set_text(&d, AB_CE_SOURCE, source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_STATUS_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, epoch);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, number);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    take(f, event);
}

static void take_of_epoch(fixture *f, uint64_t epoch, unsigned number, size_t size)
{
    take_from(f, SOURCE, epoch, number, size);
}

static void take_sized(fixture *f, unsigned number, size_t size)
{
    take_of_epoch(f, 1, number, size);
}

static void deal_with(fixture *f, size_t which)
{
    ab_grpc_link_ack(f->open[which % EVENTS_MAX], AB_VERDICT_APPLIED);
    ab_grpc_link_run(f->link);
}

/* ----- tests ----- */

static void who_sends_more_bytes_than_are_dealt_with_is_not_read_for_a_while(void **state)
{
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        take_sized(f, i, QUEUE * 2 / 5);
    assert_int_equal(f->events, 2);
    assert_true(f->paused);
    deal_with(f, 0);
    assert_int_equal(f->events, 3);
    assert_false(f->paused);
}

static void nothing_overtakes_what_waits(void **state)
{
    fixture *f = *state;
    take_sized(f, 1, QUEUE * 3 / 5);
    take_sized(f, 2, QUEUE * 3 / 5);
    take_sized(f, 3, 2); /* there is room for it */
    assert_int_equal(f->events, 1);
    deal_with(f, 0);
    assert_int_equal(f->events, 3);
    assert_true(ab_str_is(ab_event_attr(f->open[1]->event, AB_CE_PARTITIONKEY), "app/2"));
}

static void an_event_larger_than_that_is_taken_alone(void **state)
{
    fixture *f = *state;
    take_sized(f, 1, QUEUE * 2);
    take_sized(f, 2, 2);
    assert_int_equal(f->events, 1);
    assert_true(f->paused);
    deal_with(f, 0);
    assert_int_equal(f->events, 2);
    assert_false(f->paused);
}

static void what_others_take_is_left_to_them(void **state)
{
    fixture *f = *state;
    f->received = (ab_rpc_budget){.max = 9000, .shared = true};
    ab_rpc_budget other = {.max = SIZE_MAX, .parent = &f->received};
    ab_rpc_budget_add(&other, 3000);
    take_sized(f, 1, 1000);
    take_sized(f, 2, 1000);
    assert_int_equal(f->events, 1);
    assert_true(f->paused);
    ab_rpc_budget_give(&other, 3000);
    f->woken = false;
    ab_grpc_link_tick(f->link);
    assert_true(f->woken);
    ab_grpc_link_run(f->link);
    assert_int_equal(f->events, 2);
    assert_false(f->paused);
}

static void nothing_is_taken_before_the_hello(void **state)
{
    fixture *f = *state;
    ab_grpc_link_free(f->link);
    open_link(f);
    take_sized(f, 1, 2);
    assert_int_equal(f->events, 0);
    hear_hello(f);
    take_sized(f, 1, 2);
    assert_int_equal(f->events, 1);
}

static void assert_not_read_until_it_listens(fixture *f)
{
    unsigned count = 0;
    f->full = true;
    while (!f->paused && count < 2 * OWED_MAX) {
        take_sized(f, ++count, 2);
        if (!f->paused)
            deal_with(f, f->events - 1);
    }
    assert_int_equal(f->events, OWED_MAX);
    f->full = false;
    ab_grpc_link_writable(f->link, f);
    ab_grpc_link_run(f->link);
    assert_int_equal(f->events, OWED_MAX + 1);
    assert_false(f->paused);
}

static void who_does_not_listen_to_acknowledgements_is_not_read_for_a_while(void **state)
{
    assert_not_read_until_it_listens(*state);
}

static void reattach(fixture *f)
{
    ab_grpc_link_detach(f->link, f);
    f->paused = false;
    ab_grpc_link_attach(f->link, &stream_ops, f);
    ab_grpc_link_run(f->link);
}

static void connect_again(fixture *f)
{
    reattach(f);
    hear_hello(f);
}

static void what_comes_again_is_told_from_what_has_the_same_version_in_another_epoch(void **state)
{
    fixture *f = *state;
    take_of_epoch(f, 1, 1, 2);
    connect_again(f);
    take_of_epoch(f, 1, 1, 2);
    assert_int_equal(f->events, 1);
    take_of_epoch(f, 2, 1, 2);
    assert_int_equal(f->events, 2);
}

static void what_waits_when_a_stream_ends_is_not_pending_any_more(void **state)
{
    fixture *f = *state;
    take_sized(f, 1, QUEUE * 3 / 5);
    take_sized(f, 2, QUEUE * 3 / 5);
    assert_int_equal(ab_pending_count(ab_grpc_link_pending(f->link, AB_UP)), 2);
    connect_again(f); /* the agent sends it again */
    assert_int_equal(ab_pending_count(ab_grpc_link_pending(f->link, AB_UP)), 1);
}

/* It is acknowledged: it would only come again. */
static void what_another_agent_is_to_have_said_is_not_taken(void **state)
{
    fixture *f = *state;
    f->writes = 0;
    take_from(f, AB_SOURCE_AGENT "w2", 1, 1, 2);
    take_from(f, AB_SOURCE_PRINCIPAL, 1, 2, 2);
    assert_int_equal(f->events, 0);
    assert_int_equal(f->writes, 2);
}

/* All that it sends would be refused, and nobody would know why. */
static void who_says_hello_as_another_agent_is_turned_away(void **state)
{
    fixture *f = *state;
    reattach(f);
    f->cuts = 0;
    hear_from(f, AB_SOURCE_AGENT "w2", "j", (ab_grpc_hello){.base.epoch = 1});
    assert_int_equal(f->cuts, 1);
    assert_false(ab_grpc_link_is_up(f->link));
}

/* Whether it reads lists, only its hello says. */
static void what_was_dealt_with_between_two_streams_is_told_as_the_newer_reads_it(void **state)
{
    fixture *f = *state;
    take_sized(f, 1, 2);
    ab_grpc_link_detach(f->link, f);
    deal_with(f, 0);
    f->writes = 0;
    reattach(f);
    hear_hello_of(f, "i", false);
    assert_int_equal(f->writes, 2); /* our hello, and that */
    assert_int_equal(f->lists, 0);
}

static void serve_again(fixture *f)
{
    ab_grpc_link_retire(f->link);
    ab_grpc_link_serve(f->link);
    ab_grpc_link_attach(f->link, &stream_ops, f);
    ab_grpc_link_run(f->link);
}

static void an_agent_that_was_forgotten_is_told_so(void **state)
{
    fixture *f = *state;
    assert_false(f->fresh);
    serve_again(f);
    assert_true(f->fresh);
}

/* Or one would be kept for each name that was ever served. */
static void a_link_is_over_when_nobody_has_to_do_with_it(void **state)
{
    fixture *f = *state;
    take_sized(f, 1, 2);
    ab_grpc_link_use(f->link);
    assert_null(ab_grpc_link_find_over(&f->link_env));
    ab_grpc_link_retire(f->link);
    (void)ab_grpc_link_run_woken(&f->link_env, 1);
    assert_null(ab_grpc_link_find_over(&f->link_env));
    ab_grpc_link_leave(f->link);
    assert_null(ab_grpc_link_find_over(&f->link_env));
    ab_grpc_link_ack(f->open[0], AB_VERDICT_APPLIED);
    (void)ab_grpc_link_run_woken(&f->link_env, 1);
    assert_ptr_equal(ab_grpc_link_find_over(&f->link_env), f->link);
    ab_grpc_link_serve(f->link);
    assert_null(ab_grpc_link_find_over(&f->link_env));
}

static void a_new_link_of_an_agent_that_was_forgotten_is_told_so(void **state)
{
    fixture *f = *state;
    const uint64_t epoch = f->epoch;
    ab_grpc_link_free(f->link);
    open_link(f);
    ab_grpc_link_run(f->link);
    assert_true(f->fresh);
    assert_true(f->epoch > epoch);
}

/* A list has one epoch for all of its versions. */
static void what_is_of_two_epochs_is_acknowledged_in_two_lists(void **state)
{
    fixture *f = *state;
    take_of_epoch(f, 1, 1, 2);
    take_of_epoch(f, 1, 2, 2);
    take_of_epoch(f, 2, 3, 2);
    f->full = true;
    for (size_t i = 0; i < 3; i++)
        deal_with(f, i);
    f->full = false;
    f->writes = 0;
    ab_grpc_link_writable(f->link, f);
    assert_int_equal(f->writes, 2);
}

/* One without lists, too, with room for all that it sends. */
static void nor_is_who_is_told_one_by_one(void **state)
{
    fixture *f = *state;
    ab_grpc_link_free(f->link);
    f->link_env.queue_bytes = f->received.max = SIZE_MAX;
    open_link(f);
    hear_hello_of(f, "i", false);
    assert_not_read_until_it_listens(f);
}

/* What is refused is acknowledged as well. */
static void who_names_another_source_is_not_read_without_end_either(void **state)
{
    fixture *f = *state;
    unsigned count = 0;
    ab_grpc_link_free(f->link);
    open_link(f);
    hear_hello_of(f, "i", false);
    f->full = true;
    while (!f->paused && count < QUEUE)
        take_from(f, AB_SOURCE_AGENT "w2", 1, ++count, 100);
    assert_true(f->paused);
    assert_true(f->received.used <= QUEUE);
    assert_int_equal(f->events, 0);
    f->full = false;
    ab_grpc_link_writable(f->link, f);
    ab_grpc_link_run(f->link);
    assert_false(f->paused);
    take_sized(f, ++count, 2);
    assert_int_equal(f->events, 1);
}

/* A process that lost its log and whose clock was set back: under the epoch that it took for itself
 * everything that it sends would be older than what its former sent. */
static void the_peer_is_told_of_the_highest_epoch_of_all_its_processes(void **state)
{
    fixture *f = *state;
    reattach(f);
    hear(f, "j", (ab_grpc_hello){.base.epoch = 50});
    reattach(f);
    assert_int_equal(f->seen, 50);
    hear(f, "k", (ab_grpc_hello){.base.epoch = 10});
    reattach(f);
    assert_int_equal(f->seen, 50);
    f->seen = 0;
    /* It has lost what it had, and so is greeted once more. */
    hear(f, "l", (ab_grpc_hello){.base.epoch = 20, .fresh = true});
    assert_int_equal(f->seen, 50);
}

/* Our clock was set back since the agent heard the process before us. */
static void an_epoch_that_was_offered_is_not_used_when_the_peer_knows_a_higher_one(void **state)
{
    fixture *f = *state;
    ab_grpc_link_free(f->link);
    open_link(f);
    ab_grpc_link_run(f->link);
    uint64_t known = f->epoch + 1000;
    hear(f, "i", (ab_grpc_hello){.base.epoch = 1, .seen = known});
    assert_true(f->epoch > known);
}

static int64_t stopped_ms(void *arg)
{
    return *(int64_t *)arg;
}

static int64_t stopped_us(void *arg)
{
    return *(int64_t *)arg * 1000;
}

/* A gap is much work for the principal, and a hello none for the agent. */
static void a_stream_does_not_bring_one_process_after_the_other(void **state)
{
    fixture *f = *state;
    int64_t now_ms = 5000;
    const ab_clock clock = {.mono_ms = stopped_ms, .wall_us = stopped_us, .arg = &now_ms};
    f->env.clock = &clock;
    reattach(f);
    hear_hello_of(f, "j", true);
    assert_int_equal(f->gaps, 2);
    hear_hello_of(f, "k", true);
    hear_hello_of(f, "j", true);
    hear_hello_of(f, "i", true);
    assert_int_equal(f->gaps, 2);
    assert_true(ab_grpc_link_is_peer(f->link, AB_STR("j")));
    now_ms += 1000;
    hear_hello_of(f, "k", true);
    assert_int_equal(f->gaps, 3);
    reattach(f);
    hear_hello_of(f, "l", true);
    assert_int_equal(f->gaps, 4);
    f->env.clock = &ab_clock_real;
}

/* For how many seconds the agent has not been heard, as shown. */
static double silent_s(const fixture *f)
{
    const ab_label label = {"agent", AB_STR("w1")};
    double seen_s =
        ab_metric_value(ab_metric_get(f->env.metrics, AB_METRIC_GAUGE,
                                      "argobus_peer_last_seen_timestamp_seconds", "", &label, 1));
    return (double)ab_clock_wall_us(&ab_clock_real) / 1e6 - seen_s;
}

static void it_shows_when_the_peer_was_last_heard(void **state)
{
    fixture *f = *state;
    assert_true(silent_s(f) < 60); /* the hello */
    f->silent_ms = 3600000;
    ab_grpc_link_tick(f->link);
    assert_true(silent_s(f) >= 3600 && silent_s(f) < 3660);
    f->silent_ms = 0; /* the answer to a ping */
    ab_grpc_link_tick(f->link);
    assert_true(silent_s(f) < 60);
    f->silent_ms = 1800000;
    ab_grpc_link_tick(f->link);
    ab_grpc_link_detach(f->link, f);
    f->silent_ms = 0;
    ab_grpc_link_tick(f->link); /* nothing is heard without a stream */
    assert_true(silent_s(f) >= 1800 && silent_s(f) < 1860);
}

/* A link that says hello every 30 s, and waits for 80 s; its peer promises as much. */
static void open_beating(fixture *f, ab_clock *clock)
{
    f->env.clock = clock;
    f->link_env.heartbeat_ms = 60000;
    f->link_env.heartbeat_timeout_ms = 20000;
    reattach(f);
    hear(f, "i", (ab_grpc_hello){.base.epoch = 1, .heartbeat_ms = 60000});
    f->cuts = 0;
    f->hellos = 0;
}

static void tick(fixture *f)
{
    ab_grpc_link_tick(f->link);
    ab_grpc_link_run(f->link);
}

static void a_silent_link_says_hello_again(void **state)
{
    fixture *f = *state;
    int64_t now_ms = 5000;
    ab_clock clock = {.mono_ms = stopped_ms, .wall_us = stopped_us, .arg = &now_ms};
    open_beating(f, &clock);
    now_ms += 29000;
    tick(f);
    assert_int_equal(f->hellos, 0);
    now_ms += 1000;
    tick(f);
    tick(f);
    assert_int_equal(f->hellos, 1);
    now_ms += 20000;
    take_from(f, SOURCE, 1, 1, 10);
    ab_grpc_link_ack(f->open[0], AB_VERDICT_APPLIED);
    ab_grpc_link_run(f->link); /* says something else */
    now_ms += 20000;
    tick(f);
    assert_int_equal(f->hellos, 1);
    now_ms += 10000;
    tick(f);
    assert_int_equal(f->hellos, 2);
    f->env.clock = &ab_clock_real;
}

static void a_stream_whose_peer_has_gone_silent_is_cut(void **state)
{
    fixture *f = *state;
    int64_t now_ms = 5000;
    ab_clock clock = {.mono_ms = stopped_ms, .wall_us = stopped_us, .arg = &now_ms};
    open_beating(f, &clock);
    f->quiet_ms = 79999;
    tick(f);
    tick(f);
    assert_int_equal(f->cuts, 0);
    f->quiet_ms = 80000;
    tick(f); /* what came while this end hung may not have been read */
    assert_int_equal(f->cuts, 0);
    tick(f);
    assert_int_equal(f->cuts, 1);
    assert_null(ab_grpc_link_stream(f->link));
    f->env.clock = &ab_clock_real;
}

static void a_peer_that_promises_nothing_may_be_silent(void **state)
{
    fixture *f = *state;
    f->link_env.heartbeat_ms = 60000;
    reattach(f);
    hear_hello(f);
    f->cuts = 0;
    f->quiet_ms = 3600000;
    tick(f);
    tick(f);
    assert_int_equal(f->cuts, 0);
}

static int refused(const fixture *f, const char *reason)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    return (int)ab_metric_value(
        ab_metric_get(f->env.metrics, AB_METRIC_COUNTER, "argobus_events_refused_total",
                      "Received events that were not accepted.", &label, 1));
}

static void hear_hello_in(fixture *f, const char *instance, uint64_t epoch, uint64_t seen)
{
    ab_grpc_hello hello = {.base = {.mode = "managed", .epoch = epoch, .certificate = ""},
                           .seen = seen,
                           .inflight = 100,
                           .message_max = 100000};
    ab_event *event = NULL;
    snprintf(hello.base.instance, sizeof(hello.base.instance), "%s", instance);
    assert_int_equal(ab_grpc_hello_make(&hello, SOURCE, &event), AB_ERR_OK);
    take(f, event);
}

/* Ours would be higher, and could not be said any more, whoever the agent is by then. */
static void an_epoch_that_cannot_be_is_not_exceeded(void **state)
{
    fixture *f = *state;
    ab_grpc_link_free(f->link);
    open_link(f);
    hear_hello_in(f, "i", 1, JSON_MAX);
    hear_hello_in(f, "i", JSON_MAX, 1);
    assert_int_equal(refused(f, "hello"), 2);
    hear_hello(f);
    assert_int_equal(refused(f, "hello"), 2);
    assert_in_range(f->epoch, 1, JSON_MAX - 1);
    take_from(f, SOURCE, 1, 1, 10);
    assert_int_equal(f->events, 1);
    ab_grpc_link_ack(f->open[0], AB_VERDICT_APPLIED);
}

static void what_is_refused_does_not_fill_the_log(void **state)
{
    fixture *f = *state;
    ab_log *log = NULL;
    FILE *file = logged_open(&ab_clock_real, &log);
    f->env.log = log;
    for (unsigned i = 0; i < 50; i++)
        take_from(f, AB_SOURCE_AGENT "w2", 1, i, 10);
    assert_int_equal(refused(f, "source"), 50);
    assert_int_equal(logged_count(file, "event refused"), AB_LOG_QUOTA_LINES);
    f->env.log = NULL;
    ab_log_free(log);
    fclose(file);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_sends_more_bytes_than_are_dealt_with_is_not_read_for_a_while),
        CASE(nothing_overtakes_what_waits),
        CASE(an_event_larger_than_that_is_taken_alone),
        CASE(what_comes_again_is_told_from_what_has_the_same_version_in_another_epoch),
        CASE(what_waits_when_a_stream_ends_is_not_pending_any_more),
        CASE(what_another_agent_is_to_have_said_is_not_taken),
        CASE(who_says_hello_as_another_agent_is_turned_away),
        CASE(what_was_dealt_with_between_two_streams_is_told_as_the_newer_reads_it),
        CASE(an_agent_that_was_forgotten_is_told_so),
        CASE(a_link_is_over_when_nobody_has_to_do_with_it),
        CASE(a_new_link_of_an_agent_that_was_forgotten_is_told_so),
        CASE(what_is_of_two_epochs_is_acknowledged_in_two_lists),
        CASE(what_others_take_is_left_to_them),
        CASE(nothing_is_taken_before_the_hello),
        CASE(the_peer_is_told_of_the_highest_epoch_of_all_its_processes),
        CASE(an_epoch_that_was_offered_is_not_used_when_the_peer_knows_a_higher_one),
        CASE(it_shows_when_the_peer_was_last_heard),
        CASE(a_silent_link_says_hello_again),
        CASE(a_stream_whose_peer_has_gone_silent_is_cut),
        CASE(a_peer_that_promises_nothing_may_be_silent),
        CASE(who_does_not_listen_to_acknowledgements_is_not_read_for_a_while),
        CASE(nor_is_who_is_told_one_by_one),
        CASE(a_stream_does_not_bring_one_process_after_the_other),
        CASE(who_names_another_source_is_not_read_without_end_either),
        CASE(an_epoch_that_cannot_be_is_not_exceeded),
        CASE(what_is_refused_does_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
