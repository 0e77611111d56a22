/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of a link that begins again, and when that is.
 */
#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EPOCH 4000

static int withdrawn;

static void withdraw(ab_kafka_link *l)
{
    (void)l;
    withdrawn++;
}

/* A link that serves, as it was when its topics were last right. */
static void set_up(ab_unconnected *u)
{
    withdrawn = 0;
    ab_unconnected_open(u, NULL);
    u->kafka.withdraw = withdraw;
    u->link->phase = AB_LINK_READY;
    u->link->verified = true;
    u->link->has_epoch = true;
    u->link->epoch = EPOCH;
    ab_wheel_timer_stop(&u->link->timer);
}

/* So long after `before_ms` at least, and after the present time at most. */
static void assert_asks_again(const ab_unconnected *u, int64_t before_ms, int64_t least_ms,
                              int64_t most_ms)
{
    const ab_kafka_link *l = u->link;
    assert_int_equal(withdrawn, 1);
    assert_int_equal(l->phase, AB_LINK_ASK);
    assert_true(l->retry_ms >= before_ms + least_ms);
    assert_true(l->retry_ms <= ab_kafka_now(&u->kafka) + most_ms);
    assert_true(ab_link_is_in_use(&l->timer.at));
    assert_true(l->timer.due_ms <= l->retry_ms);
}

static void a_link_that_begins_again_looks_at_the_settings_of_its_topics_too(void **state)
{
    (void)state;
    ab_unconnected u;
    set_up(&u);
    int64_t before_ms = ab_kafka_now(&u.kafka);
    ab_kafka_link_restart(u.link, "test");
    assert_asks_again(&u, before_ms, 1, 1000);
    assert_false(u.link->verified);
    assert_true(u.link->has_epoch); /* our log is still the same */
    ab_kafka_link_restart(u.link, "test");
    assert_int_equal(withdrawn, 1); /* it does already */
    ab_unconnected_close(&u);
}

static void a_link_that_failed_tries_again(void **state)
{
    (void)state;
    ab_unconnected u;
    set_up(&u);
    ab_error why = {0};
    (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "test");
    int64_t before_ms = ab_kafka_now(&u.kafka);
    ab_kafka_link_failed(u.link, &why);
    assert_asks_again(&u, before_ms, 1, 1000);
    assert_string_equal(u.link->why.text, "test");
    ab_unconnected_close(&u);
}

/* Only somebody who grants it changes anything. */
static void who_lacks_a_right_asks_again_later(void **state)
{
    (void)state;
    ab_unconnected u;
    set_up(&u);
    int64_t before_ms = ab_kafka_now(&u.kafka);
    ab_kafka_link_unread(u.link, u.link->topics[AB_KAFKA_IN_STATE],
                         RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "");
    assert_asks_again(&u, before_ms, 10000, 10000);
    ab_unconnected_close(&u);
}

static void who_was_displaced_goes_on_as_a_new_writer(void **state)
{
    (void)state;
    ab_unconnected u;
    set_up(&u);
    ab_kafka_link_displace(u.link, "test");
    assert_int_equal(withdrawn, 1);
    assert_false(u.link->has_epoch);
    assert_false(ab_link_is_in_use(&u.link->timer.at));
    ab_kafka_link_return(u.link);
    assert_false(u.link->displaced);
    assert_true(ab_link_is_in_use(&u.link->timer.at));
    ab_unconnected_close(&u);
}

/* A log that is made for it again does not tell which epochs there were. */
static void who_is_added_again_writes_under_a_higher_epoch(void **state)
{
    (void)state;
    ab_unconnected u;
    set_up(&u);
    ab_kafka_link_remove(u.link);
    assert_null(ab_kafka_link_find(&u.kafka, "w1"));
    assert_int_equal(ab_kafka_link_new(&u.kafka, "w1", &u.link, NULL), AB_ERR_OK);
    assert_int_equal(u.link->epoch, EPOCH); /* the next one is above it */
    ab_unconnected_close(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_begins_again_looks_at_the_settings_of_its_topics_too),
        cmocka_unit_test(a_link_that_failed_tries_again),
        cmocka_unit_test(who_lacks_a_right_asks_again_later),
        cmocka_unit_test(who_was_displaced_goes_on_as_a_new_writer),
        cmocka_unit_test(who_is_added_again_writes_under_a_higher_epoch),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
