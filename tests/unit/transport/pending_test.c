/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/pending.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t wall_ms;

static int64_t mono(void *arg)
{
    (void)arg;
    return 0;
}

static int64_t wall(void *arg)
{
    (void)arg;
    return wall_ms * 1000;
}

static const ab_clock test_clock = {mono, wall, NULL};

static ab_event *event_of(const char *key, bool data)
{
    ab_event_draft d = {.data = data ? AB_STR("{}") : AB_STR_NONE};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, "test");
    ab_event_set_text(&d, AB_CE_TYPE, "test");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

static void hold(ab_pending *p, const char *key)
{
    ab_event *event = event_of(key, true);
    ab_pending_hold_now(p, event);
    ab_event_unref(event);
}

static void release(ab_pending *p, const char *key)
{
    ab_event *event = event_of(key, true);
    ab_pending_release(p, event);
    ab_event_unref(event);
}

/* At the present time. */
static void record(ab_pending *p, const char *key, bool ended, int64_t offset)
{
    ab_event *event = event_of(key, !ended);
    ab_pending_write(p, event, ended, offset, wall_ms);
    ab_event_unref(event);
}

static void put(ab_pending *p, const char *key, int64_t offset)
{
    record(p, key, false, offset);
}

static int begin(void **state)
{
    static ab_pending p;
    wall_ms = 1000;
    ab_pending_init(&p, &test_clock, 0);
    *state = &p;
    return 0;
}

static int end(void **state)
{
    ab_pending_fini(*state);
    return 0;
}

static void an_object_that_changed_ten_times_counts_once(void **state)
{
    ab_pending *p = *state;
    for (int64_t offset = 0; offset < 10; offset++)
        put(p, "app/a", offset);
    put(p, "app/b", 10);
    put(p, "cmd/1", 11);
    assert_int_equal(ab_pending_count(p), 3);
    ab_pending_pass(p, 9);
    assert_int_equal(ab_pending_count(p), 3);
    ab_pending_pass(p, 10);
    assert_int_equal(ab_pending_count(p), 2);
    ab_pending_pass(p, 12);
    assert_int_equal(ab_pending_count(p), 0);
    assert_false(ab_pending_is_written(p));
}

static void the_age_is_that_of_the_first_change(void **state)
{
    ab_pending *p = *state;
    assert_int_equal(ab_pending_age_ms(p), 0);
    assert_int_equal(ab_pending_since_ms(p), 0);
    put(p, "app/a", 0);
    const int64_t since_ms = wall_ms;
    wall_ms += 5000;
    put(p, "app/a", 1);
    put(p, "app/b", 2);
    assert_int_equal(ab_pending_age_ms(p), 5000);
    wall_ms += 1000;
    assert_int_equal(ab_pending_age_ms(p), 6000);
    assert_int_equal(ab_pending_since_ms(p), since_ms);
}

static void an_object_that_always_changes_has_the_age_of_what_is_left(void **state)
{
    ab_pending *p = *state;
    for (int64_t offset = 0; offset < 100; offset++) {
        put(p, "app/a", offset);
        wall_ms += 1000;
        ab_pending_pass(p, offset);
        assert_int_equal(ab_pending_count(p), 1);
        assert_int_equal(ab_pending_age_ms(p), 1000);
    }
}

static void an_object_that_waits_and_is_in_the_log_counts_once(void **state)
{
    ab_pending *p = *state;
    put(p, "app/a", 0);
    wall_ms += 1000;
    hold(p, "app/a");
    assert_int_equal(ab_pending_count(p), 1);
    ab_pending_pass(p, 1);
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
    release(p, "app/a");
    assert_int_equal(ab_pending_count(p), 0);
}

static void each_key_is_asked_for_by_itself(void **state)
{
    ab_pending *p = *state;
    assert_false(ab_pending_has(p, AB_STR("app/a")));
    put(p, "app/a", 0);
    assert_true(ab_pending_has(p, AB_STR("app/a")));
    assert_false(ab_pending_has(p, AB_STR("app/b")));
    ab_pending_pass(p, 1);
    assert_false(ab_pending_has(p, AB_STR("app/a")));
}

static void what_is_held_twice_is_released_twice(void **state)
{
    ab_pending *p = *state;
    hold(p, "app/a");
    wall_ms += 1000;
    hold(p, "app/a");
    assert_int_equal(ab_pending_age_ms(p), 1000);
    release(p, "app/a");
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
    wall_ms += 1000;
    assert_int_equal(ab_pending_age_ms(p), 1000); /* since then */
    release(p, "app/a");
    release(p, "app/a");
    assert_int_equal(ab_pending_count(p), 0);
}

static void a_clock_that_is_set_back_leaves_the_oldest_in_front(void **state)
{
    ab_pending *p = *state;
    hold(p, "app/a");
    wall_ms -= 500;
    hold(p, "app/b");
    assert_int_equal(ab_pending_age_ms(p), 0);
    release(p, "app/a");
    wall_ms += 1500;
    assert_int_equal(ab_pending_age_ms(p), 1000);
}

static void a_deletion_is_a_change(void **state)
{
    ab_pending *p = *state;
    put(p, "app/a", 0);
    ab_pending_pass(p, 1);
    record(p, "app/a", true, 1);
    assert_int_equal(ab_pending_count(p), 1);
    ab_pending_pass(p, 2);
    assert_int_equal(ab_pending_count(p), 0);
}

static void a_command_that_was_answered_is_not_pending(void **state)
{
    ab_pending *p = *state;
    put(p, "cmd/1", 0);
    wall_ms += 1000;
    put(p, "app/a", 1);
    record(p, "cmd/1", true, 2);
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
    record(p, "cmd/2", true, 3);
    assert_int_equal(ab_pending_count(p), 1);
}

static void answers_reports_and_control_records_are_no_changes(void **state)
{
    static const char *const keys[] = {"ack/1", "error/app/a", "ctl/hello", "ctl/inventory/0"};
    ab_pending *p = *state;
    for (int i = 0; i < 4; i++) {
        hold(p, keys[i]);
        put(p, keys[i], i);
        release(p, keys[i]);
    }
    assert_int_equal(ab_pending_count(p), 0);
    assert_null(p->keys);
}

static void what_the_receiver_has_is_not_counted_when_its_log_is_read(void **state)
{
    ab_pending *p = *state;
    ab_pending_pass(p, 5);
    put(p, "app/a", 4);
    wall_ms += 1000;
    put(p, "app/a", 5);
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
    ab_pending_forget_log(p);
    assert_int_equal(ab_pending_count(p), 0);
    put(p, "app/b", 4);
    assert_int_equal(ab_pending_count(p), 0);
}

static void without_a_position_nothing_is_known(void **state)
{
    ab_pending *p = *state;
    ab_pending_pass(p, AB_PENDING_UNKNOWN);
    put(p, "app/a", 0);
    put(p, "app/b", 1);
    assert_false(ab_pending_is_known(p));
    ab_pending_pass(p, 1);
    assert_true(ab_pending_is_known(p));
    assert_int_equal(ab_pending_count(p), 1);
}

static void a_position_that_is_known_late_leaves_the_age_of_the_first(void **state)
{
    ab_pending *p = *state;
    ab_pending_pass(p, AB_PENDING_UNKNOWN);
    put(p, "app/a", 0);
    wall_ms += 1000;
    put(p, "app/a", 1);
    wall_ms += 1000;
    put(p, "cmd/1", 2);
    wall_ms += 1000;
    put(p, "app/b", 3);
    put(p, "app/a", 4);
    ab_pending_pass(p, 1);
    assert_int_equal(ab_pending_count(p), 3);
    assert_int_equal(ab_pending_since_ms(p), 2000);
    ab_pending_pass(p, 3);
    assert_int_equal(ab_pending_since_ms(p), 4000);
}

static void a_command_that_was_answered_meanwhile_has_no_age(void **state)
{
    ab_pending *p = *state;
    ab_pending_pass(p, AB_PENDING_UNKNOWN);
    put(p, "cmd/1", 0);
    wall_ms += 1000;
    put(p, "app/a", 1);
    record(p, "cmd/1", true, 2);
    ab_pending_pass(p, 0);
    assert_int_equal(ab_pending_since_ms(p), 2000);
}

/* Until it is read once more, and then by what is in it. */
static void a_log_that_is_read_again_has_the_age_of_its_own_records(void **state)
{
    ab_pending *p = *state;
    ab_pending_pass(p, AB_PENDING_UNKNOWN);
    put(p, "app/a", 0);
    ab_pending_forget_log(p);
    assert_int_equal(ab_pending_count(p), 0);
    assert_int_equal(ab_pending_since_ms(p), 0);
    wall_ms += 1000;
    put(p, "app/a", 5);
    ab_pending_pass(p, 0);
    assert_int_equal(ab_pending_since_ms(p), 2000);
}

static void what_is_in_the_log_may_be_older_than_what_is_held(void **state)
{
    ab_pending *p = *state;
    put(p, "app/a", 0);
    wall_ms += 1000;
    hold(p, "app/b");
    assert_int_equal(ab_pending_age_ms(p), 1000);
    ab_pending_pass(p, 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
}

static void records_that_nobody_has_seen_count_each(void **state)
{
    ab_pending *p = *state;
    hold(p, "app/a");
    ab_pending_set_unread(p, 7);
    assert_int_equal(ab_pending_count(p), 8);
    ab_pending_set_unread(p, 0);
    assert_int_equal(ab_pending_count(p), 1);
}

static void what_is_deferred_counts_until_it_is_in_effect(void **state)
{
    ab_pending *p = *state;
    put(p, "app/a", 0);
    ab_pending_defer(p, AB_STR("app/a"), true);
    ab_pending_defer(p, AB_STR("app/a"), true);
    ab_pending_pass(p, 1);
    assert_int_equal(ab_pending_count(p), 1);
    release(p, "app/a");
    assert_int_equal(ab_pending_count(p), 1);
    ab_pending_defer(p, AB_STR("app/a"), false);
    assert_int_equal(ab_pending_count(p), 0);
    ab_pending_defer(p, AB_STR("app/a"), false);
    assert_int_equal(ab_pending_count(p), 0);
}

static void what_is_deferred_again_and_again_keeps_its_age(void **state)
{
    ab_pending *p = *state;
    ab_pending_defer(p, AB_STR("app/a"), true);
    for (int i = 0; i < 3; i++) {
        hold(p, "app/a");
        wall_ms += 1000;
        release(p, "app/a");
    }
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 3000);
    hold(p, "app/a");
    ab_pending_defer(p, AB_STR("app/a"), false);
    assert_int_equal(ab_pending_count(p), 1);
    assert_int_equal(ab_pending_age_ms(p), 0);
    release(p, "app/a");
    assert_int_equal(ab_pending_count(p), 0);
}

static void many_objects_come_and_go_in_any_order(void **state)
{
    ab_pending *p = *state;
    char key[32];
    for (int64_t offset = 0; offset < 3000; offset++) {
        snprintf(key, sizeof(key), "app/%d", (int)(offset * 7 % 1000));
        put(p, key, offset);
    }
    assert_int_equal(ab_pending_count(p), 1000);
    ab_pending_pass(p, 2500);
    assert_int_equal(ab_pending_count(p), 500);
    ab_pending_pass(p, 3000);
    assert_int_equal(ab_pending_count(p), 0);
}

/* --- one by one --- */

static struct {
    size_t count;
    ab_pending_item items[8];
    char keys[8][16];
} seen;

static bool see(void *arg, const ab_pending_item *item)
{
    (void)arg;
    assert_true(seen.count < 8);
    seen.items[seen.count] = *item;
    snprintf(seen.keys[seen.count++], sizeof(seen.keys[0]), "%.*s", AB_STR_ARG(item->key));
    return true;
}

static void see_all(const ab_pending *p, size_t count)
{
    memset(&seen, 0, sizeof(seen));
    ab_pending_each(p, see, NULL);
    assert_int_equal(seen.count, count);
}

static void each_is_named_once_with_what_keeps_it(void **state)
{
    ab_pending *p = *state;
    see_all(p, 0);
    put(p, "A/n/written", 0);
    wall_ms = 2000;
    hold(p, "A/n/both");
    put(p, "A/n/both", 1);
    record(p, "A/n/gone", true, 2);
    ab_pending_defer(p, AB_STR("A/n/later"), true);
    wall_ms = 3000;
    see_all(p, 4);
    assert_string_equal(seen.keys[0], "A/n/both");
    assert_true(seen.items[0].held && seen.items[0].written && !seen.items[0].deferred);
    assert_string_equal(seen.keys[1], "A/n/later");
    assert_true(seen.items[1].deferred && !seen.items[1].held && !seen.items[1].written);
    assert_string_equal(seen.keys[2], "A/n/written");
    assert_true(seen.items[2].written && !seen.items[2].ends);
    assert_int_equal(seen.items[2].age_ms, 2000);
    assert_string_equal(seen.keys[3], "A/n/gone");
    assert_true(seen.items[3].ends);
    assert_int_equal(seen.items[3].age_ms, 1000);
}

static void a_deletion_that_waits_is_named_one(void **state)
{
    ab_pending *p = *state;
    ab_event *deletion = event_of("A/n/a", false);
    hold(p, "A/n/a");
    ab_pending_hold_now(p, deletion);
    ab_event_unref(deletion);
    see_all(p, 1);
    assert_true(seen.items[0].ends);
    hold(p, "A/n/a");
    see_all(p, 1);
    assert_false(seen.items[0].ends);
}

static void an_object_has_the_age_of_its_first_change_that_is_not_in_effect(void **state)
{
    ab_pending *p = *state;
    for (int64_t i = 0; i < 3; i++) {
        wall_ms = 1000 * (i + 1);
        put(p, "A/n/a", i);
    }
    wall_ms = 5000;
    see_all(p, 1);
    assert_int_equal(seen.items[0].age_ms, 4000);
    ab_pending_pass(p, 1); /* only of the newest it is known when it was written */
    see_all(p, 1);
    assert_int_equal(seen.items[0].age_ms, 2000);
    put(p, "A/n/a", 3); /* the first that is known to be left */
    wall_ms = 6000;
    put(p, "A/n/a", 4);
    see_all(p, 1);
    assert_int_equal(seen.items[0].age_ms, 1000);
    ab_pending_pass(p, 5);
    see_all(p, 0);
}

static bool stop(void *arg, const ab_pending_item *item)
{
    (void)item;
    (*(size_t *)arg)++;
    return false;
}

static void a_visitor_may_stop(void **state)
{
    ab_pending *p = *state;
    size_t visits = 0;
    hold(p, "A/n/a");
    put(p, "A/n/b", 0);
    ab_pending_each(p, stop, &visits);
    assert_int_equal(visits, 1);
}

static void an_agent_accounts_for_nothing(void **state)
{
    (void)state;
    ab_pending p;
    ab_pending_init(&p, NULL, AB_PENDING_UNKNOWN);
    hold(&p, "app/a");
    put(&p, "app/a", 0);
    record(&p, "cmd/1", true, 1);
    release(&p, "app/a");
    ab_pending_defer(&p, AB_STR("app/a"), true);
    assert_int_equal(ab_pending_count(&p), 0);
    ab_pending_fini(&p);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_object_that_changed_ten_times_counts_once),
        CASE(the_age_is_that_of_the_first_change),
        CASE(an_object_that_always_changes_has_the_age_of_what_is_left),
        CASE(an_object_that_waits_and_is_in_the_log_counts_once),
        CASE(each_key_is_asked_for_by_itself),
        CASE(what_is_held_twice_is_released_twice),
        CASE(a_clock_that_is_set_back_leaves_the_oldest_in_front),
        CASE(a_deletion_is_a_change),
        CASE(a_command_that_was_answered_is_not_pending),
        CASE(answers_reports_and_control_records_are_no_changes),
        CASE(what_the_receiver_has_is_not_counted_when_its_log_is_read),
        CASE(without_a_position_nothing_is_known),
        CASE(a_position_that_is_known_late_leaves_the_age_of_the_first),
        CASE(a_command_that_was_answered_meanwhile_has_no_age),
        CASE(a_log_that_is_read_again_has_the_age_of_its_own_records),
        CASE(what_is_in_the_log_may_be_older_than_what_is_held),
        CASE(records_that_nobody_has_seen_count_each),
        CASE(what_is_deferred_counts_until_it_is_in_effect),
        CASE(what_is_deferred_again_and_again_keeps_its_age),
        CASE(many_objects_come_and_go_in_any_order),
        CASE(each_is_named_once_with_what_keeps_it),
        CASE(a_deletion_that_waits_is_named_one),
        CASE(an_object_has_the_age_of_its_first_change_that_is_not_in_effect),
        CASE(a_visitor_may_stop),
        CASE(an_agent_accounts_for_nothing),
    };
    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
