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

#define SMALL   100
#define BATCH   (48 * 1024)
#define LARGE   (50 * 1024) /* fills a request */
#define HOLD_MS 100

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
    static char data[LARGE];
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
    send_one(&f, "b", SMALL);
    int64_t now = ab_kafka_now(&f.u.kafka);
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
    };
    return cmocka_run_group_tests_name("producer", tests, NULL, NULL);
}
