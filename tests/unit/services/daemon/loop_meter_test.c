/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/loop_meter.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUSY_MS 300
#define WAIT_MS 500

typedef struct {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_timer_cb what; /* to do; NULL: done */
    ab_metrics *metrics;
    ab_loop_meter meter;
} bench;

static int open_bench(void **state)
{
    static bench b;
    b = (bench){.metrics = ab_metrics_new()};
    assert_non_null(b.metrics);
    assert_int_equal(uv_loop_init(&b.loop), 0);
    ab_loop_meter_start(&b.meter, &b.loop, b.metrics);
    uv_timer_init(&b.loop, &b.timer);
    b.timer.data = &b;
    *state = &b;
    return 0;
}

static int close_bench(void **state)
{
    bench *b = *state;
    ab_loop_meter_close(&b->meter);
    uv_close((uv_handle_t *)&b->timer, NULL);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&b->loop), 0);
    ab_metrics_free(b->metrics);
    return 0;
}

#define LONGEST "\nargobus_loop_turn_max_seconds "
#define DEAREST "\nargobus_loop_turn_cpu_max_seconds "

/* What a scrape shows, in milliseconds, and resets. */
static double shown_of(bench *b, const char *name)
{
    ab_buf page;
    ab_buf_init(&page, 64 * 1024);
    (void)ab_metrics_render(b->metrics, &(ab_rendering){0}, &page, SIZE_MAX);
    const char *at = strstr(page.ptr, name);
    assert_non_null(at);
    double ms = 1e3 * strtod(at + strlen(name), NULL);
    ab_buf_fini(&page);
    return ms;
}

static double shown_ms(bench *b)
{
    return shown_of(b, LONGEST);
}

static void be_busy(uv_timer_t *timer)
{
    (void)timer;
    uint64_t end_ns = uv_hrtime() + BUSY_MS * 1000000u;
    while (uv_hrtime() < end_ns)
        ;
}

/* Waits for something else than the loop's events, as for a lock. */
static void block(uv_timer_t *timer)
{
    (void)timer;
    (void)poll(NULL, 0, BUSY_MS);
}

static void do_nothing(uv_timer_t *timer)
{
    (void)timer;
}

/* In the second turn of the loop, and one more follows: a turn ends where the next one begins. */
static void on_timer(uv_timer_t *timer)
{
    bench *b = timer->data;
    if (b->what != NULL)
        b->what(timer);
    else
        uv_timer_stop(timer);
    b->what = NULL;
}

static void run(bench *b, uv_timer_cb what, uint64_t after_ms)
{
    b->what = what;
    uv_update_time(&b->loop);
    uv_timer_start(&b->timer, on_timer, after_ms, 1);
    uv_run(&b->loop, UV_RUN_DEFAULT);
}

static void a_busy_turn_is_shown_until_it_was_read(void **state)
{
    bench *b = *state;
    run(b, be_busy, 1);
    assert_true(shown_ms(b) >= BUSY_MS);
    assert_true(shown_ms(b) == 0);
}

static void what_comes_before_the_loop_runs_is_no_turn(void **state)
{
    bench *b = *state;
    be_busy(NULL);
    run(b, do_nothing, 1);
    assert_true(shown_ms(b) < BUSY_MS);
}

static void waiting_is_not_being_busy(void **state)
{
    bench *b = *state;
    (void)shown_ms(b);
    run(b, do_nothing, WAIT_MS);
    assert_true(shown_ms(b) < WAIT_MS);
}

static void a_turn_takes_cpu_time_while_it_works(void **state)
{
    bench *b = *state;
    run(b, be_busy, 1);
    double used_ms = shown_of(b, DEAREST); /* less than the turn on a machine that runs others */
    assert_true(used_ms > 0 && used_ms <= BUSY_MS * 100);
    assert_true(shown_of(b, DEAREST) == 0);
}

static void a_turn_that_is_blocked_takes_none(void **state)
{
    bench *b = *state;
    run(b, block, 1);
    assert_true(shown_of(b, DEAREST) < BUSY_MS);
    run(b, block, 1);
    assert_true(shown_ms(b) >= BUSY_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_busy_turn_is_shown_until_it_was_read, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(what_comes_before_the_loop_runs_is_no_turn, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(waiting_is_not_being_busy, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_turn_takes_cpu_time_while_it_works, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(a_turn_that_is_blocked_takes_none, open_bench, close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
