/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal does for one agent does not grow with the number of agents: counted are the
 * entries of maps and lists that it goes over.
 */
#include "tests/bench/sync/core_hub.h"

#include "base/core/list.h"
#include "base/core/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FEW   20
#define TIMES 4
#define MANY  (FEW * TIMES)

static size_t visits;

void __real_ab_map_next(ab_map_iter *i);
void __wrap_ab_map_next(ab_map_iter *i);
void __real_ab_list_next(ab_list_iter *i);
void __wrap_ab_list_next(ab_list_iter *i);
ab_link *__real_ab_list_pop(ab_link *list);
ab_link *__wrap_ab_list_pop(ab_link *list);

void __wrap_ab_map_next(ab_map_iter *i)
{
    visits++;
    __real_ab_map_next(i);
}

void __wrap_ab_list_next(ab_list_iter *i)
{
    visits++;
    __real_ab_list_next(i);
}

ab_link *__wrap_ab_list_pop(ab_link *list)
{
    visits++;
    return __real_ab_list_pop(list);
}

/* Visits of each phase. */
struct growth {
    size_t ready, reports, hellos, waiting_tick, first_round, idle_tick, round;
};

static size_t taken(void)
{
    size_t n = visits;
    visits = 0;
    return n;
}

static size_t each(ab_bench_core_hub *h, void (*turn)(ab_bench_core_hub *h, size_t agent))
{
    visits = 0;
    for (size_t i = 0; i < h->count; i++) {
        turn(h, i);
        ab_bench_core_settle(h);
    }
    return taken();
}

static size_t tick(ab_bench_core_hub *h)
{
    visits = 0;
    ab_bench_core_tick(h);
    ab_bench_core_settle(h);
    return taken();
}

static double resyncs(const ab_bench_core_hub *h)
{
    return ab_metric_value(
        ab_metric_get(h->metrics, AB_METRIC_COUNTER, "argobus_resyncs_total", "", NULL, 0));
}

static size_t round_of_resyncs(ab_bench_core_hub *h)
{
    double before = resyncs(h);
    size_t n = tick(h) + tick(h);
    assert_true(resyncs(h) == before + (double)h->count);
    return n;
}

static struct growth run(size_t agents)
{
    ab_bench_core_hub h;
    struct growth g;
    assert_true(ab_bench_core_open(&h, agents));
    g.ready = each(&h, ab_bench_core_ready);
    g.reports = each(&h, ab_bench_core_report);
    (void)each(&h, ab_bench_core_caught_up);
    g.hellos = each(&h, ab_bench_core_hello);
    for (int i = 0; i < 4; i++)
        (void)tick(&h); /* the watermark is written, for all */
    g.waiting_tick = tick(&h);
    assert_true(resyncs(&h) == 0);
    ab_bench_core_release(&h);
    g.first_round = round_of_resyncs(&h);
    (void)tick(&h);
    g.idle_tick = tick(&h);
    h.ms += 3600000;
    g.round = round_of_resyncs(&h);
    assert_false(h.failed);
    ab_bench_core_close(&h);
    return g;
}

/* In proportion: with a square it would be TIMES times that. */
static void assert_grows_with_agents(size_t few, size_t many)
{
    assert_true(many <= few * TIMES * 5 / 4 + TIMES);
}

static void nothing_grows_with_the_square_of_the_agents(void **state)
{
    (void)state;
    struct growth few = run(FEW);
    struct growth many = run(MANY);
    assert_grows_with_agents(few.ready, many.ready);
    assert_grows_with_agents(few.reports, many.reports);
    assert_grows_with_agents(few.hellos, many.hellos);
    assert_grows_with_agents(few.first_round, many.first_round);
    assert_grows_with_agents(few.round, many.round);
}

static void a_hello_goes_over_nothing(void **state)
{
    (void)state;
    assert_true(run(MANY).hellos <= MANY);
}

static void a_tick_goes_over_neither_objects_nor_agents(void **state)
{
    (void)state;
    struct growth g = run(MANY);
    assert_true(g.waiting_tick < FEW);
    assert_true(g.idle_tick < FEW);
}

/* Of one of an agent that is neither the first nor the last. The first deletion has the watermark
 * written, which every 250 ms costs what a part has lines, however many deletions there are. */
static size_t visits_of_deletion(size_t agents)
{
    ab_bench_core_hub h;
    assert_true(ab_bench_core_open(&h, agents));
    (void)each(&h, ab_bench_core_ready);
    for (int i = 0; i < 200; i++)
        (void)tick(&h); /* the watermark is written, for all */
    ab_bench_core_delete(&h, agents / 2, 0);
    ab_bench_core_settle(&h);
    (void)taken();
    ab_bench_core_delete(&h, agents / 2, 1);
    ab_bench_core_settle(&h);
    size_t n = taken();
    assert_int_equal(h.deleted, 2);
    assert_false(h.failed);
    ab_bench_core_close(&h);
    return n;
}

static void a_deletion_costs_the_same_with_3000_agents_as_with_30(void **state)
{
    (void)state;
    assert_int_equal(visits_of_deletion(3000), visits_of_deletion(30));
}

/* --- Secrets that wait for certificates --- */

#define SECRETS     1000
#define COUNTED_MAX 100000 /* objects that one tick goes over to count */

/* Several ticks, if each goes over no more than that. */
#define WITHOUT_CERTIFICATE 250

static void open_with_secrets(ab_bench_core_hub *h)
{
    assert_true(ab_bench_core_open(h, WITHOUT_CERTIFICATE));
    (void)each(h, ab_bench_core_ready);
    for (size_t i = 0; i < SECRETS; i++)
        ab_bench_core_put_secret(h, i);
    ab_bench_core_settle(h);
}

/* @return how many agents are shown to wait for so many Secrets */
static size_t waiting_for(const ab_bench_core_hub *h, size_t secrets)
{
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++)
        n += ab_principal_secrets_waiting(h->principal, h->agents[i].name) == secrets;
    return n;
}

/* @return how many agents were counted in it */
static size_t tick_that_counts(ab_bench_core_hub *h, size_t secrets)
{
    size_t before = waiting_for(h, secrets);
    visits = 0;
    ab_bench_core_tick(h);
    assert_true(taken() < COUNTED_MAX + 2 * SECRETS);
    ab_bench_core_settle(h);
    return waiting_for(h, secrets) - before;
}

static void a_tick_goes_over_no_more_secrets_than_it_may(void **state)
{
    ab_bench_core_hub h;
    (void)state;
    open_with_secrets(&h);
    size_t counted = tick_that_counts(&h, SECRETS);
    assert_true(counted > 0 && counted < WITHOUT_CERTIFICATE / 2);
    (void)tick_that_counts(&h, SECRETS);
    (void)tick_that_counts(&h, SECRETS);
    assert_int_equal(waiting_for(&h, SECRETS), WITHOUT_CERTIFICATE);
    assert_true(tick(&h) < 2 * WITHOUT_CERTIFICATE); /* nothing is left to count */
    assert_false(h.failed);
    ab_bench_core_close(&h);
}

/* What changes in each tick has all agents counted again. */
static void every_agent_has_its_secrets_counted(void **state)
{
    ab_bench_core_hub h;
    (void)state;
    open_with_secrets(&h);
    for (int i = 0; i < 3; i++) {
        (void)tick_that_counts(&h, SECRETS);
        ab_bench_core_put_secret(&h, 0);
        ab_bench_core_settle(&h);
    }
    assert_int_equal(waiting_for(&h, SECRETS), WITHOUT_CERTIFICATE);
    ab_bench_core_delete_secret(&h, 1);
    (void)tick_that_counts(&h, SECRETS - 1);
    ab_principal_remove_agent(h.principal, h.agents[0].name);
    ab_principal_remove_agent(h.principal, h.agents[h.count - 1].name);
    for (int i = 0; i < 3; i++)
        (void)tick_that_counts(&h, SECRETS - 1);
    assert_int_equal(waiting_for(&h, SECRETS - 1), WITHOUT_CERTIFICATE - 2);
    assert_false(h.failed);
    ab_bench_core_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_grows_with_the_square_of_the_agents),
        cmocka_unit_test(a_hello_goes_over_nothing),
        cmocka_unit_test(a_tick_goes_over_neither_objects_nor_agents),
        cmocka_unit_test(a_deletion_costs_the_same_with_3000_agents_as_with_30),
        cmocka_unit_test(a_tick_goes_over_no_more_secrets_than_it_may),
        cmocka_unit_test(every_agent_has_its_secrets_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
