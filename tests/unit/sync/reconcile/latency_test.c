/* SPDX-License-Identifier: Apache-2.0
 *
 * argobus_change_latency_seconds: what is measured on its way down and up, and what is not.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a scrape of the machine shows, "count" or "sum" of its histogram. */
static double shown(ab_metrics *metrics, const char *what, const char *direction)
{
    ab_buf page;
    char series[100];
    ab_buf_init(&page, 1024 * 1024);
    (void)ab_metrics_render(metrics, &(ab_rendering){0}, &page, SIZE_MAX);
    ab_buf_putc(&page, '\0');
    snprintf(series, sizeof(series), "\nargobus_change_latency_seconds_%s{direction=\"%s\"} ", what,
             direction);
    const char *at = strstr(page.ptr, series);
    assert_non_null(at);
    double value = strtod(at + strlen(series), NULL);
    ab_buf_fini(&page);
    return value;
}

static int down_count(void)
{
    return (int)shown(w.agent_metrics, "count", "down");
}

static int down_seconds(void)
{
    return (int)shown(w.agent_metrics, "sum", "down");
}

static int up_count(void)
{
    return (int)shown(w.principal_metrics, "count", "up");
}

static int up_seconds(void)
{
    return (int)shown(w.principal_metrics, "sum", "up");
}

static void a_change_counts_from_the_moment_it_was_queued(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    world_tick(&w, 7000);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_int_equal(down_count(), 1); /* since its restart */
    assert_int_equal(down_seconds(), 7);
}

static void a_status_counts_at_the_principal(void **state)
{
    (void)state;
    placed("");
    int before = up_count();
    world_connect(&w.principal_link, false);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    world_tick(&w, 5000);
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_int_equal(up_count(), before + 1);
    assert_int_equal(up_seconds(), 5);
}

static void what_is_in_effect_already_does_not_count(void **state)
{
    (void)state;
    placed("");
    world_tick(&w, 60000);
    world_crash_agent(&w);
    world_lose_log(&w, &w.principal_link);
    world_start_agent(&w);
    world_run(&w, 5);
    assert_int_equal(down_count(), 0); /* since its restart */
}

static void a_change_that_is_deferred_does_not_count(void **state)
{
    (void)state;
    placed("");
    int before = down_count();
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_set_aside_total"), 1);
    assert_int_equal(down_count(), before);
}

static void a_change_from_a_clock_that_is_ahead_counts_as_none(void **state)
{
    (void)state;
    placed("");
    int before = up_count();
    say_status(1, (uint64_t)ab_clock_wall_us(&w.clock) + 9000000);
    world_settle(&w);
    assert_int_equal(up_count(), before + 1);
    assert_int_equal(up_seconds(), 0);
}

static void a_local_change_that_is_reverted_does_not_count(void **state)
{
    (void)state;
    placed("");
    int before = down_count();
    world_tick(&w, 9000);
    set_spec(w.local, LOCAL, 3);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(down_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_counts_from_the_moment_it_was_queued),
        TEST(a_status_counts_at_the_principal),
        TEST(what_is_in_effect_already_does_not_count),
        TEST(a_change_that_is_deferred_does_not_count),
        TEST(a_change_from_a_clock_that_is_ahead_counts_as_none),
        TEST(a_local_change_that_is_reverted_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
