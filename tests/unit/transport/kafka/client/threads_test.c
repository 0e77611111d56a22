/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka without a broker: its main thread is there, and says what it was told.
 */
#include "transport/kafka/client/threads.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include <cmocka.h>

/* Of the thread that started last. */
static long slack_ns;
static int policy;

static rd_kafka_resp_err_t look(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name,
                                void *arg)
{
    (void)rk;
    (void)type;
    (void)name;
    (void)arg;
    __atomic_store_n(&policy, sched_getscheduler(0), __ATOMIC_RELEASE);
    __atomic_store_n(&slack_ns, prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), __ATOMIC_RELEASE);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t add_look(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *arg,
                                    char *why, size_t why_size)
{
    (void)conf;
    (void)arg;
    (void)why;
    (void)why_size;
    return rd_kafka_interceptor_add_on_thread_start(rk, "test", look, NULL);
}

static void start_and_end(void)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    assert_int_equal(rd_kafka_conf_interceptor_add_on_new(conf, "test", add_look, NULL),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_t *rk = ab_kafka_threads_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    assert_non_null(rk);
    rd_kafka_destroy(rk);
}

static void threads_of_librdkafka_may_wake_up_late_and_ours_may_not(void **state)
{
    (void)state;
    long ours = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    start_and_end();
    assert_int_equal(__atomic_load_n(&slack_ns, __ATOMIC_ACQUIRE), 1000000);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), ours);
}

static void set_policy(int value)
{
    assert_return_code(sched_setscheduler(0, value, &(struct sched_param){0}), 0);
}

static void ours_gives_way_and_those_of_librdkafka_do_not(void **state)
{
    (void)state;
    set_policy(SCHED_OTHER);
    ab_kafka_threads_give_way();
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    start_and_end();
    assert_int_equal(__atomic_load_n(&policy, __ATOMIC_ACQUIRE), SCHED_OTHER);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
}

/* It runs before the one above: what a thread was told once stays. */
static void a_policy_that_was_chosen_for_us_stays(void **state)
{
    (void)state;
    set_policy(SCHED_IDLE);
    ab_kafka_threads_give_way();
    start_and_end();
    assert_int_equal(__atomic_load_n(&policy, __ATOMIC_ACQUIRE), SCHED_IDLE);
    assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_librdkafka_may_wake_up_late_and_ours_may_not),
        cmocka_unit_test(a_policy_that_was_chosen_for_us_stays),
        cmocka_unit_test(ours_gives_way_and_those_of_librdkafka_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
