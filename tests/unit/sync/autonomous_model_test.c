/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of an autonomous agent: users and a controller there, tampering and requests at
 * the hub, which must show what the agent has.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What is to be remembered of one history. */
static struct {
    uint64_t published[NAMES]; /* number in the uid of the object that was published last */
    int theirs[NAMES];         /* spec of the object that a user of the hub made, -1 = none */
} own;

/* --- what the machines write --- */

static void on_local_write(const ab_object *before, const ab_object *after)
{
    if (before == NULL || after == NULL)
        broken("the agent made or deleted an object");
    if (after == NULL || before == NULL)
        return;
    if (spec_of(before) != spec_of(after) || status_of(before) != status_of(after))
        broken("the agent changed its own object");
    note_executed(before, after);
}

/* An object that is made anew has another uid. */
static void check_removal(const ab_object *mirror)
{
    const ab_object *source = local(app_of(mirror));
    if (source != NULL &&
        ab_str_eq(ab_object_annotation(mirror, AB_ANN_SOURCE_UID), ab_object_uid(source)))
        broken("the mirror of an object that the agent has was deleted");
}

static void on_hub_write(const ab_object *before, const ab_object *after)
{
    if (before != NULL && is_user_copy(before))
        broken("a user's copy of a mirror was touched");
    if (before != NULL && !is_follower(before))
        broken("an object that is no mirror was touched");
    if (after == NULL) {
        check_removal(before);
        withdraw_all(before);
        return;
    }
    if (before == NULL || spec_of(before) != spec_of(after))
        check_order(after);
    note_cleared(before, after);
}

static void note_published(const ab_event *event)
{
    ab_object *o = NULL;
    note_said(event);
    assert_int_equal(ab_object_parse(ab_event_data(event), &o, NULL), AB_ERR_OK);
    if (uid_number(o) < own.published[app_of(o)])
        broken("an object was published after the one that stands in its place");
    own.published[app_of(o)] = uid_number(o);
    ab_object_unref(o);
}

static void check_end(ab_str key)
{
    for (int app = 0; app < NAMES; app++)
        if (ab_str_is(key, local_key(app)) && local(app) != NULL &&
            uid_number(local(app)) == own.published[app])
            broken("an object was ended that the agent has");
}

static void on_sent(bool down, const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (down && !ab_str_starts(key, AB_KEY_COMMAND) && !ab_str_starts(key, AB_KEY_CONTROL))
        broken("something else than a command went down");
    if (down || !ab_str_starts(key, "Application/"))
        return;
    if (ab_event_data(event).ptr == NULL)
        check_end(key);
    else
        note_published(event);
}

/* --- users and Argo CD at the agent --- */

static void user_creates(int app)
{
    if (local(app) == NULL)
        put_app(m.w.local, "argocd", name_of(app), next_number(), "", "");
}

static void user_edits(int app)
{
    if (local(app) != NULL)
        edit(m.w.local, local_key(app));
}

static void user_deletes(int app)
{
    if (local(app) != NULL && below(2) == 0)
        fake_store_erase(m.w.local, local_key(app));
}

static void controller_syncs(int app)
{
    char operation[32];
    if (local(app) == NULL || operation_of(local(app)) >= 0)
        return;
    snprintf(operation, sizeof(operation), "{\"n\":%d}", next_number());
    set_field(m.w.local, local_key(app), "operation", operation);
}

/* --- users at the hub --- */

static void mirror_is_synced(int app)
{
    if (is_follower(hub(app)))
        hub_asks_sync(app);
}

static void mirror_is_refreshed(int app)
{
    if (is_follower(hub(app)))
        hub_asks_refresh(app);
}

static void hub_tampers(int app)
{
    if (!is_follower(hub(app)))
        return;
    switch (below(3)) {
    case 0:
        set_spec(m.w.hub, hub_key(app), -7);
        return;
    case 1:
        set_in(m.w.hub, hub_key(app), "labels", "h1", below(2) ? "9" : NULL);
        return;
    default:
        set_field(m.w.hub, hub_key(app), "status", below(2) ? "{\"n\":-8}" : NULL);
        return;
    }
}

static void hub_deletes(int app)
{
    if (hub(app) == NULL || below(3) > 0)
        return;
    withdraw_all(hub(app));
    own.theirs[app] = -1;
    fake_store_erase(m.w.hub, hub_key(app));
}

static void hub_creates(int app)
{
    if (hub(app) != NULL || below(4) > 0)
        return;
    own.theirs[app] = next_number();
    put_app(m.w.hub, "w1", name_of(app), own.theirs[app], "", "");
}

static void mirror_is_copied(int app)
{
    if (is_follower(hub(app)) && below(4) == 0)
        copy_follower(m.w.hub, hub(app));
}

/* --- trouble --- */

static void principal_is_lost(int app)
{
    if (m.w.principal == NULL) {
        world_start_principal(&m.w);
        return;
    }
    if (below(4) > 0)
        return;
    world_crash_principal(&m.w);
    if (app == 0 && below(4) == 0) {
        world_forget_mirrors(&m.w);
        /* What a user has deleted meanwhile is made as it was at first, and then as it is. */
        memset(m.written, 0, sizeof(m.written));
        fake_log_replay(m.w.up);
    }
}

/* What was lost comes right by resyncs alone: a whole log, also unnoticed, with what the principal
 * kept, and tombstones before they were read. */
static void something_is_lost(int app)
{
    struct world_link *link = app == 0 ? &m.w.agent_link : &m.w.principal_link;
    if (below(4) > 0)
        return;
    if (below(4) == 0) {
        world_lose_log(&m.w, link);
    } else if (m.w.principal == NULL) {
        if (below(2) == 0)
            world_forget_mirrors(&m.w);
        memset(m.written, 0, sizeof(m.written));
        fake_log_lose(m.w.up);
    }
}

static void (*const actions[])(int app) = {
    user_creates,    user_creates,     user_edits,         user_edits,          user_edits,
    user_deletes,    mirror_is_synced, hub_creates,        mirror_is_refreshed, hub_tampers,
    hub_tampers,     hub_deletes,      controller_reports, controller_reports,  controller_acts,
    controller_acts, controller_syncs, agent_crashes,      principal_is_lost,   links_change,
    logs_change,     time_passes,      time_passes,        something_is_lost,   operator_asks,
    mode_is_unknown, watches_break,    position_is_lost,   mirror_is_copied,
};

/* --- rest --- */

static void check_app(int app)
{
    const ab_object *h = hub(app), *l = local(app);
    if (h != NULL && !is_follower(h)) { /* a user of the hub had the place first */
        if (spec_of(h) != own.theirs[app])
            broken("an object that is no mirror was changed");
        return;
    }
    if ((h == NULL) != (l == NULL))
        broken(h == NULL ? "it is missing at the hub" : "it is still at the hub");
    if (h == NULL)
        return;
    if (ab_object_deleting(h))
        broken("a mirror is being deleted for ever");
    if (operation_of(h) >= 0 || refresh_of(h) >= 0)
        broken("a request stands for ever");
    if (!ab_str_eq(ab_object_annotation(h, AB_ANN_SOURCE_UID), ab_object_uid(l)))
        broken("the mirror is of another object");
    if (spec_of(h) != spec_of(l) || status_of(h) != status_of(l) || !same_labels(h, l, false))
        broken("the hub does not show what the agent has");
}

/* What has no place at the hub is counted. */
static void check_conflicts(void)
{
    int taken = 0;
    ab_label label = {"agent", AB_STR("w1")};
    for (int app = 0; app < NAMES; app++)
        taken += hub(app) != NULL && local(app) != NULL && !is_follower(hub(app));
    double counted = ab_metric_value(ab_metric_get(m.w.principal_metrics, AB_METRIC_GAUGE,
                                                   "argobus_mirror_conflicts", "", &label, 1));
    if ((int)counted != taken)
        broken("another number of conflicts is counted");
}

static void check(void)
{
    for (int app = 0; app < NAMES; app++)
        check_app(app);
    check_conflicts();
}

/* --- runs --- */

static void begin(void)
{
    memset(&own, 0, sizeof(own));
    m.w.policy.autonomous = true;
    m.w.mode = AB_AUTONOMOUS;
    for (int app = 0; app < NAMES; app++)
        own.theirs[app] = -1;
}

static const struct history_seed once_failed[] = {
    {1278167396, 26}, {6152, 26}, {732320, 26}, {179, 26}, {1113, 26}, {110019468, 28},
};

int main(void)
{
    static const history_model model = {
        .runs = 200,
        .begin = begin,
        .on_local_write = on_local_write,
        .on_hub_write = on_hub_write,
        .on_sent = on_sent,
        .actions = actions,
        .action_count = sizeof(actions) / sizeof(actions[0]),
        .check = check,
        .once_failed = once_failed,
        .once_failed_count = sizeof(once_failed) / sizeof(once_failed[0]),
    };
    return history_run(&model);
}
