/* SPDX-License-Identifier: Apache-2.0
 *
 * Before it sends, a writer reads what its own log says, so that it sends only what differs. One
 * handle of its own reads for all links that wait, some at a time; it is gone when the last has
 * been read. Each link comes and goes by itself: one whose log stays silent loses its turn after
 * a second and is deferred some seconds later, and nobody waits for it.
 */
#include "transport/kafka/log_replay_priv.h"

#include "schema/attributes.h"
#include "schema/epoch.h"
#include "transport/kafka/client/record.h"
#include "transport/kafka/client/unassign.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/pending_priv.h"
#include "transport/kafka/presence_priv.h"
#include "transport/kafka/receive_priv.h"

#include <inttypes.h>

/* Logs read at the same time: their heads are all in memory. */
#define READING_MAX 200
/* The same with those that are quiet: fetching slows down with the partitions of a handle. */
#define ASSIGNED_MAX 1000
#define QUIET_MS     1000
/* Logs that were read and are given up together: each time waits for librdkafka's thread. */
#define RELEASE_MIN 20
/* Doubled each time, or on a slow network a log would never be read to its end. */
#define SILENT_MS      10000
#define SILENT_DOUBLED 4
/* Of an epoch, what tells two processes apart that have read the same. */
#define EPOCH_OWN_BITS ((uint64_t)1023)

static void free_head(void *event)
{
    ab_event_unref(event);
}

static void leave_reader(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    if (k->read_over == NULL)
        k->read_over = rd_kafka_topic_partition_list_new(READING_MAX);
    rd_kafka_topic_partition_list_add(k->read_over, l->topics[AB_KAFKA_OUT_STATE], 0);
    k->read_assigned--;
    k->reading -= l->read.quiet ? 0 : 1;
    l->read.assigned = false;
}

static void leave(ab_kafka_link *l)
{
    if (l->read.waiting)
        TAILQ_REMOVE(&l->kafka->to_read, l, read_at);
    l->read.waiting = false;
    if (l->read.assigned)
        leave_reader(l);
}

void ab_kafka_log_replay_stop(ab_kafka_link *l)
{
    leave(l);
    ab_map_free(l->read.heads, free_head);
    l->read.heads = NULL;
    l->read.complete = false;
}

static void tell_heads(ab_kafka_link *l, const ab_map *heads)
{
    const ab_transport_events *up = &l->kafka->base.env.events;
    for (ab_map_iter i = ab_map_first(heads); i.entry != NULL; ab_map_next(&i)) {
        if (l->removed || l->kafka->closed)
            return;
        up->on_written(up->arg, l->name, i.value);
    }
}

/* Two principals that start together read the same log, and the same clock: what is left is their
 * own. */
static uint64_t own_bits(const ab_kafka *k)
{
    uint64_t hash = 0;
    for (const char *c = k->instance; *c != '\0'; c++)
        hash = hash * 31 + (unsigned char)*c;
    return hash & EPOCH_OWN_BITS;
}

/* Higher than every epoch in the log, and than those of writers that wrote nothing: by the clock,
 * in microseconds. */
static uint64_t next_epoch(const ab_kafka_link *l)
{
    uint64_t next = (uint64_t)ab_clock_wall_us(l->kafka->base.env.clock);
    uint64_t last = l->read.epoch > l->epoch ? l->read.epoch : l->epoch;
    if (last >= UINT64_MAX - 2 * EPOCH_OWN_BITS)
        return UINT64_MAX;
    if (next <= last + EPOCH_OWN_BITS)
        next = last + EPOCH_OWN_BITS + 1;
    return (next & ~EPOCH_OWN_BITS) | own_bits(l->kafka);
}

/* A new log may hold hellos from before we noticed that it is one. */
static bool is_new_log(const ab_kafka_link *l)
{
    return l->new_log || l->read.log_id == 0;
}

static void tell_ready(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    /* The upcalls may remove the link, or make it begin again. */
    ab_map *heads = l->read.heads;
    l->read.heads = NULL;
    l->new_log = false;
    l->has_epoch = true;
    ab_kafka_link_ready(l);
    AB_INFO(k->base.env.log, KAFKA, "ready for an agent", AB_KV("agent", l->name),
            AB_KV("keys", (int64_t)ab_map_count(heads)));
    ab_kafka_link_ref(l);
    tell_heads(l, heads);
    ab_map_free(heads, free_head);
    if (!l->removed && !k->closed)
        k->base.env.events.on_ready(k->base.env.events.arg, l->name, l->epoch);
    ab_kafka_link_unref(l);
}

static void on_announced(void *arg, ab_err code, const ab_error *err)
{
    ab_kafka_link *l = arg;
    bool awaited = l->phase == AB_LINK_READ && l->read.complete && !l->removed;
    if (awaited && code == AB_ERR_OK)
        tell_ready(l);
    else if (awaited)
        ab_kafka_link_failed(l, err);
    ab_kafka_link_unref(l);
}

/* Ready is who could write: the first hello tells, and tells the reader of a new log that it is
 * one. A log that has its identity gets none, for each record in it counts as lag. */
static void finish(ab_kafka_link *l)
{
    leave(l);
    l->unread = 0;
    l->read.complete = true;
    if (l->sent_offset < l->read.end - 1)
        l->sent_offset = l->read.end - 1;
    l->epoch = next_epoch(l);
    bool new_log = is_new_log(l);
    l->log_id = new_log ? l->epoch : l->read.log_id;
    ab_kafka_presence_announce(l, new_log, on_announced);
}

static ab_err keep(ab_kafka_link *l, ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    uint64_t epoch = 0;
    /* One that the other end refuses is nothing to exceed: none would be left. */
    if (ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch) == AB_ERR_OK && epoch > l->read.epoch &&
        ab_epoch_is_credible(epoch, ab_clock_wall_us(l->kafka->base.env.clock)))
        l->read.epoch = epoch;
    if (key.ptr == NULL)
        return AB_ERR_OK;
    if (ab_str_is(key, AB_KEY_HELLO)) {
        if (ab_event_attr_u64(event, AB_CE_LOGID, &l->read.log_id) != AB_ERR_OK)
            l->read.log_id = 0;
        return AB_ERR_OK;
    }
    void *old = NULL;
    ab_err e = ab_map_put(l->read.heads, key, event, &old);
    if (e == AB_ERR_OK)
        ab_event_ref(event);
    ab_event_unref(old);
    return e;
}

static void drop(ab_kafka_link *l, const ab_event *event)
{
    ab_event_unref(ab_map_take(l->read.heads, ab_event_attr(event, AB_CE_PARTITIONKEY)));
}

static void on_message(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    ab_error err = {0};
    const char *reason = "";
    ab_event *event = NULL;
    ab_err e = ab_kafka_record_decode(m, false, &event, &reason, &err);
    if (e == AB_ERR_OK)
        ab_kafka_pending_write(l, event, m->payload == NULL, m);
    if (e == AB_ERR_OK && m->payload == NULL)
        drop(l, event);
    else if (e == AB_ERR_OK)
        e = keep(l, event);
    else if (m->payload == NULL && m->key != NULL)
        ab_event_unref(ab_map_take(l->read.heads, (ab_str){m->key, m->key_len}));
    else
        ab_kafka_receive_refuse(l->kafka, rd_kafka_topic_name(m->rkt), reason, &err);
    ab_event_unref(event);
    if (e == AB_ERR_NOMEM)
        ab_kafka_link_failed(l, &err);
}

/* The link whose log is being read, NULL when the record comes too late. */
static ab_kafka_link *reading(ab_kafka *k, const char *topic)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_link *l = ab_kafka_link_of_topic(k, topic, &which);
    return l != NULL && which == AB_KAFKA_OUT_STATE && l->read.assigned && !k->closed ? l : NULL;
}

static void note_heard(ab_kafka_link *l)
{
    l->read.heard_ms = ab_kafka_now(l->kafka);
    if (!l->read.quiet)
        return;
    l->kafka->reading++;
    l->read.quiet = false;
    ab_kafka_link_look_at(l, l->read.heard_ms + QUIET_MS);
}

static void read_message(ab_kafka *k, const rd_kafka_message_t *m)
{
    ab_kafka_link *l = reading(k, rd_kafka_topic_name(m->rkt));
    if (l == NULL)
        return;
    note_heard(l);
    if (m->offset < l->read.end)
        on_message(l, m);
    if (l->read.assigned && m->offset + 1 >= l->read.end)
        finish(l);
}

static void on_error(ab_kafka *k, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_topic_partition_t *p = rd_kafka_event_topic_partition(event);
    ab_kafka_link *l = p == NULL || p->topic == NULL ? NULL : reading(k, p->topic);
    bool end = code == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (l != NULL && end && p->offset >= l->read.end)
        finish(l);
    else if (l != NULL && !end)
        ab_kafka_link_unread(l, p->topic, code, rd_kafka_event_error_string(event));
    else if (!end)
        ab_kafka_host_error(&k->host, code, rd_kafka_event_error_string(event));
    if (p != NULL)
        rd_kafka_topic_partition_destroy(p);
}

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    ab_kafka *k = arg;
    const rd_kafka_message_t *m = NULL;
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        on_error(k, event);
    while ((m = rd_kafka_event_message_next(event)) != NULL)
        read_message(k, m);
    if (k->read_assigned == 0 || (k->read_over != NULL && k->read_over->cnt >= RELEASE_MIN))
        ab_kafka_log_replay_run(k);
}

/* The next ones to read, in the order in which they came. */
static void take_turns(ab_kafka *k, rd_kafka_topic_partition_list_t *list)
{
    ab_kafka_link *l = NULL;
    while (k->reading < READING_MAX && k->read_assigned < ASSIGNED_MAX &&
           (l = TAILQ_FIRST(&k->to_read)) != NULL) {
        TAILQ_REMOVE(&k->to_read, l, read_at);
        rd_kafka_topic_partition_list_add(list, l->topics[AB_KAFKA_OUT_STATE], 0)->offset =
            l->read.from;
        l->read.waiting = false;
        l->read.assigned = true;
        l->read.quiet = false;
        l->read.heard_ms = ab_kafka_now(k);
        ab_kafka_link_look_at(l, l->read.heard_ms + QUIET_MS);
        k->reading++;
        k->read_assigned++;
    }
}

static ab_err check_assigned(rd_kafka_error_t *failed, ab_error *err)
{
    if (failed == NULL)
        return AB_ERR_OK;
    ab_fail(err, AB_ERR_UNAVAILABLE, "cannot read our own log: %s", rd_kafka_error_string(failed));
    rd_kafka_error_destroy(failed);
    return AB_ERR_UNAVAILABLE;
}

static ab_err assign(ab_kafka *k, const rd_kafka_topic_partition_list_t *list, ab_error *err)
{
    if (k->reader == NULL) {
        ab_err e = ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_READER, on_event, k,
                                        &k->reader, err);
        if (e != AB_ERR_OK)
            return e;
    }
    return check_assigned(rd_kafka_incremental_assign(ab_kafka_handle_rk(k->reader), list), err);
}

static void fail_assigned(ab_kafka *k, const rd_kafka_topic_partition_list_t *list,
                          const ab_error *err)
{
    for (int i = 0; i < list->cnt; i++) {
        ab_kafka_link *l = reading(k, list->elems[i].topic);
        if (l != NULL)
            ab_kafka_link_failed(l, err);
    }
}

static void release_over(ab_kafka *k)
{
    if (k->read_over == NULL)
        return;
    ab_error err = {0};
    if (k->reader != NULL && k->read_assigned > 0 &&
        check_assigned(ab_kafka_unassign(ab_kafka_handle_rk(k->reader), k->read_over), &err) !=
            AB_ERR_OK)
        AB_WARN(k->base.env.log, KAFKA, "cannot stop reading our own log",
                AB_KV("error", err.text));
    rd_kafka_topic_partition_list_destroy(k->read_over);
    k->read_over = NULL;
}

static void close_reader(ab_kafka *k)
{
    ab_kafka_handle_close(k->reader);
    k->reader = NULL;
}

void ab_kafka_log_replay_run(ab_kafka *k)
{
    release_over(k);
    if (k->read_assigned == 0)
        close_reader(k);
    if (k->closed || TAILQ_EMPTY(&k->to_read))
        return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(0);
    ab_error err = {0};
    take_turns(k, list);
    if (list->cnt > 0 && assign(k, list, &err) != AB_ERR_OK)
        fail_assigned(k, list, &err);
    rd_kafka_topic_partition_list_destroy(list);
}

int64_t ab_kafka_log_replay_look(ab_kafka_link *l, int64_t now)
{
    if (!l->read.assigned)
        return INT64_MAX;
    int64_t silent_ms = now - l->read.heard_ms;
    if (silent_ms >= QUIET_MS && !l->read.quiet) {
        l->read.quiet = true;
        l->kafka->reading--;
    }
    unsigned doubled = l->unread < SILENT_DOUBLED ? l->unread : SILENT_DOUBLED;
    int64_t most_ms = (int64_t)SILENT_MS << doubled;
    if (silent_ms < most_ms)
        return l->read.heard_ms + (l->read.quiet ? most_ms : QUIET_MS);
    l->unread++;
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TIMEOUT, "cannot read topic %s: nothing received in %" PRId64 " s",
            l->topics[AB_KAFKA_OUT_STATE], silent_ms / 1000);
    ab_kafka_link_failed(l, &err);
    return INT64_MAX;
}

/* Those of one topic check come one after the other: they begin together. */
static void wait_for_turn(ab_kafka_link *l)
{
    l->read.waiting = true;
    TAILQ_INSERT_TAIL(&l->kafka->to_read, l, read_at);
    uv_async_send(&l->kafka->wake);
}

ab_err ab_kafka_log_replay_start(ab_kafka_link *l, const ab_kafka_findings *f, ab_error *err)
{
    l->read = (ab_kafka_log_replay){.heads = ab_map_new(), .from = f->out_low, .end = f->out_high};
    if (l->read.heads == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory reading our own log");
    ab_kafka_pending_begin(l, f->out_high);
    if (f->out_low >= f->out_high)
        finish(l);
    else
        wait_for_turn(l);
    return AB_ERR_OK;
}
