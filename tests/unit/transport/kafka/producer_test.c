/* SPDX-License-Identifier: Apache-2.0
 *
 * What a producer hands over to librdkafka, and what it holds.
 */
#include "transport/kafka/producer_priv.h"

#include "schema/attributes.h"
#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SMALL     100
#define BATCH     (48 * 1024)
#define LARGE     (50 * 1024)       /* fills a request */
#define TOO_LARGE (4 * 1024 * 1024) /* for the smallest kafka.message-max */
#define HOLD_MS   100

typedef struct {
    ab_unconnected u;
    ab_kafka_producer *p;
    unsigned told; /* of events: their outcome */
    ab_err outcome;
    char last[16]; /* the key of the one that was told last */
} fixture;

typedef struct {
    fixture *f;
    char key[16];
} sending;

static void open_producer(fixture *f, ab_lane lane, const char *const *set)
{
    *f = (fixture){0};
    ab_unconnected_open(&f->u, set);
    ab_kafka_producers_init(&f->u.kafka.producers[lane], &f->u.kafka, lane);
    assert_int_equal(ab_kafka_producers_open(&f->u.kafka.producers[lane], NULL), AB_ERR_OK);
    f->p = ab_kafka_producer_of(f->u.link, lane);
    assert_non_null(f->p);
    f->u.kafka.settings.batch_bytes = BATCH;
}

static void close_producer(fixture *f)
{
    ab_kafka_producers *all = f->p->all;
    ab_kafka_producers_close(all, AB_ERR_CLOSED);
    ab_unconnected_close(&f->u);
    ab_kafka_producers_fini(all);
}

static void reopen_producer(fixture *f)
{
    assert_int_equal(ab_kafka_producers_open(f->p->all, NULL), AB_ERR_OK);
    assert_ptr_equal(ab_kafka_producer_of(f->u.link, f->p->all->lane), f->p);
}

static void on_told(void *arg, ab_err code, const ab_error *err)
{
    sending *s = arg;
    (void)err;
    s->f->told++;
    s->f->outcome = code;
    memcpy(s->f->last, s->key, sizeof(s->key));
    free(s);
}

static ab_event *make_event(const char *key, size_t bytes)
{
    static char data[TOO_LARGE];
    ab_event *event = NULL;
    ab_event_draft d = {.data = {data, bytes}};
    memset(data, 'x', sizeof(data));
    ab_event_set(&d, AB_CE_ID, ab_str_of("1"));
    ab_event_set(&d, AB_CE_SOURCE, ab_str_of("test"));
    ab_event_set(&d, AB_CE_TYPE, ab_str_of("test"));
    ab_event_set(&d, AB_CE_PARTITIONKEY, ab_str_of(key));
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

static void send_one(fixture *f, const char *key, size_t bytes)
{
    ab_event *event = make_event(key, bytes);
    ab_kafka_send *made = NULL;
    sending *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->f = f;
    (void)snprintf(s->key, sizeof(s->key), "%s", key);
    assert_int_equal(ab_kafka_send_new(f->u.link, f->p->all->lane, event, 0, on_told, s, &made),
                     AB_ERR_OK);
    ab_kafka_producer_send(f->p, made);
    ab_event_unref(event);
}

/* Events that librdkafka has. */
static int handed_over(const fixture *f)
{
    int count = 0;
    const ab_kafka_send *s = NULL;
    TAILQ_FOREACH(s, &f->p->sends, at)
    {
        count++;
    }
    return count;
}

static bool one_is_told(void *arg)
{
    return ((fixture *)arg)->told == 1;
}

/* The broker tells the outcome of all that it was sent. */
static void purge(fixture *f)
{
    assert_int_equal(rd_kafka_purge(ab_kafka_handle_rk(f->p->handle), RD_KAFKA_PURGE_F_QUEUE),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void state_is_held_while_an_event_is_not_confirmed(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    send_one(&f, "a", SMALL);
    send_one(&f, "b", SMALL);
    send_one(&f, "c", SMALL);
    assert_int_equal(handed_over(&f), 1);
    purge(&f);
    ab_unconnected_until(&f.u, one_is_told, &f);
    assert_string_equal(f.last, "a");
    assert_int_equal(handed_over(&f), 2); /* together */
    send_one(&f, "d", SMALL);
    assert_int_equal(handed_over(&f), 2);
    close_producer(&f);
    assert_int_equal(f.told, 4);
    assert_string_equal(f.last, "d");
    assert_int_equal(f.outcome, AB_ERR_CLOSED);
}

static void what_fills_a_request_is_not_held(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    send_one(&f, "a", SMALL);
    send_one(&f, "b", SMALL);
    send_one(&f, "c", LARGE);
    assert_int_equal(handed_over(&f), 3);
    send_one(&f, "d", SMALL);
    assert_int_equal(handed_over(&f), 3);
    close_producer(&f);
    assert_int_equal(f.told, 4);
    assert_string_equal(f.last, "d");
}

static void nothing_is_held_for_long(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    send_one(&f, "a", SMALL);
    ab_wheel_timer_stop(&f.u.link->timer);
    send_one(&f, "b", SMALL);
    int64_t now = ab_kafka_now(&f.u.kafka);
    assert_true(ab_link_is_in_use(&f.u.link->timer.at));
    assert_true(f.u.link->timer.due_ms <= now + HOLD_MS);
    assert_in_range(ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now), now, now + HOLD_MS);
    assert_int_equal(handed_over(&f), 1);
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_LIVE, now + HOLD_MS);
    assert_int_equal(handed_over(&f), 1);
    assert_true(ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now + HOLD_MS) > now + HOLD_MS);
    assert_int_equal(handed_over(&f), 2);
    close_producer(&f);
}

static bool five_are_told(void *arg)
{
    return ((fixture *)arg)->told == 5;
}

static bool six_are_told(void *arg)
{
    return ((fixture *)arg)->told == 6;
}

/* Its thread would poll without waiting: see producer.c. */
static void what_librdkafka_would_not_send_is_held(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    send_one(&f, "a", SMALL);
    for (int i = 0; i < 5; i++)
        send_one(&f, i < 4 ? "b" : "c", LARGE);
    assert_int_equal(handed_over(&f), 5);
    int64_t now = ab_kafka_now(&f.u.kafka);
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now + HOLD_MS);
    assert_int_equal(handed_over(&f), 5);
    purge(&f);
    ab_unconnected_until(&f.u, five_are_told, &f);
    assert_int_equal(handed_over(&f), 1);
    purge(&f);
    ab_unconnected_until(&f.u, six_are_told, &f);
    assert_string_equal(f.last, "c");
    close_producer(&f);
}

/* With four on their way there is room for a full request. */
static void a_full_request_goes_once_there_is_room(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    send_one(&f, "a", SMALL);
    f.u.link->unconfirmed = 5;
    send_one(&f, "b", LARGE);
    assert_int_equal(handed_over(&f), 1);
    purge(&f);
    ab_unconnected_until(&f.u, one_is_told, &f);
    assert_int_equal(handed_over(&f), 1);
    f.u.link->unconfirmed = 1;
    close_producer(&f);
    assert_string_equal(f.last, "b");
}

static void with_a_linger_nothing_is_held(void **state)
{
    static const char *const set[] = {"kafka.linger=10s", NULL};
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, set);
    for (int i = 0; i < 5; i++)
        send_one(&f, "a", SMALL);
    assert_int_equal(handed_over(&f), 5);
    send_one(&f, "b", SMALL); /* but what librdkafka would not send */
    assert_int_equal(handed_over(&f), 5);
    f.u.link->unconfirmed = 1; /* nothing overtakes it */
    send_one(&f, "c", SMALL);
    assert_int_equal(handed_over(&f), 5);
    close_producer(&f);
    assert_string_equal(f.last, "c");
}

static void live_events_are_not_held(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_LIVE, NULL);
    f.u.link->unconfirmed = 1; /* of state */
    send_one(&f, "a", SMALL);
    send_one(&f, "b", SMALL);
    assert_int_equal(handed_over(&f), 2);
    close_producer(&f);
}

/* Or an older state of an object would follow a newer one. */
static void nothing_overtakes_what_goes_one_by_one(void **state)
{
    static const char *const set[] = {"kafka.linger=10s", NULL};
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, set);
    send_one(&f, "a", SMALL);
    f.u.link->one_by_one = true;
    send_one(&f, "a", SMALL);
    assert_int_equal(handed_over(&f), 1);
    close_producer(&f);
    assert_int_equal(f.told, 2);
}

static void wake_nobody(uv_async_t *wake)
{
    (void)wake;
}

static void what_librdkafka_does_not_take_leaves_its_room(void **state)
{
    static const char *const set[] = {"kafka.message-max=64KiB", NULL};
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, set);
    ab_kafka *k = &f.u.kafka;
    TAILQ_INIT(&k->failed);
    assert_int_equal(uv_async_init(&f.u.loop, &k->wake, wake_nobody), 0);
    send_one(&f, "a", TOO_LARGE);
    assert_int_equal(handed_over(&f), 0);
    assert_int_equal(f.u.link->share[AB_LANE_STATE].count, 0);
    assert_int_equal(f.p->all->budget.flowing + f.p->all->budget.stuck, 0);
    ab_kafka_send *failed = TAILQ_FIRST(&k->failed);
    assert_int_equal(failed->failed, AB_ERR_TOOBIG);
    TAILQ_REMOVE(&k->failed, failed, at);
    ab_kafka_send_finish(failed, failed->failed, NULL);
    uv_close((uv_handle_t *)&k->wake, NULL);
    close_producer(&f);
}

/* As when certificates are renewed. What stayed counted would hold up all that follows for ever. */
static void what_a_closed_producer_had_counts_no_more(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    ab_kafka_link *l = f.u.link;
    unsigned refs = l->refs;
    send_one(&f, "a", SMALL);
    send_one(&f, "b", SMALL);
    send_one(&f, "c", SMALL);
    ab_kafka_send *refused = TAILQ_FIRST(&l->held);
    TAILQ_REMOVE(&l->held, refused, at);
    TAILQ_INSERT_TAIL(&l->refused, refused, at);
    l->one_by_one = true;
    assert_false(ab_kafka_producers_are_idle(f.p->all));
    ab_kafka_producers_close(f.p->all, AB_ERR_UNAVAILABLE);
    assert_true(ab_kafka_producers_are_idle(f.p->all));
    assert_int_equal(f.told, 3);
    assert_int_equal(f.outcome, AB_ERR_UNAVAILABLE);
    assert_true(TAILQ_EMPTY(&l->refused) && TAILQ_EMPTY(&l->held));
    assert_int_equal(l->refs, refs);
    assert_int_equal(l->held_bytes, 0);
    assert_int_equal(l->share[AB_LANE_STATE].count, 0);
    assert_int_equal(f.p->all->budget.flowing + f.p->all->budget.stuck, 0);
    reopen_producer(&f);
    send_one(&f, "d", SMALL);
    assert_int_equal(handed_over(&f), 1);
    assert_int_equal(l->unconfirmed, 1);
    close_producer(&f);
}

static void a_producer_that_failed_for_good_is_made_again_later(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    ab_kafka *k = &f.u.kafka;
    ab_wheel_timer_stop(&f.u.link->timer);
    send_one(&f, "a", SMALL);
    f.p->broken = true;
    k->member.asking = true; /* with its handle */
    ab_kafka_producers_tick(f.p->all);
    assert_non_null(f.p->handle);
    k->member.asking = false;
    ab_kafka_producers_tick(f.p->all);
    assert_null(f.p->handle);
    assert_false(f.p->broken);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.outcome, AB_ERR_UNAVAILABLE);
    /* Who waits for room is told: no report of this handle comes any more. */
    assert_true(ab_link_is_in_use(&f.u.link->timer.at) && f.u.link->timer.due_ms == 0);
    assert_int_equal(ab_kafka_producers_open(f.p->all, NULL), AB_ERR_UNAVAILABLE);
    f.p->retry_ms = ab_kafka_now(k);
    reopen_producer(&f);
    close_producer(&f);
}

static bool one_has_expired(void *arg)
{
    fixture *f = arg;
    ab_kafka_producers_tick(f->p->all);
    return f->told == 1;
}

static void a_live_event_that_no_broker_takes_expires(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_LIVE, NULL);
    send_one(&f, "late", SMALL);
    send_one(&f, "never", SMALL);
    TAILQ_FIRST(&f.p->sends)->deadline_ms = ab_kafka_now(&f.u.kafka) + 1;
    ab_unconnected_until(&f.u, one_has_expired, &f);
    assert_int_equal(f.outcome, AB_ERR_TIMEOUT);
    assert_string_equal(f.last, "late");
    assert_int_equal(handed_over(&f), 2); /* librdkafka has both */
    close_producer(&f);
    assert_int_equal(f.told, 2);
}

static void count_room(void *arg, const char *agent)
{
    assert_string_equal(agent, "w1");
    ++*(int *)arg;
}

/* Nothing of its own is on its way, so no report can tell it of room. */
static void who_was_refused_with_nothing_on_its_way_is_told_of_room(void **state)
{
    (void)state;
    fixture f;
    int told = 0;
    open_producer(&f, AB_LANE_STATE, NULL);
    f.u.kafka.base.env.events = (ab_transport_events){.on_writable = count_room, .arg = &told};
    ab_event *event = make_event("a", LARGE);
    int64_t now = ab_kafka_now(&f.u.kafka);
    assert_true(ab_kafka_producer_admits(f.u.link, AB_LANE_STATE, event));
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now);
    assert_int_equal(told, 0);
    f.p->all->budget.flowing = 3 * f.p->all->budget.max; /* of others */
    ab_wheel_timer_stop(&f.u.link->timer);
    assert_false(ab_kafka_producer_admits(f.u.link, AB_LANE_STATE, event));
    assert_true(ab_link_is_in_use(&f.u.link->timer.at) && f.u.link->timer.due_ms == 0);
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now);
    assert_int_equal(told, 1);
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_STATE, now);
    assert_int_equal(told, 1);
    ab_event_unref(event);
    close_producer(&f);
}

static void what_is_on_its_way_is_looked_at_in_time(void **state)
{
    (void)state;
    fixture f;
    open_producer(&f, AB_LANE_STATE, NULL);
    ab_wheel_timer_stop(&f.u.link->timer);
    send_one(&f, "a", SMALL);
    int64_t stuck_at = ab_kafka_now(&f.u.kafka) + f.p->all->budget.stuck_ms;
    assert_true(ab_link_is_in_use(&f.u.link->timer.at) && f.u.link->timer.due_ms <= stuck_at);
    (void)ab_kafka_producer_look(f.u.link, AB_LANE_STATE, stuck_at);
    assert_true(f.u.link->share[AB_LANE_STATE].stuck);
    close_producer(&f);
}

static void links_share_a_producer_until_it_has_enough(void **state)
{
    (void)state;
    fixture f;
    ab_kafka_link *other = NULL;
    open_producer(&f, AB_LANE_STATE, NULL);
    assert_int_equal(f.p->links, 1);
    f.p->links = 250;
    assert_int_equal(ab_kafka_link_new(&f.u.kafka, "w2", &other, NULL), AB_ERR_OK);
    ab_kafka_producer *second = ab_kafka_producer_of(other, AB_LANE_STATE);
    assert_ptr_not_equal(second, f.p);
    assert_int_equal(second->links, 1);
    ab_kafka_link_unref(other);
    close_producer(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_held_while_an_event_is_not_confirmed),
        cmocka_unit_test(what_fills_a_request_is_not_held),
        cmocka_unit_test(nothing_is_held_for_long),
        cmocka_unit_test(what_librdkafka_would_not_send_is_held),
        cmocka_unit_test(a_full_request_goes_once_there_is_room),
        cmocka_unit_test(with_a_linger_nothing_is_held),
        cmocka_unit_test(live_events_are_not_held),
        cmocka_unit_test(nothing_overtakes_what_goes_one_by_one),
        cmocka_unit_test(what_librdkafka_does_not_take_leaves_its_room),
        cmocka_unit_test(what_a_closed_producer_had_counts_no_more),
        cmocka_unit_test(a_producer_that_failed_for_good_is_made_again_later),
        cmocka_unit_test(a_live_event_that_no_broker_takes_expires),
        cmocka_unit_test(who_was_refused_with_nothing_on_its_way_is_told_of_room),
        cmocka_unit_test(what_is_on_its_way_is_looked_at_in_time),
        cmocka_unit_test(links_share_a_producer_until_it_has_enough),
    };
    return cmocka_run_group_tests_name("producer", tests, NULL, NULL);
}
