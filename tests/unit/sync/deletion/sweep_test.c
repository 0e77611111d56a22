/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep over a log of objects "a", "b", ...: each has the facts that the test gives it.
 */
#include "sync/deletion/sweep.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OBJECTS_MAX 8
#define WINDOW_MS   60000

static const ab_deletion_facts exists = {.exists = true};
static const ab_deletion_facts observed = {.observed = true, .store_checked = true};
static const ab_deletion_facts unproved = {.store_checked = true, .store_synced = true};
static const ab_deletion_facts unknown = {.store_checked = true, .covered = true};
static const ab_deletion_facts proved = {
    .store_checked = true, .store_synced = true, .covered = true};

static struct {
    ab_sweep sweep;
    ab_writer *w;
    ab_clock clock;
    int64_t ms;
    ab_deletion_facts facts[OBJECTS_MAX];
    char ended[OBJECTS_MAX + 1]; /* their names */
    size_t unproved, shown, total;
    char first[AB_OBJECT_KEY_MAX];
    bool more;
} t;

static bool know(void *arg, ab_str key, ab_deletion_facts *out)
{
    (void)arg;
    if (!ab_str_starts(key, "Application/"))
        return false;
    *out = t.facts[key.ptr[key.len - 1] - 'a'];
    return true;
}

static void end(void *arg, ab_str key, ab_deletion why)
{
    char copy[AB_OBJECT_KEY_MAX];
    ab_event_draft draft = {0};
    (void)arg;
    assert_true(ab_deletion_is_allowed(why));
    snprintf(copy, sizeof(copy), "%.*s", AB_STR_ARG(key));
    strncat(t.ended, copy + key.len - 1, 1);
    ab_event_set_text(&draft, AB_CE_TYPE, "test");
    assert_int_equal(ab_writer_end(t.w, ab_str_of(copy), ab_str_of(copy), &draft, NULL), AB_ERR_OK);
}

static void hold_unproved(void *arg, size_t count, const char *first)
{
    (void)arg;
    t.unproved = count;
    snprintf(t.first, sizeof(t.first), "%s", first);
}

static void show(void *arg, bool more, size_t total)
{
    (void)arg;
    t.shown++;
    t.more = more;
    t.total = total;
}

static void learn(const char *key)
{
    ab_event *head = sample_event(key, "{}", 1);
    assert_int_equal(ab_writer_learn(t.w, head), AB_ERR_OK);
    ab_event_unref(head);
}

/* More than 1, and more than half, are too many. */
static int begin(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.ms = 5;
    t.clock = sample_clock(&t.ms);
    t.w = ab_writer_new(&(ab_writer_env){&t.clock, AB_SOURCE_PRINCIPAL, "w1", NULL, NULL, NULL});
    assert_non_null(t.w);
    learn("cmd/x");
    for (size_t i = 0; i < 4; i++) {
        char key[] = "Application/w1/?";
        key[sizeof(key) - 2] = "abcd"[i];
        learn(key);
        t.facts[i] = exists;
    }
    ab_writer_ready(t.w, 3);
    ab_sweep_init(&t.sweep, (ab_guard_limits){.max = 1, .percent = 50, .window_ms = WINDOW_MS});
    return 0;
}

static int finish(void **state)
{
    (void)state;
    ab_writer_free(t.w);
    return 0;
}

static void sweep(void)
{
    const ab_sweep_role role = {know, end, hold_unproved, show, NULL};
    assert_true(ab_sweep_begin(&t.sweep, t.ms));
    ab_sweep_log(&t.sweep, t.w, &role, t.ms);
}

static void lose(const char *names, ab_deletion_facts facts)
{
    for (; *names != '\0'; names++)
        t.facts[*names - 'a'] = facts;
}

static void what_exists_stays_and_the_sweep_is_done(void **state)
{
    (void)state;
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.total, 4); /* a command is none of them */
    assert_true(t.sweep.done);
    assert_false(ab_sweep_begin(&t.sweep, t.ms));
}

static void what_is_proved_to_be_gone_is_ended(void **state)
{
    (void)state;
    lose("b", proved);
    sweep();
    assert_string_equal(t.ended, "b");
    assert_false(ab_writer_has_key(t.w, AB_STR("Application/w1/b")));
    assert_true(t.sweep.done);
    assert_false(t.more);
}

static void too_many_are_held_all_of_them(void **state)
{
    (void)state;
    lose("abc", proved);
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.sweep.guard.held, 3);
    assert_true(t.more);
    assert_false(t.sweep.done);
}

static void the_same_number_is_not_logged_again(void **state)
{
    (void)state;
    lose("abc", proved);
    sweep();
    sweep();
    assert_false(t.more);
    assert_int_equal(t.shown, 2);
}

static void observed_deletions_pass_while_others_are_held(void **state)
{
    (void)state;
    lose("abc", proved);
    lose("d", observed);
    sweep();
    assert_string_equal(t.ended, "d");
    assert_int_equal(t.sweep.guard.held, 3);
}

static void confirm(void)
{
    t.sweep.confirmed = t.sweep.held.set;
}

static void confirmed_ones_pass_however_many(void **state)
{
    (void)state;
    lose("abc", proved);
    lose("d", unproved);
    sweep();
    assert_int_equal(t.sweep.held.count, 4);
    confirm();
    sweep();
    assert_int_equal(strlen(t.ended), 4);
    assert_int_equal(t.sweep.guard.held, 0);
    assert_int_equal(t.sweep.held.count, 0);
    assert_int_equal(t.unproved, 0);
    assert_true(t.sweep.done);
}

static void more_than_was_confirmed_stays(void **state)
{
    (void)state;
    lose("abc", proved);
    sweep();
    confirm();
    lose("d", proved);
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.sweep.held.count, 4);
    lose("d", exists);
    sweep();
    assert_string_equal(t.ended, "");
}

static void as_many_others_as_were_confirmed_stay(void **state)
{
    (void)state;
    lose("abc", proved);
    sweep();
    confirm();
    lose("a", exists);
    lose("d", proved);
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.sweep.held.count, 3);
}

/* It was not held with them, and is judged by itself: too many, with those that were confirmed. */
static void of_those_without_a_proof_no_other_is_confirmed(void **state)
{
    (void)state;
    lose("abc", unproved);
    sweep();
    assert_int_equal(t.sweep.held.count, 3);
    confirm();
    lose("d", proved);
    sweep();
    assert_int_equal(strlen(t.ended), 3);
    assert_int_equal(t.sweep.held.count, 1);
    assert_int_equal(t.sweep.guard.held, 1);
}

static void one_without_a_proof_is_held_and_named(void **state)
{
    (void)state;
    lose("c", unproved);
    lose("a", proved);
    sweep();
    assert_string_equal(t.ended, "a");
    assert_int_equal(t.unproved, 1);
    assert_string_equal(t.first, "Application/w1/c");
    assert_false(t.sweep.done);
}

static void those_without_a_proof_count_among_too_many(void **state)
{
    (void)state;
    lose("bc", unproved);
    lose("a", proved);
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.sweep.guard.held, 1);
    assert_int_equal(t.unproved, 2);
}

static void what_is_not_known_yet_stays_and_is_judged_again(void **state)
{
    (void)state;
    lose("c", unknown);
    sweep();
    assert_string_equal(t.ended, "");
    assert_int_equal(t.unproved, 0);
    assert_int_equal(t.sweep.guard.held, 0);
    assert_false(t.sweep.done);
}

static void it_waits_until_nothing_more_is_missed_for_a_second(void **state)
{
    (void)state;
    sweep();
    ab_sweep_miss(&t.sweep, t.ms);
    t.ms += 900;
    ab_sweep_miss(&t.sweep, t.ms);
    t.ms += 999;
    assert_false(ab_sweep_is_due(&t.sweep, t.ms));
    assert_false(ab_sweep_begin(&t.sweep, t.ms));
    t.ms++;
    assert_true(ab_sweep_is_due(&t.sweep, t.ms));
    sweep();
    assert_false(ab_sweep_is_due(&t.sweep, t.ms));
}

static void it_waits_for_nothing_when_all_is_to_be_judged_again(void **state)
{
    (void)state;
    ab_sweep_miss(&t.sweep, t.ms);
    ab_sweep_again(&t.sweep);
    sweep();
}

static void what_is_held_is_judged_again_once_a_window(void **state)
{
    (void)state;
    lose("abc", proved);
    sweep();
    assert_false(ab_sweep_is_due(&t.sweep, t.ms + WINDOW_MS - 1));
    t.ms += WINDOW_MS;
    assert_true(ab_sweep_is_due(&t.sweep, t.ms));
    lose("ab", exists);
    sweep();
    assert_string_equal(t.ended, "c");
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_exists_stays_and_the_sweep_is_done),
        T(what_is_proved_to_be_gone_is_ended),
        T(too_many_are_held_all_of_them),
        T(the_same_number_is_not_logged_again),
        T(observed_deletions_pass_while_others_are_held),
        T(confirmed_ones_pass_however_many),
        T(more_than_was_confirmed_stays),
        T(as_many_others_as_were_confirmed_stay),
        T(of_those_without_a_proof_no_other_is_confirmed),
        T(one_without_a_proof_is_held_and_named),
        T(those_without_a_proof_count_among_too_many),
        T(what_is_not_known_yet_stays_and_is_judged_again),
        T(it_waits_until_nothing_more_is_missed_for_a_second),
        T(it_waits_for_nothing_when_all_is_to_be_judged_again),
        T(what_is_held_is_judged_again_once_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
