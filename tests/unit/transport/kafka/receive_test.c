/* SPDX-License-Identifier: Apache-2.0
 *
 * From where a log is read, and up to where its position counts.
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
    ab_gap gap; /* the last one */
} fixture;

/* What the next record turns out to be: an event, or a hello that names the log. */
static ab_err decoded;
static uint64_t named;

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
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, named == 0 ? "app/a" : AB_KEY_HELLO);
    if (named != 0)
        ab_event_set_u64(&d, AB_CE_LOGID, named);
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

/* What librdkafka says of the link's partition. */
static rd_kafka_resp_err_t fault;
static rd_kafka_topic_partition_t faulty;

rd_kafka_resp_err_t __wrap_rd_kafka_event_error(rd_kafka_event_t *event);
rd_kafka_resp_err_t __wrap_rd_kafka_event_error(rd_kafka_event_t *event)
{
    (void)event;
    return fault;
}

const char *__wrap_rd_kafka_event_error_string(rd_kafka_event_t *event);
const char *__wrap_rd_kafka_event_error_string(rd_kafka_event_t *event)
{
    (void)event;
    return rd_kafka_err2str(fault);
}

rd_kafka_topic_partition_t *__wrap_rd_kafka_event_topic_partition(rd_kafka_event_t *event);
rd_kafka_topic_partition_t *__wrap_rd_kafka_event_topic_partition(rd_kafka_event_t *event)
{
    (void)event;
    return &faulty;
}

void __wrap_rd_kafka_topic_partition_destroy(rd_kafka_topic_partition_t *p);
void __wrap_rd_kafka_topic_partition_destroy(rd_kafka_topic_partition_t *p)
{
    assert_ptr_equal(p, &faulty);
}

static void on_event(void *arg, ab_delivery *delivery)
{
    fixture *f = arg;
    assert_true(f->count < GIVEN_MAX);
    f->given[f->count++] = delivery;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    fixture *f = arg;
    (void)agent;
    f->gaps++;
    f->gap = gap;
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

static int withdrawn;

static void withdraw(ab_kafka_link *l)
{
    (void)l;
    withdrawn++;
}

static void set_up(fixture *f)
{
    *f = (fixture){0};
    decoded = AB_ERR_OK;
    named = 0;
    withdrawn = 0;
    ab_unconnected_open(&f->u, NULL);
    ab_kafka *k = &f->u.kafka;
    k->base.env.events = (ab_transport_events){.on_event = on_event,
                                               .on_gap = on_gap,
                                               .on_caught_up = on_caught_up,
                                               .on_fatal = on_fatal,
                                               .arg = f};
    k->withdraw = withdraw;
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
    assert_true(ab_link_is_in_use(&f.group.moved)); /* to be committed */
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
    assert_int_equal(f.fatal, 0);
    tear_down(&f);
}

/* Its topics were checked once more. */
static void begin_again(fixture *f, const ab_kafka_findings *found)
{
    ab_kafka_commit_end(f->u.link);
    f->u.link->in.group = &f->group;
    ab_kafka_consumer_begin(f->u.link, found);
}

/* Both are the first of their log. */
static void what_was_delivered_before_a_gap_does_not_count_after_it(void **state)
{
    const ab_kafka_findings empty = {.committed = -1, .in_high = 1, .in_sent = -1};
    (void)state;
    fixture f;
    set_up(&f);
    receive(&f, FIRST);
    f.u.link->lost_in = true;
    begin_again(&f, &empty);
    assert_int_equal(f.gaps, 1);
    receive(&f, 0);
    assert_int_equal(f.count, 2);
    ack(&f, 0, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), 0);
    ack(&f, 1, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), 1);
    tear_down(&f);
}

static void receive_name(fixture *f, int64_t offset, uint64_t name)
{
    f->u.link->phase = AB_LINK_READY;
    named = name;
    receive(f, offset);
    assert_int_equal(position(f), offset + 1);
}

/* What was there when we began may have been written before we knew the log. */
static void a_log_that_takes_another_name_is_read_again(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_link *l = f.u.link;
    l->in.fresh_from = FIRST + 1;
    receive_name(&f, FIRST, 7);
    receive_name(&f, FIRST + 1, 7);
    receive_name(&f, FIRST + 2, 6); /* of one that began it together with the former */
    assert_int_equal(withdrawn, 0);
    receive_name(&f, FIRST + 3, 8);
    assert_int_equal(withdrawn, 1);
    assert_true(l->lost_in);
    tear_down(&f);
}

static void a_name_that_was_there_before_is_no_news(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_link *l = f.u.link;
    l->in.fresh_from = FIRST + 1;
    l->peer.log_id = 7;
    receive_name(&f, FIRST, 8);
    assert_int_equal(withdrawn, 0);
    assert_false(l->lost_in);
    assert_int_equal(l->peer.log_id, 8);
    tear_down(&f);
}

static bool begins_again_for(fixture *f, rd_kafka_resp_err_t code)
{
    int before = withdrawn;
    f->u.link->phase = AB_LINK_READY;
    fault = code;
    faulty.topic = f->u.link->topics[AB_KAFKA_IN_STATE];
    ab_kafka_receive_error(&f->u.kafka, NULL);
    return withdrawn > before;
}

static void a_log_that_cannot_be_read_on_is_asked_about(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    assert_true(begins_again_for(&f, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET));
    assert_true(begins_again_for(&f, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
    assert_true(begins_again_for(&f, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
    assert_false(begins_again_for(&f, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
    assert_false(begins_again_for(&f, RD_KAFKA_RESP_ERR__PARTITION_EOF));
    tear_down(&f);
}

/* --- from where --- */

static void who_reads_goes_on_from_where_it_was(void **state)
{
    const ab_kafka_findings found = {.committed = 2, .in_high = 9, .in_sent = -1};
    (void)state;
    fixture f;
    set_up(&f);
    receive(&f, FIRST);
    begin_again(&f, &found);
    assert_int_equal(f.gaps, 0);
    assert_int_equal(position(&f), FIRST);
    ack(&f, 0, AB_VERDICT_APPLIED);
    assert_int_equal(position(&f), FIRST + 1);
    tear_down(&f);
}

static void who_begins_goes_on_from_what_was_committed(void **state)
{
    const ab_kafka_findings found = {.committed = 2, .in_high = 9, .in_sent = -1};
    (void)state;
    fixture f;
    set_up(&f);
    f.u.link->in.known = false;
    begin_again(&f, &found);
    assert_int_equal(f.gaps, 0);
    assert_int_equal(position(&f), 2);
    assert_false(f.u.link->in.whole);
    tear_down(&f);
}

static void assert_gap(const ab_kafka_findings *found, bool known, ab_gap gap)
{
    fixture f;
    set_up(&f);
    ab_kafka_inbox *in = &f.u.link->in;
    in->known = known;
    in->log_id = 7;
    in->cut_log = 7;
    in->end = FIRST;
    begin_again(&f, found);
    assert_int_equal(f.gaps, 1);
    assert_int_equal(f.gap, gap);
    assert_int_equal(position(&f), found->in_low);
    assert_true(in->whole);
    assert_int_equal(in->log_id, 0);
    assert_int_equal(in->cut_log, 0);
    assert_int_equal(in->end, -1);
    assert_int_equal(in->fresh_from, found->in_high);
    assert_int_equal(in->caught_up_at, found->in_high);
    assert_true(ab_link_is_in_use(&f.group.moved)); /* who looks at the lag sees it */
    tear_down(&f);
}

static void a_position_that_is_not_in_the_log_is_a_gap(void **state)
{
    const ab_kafka_findings never = {.committed = -1, .in_low = 1, .in_high = 9, .in_sent = -1};
    const ab_kafka_findings shorter = {.committed = 5, .in_low = 1, .in_high = 4, .in_sent = -1};
    const ab_kafka_findings later = {.committed = 5, .in_low = 6, .in_high = 9, .in_sent = -1};
    (void)state;
    assert_gap(&never, false, AB_GAP_FIRST);
    assert_gap(&shorter, false, AB_GAP_RECREATED);
    assert_gap(&shorter, true, AB_GAP_RECREATED);
    assert_gap(&later, false, AB_GAP_EXPIRED);
    assert_gap(&later, true, AB_GAP_EXPIRED);
}

static void assert_replaced(bool lost_in, bool lost_out)
{
    const ab_kafka_findings found = {.committed = 5, .in_high = 9, .in_sent = -1};
    fixture f;
    set_up(&f);
    ab_kafka_link *l = f.u.link;
    l->has_epoch = true;
    l->sent_offset = 3;
    l->lost_in = lost_in;
    l->lost_out = lost_out;
    begin_again(&f, &found);
    assert_int_equal(f.gap, AB_GAP_RECREATED);
    assert_false(l->has_epoch); /* our own log is read again */
    assert_int_equal(l->sent_offset, -1);
    assert_int_equal(l->new_log, lost_out);
    begin_again(&f, &found);
    assert_int_equal(f.gaps, 1);
    tear_down(&f);
}

static void a_log_that_was_replaced_is_a_gap_once(void **state)
{
    (void)state;
    assert_replaced(true, false);
    assert_replaced(false, true);
}

/* Its reader tells the writer, who may not know. */
static void a_log_that_ends_before_what_was_written_is_remembered(void **state)
{
    const ab_kafka_findings whole = {.committed = 5, .in_high = 9, .in_sent = 8};
    const ab_kafka_findings cut = {.committed = 5, .in_high = 9, .in_sent = 9};
    (void)state;
    fixture f;
    set_up(&f);
    f.u.link->peer.log_id = 7;
    begin_again(&f, &whole);
    assert_int_equal(f.u.link->in.cut_log, 0);
    begin_again(&f, &cut);
    assert_int_equal(f.u.link->in.cut_log, 7);
    assert_int_equal(f.gaps, 0);
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
        cmocka_unit_test(a_log_that_takes_another_name_is_read_again),
        cmocka_unit_test(a_name_that_was_there_before_is_no_news),
        cmocka_unit_test(a_log_that_cannot_be_read_on_is_asked_about),
        cmocka_unit_test(who_reads_goes_on_from_where_it_was),
        cmocka_unit_test(who_begins_goes_on_from_what_was_committed),
        cmocka_unit_test(a_position_that_is_not_in_the_log_is_a_gap),
        cmocka_unit_test(a_log_that_was_replaced_is_a_gap_once),
        cmocka_unit_test(a_log_that_ends_before_what_was_written_is_remembered),
    };
    return cmocka_run_group_tests_name("receive", tests, NULL, NULL);
}
