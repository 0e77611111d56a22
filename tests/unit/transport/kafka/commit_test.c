/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/commit_priv.h"

#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What a broker answers to a commit: of all of it, and of the link's partition. */
static rd_kafka_resp_err_t of_all;
static rd_kafka_topic_partition_list_t *of_each;

rd_kafka_resp_err_t __wrap_rd_kafka_event_error(rd_kafka_event_t *event);
rd_kafka_resp_err_t __wrap_rd_kafka_event_error(rd_kafka_event_t *event)
{
    (void)event;
    return of_all;
}

rd_kafka_topic_partition_list_t *
__wrap_rd_kafka_event_topic_partition_list(rd_kafka_event_t *event);
rd_kafka_topic_partition_list_t *__wrap_rd_kafka_event_topic_partition_list(rd_kafka_event_t *event)
{
    (void)event;
    return of_each;
}

/* A group of one handle has the link's partition. */
typedef struct {
    ab_unconnected u;
    ab_kafka_group group;
} fixture;

/* The handle is one that librdkafka takes no commit for. */
static void set_up(fixture *f)
{
    *f = (fixture){0};
    ab_unconnected_open(&f->u, NULL);
    ab_kafka *k = &f->u.kafka;
    f->group.kafka = k;
    ab_link_init(&f->group.moved);
    ab_link_init(&f->group.at_rest);
    TAILQ_INSERT_TAIL(&k->groups.list, &f->group, at);
    f->group.handle = ab_kafka_handle_open_admin(&k->host, &k->settings);
    assert_non_null(f->group.handle);
    ab_offsets_init(&f->u.link->in.offsets, 5);
    f->u.link->in.group = &f->group;
    ab_kafka_commit_begin(f->u.link, -1);
}

static void tear_down(fixture *f)
{
    ab_kafka_commit_end(f->u.link);
    ab_kafka_handle_close(f->group.handle);
    ab_unconnected_close(&f->u);
}

static void a_commit_that_was_not_even_queued_does_not_count(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    assert_false(ab_kafka_commit(&f.u.kafka));
    assert_false(f.group.committing);
    assert_int_equal(f.u.link->in.committed, -1);
    assert_true(ab_link_is_in_use(&f.group.moved));
    tear_down(&f);
}

/* The broker forgets the position of who has not committed for days. */
static void a_position_that_does_not_move_is_committed_again_after_a_day(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_commit_begin(f.u.link, 5);
    assert_true(ab_kafka_commit(&f.u.kafka));
    f.u.link->in.committed_ms -= 24LL * 3600 * 1000;
    assert_false(ab_kafka_commit(&f.u.kafka));
    tear_down(&f);
}

static void a_commit_that_is_under_way_is_waited_for(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_commit_begin(f.u.link, 5);
    f.group.committing = true;
    assert_false(ab_kafka_commit(&f.u.kafka));
    ab_kafka_commit_begin(f.u.link, 4);
    assert_false(ab_kafka_commit(&f.u.kafka));
    assert_int_equal(f.u.link->in.committed, 4); /* the next is made when it has been answered */
    tear_down(&f);
}

/* Whoever looks for it would take an agent that reads again for one that has it all. */
static void a_position_that_has_gone_back_is_committed_at_once(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    f.u.kafka.commit_due_ms = INT64_MAX;
    ab_kafka_commit_begin(f.u.link, 5);
    assert_int_equal(f.u.kafka.commit_due_ms, INT64_MAX);
    ab_kafka_commit_begin(f.u.link, 6);
    assert_int_equal(f.u.kafka.commit_due_ms, 0);
    tear_down(&f);
}

/* @return whether it is to be committed again */
static bool answer(fixture *f, rd_kafka_resp_err_t all, rd_kafka_resp_err_t one)
{
    ab_kafka_commit_begin(f->u.link, 5);
    f->group.committing = true;
    of_all = all;
    of_each = ab_kafka_handle_partition(f->u.link->topics[AB_KAFKA_IN_STATE], 5);
    of_each->elems[0].err = one;
    ab_kafka_commit_done(&f->group, NULL);
    rd_kafka_topic_partition_list_destroy(of_each);
    assert_false(f->group.committing);
    return ab_link_is_in_use(&f->group.moved);
}

static void what_was_not_committed_is_committed_again(void **state)
{
    const rd_kafka_resp_err_t none = RD_KAFKA_RESP_ERR_NO_ERROR;
    const rd_kafka_resp_err_t passing = RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
    const rd_kafka_resp_err_t denied = RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    (void)state;
    fixture f;
    set_up(&f);
    assert_false(answer(&f, none, none));
    assert_true(answer(&f, passing, none));
    assert_true(answer(&f, none, passing)); /* others of the group were */
    assert_true(answer(&f, none, denied));
    f.u.kafka.closed = true;
    assert_true(answer(&f, none, passing));
    assert_false(answer(&f, none, denied));
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_was_not_even_queued_does_not_count),
        cmocka_unit_test(a_position_that_does_not_move_is_committed_again_after_a_day),
        cmocka_unit_test(a_commit_that_is_under_way_is_waited_for),
        cmocka_unit_test(a_position_that_has_gone_back_is_committed_at_once),
        cmocka_unit_test(what_was_not_committed_is_committed_again),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
