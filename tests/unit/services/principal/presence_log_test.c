/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/presence_log.h"

#include "base/observe/log_quota.h"
#include "tests/unit/logged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define MINUTE_MS 60000

static struct {
    int64_t ms;
    ab_clock clock;
    ab_log *log;
    FILE *lines;
    ab_presence_log *presence;
} t;

static const ab_peer peer = {.mode = "managed", .version = "1"};

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return t.ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    t.ms = 1;
    t.clock = (ab_clock){.mono_ms = mono_ms, .wall_us = wall_us};
    t.lines = logged_open(&t.clock, &t.log);
    t.presence = ab_presence_log_new(t.log, &t.clock);
    return t.presence == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    ab_presence_log_free(t.presence);
    ab_log_free(t.log);
    return fclose(t.lines);
}

static void flap(const char *agent, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        ab_presence_log_note(t.presence, agent, &peer);
        ab_presence_log_note(t.presence, agent, NULL);
    }
}

static void each_agent_has_ten_lines_a_minute(void **state)
{
    (void)state;
    flap("w1", 100);
    flap("w2", 1);
    assert_int_equal(logged_count(t.lines, "agent=w1"), AB_LOG_QUOTA_LINES);
    assert_int_equal(logged_count(t.lines, "agent=w2"), 2);
    t.ms += MINUTE_MS;
    ab_presence_log_note(t.presence, "w1", &peer);
    assert_int_equal(logged_count(t.lines, "agent=w1 mode=managed version=1 held_back=190"), 1);
}

static void a_fleet_that_comes_back_is_logged_whole(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%u", i);
        ab_presence_log_note(t.presence, name, &peer);
    }
    assert_int_equal(logged_count(t.lines, "agent connected"), 1000);
}

static void the_last_line_is_true_when_the_minute_is_over(void **state)
{
    (void)state;
    assert_non_null(ab_presence_log_may(t.presence, "w1"));
    flap("w1", 5); /* its last disconnection is held back */
    assert_int_equal(logged_count(t.lines, "agent disconnected"), 4);
    t.ms += MINUTE_MS - 1;
    ab_presence_log_tick(t.presence);
    assert_int_equal(logged_count(t.lines, "agent disconnected"), 4);
    t.ms++;
    ab_presence_log_tick(t.presence);
    ab_presence_log_tick(t.presence);
    assert_int_equal(logged_count(t.lines, "agent disconnected"), 5);
    assert_int_equal(logged_count(t.lines, "held_back=1"), 1);
}

static void what_is_true_again_is_not_repeated(void **state)
{
    (void)state;
    flap("w1", 100);
    t.ms += MINUTE_MS;
    ab_presence_log_tick(t.presence);
    assert_int_equal(logged_count(t.lines, "agent=w1"), AB_LOG_QUOTA_LINES);
}

static void one_that_is_removed_is_forgotten(void **state)
{
    (void)state;
    assert_non_null(ab_presence_log_may(t.presence, "w1"));
    flap("w1", 5);
    ab_presence_log_forget(t.presence, "w1");
    ab_presence_log_forget(t.presence, "w1");
    t.ms += MINUTE_MS;
    ab_presence_log_tick(t.presence);
    assert_int_equal(logged_count(t.lines, "agent disconnected"), 4);
}

static void one_that_is_not_served_is_told_of_once(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        ab_presence_log_note_unserved(t.presence, "w1");
    t.ms += MINUTE_MS;
    ab_presence_log_note_unserved(t.presence, "w1");
    ab_presence_log_note_unserved(t.presence, "w2");
    assert_int_equal(logged_count(t.lines, "agent=w1 held_back=0"), 1);
    assert_int_equal(logged_count(t.lines, "agent=w2 held_back=0"), 1);
    assert_int_equal(logged_count(t.lines, "is not served"), 2);
}

/* However many names an authority has made certificates for, and whatever was remembered. */
static void those_that_are_not_served_share_ten_lines_a_minute(void **state)
{
    (void)state;
    for (unsigned minute = 0; minute < 150; minute++) {
        for (unsigned i = 0; i < 100; i++) {
            char name[32];
            snprintf(name, sizeof(name), "m%u-%u", minute, i);
            ab_presence_log_note_unserved(t.presence, name);
        }
        t.ms += MINUTE_MS;
    }
    assert_int_equal(logged_count(t.lines, "is not served"), 150 * AB_LOG_QUOTA_LINES);
    ab_presence_log_note_unserved(t.presence, "m0-0"); /* forgotten, so as to remember others */
    assert_int_equal(logged_count(t.lines, "agent=m0-0 held_back=90"), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_agent_has_ten_lines_a_minute),
        CASE(a_fleet_that_comes_back_is_logged_whole),
        CASE(the_last_line_is_true_when_the_minute_is_over),
        CASE(what_is_true_again_is_not_repeated),
        CASE(one_that_is_removed_is_forgotten),
        CASE(one_that_is_not_served_is_told_of_once),
        CASE(those_that_are_not_served_share_ten_lines_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
