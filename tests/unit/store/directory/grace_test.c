/* SPDX-License-Identifier: Apache-2.0
 *
 * What is missing and not yet gone, at a clock that only the test moves.
 */
#include "tests/unit/store/directory/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY       "Application/argocd/guestbook"
#define FILE_NAME "argocd/Application/guestbook.yaml"
#define OTHER     "Application/team/other"

static int64_t now_ms;
static unsigned looks; /* how often somebody asked what time it is */

static int64_t mono_ms(void *arg)
{
    (void)arg;
    looks++;
    return now_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return 1000000;
}

static world *begin(void)
{
    static const ab_clock clock = {mono_ms, wall_us, NULL};
    world *w = world_new_place(&directory_place);
    w->clock = &clock;
    now_ms = 1000;
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    person_writes(w, "team/Application/other.yaml", manifest("other", "{}"));
    world_start(w);
    world_wait_synced(w);
    return w;
}

static bool was_looked_at(world *w, void *arg)
{
    (void)w;
    return looks > *(unsigned *)arg;
}

/* Time goes on to this, and what is missing is looked at twice. */
static void reach(world *w, int64_t ms)
{
    now_ms = ms;
    for (int i = 0; i < 2; i++) {
        unsigned before = looks;
        world_wait(w, was_looked_at, &before);
    }
    world_settle(w);
}

static void wait_until_missing(world *w, const char *key)
{
    for (ab_err code = AB_ERR_OK; code != AB_ERR_NOTFOUND;) {
        result r = do_get(w, key);
        code = r.code;
        result_fini(&r);
    }
}

static void assert_none_is_gone(world *w)
{
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(count_changes(w, AB_STORE_ABSENT, NULL), 0);
}

static void what_is_missing_is_gone_after_a_while(void **state)
{
    (void)state;
    world *w = begin();
    person_removes(w, FILE_NAME);
    wait_until_missing(w, KEY);
    reach(w, 1249);
    assert_none_is_gone(w);
    now_ms = 1250;
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    world_free(w);
}

static void what_nobody_saw_go_is_told_together(void **state)
{
    (void)state;
    world *w = begin();
    person_renames(w, "argocd", ".argocd");
    wait_until_missing(w, KEY);
    now_ms = 1200;
    person_renames(w, "team", ".team");
    wait_until_missing(w, OTHER);
    reach(w, 1300);
    assert_none_is_gone(w);
    now_ms = 2000;
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    wait_changes(w, AB_STORE_ABSENT, OTHER, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_gone_after_a_while),
        cmocka_unit_test(what_nobody_saw_go_is_told_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
