/* SPDX-License-Identifier: Apache-2.0
 *
 * A store that comes back from a backup lacks what was made since. That proves no deletion: nothing
 * goes at the other side for it, until the objects are back or the operator says that it is meant.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define LOCAL_B "Application/argocd/b"

static ab_map *backup;

/* "a" is in the backup, "new" was made since. */
static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    placed("");
    backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 1);
    assert_non_null(fake_store_find(w.local, LOCAL_NEW));
    return 0;
}

static int end(void **state)
{
    fake_backup_free(backup);
    return teardown(state);
}

static void restore(void)
{
    world_crash_principal(&w);
    fake_store_restore(w.hub, backup);
}

static void start_principal(void)
{
    world_start_principal(&w);
    world_run(&w, 2);
}

static void lose_logs(void)
{
    world_lose_log(&w, &w.principal_link);
    world_lose_log(&w, &w.agent_link);
}

static void assert_held(void)
{
    assert_true(has_new());
    assert_int_equal(held_deletions(), 1);
    world_run(&w, 300);
    assert_true(has_new());
    assert_int_equal(held_deletions(), 1);
}

static void assert_b_stays(void)
{
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_held();
}

/* Of b the backup has nothing, and of what was before it the watermark. */
static void back_up_before_b(void)
{
    put_app(w.hub, "w1", "c", 1, "", "");
    world_settle(&w);
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_settle(&w);
}

/* The watermark is read and written; no change of the hub is told meanwhile. */
static void write_mark(void)
{
    ab_object *before = ab_object_ref(fake_store_find(w.hub, MARK));
    world_tick(&w, 60000);
    fake_store_settle_jobs(w.hub);
    assert_ptr_not_equal(fake_store_find(w.hub, MARK), before);
    ab_object_unref(before);
}

/* --- nothing goes --- */

static void what_a_restored_hub_lacks_stays_at_the_agent(void **state)
{
    (void)state;
    restore();
    start_principal();
    assert_non_null(local());
    assert_held();
}

static void it_stays_also_when_the_logs_are_lost(void **state)
{
    (void)state;
    restore();
    lose_logs();
    start_principal();
    assert_held();
}

static void it_stays_also_when_the_agent_has_lost_what_it_kept(void **state)
{
    (void)state;
    restore();
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    lose_logs();
    world_start_agent(&w);
    start_principal();
    assert_held();
}

static void it_stays_also_when_the_hub_is_restored_under_a_running_principal(void **state)
{
    (void)state;
    fake_store_restore(w.hub, backup);
    world_run(&w, 2);
    assert_held();
}

/* As a folder that is restored file by file under it. */
static void it_stays_also_when_the_store_tells_its_loss_as_an_observed_deletion(void **state)
{
    (void)state;
    set_field(w.hub, MARK, "data", "{\"write_id\":\"of the backup\"}");
    w.hub_refuses = AB_ERR_UNAVAILABLE; /* the watermark cannot be read for a while */
    w.hub_refuses_reads = true;
    fake_store_erase(w.hub, HUB_NEW);
    world_run(&w, 5);
    assert_true(has_new());
    w.hub_refuses = AB_ERR_OK;
    w.hub_refuses_reads = false;
    world_run(&w, 60);
    assert_held();
}

/* The last principal was killed before it wrote the watermark, and this one does not reach the
 * broker.
 */
static void it_stays_also_when_the_log_cannot_be_read_before(void **state)
{
    (void)state;
    back_up_before_b(); /* the watermark is not written again at once */
    world_crash_principal(&w);
    world_connect(&w.principal_link, false);
    world_start_principal(&w);
    world_run(&w, 20);
    fake_store_restore(w.hub, backup);
    world_connect(&w.principal_link, true);
    while (!w.principal_link.ready) /* before it is seen that something went */
        world_step(&w, world_choices(&w) - 1);
    world_run(&w, 2);
    assert_b_stays();
}

/* The principal could send it before the store showed it the watermark, which may come last. */
static void it_stays_also_when_it_was_sent_before_the_mark_was_listed(void **state)
{
    (void)state;
    world_crash_principal(&w);
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_start_principal(&w);
    while (!w.principal_link.ready)
        world_step(&w, world_choices(&w) - 1);
    fake_store_step(w.hub, fake_store_choices(w.hub) - 1, false); /* "b", which was made last */
    assert_int_equal(ab_outbox_count(ab_principal_outbox(w.principal, "w1")), 1);
    while (fake_store_find(w.local, LOCAL_B) == NULL) /* before it is compared */
        world_step(&w, 0);
    fake_store_restore(w.hub, backup);
    world_run(&w, 5);
    assert_b_stays();
}

/* As with a role that lacks it: the watermark can be read, but says nothing of what is sent. */
static void it_stays_also_when_the_mark_could_not_be_written(void **state)
{
    (void)state;
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    w.hub_refuses = AB_ERR_DENIED;
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    fake_store_restore(w.hub, backup);
    world_run(&w, 300);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 100);
    assert_b_stays();
}

/* The last principal could not write the watermark, and this one finds both in the store and in the
 * log what it does not cover. */
static void it_stays_also_when_only_the_former_principal_sent_it(void **state)
{
    (void)state;
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    w.hub_refuses = AB_ERR_DENIED;
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    world_crash_agent(&w); /* nothing is compared */
    restart_principal();
    w.hub_refuses = AB_ERR_OK;
    fake_store_restore(w.hub, backup);
    world_run(&w, 100);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_b_stays();
}

static void hub_goes_down(void)
{
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    w.hub_refuses_reads = true;
}

static void hub_comes_back(void)
{
    w.hub_refuses = AB_ERR_OK;
    w.hub_refuses_reads = false;
}

/* Its API server goes down once "b" was sent, and before the watermark says so. */
static void hub_goes_down_after_b(void)
{
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    hub_goes_down();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
}

/* It comes back with the backup, and a new list shows the loss only then. */
static void it_stays_also_when_the_mark_is_written_again_before_the_loss_shows(void **state)
{
    (void)state;
    hub_goes_down_after_b();
    fake_store_restore(w.hub, backup);
    hub_comes_back();
    write_mark();
    world_run(&w, 5);
    assert_b_stays();
}

static void it_stays_also_when_a_resync_agrees_before_the_loss_shows(void **state)
{
    (void)state;
    hub_goes_down_after_b();
    fake_store_restore(w.hub, backup);
    hub_comes_back();
    write_mark();
    double resyncs = world_count(w.principal_metrics, "argobus_resyncs_total");
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    while (world_choices(&w) > fake_store_choices(w.hub))
        world_step(&w, world_choices(&w) - 1);
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") > resyncs);
    world_tick(&w, 1000); /* what that proved would be written now */
    fake_store_settle_jobs(w.hub);
    world_run(&w, 5);
    assert_b_stays();
}

static void come_again(void)
{
    world_lose_log(&w, &w.principal_link);
    assert_int_equal(ab_principal_add_agent(w.principal, "w1"), AB_ERR_OK);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
}

static void it_stays_also_when_the_agent_comes_again_before_the_loss_shows(void **state)
{
    (void)state;
    hub_goes_down_after_b();
    fake_store_restore(w.hub, backup);
    hub_comes_back();
    write_mark();
    double resyncs = world_count(w.principal_metrics, "argobus_resyncs_total");
    ab_principal_remove_agent(w.principal, "w1");
    come_again();
    for (int i = 0; i < 60; i++) {
        world_tick(&w, 1000);
        while (world_choices(&w) > fake_store_choices(w.hub))
            world_step(&w, world_choices(&w) - 1);
        fake_store_settle_jobs(w.hub);
    }
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") > resyncs);
    world_run(&w, 5);
    assert_b_stays();
}

/* It is not served when the loss shows, and the watermark is written after that. */
static void it_stays_also_when_it_is_lost_while_the_agent_is_taken_away(void **state)
{
    (void)state;
    back_up_before_b();
    ab_principal_remove_agent(w.principal, "w1");
    fake_store_restore(w.hub, backup);
    world_settle(&w);
    world_run(&w, 5);
    come_again();
    world_run(&w, 5);
    assert_b_stays();
}

/* The principal has not read the watermark yet when the API server goes down. */
static void it_stays_also_when_the_mark_could_not_be_read_at_the_start(void **state)
{
    (void)state;
    world_crash_principal(&w);
    hub_goes_down();
    world_start_principal(&w);
    world_settle(&w);
    hub_goes_down_after_b();
    fake_store_restore(w.hub, backup);
    hub_comes_back();
    write_mark();
    world_run(&w, 5);
    assert_b_stays();
}

/* The watermark is not written again at once. */
static void it_stays_also_when_it_is_lost_before_the_mark_is_due(void **state)
{
    (void)state;
    back_up_before_b();
    fake_store_restore(w.hub, backup);
    world_settle(&w);
    world_run(&w, 5);
    assert_b_stays();
}

/* It is replaced within the time for which a write may wait, and no call fails. */
static void it_stays_also_when_the_mark_is_due_before_the_loss_shows(void **state)
{
    (void)state;
    back_up_before_b();
    world_interrupt_hub(&w);
    fake_store_restore(w.hub, backup);
    world_tick(&w, 60000);
    fake_store_settle_jobs(w.hub);
    world_run(&w, 5);
    assert_b_stays();
}

/* So many writes follow that its version is not older than before, and nothing is listed again. */
static void it_stays_also_when_the_loss_is_never_shown(void **state)
{
    (void)state;
    back_up_before_b();
    ab_principal_on_interrupted(w.principal);
    fake_store_restore(w.hub, backup);
    ab_principal_on_resumed(w.principal);
    fake_store_settle_jobs(w.hub);
    write_mark();
    world_crash_principal(&w);
    start_principal();
    assert_b_stays();
}

static void it_stays_over_restarts_of_the_principal(void **state)
{
    (void)state;
    restore();
    start_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    for (int i = 0; i < 3; i++) {
        restart_principal();
        world_run(&w, 2);
    }
    assert_held();
}

static void it_stays_at_an_agent_that_comes_back_late(void **state)
{
    (void)state;
    restore();
    world_crash_agent(&w);
    lose_logs();
    start_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    restart_principal();
    world_start_agent(&w);
    world_run(&w, 2);
    assert_held();
}

static void an_empty_store_has_no_mark_and_deletes_nothing(void **state)
{
    (void)state;
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB_NEW);
    fake_store_erase(w.hub, MARK);
    start_principal();
    assert_held();
}

static void a_mark_that_cannot_be_read_is_none(void **state)
{
    (void)state;
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB_NEW);
    set_field(w.hub, MARK, "data", "{\"write_id\":7,\"w1\":\"newest\"}");
    start_principal();
    assert_held();
}

static void nothing_goes_while_the_mark_is_refused(void **state)
{
    (void)state;
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB_NEW);
    w.hub_refuses = AB_ERR_DENIED;
    w.hub_refuses_reads = true;
    start_principal();
    assert_true(has_new());
    w.hub_refuses = AB_ERR_OK;
    w.hub_refuses_reads = false;
    world_run(&w, 100);
    assert_false(has_new());
    assert_at_rest();
}

/* They are made again under those names, and the next loss of them is nobody's deletion. */
static void what_was_observed_before_the_log_was_lost_does_not_count_after_it(void **state)
{
    (void)state;
    world_crash_principal(&w);
    w.deletions_max = 0;
    start_principal();
    w.hub_refuses = AB_ERR_UNAVAILABLE; /* the watermark cannot be read for a while */
    w.hub_refuses_reads = true;
    fake_store_erase(w.hub, HUB);
    fake_store_erase(w.hub, HUB_NEW);
    world_run(&w, 1);
    world_connect(&w.principal_link, false);
    ab_principal_log_lost(w.principal, "w1");
    w.principal_link.ready = false;
    put_app(w.hub, "w1", "a", 1, "", "");
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 1);
    fake_store_lose(w.hub, HUB);
    fake_store_lose(w.hub, HUB_NEW);
    world_run(&w, 1);
    w.hub_refuses = AB_ERR_OK;
    w.hub_refuses_reads = false;
    world_connect(&w.principal_link, true);
    world_run(&w, 100);
    assert_true(has_new());
    assert_non_null(local());
    assert_int_equal(held_deletions(), 2);
}

/* --- what ends it --- */

static void the_operator_confirms(void **state)
{
    (void)state;
    restore();
    start_principal();
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 2);
    assert_false(has_new());
    assert_non_null(local());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void the_operator_confirms_what_only_the_agent_has(void **state)
{
    (void)state;
    restore();
    lose_logs();
    start_principal();
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 2);
    assert_false(has_new());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_is_made_again_is_held_no_more(void **state)
{
    (void)state;
    restore();
    start_principal();
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 200);
    assert_true(has_new());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB_NEW);
    start_principal();
    assert_false(has_new()); /* it is known to have been there */
    assert_at_rest();
}

/* Nothing of the watermark says so: it was not written since the backup. */
static void a_status_that_the_backup_lacks_comes_back(void **state)
{
    (void)state;
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_run(&w, 2);
    fake_backup_free(backup);
    backup = fake_store_back_up(w.hub);
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    world_settle(&w);
    ab_object *mark = fake_store_find(w.hub, MARK);
    world_replace_hub(&w);
    fake_store_restore(w.hub, backup);
    assert_ptr_equal(fake_store_find(w.hub, MARK), mark);
    world_run(&w, 2);
    assert_true(ab_span_same(ab_object_field(hub(), "status"), ab_object_field(local(), "status")));
    assert_at_rest();
}

/* --- what is deleted goes --- */

static void what_the_backup_had_and_was_deleted_meanwhile_goes(void **state)
{
    (void)state;
    restore();
    fake_store_erase(w.hub, HUB);
    start_principal();
    assert_null(local());
    assert_held();
}

static void what_is_seen_to_go_goes_while_something_is_held(void **state)
{
    (void)state;
    restore();
    start_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    fake_store_erase(w.hub, "Application/w1/b");
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_null(fake_store_find(w.local, LOCAL_B));
    assert_null(local());
    assert_held();
}

static void what_was_made_and_deleted_while_the_agent_was_away_goes(void **state)
{
    (void)state;
    world_crash_agent(&w);
    restart_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    fake_store_erase(w.hub, "Application/w1/b");
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_null(fake_store_find(w.local, LOCAL_B));
    assert_null(local());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void
what_an_agent_was_told_last_is_known_when_it_was_taken_away_and_comes_again(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "b", 1, "", "");
    put_app(w.hub, "w1", "c", 1, "", "");
    world_settle(&w); /* the watermark is not written again at once */
    ab_principal_remove_agent(w.principal, "w1");
    fake_store_erase(w.hub, "Application/w1/c");
    world_run(&w, 2);
    come_again();
    world_run(&w, 40); /* what has no status is reported after 30 s */
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_null(fake_store_find(w.local, "Application/argocd/c"));
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_it_was_told_last_is_known_also_when_it_comes_again_at_once(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "b", 1, "", "");
    put_app(w.hub, "w1", "c", 1, "", "");
    world_settle(&w); /* the watermark is not written again at once */
    ab_principal_remove_agent(w.principal, "w1");
    fake_store_erase(w.hub, "Application/w1/c");
    fake_store_settle(w.hub);
    come_again();
    world_run(&w, 40); /* what has no status is reported after 30 s */
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_null(fake_store_find(w.local, "Application/argocd/c"));
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_was_covered_before_an_interruption_goes_after_it(void **state)
{
    (void)state;
    world_run(&w, 60);
    world_interrupt_hub(&w);
    world_run(&w, 60);
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB_NEW);
    start_principal();
    assert_false(has_new());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

/* As while one kind cannot be watched. */
static void what_is_seen_to_go_goes_while_the_watch_is_interrupted(void **state)
{
    (void)state;
    ab_principal_on_interrupted(w.principal);
    fake_store_erase(w.hub, HUB_NEW);
    world_run(&w, 2);
    assert_false(has_new());
    ab_principal_on_resumed(w.principal);
    world_run(&w, 2);
    assert_at_rest();
}

static void it_goes_also_unseen_right_after_it_was_sent_if_the_store_stays(void **state)
{
    (void)state;
    world_crash_principal(&w);
    w.hub_stays = true;
    start_principal();
    put_app(w.hub, "w1", "c", 1, "", "");
    world_settle(&w); /* the watermark is not written again at once */
    put_app(w.hub, "w1", "b", 1, "", "");
    world_settle(&w);
    fake_store_lose(w.hub, "Application/w1/b");
    world_run(&w, 40);
    assert_null(fake_store_find(w.local, LOCAL_B));
    assert_int_equal(held_deletions(), 0);
}

/* Nothing was lost: only what the watermark could not cover is held back. */
static void what_is_sent_after_an_outage_and_deleted_later_goes(void **state)
{
    (void)state;
    hub_goes_down_after_b();
    hub_comes_back();
    world_run(&w, 60);
    put_app(w.hub, "w1", "c", 1, "", "");
    world_run(&w, 2);
    world_crash_principal(&w);
    fake_store_erase(w.hub, "Application/w1/b");
    fake_store_erase(w.hub, "Application/w1/c");
    fake_store_erase(w.hub, HUB);
    start_principal();
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_null(fake_store_find(w.local, "Application/argocd/c"));
    assert_null(local());
    assert_held();
}

static void what_is_seen_to_go_after_an_outage_goes(void **state)
{
    (void)state;
    hub_goes_down_after_b();
    hub_comes_back();
    world_run(&w, 60);
    fake_store_erase(w.hub, "Application/w1/b");
    world_run(&w, 2);
    assert_null(fake_store_find(w.local, LOCAL_B));
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_a_write_covers_goes_also_when_its_answer_was_lost(void **state)
{
    (void)state;
    w.hub_refuses = AB_ERR_TIMEOUT;
    w.hub_writes_refused = true;
    put_app(w.hub, "w1", "b", 1, "", "");
    const ab_object *mark = fake_store_find(w.hub, MARK);
    world_settle(&w);
    world_tick(&w, 300);
    world_settle(&w);
    assert_ptr_not_equal(fake_store_find(w.hub, MARK), mark);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 5);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    fake_store_lose(w.hub, "Application/w1/b");
    world_run(&w, 40); /* what has no status is reported after 30 s */
    assert_null(fake_store_find(w.local, LOCAL_B));
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

/* --- the agent's side --- */

static void a_restored_agent_deletes_nothing_at_the_hub(void **state)
{
    (void)state;
    ab_map *older = fake_store_back_up(w.local);
    put_app(w.hub, "w1", "b", 1, "", "");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_run(&w, 2);
    world_crash_agent(&w);
    fake_store_restore(w.local, older);
    world_forget_all_desired(&w);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_non_null(fake_store_find(w.hub, "Application/w1/b"));
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
    fake_backup_free(older);
}

static void both_restored_bring_back_what_either_has(void **state)
{
    (void)state;
    ab_map *older = fake_store_back_up(w.local);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 2);
    world_crash_agent(&w);
    restore();
    fake_store_restore(w.local, older);
    lose_logs();
    world_start_agent(&w);
    start_principal();
    assert_non_null(local());
    assert_non_null(hub());
    assert_true(has_new());
    fake_backup_free(older);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_a_restored_hub_lacks_stays_at_the_agent),
        T(it_stays_also_when_the_logs_are_lost),
        T(it_stays_also_when_the_agent_has_lost_what_it_kept),
        T(it_stays_also_when_the_hub_is_restored_under_a_running_principal),
        T(it_stays_also_when_the_log_cannot_be_read_before),
        T(it_stays_also_when_it_was_sent_before_the_mark_was_listed),
        T(it_stays_also_when_the_mark_could_not_be_written),
        T(it_stays_also_when_only_the_former_principal_sent_it),
        T(it_stays_also_when_the_mark_is_written_again_before_the_loss_shows),
        T(it_stays_also_when_a_resync_agrees_before_the_loss_shows),
        T(it_stays_also_when_the_mark_could_not_be_read_at_the_start),
        T(it_stays_also_when_it_is_lost_before_the_mark_is_due),
        T(it_stays_also_when_the_mark_is_due_before_the_loss_shows),
        T(it_stays_also_when_the_agent_comes_again_before_the_loss_shows),
        T(it_stays_also_when_it_is_lost_while_the_agent_is_taken_away),
        T(it_stays_also_when_the_loss_is_never_shown),
        T(it_stays_over_restarts_of_the_principal),
        T(it_stays_at_an_agent_that_comes_back_late),
        T(it_stays_also_when_the_store_tells_its_loss_as_an_observed_deletion),
        T(an_empty_store_has_no_mark_and_deletes_nothing),
        T(a_mark_that_cannot_be_read_is_none),
        T(nothing_goes_while_the_mark_is_refused),
        T(what_was_observed_before_the_log_was_lost_does_not_count_after_it),
        T(the_operator_confirms),
        T(the_operator_confirms_what_only_the_agent_has),
        T(what_is_made_again_is_held_no_more),
        T(a_status_that_the_backup_lacks_comes_back),
        T(what_the_backup_had_and_was_deleted_meanwhile_goes),
        T(what_is_seen_to_go_goes_while_something_is_held),
        T(what_was_made_and_deleted_while_the_agent_was_away_goes),
        T(what_an_agent_was_told_last_is_known_when_it_was_taken_away_and_comes_again),
        T(what_it_was_told_last_is_known_also_when_it_comes_again_at_once),
        T(what_was_covered_before_an_interruption_goes_after_it),
        T(what_is_seen_to_go_goes_while_the_watch_is_interrupted),
        T(it_goes_also_unseen_right_after_it_was_sent_if_the_store_stays),
        T(what_is_sent_after_an_outage_and_deleted_later_goes),
        T(what_is_seen_to_go_after_an_outage_goes),
        T(what_a_write_covers_goes_also_when_its_answer_was_lost),
        T(a_restored_agent_deletes_nothing_at_the_hub),
        T(both_restored_bring_back_what_either_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
