/* SPDX-License-Identifier: Apache-2.0
 *
 * Two links over streams in memory that a test opens, cuts and fills as it likes.
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

#define MESSAGES_MAX 256

/* One side: its link, what it was told, and what it has written to its stream. */
typedef struct side {
    struct side *other;
    ab_transport_env env;
    ab_grpc_link_env link_env;
    ab_rpc_budget received;
    ab_buf scratch;
    ab_grpc_link *link;
    ab_config *config;
    ab_metrics *metrics;
    bool woken;
    bool keep; /* deliveries stay open */
    ab_delivery *open[MESSAGES_MAX];
    size_t open_count;
    char last_key[64];
    int events;
    int gaps[3];
    int ready;
    int ups, downs;
    int caught_up;
    int writable;
    int done;
    ab_err done_code;
    uint64_t epoch;
    char *messages[MESSAGES_MAX];
    size_t lengths[MESSAGES_MAX];
    size_t written;
    size_t taken;
    bool paused;
    bool full;
    int cuts;
    char stream; /* its address is the stream */
} side;

static void on_event(void *arg, ab_delivery *delivery)
{
    side *s = arg;
    s->events++;
    snprintf(s->last_key, sizeof(s->last_key), "%.*s",
             AB_STR_ARG(ab_event_attr(delivery->event, AB_CE_PARTITIONKEY)));
    if (s->keep)
        s->open[s->open_count++] = delivery;
    else
        ab_grpc_link_ack(delivery, AB_VERDICT_APPLIED);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    side *s = arg;
    (void)agent;
    assert_true(up == (peer != NULL));
    s->ups += up ? 1 : 0;
    s->downs += up ? 0 : 1;
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    (void)arg;
    (void)agent;
    (void)head;
    fail();
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    side *s = arg;
    (void)agent;
    assert_true(epoch > s->epoch);
    s->epoch = epoch;
    s->ready++;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    side *s = arg;
    (void)agent;
    s->gaps[gap]++;
}

static void on_caught_up(void *arg, const char *agent)
{
    side *s = arg;
    (void)agent;
    s->caught_up++;
}

static void on_writable(void *arg, const char *agent)
{
    side *s = arg;
    (void)agent;
    s->writable++;
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    fail_msg("%s", err->text);
}

static void wake(void *arg)
{
    ((side *)arg)->woken = true;
}

/* The stream */
static void put_message(side *s, ab_str head, ab_str data)
{
    assert_true(s->written < MESSAGES_MAX);
    char *message = malloc(head.len + data.len + 1);
    assert_non_null(message);
    memcpy(message, head.ptr, head.len);
    if (data.len > 0)
        memcpy(message + head.len, data.ptr, data.len);
    s->messages[s->written] = message;
    s->lengths[s->written++] = head.len + data.len;
}

static ab_err stream_send(void *stream, ab_str head, ab_event *event)
{
    side *s = stream;
    if (s->full)
        return AB_ERR_FULL;
    put_message(s, head, ab_event_data(event));
    return AB_ERR_OK;
}

static void stream_pause(void *stream)
{
    ((side *)stream)->paused = true;
}

static void stream_resume(void *stream)
{
    ((side *)stream)->paused = false;
}

static void stream_cut(void *stream, const char *why)
{
    assert_non_null(why);
    ((side *)stream)->cuts++;
}

static const ab_grpc_stream_ops stream_ops = {stream_send, stream_pause, stream_resume,
                                              stream_cut,  NULL,         NULL};

static bool run_once(side *s)
{
    bool worked = s->woken;
    s->woken = false;
    if (worked)
        ab_grpc_link_run(s->link);
    side *from = s->other;
    while (from->taken < from->written && !s->paused) {
        size_t i = from->taken++;
        ab_grpc_link_receive(s->link, s, (ab_str){from->messages[i], from->lengths[i]});
        worked = true;
    }
    return worked;
}

static void run(side *s)
{
    bool more = true;
    while (more) {
        bool one = run_once(s);
        bool two = run_once(s->other);
        more = one || two;
    }
}

static void forget_written(side *s)
{
    for (size_t i = 0; i < s->written; i++)
        free(s->messages[i]);
    s->written = s->taken = 0;
}

static void connect_both(side *s)
{
    for (int i = 0; i < 2; i++, s = s->other) {
        forget_written(s);
        ab_grpc_link_attach(s->link, &stream_ops, s);
    }
    run(s);
}

/* What is under way is lost. */
static void break_both(side *s)
{
    for (int i = 0; i < 2; i++, s = s->other) {
        s->taken = s->written;
        s->paused = false;
        ab_grpc_link_detach(s->link, s);
    }
    run(s);
}

/* Sides */

static void configure(side *s, const char *setting)
{
    const ab_config_sources sources = {.set = &setting, .set_count = 1};
    ab_config_free(s->config);
    assert_int_equal(ab_config_load(&ab_transport_options, 1, &sources, &s->config, NULL), 0);
    s->env.config = s->config;
}

static void begin(side *s, ab_role role)
{
    configure(s, "transport.inflight=4");
    s->metrics = ab_metrics_new();
    s->env =
        (ab_transport_env){.config = s->config,
                           .metrics = s->metrics,
                           .clock = &ab_clock_real,
                           .role = role,
                           .agent = role == AB_ROLE_AGENT ? "w1" : NULL,
                           .mode = role == AB_ROLE_AGENT ? "managed" : "",
                           .events = {on_event, on_peer, on_written, on_ready, on_gap, on_caught_up,
                                      on_writable, .on_fatal = on_fatal, .arg = s}};
    ab_buf_init(&s->scratch, 65536);
    s->received = (ab_rpc_budget){.max = 1u << 20};
    s->link_env =
        (ab_grpc_link_env){&s->env, 4096, 2048, &s->scratch, wake, s, .received = &s->received};
    ab_link_init(&s->link_env.woken);
    ab_link_init(&s->link_env.retired);
    assert_int_equal(ab_grpc_link_new(&s->link_env, "w1", &s->link, NULL), AB_ERR_OK);
}

static void end(side *s)
{
    ab_grpc_link_free(s->link);
    ab_metrics_free(s->metrics);
    ab_config_free(s->config);
    forget_written(s);
    ab_buf_fini(&s->scratch);
}

/* The process at this side is another one, which may have lost what was received. */
static void restart(side *s, bool fresh)
{
    side *other = s->other;
    ab_role role = s->env.role;
    end(s);
    *s = (side){.other = other};
    begin(s, role);
    if (fresh) {
        ab_grpc_link_free(s->link);
        s->env.replay = true;
        assert_int_equal(ab_grpc_link_new(&s->link_env, "w1", &s->link, NULL), AB_ERR_OK);
    }
}

static int setup(void **state)
{
    side *both = calloc(2, sizeof(*both));
    assert_non_null(both);
    both[0].other = &both[1];
    both[1].other = &both[0];
    begin(&both[0], AB_ROLE_PRINCIPAL);
    begin(&both[1], AB_ROLE_AGENT);
    *state = both;
    return 0;
}

static int teardown(void **state)
{
    side *both = *state;
    end(&both[0]);
    end(&both[1]);
    free(both);
    return 0;
}

static void on_done(void *arg, ab_err code, const ab_error *err)
{
    side *s = arg;
    assert_true((code == AB_ERR_OK) == (err == NULL));
    s->done++;
    s->done_code = code;
}

static ab_event *make_event(const side *s, ab_target target, const char *key, uint64_t version,
                            size_t size)
{
    static const char filler[8192] = {'x'};
    ab_event_draft d = {.data = {filler, size}};
    ab_event_set_text(&d, AB_CE_ID, key);
    ab_event_set_text(&d, AB_CE_SOURCE,
                      s->env.role == AB_ROLE_AGENT ? AB_SOURCE_AGENT "w1" : AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

static ab_err send_sized(side *s, const char *key, uint64_t version, size_t size)
{
    ab_event *event = make_event(s, AB_TARGET_APPLICATION, key, version, size);
    ab_err e = ab_grpc_link_send(s->link, AB_LANE_STATE, event, 0, on_done, s);
    ab_event_unref(event);
    return e;
}

static void put(side *s, const char *key, uint64_t version)
{
    assert_int_equal(send_sized(s, key, version, 2), AB_ERR_OK);
}

static void put_some(side *s, unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        char key[32];
        snprintf(key, sizeof(key), "cmd/%u", i);
        put(s, key, i);
    }
}

/* Takes the event over. */
static void put_on_stream(side *s, ab_event *event)
{
    ab_str head;
    assert_int_equal(ab_grpc_write_event(event, &s->scratch, &head), AB_ERR_OK);
    put_message(s, head, ab_event_data(event));
    ab_event_unref(event);
}

static double refused(const side *s, const char *reason)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(s->metrics, AB_METRIC_COUNTER,
                                         "argobus_events_refused_total",
                                         "Received events that were not accepted.", &label, 1));
}

/* Tests */

static void a_broken_stream_goes_on_without_a_gap(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    agent->keep = true;
    put(principal, "cmd/1", 1);
    put(principal, "cmd/2", 2);
    run(principal);
    assert_int_equal(agent->events, 2);
    ab_grpc_link_ack(agent->open[0], AB_VERDICT_APPLIED);
    run(principal);
    break_both(principal);
    assert_int_equal(agent->downs, 1);
    put(principal, "cmd/3", 3);
    connect_both(principal);
    /* cmd/2 is still being dealt with, and not told twice. */
    assert_int_equal(agent->events, 3);
    assert_string_equal(agent->last_key, "cmd/3");
    assert_int_equal(agent->gaps[AB_GAP_FIRST], 1);
    assert_int_equal(agent->ready, 1);
    assert_int_equal(principal->ready, 1);
    assert_int_equal(agent->ups, 2);
    ab_grpc_link_ack(agent->open[1], AB_VERDICT_APPLIED);
    ab_grpc_link_ack(agent->open[2], AB_VERDICT_APPLIED);
    run(principal);
    break_both(principal);
    connect_both(principal);
    assert_int_equal(agent->events, 3);
}

static void another_process_is_a_gap_and_gets_what_was_not_acknowledged(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    break_both(principal);
    put(principal, "cmd/1", 1);
    restart(agent, false);
    connect_both(principal);
    assert_int_equal(agent->events, 1);
    assert_int_equal(agent->gaps[AB_GAP_FIRST], 1);
    assert_true(agent->caught_up == 1 && principal->caught_up == 2);
    assert_int_equal(principal->gaps[AB_GAP_FIRST], 2);
    assert_int_equal(principal->gaps[AB_GAP_RECREATED], 0);
    assert_int_equal(principal->ready, 1);
}

static void a_process_that_lost_its_memory_makes_the_writer_begin_anew(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    uint64_t epoch = principal->epoch;
    break_both(principal);
    put(principal, "cmd/1", 1);
    restart(agent, true);
    connect_both(principal);
    assert_int_equal(principal->gaps[AB_GAP_RECREATED], 1);
    assert_int_equal(principal->ready, 2);
    assert_true(principal->epoch > epoch);
    assert_int_equal(agent->events, 0);
    break_both(principal);
    connect_both(principal);
    assert_int_equal(principal->gaps[AB_GAP_RECREATED], 1);
}

static void an_epoch_is_higher_than_what_the_peer_knows(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    uint64_t epoch = agent->epoch;
    for (int i = 0; i < 3; i++) {
        break_both(principal);
        restart(agent, false);
        connect_both(principal);
        assert_true(agent->epoch > epoch);
        epoch = agent->epoch;
    }
    epoch = principal->epoch;
    break_both(principal);
    restart(principal, false);
    connect_both(principal);
    assert_true(principal->epoch > epoch);
}

static void an_agents_event_is_safe_when_it_is_acknowledged(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    principal->keep = true;
    put(agent, "app/a", 1);
    put(principal, "app/b", 1);
    run(principal);
    assert_int_equal(principal->done, 1);
    assert_int_equal(agent->done, 0);
    ab_grpc_link_ack(principal->open[0], AB_VERDICT_APPLIED);
    run(principal);
    assert_int_equal(agent->done, 1);
    assert_int_equal(agent->done_code, AB_ERR_OK);
}

static void acknowledgements_travel_together(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    principal->keep = true;
    put_some(agent, 4);
    run(principal);
    assert_int_equal(principal->open_count, 4);
    size_t before = principal->written;
    for (size_t i = 3; i > 0; i--) /* in any order, and not the first */
        ab_grpc_link_ack(principal->open[i], AB_VERDICT_APPLIED);
    run(principal);
    assert_int_equal(principal->written, before + 1);
    assert_int_equal(agent->done, 3);
    ab_grpc_link_ack(principal->open[0], AB_VERDICT_APPLIED);
    run(principal);
    assert_int_equal(agent->done, 4);
}

static void what_was_not_told_comes_again_by_the_next_stream(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    agent->full = true;
    put(principal, "app/a", 1);
    run(principal);
    break_both(principal);
    agent->full = false;
    connect_both(principal);
    assert_int_equal(agent->events, 2);
}

/* What the peer is told of our hello is that of one that reads no lists. */
static void hide_lists(side *s)
{
    static const char name[] = "\"ack_lists\":true";
    for (size_t i = s->taken; i < s->written; i++) {
        char *at = memmem(s->messages[i], s->lengths[i], name, sizeof(name) - 1);
        if (at != NULL)
            at[1] = 'x';
    }
}

static void who_reads_no_lists_is_told_of_each_event(void **state)
{
    side *principal = *state, *agent = principal->other;
    ab_grpc_link_attach(principal->link, &stream_ops, principal);
    ab_grpc_link_attach(agent->link, &stream_ops, agent);
    while (agent->written == 0) {
        run_once(principal);
        run_once(agent);
    }
    hide_lists(agent);
    run(principal);
    put(agent, "k1", 1);
    put(agent, "k2", 2);
    size_t before = principal->written;
    run(principal);
    assert_int_equal(principal->written, before + 2);
    assert_int_equal(agent->done, 2);
}

static void a_list_that_cannot_be_read_is_refused(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    ab_event *event = NULL;
    ab_event_draft d = {.data = AB_STR("\x08\x01\x10")};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&d, AB_CE_ACKNOWLEDGES, "1");
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    put_on_stream(principal, event);
    run(principal);
    assert_int_equal((int)refused(agent, "acknowledgement"), 1);
}

static void the_answer_to_a_command_is_no_acknowledgement(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    ab_event *answer = make_event(agent, AB_TARGET_EVENT_PROCESSED, "ack/1", 1, 2);
    assert_int_equal(ab_grpc_link_send(agent->link, AB_LANE_STATE, answer, 0, on_done, agent),
                     AB_ERR_OK);
    ab_event_unref(answer);
    run(principal);
    assert_int_equal(principal->events, 1);
    assert_int_equal(agent->done, 1);
}

static void no_more_is_sent_than_the_peer_takes(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    agent->keep = true;
    put_some(principal, 6);
    run(principal);
    assert_int_equal(agent->events, 4);
    assert_false(agent->paused);
    ab_grpc_link_ack(agent->open[3], AB_VERDICT_APPLIED);
    run(principal);
    assert_int_equal(agent->events, 5);
}

static void a_peer_that_reconnects_is_sent_what_it_takes_now(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    break_both(principal);
    agent->keep = true;
    configure(agent, "transport.inflight=2");
    put_some(principal, 6);
    connect_both(principal);
    assert_int_equal(agent->events, 2);
    assert_false(agent->paused);
}

static void an_event_that_comes_before_the_hello_is_refused_on_each_stream(void **state)
{
    side *principal = *state, *agent = principal->other;
    for (int i = 1; i <= 2; i++) {
        put_on_stream(principal, make_event(principal, AB_TARGET_APPLICATION, "app/a", 1, 2));
        ab_grpc_link_attach(agent->link, &stream_ops, agent);
        run(principal);
        assert_int_equal((int)refused(agent, "early"), i);
        connect_both(principal);
        break_both(principal);
    }
    assert_int_equal(agent->events, 0);
}

static void who_sends_more_than_allowed_is_not_read_for_a_while(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    agent->keep = true;
    for (unsigned i = 1; i <= 6; i++)
        put_on_stream(principal, make_event(principal, AB_TARGET_APPLICATION, "cmd/1", i, 2));
    run(principal);
    assert_int_equal(agent->events, 4);
    assert_true(agent->paused);
    for (int i = 0; i < 4; i++)
        ab_grpc_link_ack(agent->open[i], AB_VERDICT_APPLIED);
    run(principal);
    assert_false(agent->paused);
    assert_int_equal(agent->events, 6);
}

static void the_newest_stream_counts(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    ab_grpc_link_attach(principal->link, &stream_ops, &principal->stream);
    assert_int_equal(principal->cuts, 1);
    assert_int_equal(principal->downs, 1);
    /* What still comes by the old one is passed over, and its end is no news. */
    put(agent, "app/a", 1);
    agent->woken = false;
    ab_grpc_link_run(agent->link);
    size_t i = agent->written - 1;
    ab_grpc_link_receive(principal->link, principal,
                         (ab_str){agent->messages[i], agent->lengths[i]});
    assert_int_equal(principal->events, 0);
    ab_grpc_link_detach(principal->link, principal);
    assert_non_null(ab_grpc_link_stream(principal->link));
    principal->woken = false;
    ab_grpc_link_detach(principal->link, &principal->stream);
}

static void full_is_followed_by_writable(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    break_both(principal);
    assert_int_equal(send_sized(principal, "cmd/1", 1, 1500), AB_ERR_OK);
    assert_int_equal(send_sized(principal, "cmd/2", 2, 1500), AB_ERR_OK);
    assert_int_equal(send_sized(principal, "cmd/3", 3, 1500), AB_ERR_FULL);
    assert_int_equal(principal->writable, 0);
    connect_both(principal);
    assert_int_equal(agent->events, 2);
    assert_int_equal(principal->writable, 1);
}

static void little_waits_to_be_sent_where_much_may_be_unacknowledged(void **state)
{
    side *principal = *state;
    connect_both(principal);
    principal->link_env.queue_bytes = 1024u * 1024;
    unsigned taken = 0;
    while (send_sized(principal, "cmd/1", taken + 1, 1500) == AB_ERR_OK)
        taken++;
    assert_in_range(taken, 128 * 1024 / 2048, 128 * 1024 / 1500 + 1);
}

/* So that its sender sends the newest when the principal is there again, and nothing before it. */
static void an_agent_alone_keeps_its_states_with_the_sender(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    break_both(principal);
    assert_int_equal(send_sized(agent, "app/a", 1, 2), AB_ERR_FULL);
    run(agent);
    assert_int_equal(agent->writable, 0);
    connect_both(principal);
    assert_int_equal(principal->events, 0);
    assert_int_equal(agent->writable, 1);
    put(agent, "app/a", 2);
    run(agent);
    assert_int_equal(principal->events, 1);
}

static void what_is_too_large_ends_so(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    assert_int_equal(send_sized(principal, "app/a", 1, 3000), AB_ERR_OK);
    run(principal);
    assert_int_equal(principal->done_code, AB_ERR_TOOBIG);
    put(principal, "app/b", 1);
    run(principal);
    assert_int_equal(agent->events, 1);
}

static void a_full_stream_is_gone_on_with_when_it_has_room(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    principal->full = true;
    put(principal, "app/a", 1);
    run(principal);
    assert_int_equal(agent->events, 0);
    principal->full = false;
    ab_grpc_link_writable(principal->link, principal);
    run(principal);
    assert_int_equal(agent->events, 1);
}

static void a_link_that_closes_says_so_and_drains(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    agent->keep = true;
    put(principal, "cmd/1", 1);
    run(principal);
    ab_grpc_link_close(principal->link);
    assert_false(ab_grpc_link_is_drained(principal->link));
    run(principal);
    assert_int_equal(agent->downs, 1);
    assert_false(ab_grpc_link_is_drained(principal->link));
    ab_grpc_link_ack(agent->open[0], AB_VERDICT_APPLIED);
    run(principal);
    assert_true(ab_grpc_link_is_drained(principal->link));
}

static void garbage_is_counted_and_passed_over(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    const ab_str garbage[] = {AB_STR("\xff\xff"), AB_STR("\x0a\x03xyz"), AB_STR("")};
    for (size_t i = 0; i < 3; i++)
        put_message(principal, garbage[i], AB_STR_NONE);
    ab_event_draft d = {.data = AB_STR("{\"instance\":\"x\",\"epoch\":-1}")};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PING));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_HEARTBEAT));
    ab_event *hello = NULL;
    assert_int_equal(ab_event_new(&d, &hello, NULL), AB_ERR_OK);
    put_on_stream(principal, hello);
    put(principal, "app/a", 1);
    run(principal);
    assert_int_equal(agent->events, 1);
    assert_int_equal((int)refused(agent, "parse"), 3);
    assert_int_equal((int)refused(agent, "hello"), 1);
}

static bool shows_the_agent(const side *s)
{
    ab_buf text;
    ab_buf_init(&text, 65536);
    (void)ab_metrics_render(s->metrics, &(ab_rendering){0}, &text, SIZE_MAX);
    assert_int_equal(ab_buf_status(&text), AB_ERR_OK);
    bool found = text.ptr != NULL && strstr(text.ptr, "argobus_peer_up{agent=\"w1\"} 1") != NULL;
    ab_buf_fini(&text);
    return found;
}

static void the_metrics_of_an_agent_go_and_come_with_it(void **state)
{
    side *principal = *state, *agent = principal->other;
    connect_both(principal);
    principal->keep = true;
    put(agent, "app/a", 1);
    run(principal);
    assert_int_equal(principal->open_count, 1);
    assert_true(shows_the_agent(principal));
    ab_grpc_link_retire(principal->link);
    ab_metrics_drop_agent(principal->metrics, AB_STR("w1"));
    ab_grpc_link_ack(principal->open[0], AB_VERDICT_APPLIED);
    run(principal);
    assert_false(shows_the_agent(principal));
    principal->epoch = 0;
    ab_grpc_link_serve(principal->link);
    connect_both(principal);
    assert_true(shows_the_agent(principal));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_broken_stream_goes_on_without_a_gap),
        CASE(another_process_is_a_gap_and_gets_what_was_not_acknowledged),
        CASE(a_process_that_lost_its_memory_makes_the_writer_begin_anew),
        CASE(an_epoch_is_higher_than_what_the_peer_knows),
        CASE(an_agents_event_is_safe_when_it_is_acknowledged),
        CASE(acknowledgements_travel_together),
        CASE(what_was_not_told_comes_again_by_the_next_stream),
        CASE(who_reads_no_lists_is_told_of_each_event),
        CASE(a_list_that_cannot_be_read_is_refused),
        CASE(the_answer_to_a_command_is_no_acknowledgement),
        CASE(no_more_is_sent_than_the_peer_takes),
        CASE(a_peer_that_reconnects_is_sent_what_it_takes_now),
        CASE(an_event_that_comes_before_the_hello_is_refused_on_each_stream),
        CASE(who_sends_more_than_allowed_is_not_read_for_a_while),
        CASE(the_newest_stream_counts),
        CASE(full_is_followed_by_writable),
        CASE(little_waits_to_be_sent_where_much_may_be_unacknowledged),
        CASE(an_agent_alone_keeps_its_states_with_the_sender),
        CASE(what_is_too_large_ends_so),
        CASE(a_full_stream_is_gone_on_with_when_it_has_room),
        CASE(a_link_that_closes_says_so_and_drains),
        CASE(garbage_is_counted_and_passed_over),
        CASE(the_metrics_of_an_agent_go_and_come_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
