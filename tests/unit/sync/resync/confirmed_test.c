/* SPDX-License-Identifier: Apache-2.0
 *
 * A confirmation covers the deletions that were shown with its token. What else is missing by the
 * time it takes effect stays, and is shown then.
 */
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static ab_map *backup;

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    w.deletions_max = 2;
    backup = NULL;
    return 0;
}

static int begin_autonomous(void **state)
{
    (void)begin(state);
    w.policy.autonomous = true;
    w.policy.guard.max = 2;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

static int end(void **state)
{
    fake_backup_free(backup);
    return teardown(state);
}

static void lose(fake_store *store, const char *namespace, int from, int to)
{
    char key[64];
    for (int i = from; i < to; i++) {
        snprintf(key, sizeof(key), "Application/%s/n%d", namespace, i);
        fake_store_lose(store, key);
    }
    world_run(&w, 2);
}

static ab_err confirm(const char *token)
{
    return ab_principal_confirm(w.principal, "w1", ab_str_of(token));
}

static void confirm_what_is_shown(void)
{
    assert_int_equal(confirm(w.held_token), AB_ERR_OK);
    world_run(&w, 5);
}

/* --- a managed agent --- */

/* The agent has "new", which the store never had, as far as it shows; the log says nothing of it.
 */
static void restore_without_new(void)
{
    put_apps(5);
    world_start(&w);
    world_run(&w, 70);
    backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 1);
    assert_true(has_new());
    world_crash_agent(&w);
    world_crash_principal(&w);
    fake_store_restore(w.hub, backup);
    world_lose_log(&w, &w.principal_link);
    world_start_principal(&w);
    world_run(&w, 2);
}

static void what_only_the_agent_has_is_not_confirmed_before_it_is_shown(void **state)
{
    (void)state;
    restore_without_new();
    lose(w.hub, "w1", 0, 5);
    assert_int_equal(w.held, 5);
    assert_int_equal(confirm(w.held_token), AB_ERR_OK);
    world_start_agent(&w);
    world_run(&w, 5);
    assert_int_equal(local_count(), 1);
    assert_true(has_new());
    assert_int_equal(w.held, 1);
    confirm_what_is_shown();
    assert_int_equal(local_count(), 0);
    assert_int_equal(w.held, 0);
    assert_at_rest();
}

/* --- what it is shown --- */

struct named {
    size_t count;
    char last[64];
    const char *why; /* of the last one */
};

static void note_name(void *arg, ab_str key, const char *why)
{
    struct named *named = arg;
    named->count++;
    named->why = why;
    snprintf(named->last, sizeof(named->last), "%.*s", AB_STR_ARG(key));
}

static struct named names(void)
{
    struct named named = {0};
    ab_principal_each_held(w.principal, "w1", note_name, &named);
    return named;
}

static void what_only_the_agent_has_is_named_until_it_is_confirmed(void **state)
{
    (void)state;
    restore_without_new();
    lose(w.hub, "w1", 0, 5);
    assert_int_equal(names().count, 5);
    world_start_agent(&w);
    world_run(&w, 5);
    assert_int_equal(w.held, 6);
    assert_int_equal(names().count, 6);
    assert_string_equal(names().last, "Application/w1/new");
    assert_string_equal(names().why, "held: no proof");
    confirm_what_is_shown();
    assert_int_equal(names().count, 0);
}

/* The store is known to have had them. */
static void hold_what_no_log_has(int count)
{
    put_apps(count);
    world_start(&w);
    world_run(&w, 70);
    world_crash_principal(&w);
    lose(w.hub, "w1", 0, count);
    world_lose_log(&w, &w.principal_link);
    world_lose_log(&w, &w.agent_link);
    world_start_principal(&w);
    world_run(&w, 5);
    assert_int_equal(w.held, count);
}

static void of_more_than_a_hundred_the_first_are_named(void **state)
{
    (void)state;
    hold_what_no_log_has(103);
    assert_int_equal(names().count, 100);
    assert_string_equal(names().why, "held: too many");
    put_apps(103);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(w.held, 0);
    assert_int_equal(names().count, 0);
}

/* They may be back: it is looked for once a window, and said once. */
static void what_is_held_for_being_too_many_is_not_when_it_is_back(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    hold_what_no_log_has(30);
    world_run(&w, 300);
    assert_int_equal(w.held, 30);
    assert_int_equal(logged_count(file, "deletions held back"), 1);
    put_apps(30);
    world_run(&w, 65);
    assert_int_equal(w.held, 0);
    fclose(file);
}

static void what_was_named_is_forgotten_when_the_agent_becomes_autonomous(void **state)
{
    (void)state;
    hold_what_no_log_has(3);
    assert_int_equal(names().count, 3);
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    assert_int_equal(ab_principal_held(w.principal, "w1"), 0);
    assert_int_equal(names().count, 0);
}

/* --- an autonomous agent --- */

static void put_local(int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, i + 1, "", "");
    }
}

static void hold_five_of_eight(void)
{
    put_local(8);
    world_start(&w);
    lose(w.local, "argocd", 0, 5);
    assert_int_equal(w.held, 5);
    assert_int_equal(count_objects(w.hub), 8);
}

static void what_an_agent_holds_back_is_named_as_it_calls_it(void **state)
{
    (void)state;
    hold_five_of_eight();
    assert_int_equal(names().count, 5);
    assert_memory_equal(names().last, "Application/argocd/n", 20);
    assert_string_equal(names().why, "held: too many");
    put_local(8);
    world_run(&w, 70);
    assert_int_equal(w.held, 0);
    assert_int_equal(names().count, 0);
}

static void of_more_than_a_hundred_an_agent_names_the_first(void **state)
{
    (void)state;
    put_local(103);
    world_start(&w);
    lose(w.local, "argocd", 0, 103);
    assert_int_equal(w.held, 103);
    assert_int_equal(names().count, 100);
}

static void an_agent_ends_nothing_that_is_missing_since(void **state)
{
    (void)state;
    hold_five_of_eight();
    world_connect(&w.agent_link, false);
    lose(w.local, "argocd", 5, 6);
    assert_int_equal(w.held, 5);
    assert_int_equal(confirm(w.held_token), AB_ERR_OK);
    world_connect(&w.agent_link, true);
    world_run(&w, 5);
    assert_int_equal(count_objects(w.hub), 8);
    assert_int_equal(w.held, 6);
    confirm_what_is_shown();
    assert_int_equal(count_objects(w.hub), 2);
    assert_int_equal(w.held, 0);
}

/* As many as before, but not the same. */
static void an_agent_ends_nothing_when_others_are_missing(void **state)
{
    (void)state;
    char first[16];
    hold_five_of_eight();
    memcpy(first, w.held_token, sizeof(first));
    put_local(1);
    lose(w.local, "argocd", 5, 6);
    world_run(&w, 70);
    assert_int_equal(w.held, 5);
    assert_int_equal(confirm(first), AB_ERR_NOTFOUND);
    world_run(&w, 5);
    assert_int_equal(count_objects(w.hub), 8);
    confirm_what_is_shown();
    assert_int_equal(count_objects(w.hub), 3);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define A(name) cmocka_unit_test_setup_teardown(name, begin_autonomous, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_only_the_agent_has_is_not_confirmed_before_it_is_shown),
        T(what_only_the_agent_has_is_named_until_it_is_confirmed),
        T(of_more_than_a_hundred_the_first_are_named),
        T(what_is_held_for_being_too_many_is_not_when_it_is_back),
        T(what_was_named_is_forgotten_when_the_agent_becomes_autonomous),
        A(what_an_agent_holds_back_is_named_as_it_calls_it),
        A(of_more_than_a_hundred_an_agent_names_the_first),
        A(an_agent_ends_nothing_that_is_missing_since),
        A(an_agent_ends_nothing_when_others_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
