/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent remembers of objects that are over: nothing in memory, however many these are, and
 * of the principal's the last version in its state database.
 */
#include "schema/attributes.h"
#include "sync/agent/agent_priv.h"
#include "tests/unit/sync/world/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY    50
#define UID     ",\"uid\":\"u-1\""
#define SPEC(n) ",\"spec\":{\"n\":" #n "}"
#define OURS(uid)                                                                                  \
    ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"" uid "\",\"" AB_ANN_PRINCIPAL_UID              \
    "\":\"principal-1\"}"

static size_t in_memory(void)
{
    return ab_map_count(w.agent->objects) + ab_map_count(w.agent->sources);
}

static void assert_forgotten(void)
{
    world_run(&w, 1);
    assert_int_equal(in_memory(), 0);
    assert_at_rest();
}

static void erase_many(fake_store *store, const char *prefix)
{
    char key[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof(key), "%s%d", prefix, i);
        fake_store_erase(store, key);
        world_settle(&w);
    }
}

/* It was here, and its end was told. */
static void begin_and_end(void)
{
    begin();
    desired_of(HUB, "u-1", "", SPEC(1));
    set_field(w.local, LOCAL, "status", "{\"n\":5}");
    world_settle(&w);
    assert_non_null(said(LOCAL));
    end_of(HUB, "u-1");
    assert_null(at(LOCAL));
    assert_null(said(LOCAL));
    assert_forgotten();
}

static void what_ended_is_not_in_memory(void **state)
{
    (void)state;
    world_start(&w);
    put_apps(MANY);
    world_settle(&w);
    assert_int_equal(ab_map_count(w.agent->objects), MANY);
    erase_many(w.hub, "Application/w1/n");
    assert_int_equal(local_count(), 0);
    assert_forgotten();
    assert_int_equal(ab_map_count(w.cache.rows), MANY);
}

static void nor_is_it_after_a_new_start(void **state)
{
    (void)state;
    what_ended_is_not_in_memory(state);
    restart_agent();
    assert_forgotten();
}

static void nor_is_what_a_cascade_deleted(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    drop_finalizers(w.local, LOCAL);
    world_settle(&w);
    assert_null(hub());
    assert_forgotten();
}

static void nor_is_what_was_never_here(void **state)
{
    (void)state;
    char id[16], key[64];
    begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "c%d", i);
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        ask_terminate(id, key);
        end_command(id, key, false);
    }
    assert_forgotten();
}

static void nor_is_what_an_autonomous_agent_had(void **state)
{
    (void)state;
    char name[16];
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, i, "", "");
    }
    world_settle(&w);
    assert_int_equal(count_objects(w.hub), MANY);
    erase_many(w.local, "Application/argocd/n");
    assert_int_equal(count_objects(w.hub), 0);
    assert_forgotten();
}

static void what_is_refused_is_in_memory_with_its_error(void **state)
{
    (void)state;
    begin();
    payload(HUB, false, "{}");
    world_run(&w, 1);
    assert_int_equal(refused("payload"), 1);
    assert_int_equal(in_memory(), 1);
    desired_of(HUB, "u-1", "", SPEC(1));
    end_of(HUB, "u-1");
    assert_forgotten();
}

/* Whether it was seen here counts when that is judged. */
static void what_an_autonomous_agent_misses_is_in_memory_until_it_is_judged(void **state)
{
    (void)state;
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    put_app(w.local, "argocd", "a", 1, "", "");
    world_settle(&w);
    fake_store_lose(w.local, LOCAL);
    world_settle(&w);
    world_tick(&w, 1);
    assert_non_null(said(LOCAL));
    assert_int_equal(in_memory(), 1);
    world_run(&w, 5);
    assert_null(said(LOCAL));
    assert_forgotten();
}

/* Somebody says in its name that it has what it has not. */
static void nor_is_what_an_autonomous_agent_never_had(void **state)
{
    (void)state;
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    say_up(LOCAL, AB_TYPE_CREATE, "{}", 1);
    world_start(&w);
    assert_null(said(LOCAL));
    assert_forgotten();
}

/* An older agent.data may say that it ended, and not what stands here now. */
static void what_ended_is_in_memory_until_the_store_is_listed(void **state)
{
    (void)state;
    begin_and_end();
    world_crash_agent(&w);
    world_start_agent(&w);
    while (world_choices(&w) > fake_store_choices(w.local))
        world_step(&w, fake_store_choices(w.local));
    world_tick(&w, 1000);
    assert_true(w.agent_link.ready);
    assert_int_equal(in_memory(), 1);
    assert_forgotten();
}

/* What came then is acknowledged when all of it is in effect. */
static void what_ended_is_in_memory_until_the_log_is_read_anew(void **state)
{
    (void)state;
    begin_and_end();
    end_of(HUB_NEW, "u-2");
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
    w.replaying = true;
    world_start_agent(&w);
    while (world_choices(&w) > 0) {
        world_step(&w, 0);
        world_tick(&w, 100);
    }
    assert_forgotten();
}

/* The agent crashed before it had said that its report ends. */
static void what_is_to_be_told_of_it_is_in_memory_until_it_is(void **state)
{
    (void)state;
    begin_and_end();
    world_crash_agent(&w);
    say_up(LOCAL, AB_TYPE_STATUS_UPDATE, "{}", 1);
    world_connect(&w.agent_link, false);
    world_start_agent(&w);
    world_run(&w, 1);
    assert_true(in_memory() > 0);
    assert_non_null(said(LOCAL));
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_null(said(LOCAL));
    assert_forgotten();
}

/* It may be of an object that is over, which is nothing to tell a principal. */
static void what_is_not_recalled_yet_is_held_of_nobody(void **state)
{
    (void)state;
    ab_inventory *inv = ab_inventory_new();
    begin_and_end();
    assert_int_equal(ab_digest_of(AB_STR("principal-1"), &w.agent->resync.principal), AB_ERR_OK);
    put_app(w.local, "argocd", "a", 4, OURS("u-9"), "");
    assert_true(fake_store_has_changes(w.local));
    fake_store_step(w.local, 0, false);
    assert_int_equal(w.agent->resync.engine.env.role->hold(w.agent, inv), AB_ERR_OK);
    assert_int_equal(ab_inventory_divide(inv, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_sum(inv).count, 0);
    ab_inventory_free(inv);
    world_settle(&w);
    assert_at_rest();
}

/* As the log says it again from its beginning. */
static void what_is_older_than_the_end_is_not_followed(void **state)
{
    (void)state;
    begin_and_end();
    uint64_t before = fake_store_changes(w.local);
    double stale = world_count(w.agent_metrics, "argobus_events_stale_total");
    fake_log_replay(w.down);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.local), before);
    assert_true(world_count(w.agent_metrics, "argobus_events_stale_total") > stale);
    assert_forgotten();
}

static void what_is_newer_is_followed(void **state)
{
    (void)state;
    begin_and_end();
    desired_of(HUB, "u-2", "", SPEC(2));
    assert_int_equal(spec_of(at(LOCAL)), 2);
    assert_true(has_in(at(LOCAL), "annotations", AB_ANN_SOURCE_UID, "u-2"));
    assert_at_rest();
}

/* As from a backup of the workload cluster. */
static void what_comes_back_after_its_end_is_removed_again(void **state)
{
    (void)state;
    begin_and_end();
    put(LOCAL, OURS("u-1"), SPEC(1));
    world_settle(&w);
    assert_null(at(LOCAL));
    assert_forgotten();
}

static void what_others_make_under_its_name_is_theirs(void **state)
{
    (void)state;
    begin_and_end();
    put(LOCAL, "", SPEC(3));
    world_settle(&w);
    assert_int_equal(spec_of(at(LOCAL)), 3);
    fake_store_erase(w.local, LOCAL);
    put(LOCAL, OURS("u-9"), SPEC(4));
    world_settle(&w);
    assert_int_equal(spec_of(at(LOCAL)), 4);
    assert_at_rest();
}

/* Its row is not in agent.data for ever. */
static void what_is_known_no_more_is_as_if_it_had_never_been(void **state)
{
    (void)state;
    begin_and_end();
    world_forget_desired(&w, LOCAL);
    desired_of(HUB, "u-2", "", SPEC(2));
    assert_int_equal(spec_of(at(LOCAL)), 2);
    assert_at_rest();
}

static size_t newest_told; /* how often */

static void note_newest(void *arg, bool down, const ab_event *event)
{
    char text[AB_VERSION_TEXT];
    (void)arg;
    ab_version_format(w.agent->over, text);
    ab_str data = ab_event_data(event);
    newest_told +=
        !down && data.ptr != NULL && memmem(data.ptr, data.len, text, strlen(text)) != NULL;
}

/* A principal that says nothing newer would not be followed. */
static void a_resync_tells_the_newest_version_of_what_is_over(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_forgotten();
    newest_told = 0;
    w.on_sent = note_newest;
    restart_principal();
    assert_true(newest_told > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_ended_is_not_in_memory),
        TEST(nor_is_it_after_a_new_start),
        TEST(nor_is_what_a_cascade_deleted),
        TEST(nor_is_what_was_never_here),
        TEST(nor_is_what_an_autonomous_agent_had),
        TEST(nor_is_what_an_autonomous_agent_never_had),
        TEST(what_an_autonomous_agent_misses_is_in_memory_until_it_is_judged),
        TEST(what_is_refused_is_in_memory_with_its_error),
        TEST(what_ended_is_in_memory_until_the_store_is_listed),
        TEST(what_ended_is_in_memory_until_the_log_is_read_anew),
        TEST(what_is_to_be_told_of_it_is_in_memory_until_it_is),
        TEST(what_is_not_recalled_yet_is_held_of_nobody),
        TEST(what_is_older_than_the_end_is_not_followed),
        TEST(what_is_newer_is_followed),
        TEST(what_comes_back_after_its_end_is_removed_again),
        TEST(what_others_make_under_its_name_is_theirs),
        TEST(what_is_known_no_more_is_as_if_it_had_never_been),
        TEST(a_resync_tells_the_newest_version_of_what_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
