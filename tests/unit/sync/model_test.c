/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of a managed agent: users at the hub, tampering at the agent, a store of the hub
 * that comes back from a backup.
 */
#include "schema/attributes.h"
#include "sync/object/application.h"
#include "tests/unit/sync/world/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FINALIZER ",\"finalizers\":[\"resources-finalizer.argocd.argoproj.io\"]"

/* What was sent of an object of the hub. */
struct desired {
    ab_version version;
    char uid[24]; /* "": it is gone */
    bool ends;    /* it is gone, or is to go, and nothing of it was lost */
    bool approved;
};

/* What is to be remembered of one history. */
static struct {
    char hub_uid[NAMES][24];
    uint64_t newest_status[NAMES][2];
    ab_map *backup;           /* of the hub's store */
    ab_map *desired_backup;   /* of what the agent keeps */
    char lost_uid[NAMES][24]; /* of what the hub lost, and nobody deleted; "" = nothing */
    struct desired desired[NUMBERS_MAX];
    size_t desired_count;
    bool restored[NAMES]; /* from a backup: what was deleted may be there again, uid and all */
    bool unnoticed;       /* the hub's store may have gone back without a sign of it */
    bool confirmed;       /* the operator wants it deleted */
    bool forgot[NAMES];   /* which labels there were the hub's is not known at the agent */
    char orphan_uid[NAMES][24]; /* of what was deleted last without what it deployed */
    int unmanaged[NAMES];       /* spec of the object that a local user made, -1 = none */
} own;

/* --- what the machines write --- */

/* What the agent carries out; it may be far behind. NULL = what it keeps was never sent. */
static const struct desired *desired_in_effect(int app)
{
    ab_received_state kept;
    if (world_recall(&m.w, ab_str_of(local_key(app)), &kept) != AB_ERR_OK)
        return NULL;
    for (size_t i = 0; i < own.desired_count; i++)
        if (ab_version_cmp(own.desired[i].version, kept.version) == 0)
            return &own.desired[i];
    return NULL;
}

/* Absence in a store that has gone back proves nothing. What its log says of another object is a
 * desired state all the same: it was made while that was there. */
static void check_deletion(const ab_object *before)
{
    int app = app_of(before);
    const char *lost = own.lost_uid[app];
    const struct desired *desired = desired_in_effect(app);
    bool meant = desired != NULL &&
                 (desired->ends || (desired->uid[0] != '\0' && strcmp(desired->uid, lost) != 0));
    if (!own.confirmed && !meant && lost[0] != '\0' && hub(app) == NULL &&
        ab_str_is(ab_object_annotation(before, AB_ANN_SOURCE_UID), lost))
        broken("deleted at the agent for what the hub has lost");
}

/* What comes back with a backup has the uid that it had when it was deleted. */
static void check_present(const ab_object *before)
{
    int app = app_of(before);
    const ab_object *h = hub(app);
    if (!own.restored[app] && h != NULL && !ab_object_deleting(h) &&
        ab_str_eq(ab_object_annotation(before, AB_ANN_SOURCE_UID), ab_object_uid(h)))
        broken("deleted at the agent though the hub has it");
}

/* A finalizer on what is being deleted: Argo CD deletes what it deployed. What comes back with a
 * backup may be deleted again, in another way. */
static void check_cascade(const ab_object *before)
{
    int app = app_of(before);
    ab_str source = ab_object_annotation(before, AB_ANN_SOURCE_UID);
    if (!own.restored[app] && own.orphan_uid[app][0] != '\0' &&
        ab_str_is(source, own.orphan_uid[app]))
        broken("what it deployed is deleted, which its user wanted to keep");
}

/* Argo CD deletes then what somebody wanted to be asked about. */
static void check_approval(const ab_object *before, const ab_object *after)
{
    const struct desired *desired = desired_in_effect(app_of(after));
    if (has_in(after, "annotations", AB_ANN_DELETION_APPROVED, NULL) ||
        (before != NULL && !has_in(before, "annotations", AB_ANN_DELETION_APPROVED, NULL)))
        return;
    if (desired == NULL || !desired->approved)
        broken("a deletion is approved at the agent which nobody approved");
}

/* It loses what says that it follows another, and nothing else. */
static void check_copy(const ab_object *before, const ab_object *after)
{
    if (after == NULL || ab_object_deleting(after) || spec_of(before) != spec_of(after) ||
        is_follower(after))
        broken("a user's copy was taken for what it was copied from");
}

static void on_local_write(const ab_object *before, const ab_object *after)
{
    if (before != NULL && is_user_copy(before)) {
        check_copy(before, after);
        return;
    }
    if (before != NULL && after != NULL && ab_object_deleting(after) && !ab_object_deleting(before))
        check_cascade(before);
    if (after != NULL)
        check_approval(before, after);
    if (before != NULL &&
        (after == NULL || (ab_object_deleting(after) && !ab_object_deleting(before)))) {
        check_deletion(before);
        check_present(before);
    }
    if (before != NULL && !is_follower(before) && (after == NULL || !m.w.policy.adopt))
        broken("an object that is not managed was touched");
    if (after == NULL || ab_object_deleting(after))
        return;
    if (before == NULL || spec_of(before) != spec_of(after))
        check_order(after);
    note_executed(before, after);
}

static void check_status_version(const ab_object *after)
{
    unsigned long long epoch = 0, version = 0;
    int app = app_of(after);
    ab_str uid = ab_object_uid(after);
    char text[64];
    ab_str stamp = ab_object_annotation(after, AB_ANN_STATUS_VERSION);
    if (stamp.ptr == NULL)
        return;
    snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(stamp));
    assert_int_equal(sscanf(text, "%llu.%llu", &epoch, &version), 2);
    uint64_t *newest = own.newest_status[app];
    bool same = ab_str_is(uid, own.hub_uid[app]);
    if (same && (epoch < newest[0] || (epoch == newest[0] && version < newest[1])))
        broken("an older status was written over a newer one");
    newest[0] = epoch;
    newest[1] = version;
    snprintf(own.hub_uid[app], sizeof(own.hub_uid[app]), "%.*s", AB_STR_ARG(uid));
}

static void on_hub_write(const ab_object *before, const ab_object *after)
{
    if (before == NULL)
        broken("the principal created an object");
    if (after == NULL) {
        if (!ab_object_deleting(before))
            broken("the principal deleted an object");
        return;
    }
    if (spec_of(before) != spec_of(after))
        broken("the principal changed a spec");
    if (has_in(before, "annotations", "theirs", "1") != has_in(after, "annotations", "theirs", "1"))
        broken("an annotation of others was changed at the hub");
    note_cleared(before, after);
    check_status_version(after);
}

static void note_desired(int app, const ab_event *event)
{
    ab_object *o = NULL;
    struct desired *desired = &own.desired[own.desired_count];
    if (own.desired_count++ == NUMBERS_MAX - 1)
        broken("more is wished than the test has room for");
    assert_int_equal(ab_version_of(event, &desired->version, NULL), AB_ERR_OK);
    if (ab_event_data(event).ptr != NULL)
        assert_int_equal(ab_object_parse(ab_event_data(event), &o, NULL), AB_ERR_OK);
    if (o != NULL)
        snprintf(desired->uid, sizeof(desired->uid), "%.*s", AB_STR_ARG(ab_object_uid(o)));
    desired->approved = o != NULL && ab_app_is_deletion_approved(o);
    desired->ends = (o == NULL || ab_object_deleting(o)) && own.lost_uid[app][0] == '\0';
    ab_object_unref(o);
}

static void on_sent(bool down, const ab_event *event)
{
    if (!down || !ab_str_starts(ab_event_attr(event, AB_CE_PARTITIONKEY), "Application/"))
        return;
    for (int app = 0; app < NAMES; app++)
        if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), hub_key(app)))
            note_desired(app, event);
    if (ab_event_data(event).ptr != NULL)
        note_said(event);
}

/* --- users at the hub --- */

static void user_creates(int app)
{
    if (hub(app) != NULL)
        return;
    put_app(m.w.hub, "w1", name_of(app), next_number(), below(2) ? FINALIZER : "", "");
    own.lost_uid[app][0] = '\0';
}

static void user_edits(int app)
{
    if (hub(app) != NULL)
        edit(m.w.hub, hub_key(app));
}

static void user_annotates(int app)
{
    if (hub(app) != NULL)
        set_in(m.w.hub, hub_key(app), "annotations", "theirs", below(2) ? "1" : NULL);
}

static void user_deletes(int app)
{
    if (hub(app) == NULL || below(2) == 0)
        return;
    withdraw_all(hub(app));
    if (ab_span_count(ab_object_meta(hub(app), "finalizers")) > 0)
        own.orphan_uid[app][0] = '\0'; /* what the former one of its name deployed is its own */
    trace("user deletes", ab_str_of(hub_key(app)));
    fake_store_erase(m.w.hub, hub_key(app));
}

static void user_approves_deletion(int app)
{
    static const char *const times[] = {"2026-01-01T00:00:00Z", "2026-01-01T01:00:05+01:00",
                                        "2025-01-01T00:00:00Z"};
    if (hub(app) != NULL && ab_object_deleting(hub(app)))
        set_in(m.w.hub, hub_key(app), "annotations", AB_ANN_DELETION_APPROVED, times[below(3)]);
}

/* As `argocd app delete --cascade=false`. */
static void user_deletes_without_cascade(int app)
{
    if (hub(app) == NULL || ab_object_deleting(hub(app)) || below(2) == 0)
        return;
    withdraw_all(hub(app));
    trace("user deletes without cascade", ab_str_of(hub_key(app)));
    snprintf(own.orphan_uid[app], sizeof(own.orphan_uid[app]), "%.*s",
             AB_STR_ARG(ab_object_uid(hub(app))));
    drop_finalizers(m.w.hub, hub_key(app));
    if (below(4) > 0) /* else it is deleted later */
        fake_store_erase(m.w.hub, hub_key(app));
}

/* --- users at the agent --- */

static void local_edits(int app)
{
    if (local(app) == NULL || !is_follower(local(app)))
        return;
    if (below(2))
        set_spec(m.w.local, local_key(app), -7);
    else if (!has_in(local(app), "labels", "h1", NULL)) /* else it would be an addition, kept */
        set_in(m.w.local, local_key(app), "labels", "h1", below(2) ? "9" : NULL);
    else
        set_in(m.w.local, local_key(app), "labels", "t1", below(2) ? "9" : NULL);
}

static void local_deletes(int app)
{
    if (local(app) == NULL || below(3) > 0)
        return;
    if (!is_follower(local(app)))
        own.unmanaged[app] = -1;
    fake_store_erase(m.w.local, local_key(app));
}

static void local_creates(int app)
{
    if (local(app) != NULL || below(4) > 0)
        return;
    own.unmanaged[app] = next_number();
    put_app(m.w.local, "argocd", name_of(app), own.unmanaged[app], "", "");
}

/* --- what is lost --- */

/* What was lost comes right by resyncs alone. */
static void something_is_lost(int app)
{
    struct world_link *link = app == 0 ? &m.w.agent_link : &m.w.principal_link;
    if (below(8) > 0)
        return;
    if (below(2) == 0) {
        world_lose_log(&m.w, link);
    } else if (m.w.agent == NULL && below(2) == 0) {
        world_forget_all_desired(&m.w);
        memset(m.written, 0, sizeof(m.written)); /* what is not there is made as the log has it */
        memset(own.forgot, true, sizeof(own.forgot));
        fake_log_replay(m.w.down);
    } else if (m.w.agent == NULL) {
        world_forget_desired(&m.w, local_key(app)); /* as a backup that is older than it */
        m.written[app] = 0;
        own.forgot[app] = true;
    }
}

/* --- the hub's store goes back --- */

static void hub_is_backed_up(int app)
{
    if (app != 0 || below(2) == 0)
        return;
    trace("backup of the hub", AB_STR_NONE);
    fake_backup_free(own.backup);
    own.backup = below(6) == 0 ? ab_map_new() : fake_store_back_up(m.w.hub);
}

static void note_lost(int app)
{
    const ab_object *o = hub(app);
    const ab_object *then = ab_map_find(own.backup, ab_str_of(hub_key(app)));
    withdraw_all(o);
    if (then != NULL)
        own.lost_uid[app][0] = '\0';
    else if (o != NULL && !ab_object_deleting(o))
        snprintf(own.lost_uid[app], sizeof(own.lost_uid[app]), "%.*s",
                 AB_STR_ARG(ab_object_uid(o)));
}

static void note_restored(int app)
{
    const ab_object *o = hub(app);
    const int standing[] = {operation_of(o), refresh_of(o)};
    for (int i = 0; i < 2; i++)
        if (standing[i] >= 0)
            m.requests[standing[i]].standing = m.requests[standing[i]].restored = true;
    own.newest_status[app][0] = own.newest_status[app][1] = 0;
    own.restored[app] = true;
}

/* Long enough to write the watermark, or to fail in that.
 * @param faults  of a thousand of its operations; of those that time out half are made */
static void hub_is_at_rest(unsigned faults)
{
    unsigned faults_before = m.w.faults_permille;
    m.w.faults_permille = faults;
    for (int i = 0; i < 3; i++) {
        fake_store_settle(m.w.hub);
        world_tick(&m.w, 60000);
    }
    fake_store_settle(m.w.hub);
    m.w.faults_permille = faults_before;
}

static bool may_restore(int app)
{
    return app == 0 && own.backup != NULL && below(3) == 0;
}

/* @param noticed  its versions are older than before when its watch goes on */
static void restore_hub(bool noticed)
{
    own.unnoticed = own.unnoticed || !noticed;
    for (int i = 0; i < NAMES; i++)
        note_lost(i);
    trace("hub restored", AB_STR_NONE);
    (noticed ? world_replace_hub : world_interrupt_hub)(&m.w);
    fake_store_restore(m.w.hub, own.backup);
    for (int i = 0; i < NAMES; i++)
        note_restored(i);
}

static void hub_is_restored(int app)
{
    if (!may_restore(app))
        return;
    hub_is_at_rest(0);
    restore_hub(true);
}

/* Before it goes down the API server takes nothing more; it answers again before it tells what was
 * lost. */
static void hub_is_restored_after_an_outage(int app)
{
    if (!may_restore(app))
        return;
    hub_is_at_rest(1000);
    restore_hub(below(2) == 0);
}

/* Before anything more is written or told. What is under way reaches the former store, or none. */
static void hub_is_restored_at_once(int app)
{
    if (!may_restore(app))
        return;
    unsigned faults_before = m.w.faults_permille;
    m.w.faults_permille = 500;
    world_interrupt_hub(&m.w);
    fake_store_settle_jobs(m.w.hub);
    m.w.faults_permille = faults_before;
    restore_hub(below(2) == 0);
}

/* --- agent.data goes back --- */

/* Older states are in effect again until the principal has compared. */
static void agent_data_goes_back(int app)
{
    if (own.desired_backup == NULL || app == 0) {
        world_backup_free(own.desired_backup);
        own.desired_backup = world_back_up_desired(&m.w);
        return;
    }
    if (m.w.agent != NULL)
        return;
    trace("agent.data restored", AB_STR_NONE);
    world_restore_desired(&m.w, own.desired_backup);
    memset(m.written, 0, sizeof(m.written));
    memset(own.forgot, true, sizeof(own.forgot));
}

/* One of its objects cannot be read at the principal's next start, or now it can. */
static void hub_is_unreadable(int app)
{
    if (m.w.hidden != NULL)
        world_unhide(&m.w);
    else if (m.w.principal == NULL)
        m.w.hidden = hub_key(app);
}

static void local_copies(int app)
{
    if (is_follower(local(app)) && below(4) == 0)
        copy_follower(m.w.local, local(app));
}

static void (*const actions[])(int app) = {
    user_creates,
    user_creates,
    user_edits,
    user_edits,
    user_edits,
    user_annotates,
    user_deletes,
    hub_asks_sync,
    hub_asks_refresh,
    local_edits,
    local_deletes,
    local_creates,
    controller_reports,
    controller_acts,
    controller_acts,
    agent_crashes,
    principal_crashes,
    links_change,
    logs_change,
    time_passes,
    time_passes,
    something_is_lost,
    operator_asks,
    hub_is_backed_up,
    hub_is_restored,
    hub_is_unreadable,
    mode_is_unknown,
    watches_break,
    hub_is_restored_after_an_outage,
    hub_is_restored_at_once,
    user_deletes_without_cascade,
    set_takes_ids_off,
    position_is_lost,
    agent_data_goes_back,
    local_copies,
    user_approves_deletion,
};

/* --- rest --- */

static void on_confirmed(void)
{
    own.confirmed = true;
}

static void check_placed(const ab_object *h, const ab_object *l)
{
    if (!ab_str_eq(ab_object_annotation(l, AB_ANN_SOURCE_UID), ab_object_uid(h)))
        broken("another source-uid stands at the agent");
    if (spec_of(h) != spec_of(l) ||
        !same_labels(h, l, own.forgot[app_of(h)])) /* one that the hub took away may stay */
        broken("the agent has not what the hub says");
    /* One that was lost comes with the agent's next report. */
    if (status_of(h) != status_of(l) && !own.unnoticed)
        broken("the hub has not the status that the agent has");
}

static void check_unmanaged(int app, const ab_object *l)
{
    if (l != NULL && spec_of(l) != own.unmanaged[app])
        broken("an object that is not managed was changed");
}

static void check_app(int app)
{
    const ab_object *h = hub(app), *l = local(app);
    if (l != NULL && ab_object_deleting(l))
        broken("an object is being deleted for ever at the agent");
    if (h != NULL && ab_object_deleting(h))
        broken("an object is being deleted for ever at the hub");
    if (l != NULL && !is_follower(l)) { /* a local user put it where ours was */
        check_unmanaged(app, l);
        return;
    }
    if ((operation_of(h) >= 0 || refresh_of(h) >= 0) && !own.unnoticed) /* it may be answered */
        broken("a request stands for ever");
    if ((h == NULL) != (l == NULL))
        broken(h == NULL ? "it is still at the agent" : "it is missing at the agent");
    if (h != NULL)
        check_placed(h, l);
}

static void check(void)
{
    for (int app = 0; app < NAMES; app++)
        check_app(app);
}

/* --- runs --- */

static void begin(void)
{
    memset(&own, 0, sizeof(own));
    if (m.seed % 2 == 0)
        fake_store_set_time(m.w.local, "2026-01-01T01:00:00Z");
    m.w.policy.adopt = below(2) == 0;
    m.w.policy.upsert = below(2) == 0;
    for (int app = 0; app < NAMES; app++)
        own.unmanaged[app] = -1;
}

static void end(void)
{
    fake_backup_free(own.backup);
    world_backup_free(own.desired_backup);
}

static const struct history_seed once_failed[] = {
    {11, 26},         {97, 26},         {127, 26},        {393, 26},       {916, 26},
    {1516, 26},       {1691301717, 26}, {2809330185, 26}, {427273109, 26}, {287513901, 26},
    {4231700031, 26}, {3681468621, 26}, {2076894548, 26}, {436349752, 26}, {41356831, 26},
    {357, 27},        {3351782859, 27}, {1937714595, 27}, {275891549, 27}, {58594517, 27},
    {987666074, 27},  {531901, 27},     {583387, 27},     {7022035, 27},   {2965, 27},
    {7010307, 27},    {2096, 29},       {73005419, 32},   {80014823, 32},  {90004245, 32},
    {110035031, 33},  {10327, 34},      {704247, 34},     {50356, 34},     {271023709, 35},
};

int main(void)
{
    static const history_model model = {
        .runs = SYNC_MODEL_RUNS,
        .begin = begin,
        .on_local_write = on_local_write,
        .on_hub_write = on_hub_write,
        .on_sent = on_sent,
        .actions = actions,
        .action_count = sizeof(actions) / sizeof(actions[0]),
        .on_confirmed = on_confirmed,
        .check = check,
        .end = end,
        .once_failed = once_failed,
        .once_failed_count = sizeof(once_failed) / sizeof(once_failed[0]),
    };
    return history_run(&model);
}
