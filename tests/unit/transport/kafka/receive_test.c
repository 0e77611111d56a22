/* SPDX-License-Identifier: Apache-2.0
 *
 * From which records on an agent's position counts, where what is read ends early: memory that runs
 * out, and a log that begins anew.
 */
#include "transport/kafka/receive_priv.h"

#include "schema/attributes.h"
#include "tests/unit/transport/kafka/unconnected.h"
#include "transport/kafka/client/record.h"
#include "transport/kafka/commit_priv.h"
#include "transport/kafka/consumer_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FIRST     5 /* where receiving begins */
#define GIVEN_MAX 4

/* A group of one handle has the link's partition. */
typedef struct {
    ab_unconnected u;
    ab_kafka_group group;
    rd_kafka_topic_t *topic;
    ab_delivery *given[GIVEN_MAX];
    size_t count;
    int fatal;
    int gaps;
} fixture;

/* What the next record turns out to be. */
static ab_err decoded;

ab_err __wrap_ab_kafka_record_decode(const rd_kafka_message_t *m, bool with_data, ab_event **out,
                                     const char **reason, ab_error *err);
ab_err __wrap_ab_kafka_record_decode(const rd_kafka_message_t *m, bool with_data, ab_event **out,
                                     const char **reason, ab_error *err)
{
    (void)m;
    (void)with_data;
    *reason = "no_memory";
    if (decoded != AB_ERR_OK)
        return ab_fail(err, decoded, "as the test says");
    *reason = NULL;
    ab_event_draft d = {.data = AB_STR("{}")};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT "w1");
    ab_event_set_text(&d, AB_CE_TYPE, "test");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "app/a");
    return ab_event_new(&d, out, err);
}

/* Messages of these tests are not librdkafka's own. */
int64_t __wrap_rd_kafka_message_timestamp(const rd_kafka_message_t *m,
                                          rd_kafka_timestamp_type_t *type);
int64_t __wrap_rd_kafka_message_timestamp(const rd_kafka_message_t *m,
                                          rd_kafka_timestamp_type_t *type)
{
    (void)m;
    *type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    return -1;
}

static void on_event(void *arg, ab_delivery *delivery)
{
    fixture *f = arg;
    assert_true(f->count < GIVEN_MAX);
    f->given[f->count++] = delivery;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    (void)agent;
    (void)gap;
    ((fixture *)arg)->gaps++;
}

static void on_caught_up(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void on_fatal(void *arg, const ab_error *err)
{
    assert_int_equal(err->code, AB_ERR_NOMEM);
    ((fixture *)arg)->fatal++;
}

static void set_up(fixture *f)
{
    *f = (fixture){0};
    decoded = AB_ERR_OK;
    ab_unconnected_open(&f->u, NULL);
    ab_kafka *k = &f->u.kafka;
    k->base.env.events = (ab_transport_events){.on_event = on_event,
                                               .on_gap = on_gap,
                                               .on_caught_up = on_caught_up,
                                               .on_fatal = on_fatal,
                                               .arg = f};
    TAILQ_INIT(&k->deliveries);
    f->group.kafka = k;
    ab_link_init(&f->group.moved);
    ab_link_init(&f->group.at_rest);
    f->group.handle = ab_kafka_handle_open_admin(&k->host, &k->settings);
    assert_non_null(f->group.handle);
    f->topic = rd_kafka_topic_new(ab_kafka_handle_rk(f->group.handle),
                                  f->u.link->topics[AB_KAFKA_IN_STATE], NULL);
    assert_non_null(f->topic);
    ab_offsets_init(&f->u.link->in.offsets, FIRST);
    f->u.link->in.known = true;
    f->u.link->in.group = &f->group;
    ab_kafka_commit_begin(f->u.link, FIRST);
}

static void tear_down(fixture *f)
{
    ab_kafka_receive_forget(&f->u.kafka);
    ab_kafka_commit_end(f->u.link);
    ab_offsets_fini(&f->u.link->in.offsets);
    rd_kafka_topic_destroy(f->topic);
    ab_kafka_handle_close(f->group.handle);
    ab_unconnected_close(&f->u);
}

static void receive(fixture *f, int64_t offset)
{
    char key[] = "app/a";
    const rd_kafka_message_t m = {
        .rkt = f->topic, .offset = offset, .key = key, .key_len = sizeof(key) - 1};
    ab_kafka_receive_state(f->u.link, &m);
}

static void ack(fixture *f, size_t which, ab_verdict verdict)
{
    ab_kafka_receive_ack(&f->u.kafka, f->given[which], verdict);
}

static int64_t position(const fixture *f)
{
    return ab_offsets_position(&f->u.link->in.offsets);
}

/* The process ends, and what it has committed by then must not be past the record. */
static void a_record_that_there_is_no_memory_for_is_not_skipped(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    decoded = AB_ERR_NOMEM;
    receive(&f, FIRST);
    assert_int_equal(f.fatal, 1);
    assert_int_equal(position(&f), FIRST);
    assert_true(f.u.kafka.closed); /* nothing that follows is received */
    tear_down(&f);
}

static void a_record_that_is_no_event_is_skipped(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    decoded = AB_ERR_INVALID;
    receive(&f, FIRST);
    assert_int_equal(f.fatal, 0);
    assert_int_equal(position(&f), FIRST + 1);
    assert_false(f.u.kafka.closed);
    tear_down(&f);
}

static void only_what_is_in_effect_counts(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    receive(&f, FIRST);
    receive(&f, FIRST + 1);
    ack(&f, 1, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), FIRST);
    ack(&f, 0, AB_VERDICT_RETURNED);
    assert_int_equal(position(&f), FIRST);
    assert_int_equal(f.u.link->in.open, 0);
    tear_down(&f);
}

static void what_came_before_is_not_received_again(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    receive(&f, FIRST);
    receive(&f, FIRST);
    assert_int_equal(f.count, 1);
    tear_down(&f);
}

/* Both are the first of their log. */
static void what_was_delivered_before_a_gap_does_not_count_after_it(void **state)
{
    const ab_kafka_findings anew = {.committed = -1, .in_high = 1};
    (void)state;
    fixture f;
    set_up(&f);
    receive(&f, FIRST);
    ab_kafka_commit_end(f.u.link);
    f.u.link->lost_in = true;
    f.u.link->in.group = &f.group;
    ab_kafka_consumer_begin(f.u.link, &anew);
    assert_int_equal(f.gaps, 1);
    receive(&f, 0);
    assert_int_equal(f.count, 2);
    ack(&f, 0, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), 0);
    ack(&f, 1, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), 1);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_that_there_is_no_memory_for_is_not_skipped),
        cmocka_unit_test(a_record_that_is_no_event_is_skipped),
        cmocka_unit_test(only_what_is_in_effect_counts),
        cmocka_unit_test(what_came_before_is_not_received_again),
        cmocka_unit_test(what_was_delivered_before_a_gap_does_not_count_after_it),
    };
    return cmocka_run_group_tests_name("receive", tests, NULL, NULL);
}
