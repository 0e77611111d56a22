/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose topics are to be deleted, and whose are not any more. No broker deletes them here.
 */
#include "transport/kafka/removal_priv.h"

#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ATTEMPTS_MAX 8

typedef struct {
    ab_unconnected u;
    ab_kafka *k;
    int wakes;
} fixture;

static int64_t passed_ms;

static int64_t later_ms(void *arg)
{
    return ab_clock_real.mono_ms(arg) + passed_ms;
}

static int64_t same_us(void *arg)
{
    return ab_clock_real.wall_us(arg);
}

static void count_wake(uv_async_t *wake)
{
    ++*(int *)wake->data;
}

/* Each attempt ends at once, as when the program stops: nothing is deleted. */
static int set_up(void **state)
{
    static const ab_clock clock = {later_ms, same_us, NULL};
    static fixture f;
    f = (fixture){.k = &f.u.kafka};
    passed_ms = 0;
    ab_unconnected_open(&f.u, NULL);
    f.k->base.env.clock = &clock;
    TAILQ_INIT(&f.k->removals);
    assert_int_equal(uv_async_init(&f.u.loop, &f.k->wake, count_wake), 0);
    f.k->wake.data = &f.wakes;
    f.k->running = true;
    f.k->hurry = true;
    ab_kafka_removal_want(f.u.link);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_kafka_removal_leave(f->k);
    assert_int_equal(f->u.link->refs, 1);
    uv_close((uv_handle_t *)&f->k->wake, NULL);
    uv_run(&f->u.loop, UV_RUN_NOWAIT);
    ab_unconnected_close(&f->u);
    return 0;
}

static bool is_over(void *arg)
{
    return ((const ab_kafka *)arg)->removing == NULL;
}

static void await_end(fixture *f)
{
    assert_non_null(f->k->removing);
    ab_unconnected_until(&f->u, is_over, f->k);
}

static bool is_wanted(const fixture *f)
{
    return !TAILQ_EMPTY(&f->k->removals);
}

static void an_agent_that_returns_before_its_topics_are_deleted_keeps_them(void **state)
{
    fixture *f = *state;
    ab_kafka_removal_call_off(f->k, "w2");
    assert_true(is_wanted(f));
    ab_kafka_removal_call_off(f->k, "w1");
    assert_false(is_wanted(f));
    ab_kafka_removal_start(f->k);
    assert_null(f->k->removing);
}

static void an_agent_that_returns_amid_a_request_loses_its_topics_no_second_time(void **state)
{
    fixture *f = *state;
    ab_kafka_removal_start(f->k);
    assert_true(ab_kafka_removal_holds(f->k, "w1"));
    assert_false(ab_kafka_removal_holds(f->k, "w2"));
    ab_kafka_removal_call_off(f->k, "w1");
    await_end(f);
    assert_false(ab_kafka_removal_holds(f->k, "w1"));
    assert_false(is_wanted(f));
}

static void who_is_removed_once_more_amid_a_request_is_not_forgotten(void **state)
{
    fixture *f = *state;
    ab_kafka_removal_start(f->k);
    ab_kafka_removal_call_off(f->k, "w1");
    ab_kafka_removal_want(f->u.link);
    await_end(f);
    assert_true(is_wanted(f));
}

static bool is_woken(void *arg)
{
    return ((const fixture *)arg)->wakes > 0;
}

static void what_could_not_be_deleted_is_tried_again_later_and_given_up_in_the_end(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        assert_true(is_wanted(f));
        f->wakes = 0;
        ab_kafka_removal_start(f->k);
        await_end(f);
        ab_unconnected_until(&f->u, is_woken, f); /* for whoever waited */
        ab_kafka_removal_start(f->k);
        assert_null(f->k->removing);
        passed_ms += 120000;
    }
    assert_false(is_wanted(f));
}

/* A topic check might make again what is deleted; a renewal takes the handles away. */
static void nothing_is_deleted_amid_something_else(void **state)
{
    fixture *f = *state;
    f->k->topic_check_running = true;
    ab_kafka_removal_start(f->k);
    assert_null(f->k->removing);
    f->k->topic_check_running = false;
    f->k->renewing = true;
    ab_kafka_removal_start(f->k);
    assert_null(f->k->removing);
    f->k->renewing = false;
    ab_kafka_removal_start(f->k);
    await_end(f);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_agent_that_returns_before_its_topics_are_deleted_keeps_them),
        CASE(an_agent_that_returns_amid_a_request_loses_its_topics_no_second_time),
        CASE(who_is_removed_once_more_amid_a_request_is_not_forgotten),
        CASE(what_could_not_be_deleted_is_tried_again_later_and_given_up_in_the_end),
        CASE(nothing_is_deleted_amid_something_else),
    };
    return cmocka_run_group_tests_name("removal", tests, NULL, NULL);
}
