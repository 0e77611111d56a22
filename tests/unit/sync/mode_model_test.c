/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of an agent whose mode changes: users at both ends, of whom now these and now
 * those own the objects. No change of mode deletes anything; in the end the owner of the day has
 * its way. The other models' rules about order are theirs alone: here an older spec may be the
 * owner's.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FINALIZER ",\"finalizers\":[\"resources-finalizer.argocd.argoproj.io\"]"

/* By the number in the uid: which objects users deleted. */
static struct {
    bool erased_hub[NUMBERS_MAX];
    bool erased_local[NUMBERS_MAX];
    uint64_t mirrored[NUMBERS_MAX]; /* by the mirror's uid: of what it was one */
    bool released[NUMBERS_MAX];     /* was the last that the agent was told of its name */
    uint64_t told[NAMES];           /* by the last state of this name that was sent */
} own;

static bool is_autonomous(void)
{
    return m.w.policy.autonomous;
}

/* --- what the machines write --- */

/* Number in the uid of the object that it follows. */
static uint64_t source_number(const ab_object *o)
{
    uint64_t n = 0;
    ab_str uid = ab_object_annotation(o, AB_ANN_SOURCE_UID);
    if (uid.len <= 4 || ab_str_to_u64((ab_str){uid.ptr + 4, uid.len - 4}, &n) != AB_ERR_OK)
        broken("an object was deleted that follows nobody");
    return n;
}

/* A machine may delete what follows an object that was deleted; that counts as deleted then. */
static void note_deletion(const ab_object *before, const ab_object *after, const bool *sources,
                          bool *erased, const char *otherwise)
{
    bool begins = before != NULL && !ab_object_deleting(before) &&
                  (after == NULL || ab_object_deleting(after));
    if (!begins)
        return;
    if (!sources[source_number(before)])
        broken(otherwise);
    erased[uid_number(before)] = true;
}

static void on_local_write(const ab_object *before, const ab_object *after)
{
    note_deletion(before, after, own.erased_hub, own.erased_local,
                  "the agent deleted what no user of the hub deleted");
    if (after != NULL)
        note_executed(before, after);
}

static void on_hub_write(const ab_object *before, const ab_object *after)
{
    note_deletion(before, after, own.erased_local, own.erased_hub,
                  "the principal deleted what no user of the agent deleted");
    if (after == NULL) {
        withdraw_all(before);
        return;
    }
    note_cleared(before, after);
    if (is_follower(after))
        own.mirrored[uid_number(after)] = source_number(after);
}

/* A release may go in the place of the deletion that waits before it, as it may in a log that is
 * compacted: what the agent was told of is its own then. */
static void on_sent(bool down, const ab_event *event)
{
    ab_object *object;
    bool releases = ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_RELEASE));
    for (int app = 0; down && app < NAMES; app++) {
        if (!ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), hub_key(app)))
            continue;
        if (releases)
            own.released[own.told[app]] = true;
        else if (ab_object_parse(ab_event_data(event), &object, NULL) == AB_ERR_OK) {
            own.told[app] = uid_number(object);
            own.released[own.told[app]] = false;
            ab_object_unref(object);
        }
    }
}

/* --- users --- */

static void hub_creates(int app)
{
    if (hub(app) == NULL)
        put_app(m.w.hub, "w1", name_of(app), next_number(), below(4) == 0 ? FINALIZER : "", "");
}

static void hub_edits(int app)
{
    if (hub(app) != NULL)
        edit(m.w.hub, hub_key(app));
}

static void hub_deletes(int app)
{
    if (hub(app) == NULL || below(3) > 0)
        return;
    withdraw_all(hub(app));
    own.erased_hub[uid_number(hub(app))] = true;
    trace("user deletes", ab_str_of(hub_key(app)));
    fake_store_erase(m.w.hub, hub_key(app));
}

static void local_creates(int app)
{
    if (local(app) == NULL)
        put_app(m.w.local, "argocd", name_of(app), next_number(), "", "");
}

static void local_edits(int app)
{
    if (local(app) != NULL)
        edit(m.w.local, local_key(app));
}

static void local_deletes(int app)
{
    if (local(app) == NULL || below(3) > 0)
        return;
    own.erased_local[uid_number(local(app))] = true;
    trace("user deletes", ab_str_of(local_key(app)));
    fake_store_erase(m.w.local, local_key(app));
}

/* --- trouble --- */

/* The agent is stopped, and started again with another mode; the principal may hear of it before,
 * and may go on for a while with what it knew. */
static void mode_changes(int app)
{
    if (app != 0 || below(2) > 0)
        return;
    world_crash_agent(&m.w);
    m.w.policy.autonomous = !is_autonomous();
    m.w.mode = is_autonomous() ? AB_AUTONOMOUS : AB_MANAGED;
    trace(is_autonomous() ? "autonomous" : "managed", AB_STR_NONE);
}

/* At its start the principal may know nothing of the mode yet, or what it was. */
static void principal_restarts(int app)
{
    static const ab_mode_set known[NAMES] = {0, AB_MANAGED, AB_AUTONOMOUS};
    ab_mode_set mode = m.w.mode;
    m.w.mode = known[app];
    principal_crashes(app);
    m.w.mode = mode;
}

/* A volume, or the broker's. */
static void something_is_lost(int app)
{
    if (below(8) > 0)
        return;
    if (app == 0) {
        world_lose_log(&m.w, below(2) ? &m.w.agent_link : &m.w.principal_link);
    } else if (app == 1 && m.w.agent == NULL) {
        world_forget_all_desired(&m.w);
        fake_log_replay(m.w.down);
    } else if (app == 2 && m.w.principal == NULL) {
        world_forget_mirrors(&m.w);
        fake_log_replay(m.w.up);
    }
}

static void (*const actions[])(int app) = {
    hub_creates,        hub_edits,          hub_edits,         hub_deletes,      local_creates,
    local_edits,        local_edits,        local_deletes,     hub_asks_sync,    hub_asks_refresh,
    controller_reports, controller_reports, controller_acts,   controller_acts,  mode_changes,
    mode_is_unknown,    mode_is_unknown,    mode_is_unknown,   agent_crashes,    agent_crashes,
    principal_restarts, links_change,       logs_change,       time_passes,      time_passes,
    operator_asks,      watches_break,      something_is_lost, position_is_lost,
};

/* --- rest --- */

static void check_alike(const ab_object *h, const ab_object *l)
{
    /* What a managed agent has beside what the hub says it may keep. */
    if (spec_of(h) != spec_of(l) || !same_labels(h, l, !is_autonomous()))
        broken("one end has not what the other says");
    if (status_of(h) != status_of(l))
        broken("the hub has not the status that the agent has");
    if (operation_of(h) >= 0 || refresh_of(h) >= 0)
        broken("a request stands for ever");
}

static bool follows(const ab_object *o, const ab_object *source)
{
    return o != NULL && source != NULL &&
           ab_str_eq(ab_object_annotation(o, AB_ANN_SOURCE_UID), ab_object_uid(source));
}

static bool was_placed_by(const ab_object *l, const ab_object *h)
{
    return ab_str_eq(ab_object_annotation(l, AB_ANN_FORMER_UID), ab_object_uid(h));
}

static void check_managed(const ab_object *h, const ab_object *l)
{
    if (is_follower(h))
        broken("a mirror did not become the hub's own");
    if (h != NULL && ab_object_deleting(h))
        broken("an object is being deleted for ever at the hub");
    if (h == NULL && is_follower(l) && !own.released[source_number(l)])
        broken("it is still at the agent");
    if (h != NULL && l == NULL)
        broken("it is missing at the agent");
    if (h == NULL || l == NULL)
        return;
    bool handed_over = was_placed_by(l, h) || own.mirrored[uid_number(h)] == uid_number(l);
    if (handed_over && !follows(l, h) && m.w.policy.adopt)
        broken("what the agent handed over is not followed");
    if (follows(l, h))
        check_alike(h, l);
}

static void check_autonomous(const ab_object *h, const ab_object *l)
{
    if (is_follower(l))
        broken("the agent's object has the annotations of a managed one");
    if (is_follower(h) && !follows(h, l))
        broken(l == NULL ? "it is still at the hub" : "the mirror is of another object");
    if (h == NULL && l != NULL)
        broken("it is missing at the hub");
    if (h != NULL && l != NULL && !is_follower(h) && was_placed_by(l, h))
        broken("what placed the agent's object did not become its mirror");
    if (follows(h, l))
        check_alike(h, l);
    else
        withdraw_all(h); /* it is the hub's own, and nobody's to serve */
}

static void check(void)
{
    for (int app = 0; app < NAMES; app++) {
        const ab_object *l = local(app);
        if (l != NULL && ab_object_deleting(l))
            broken("an object is being deleted for ever at the agent");
        (is_autonomous() ? check_autonomous : check_managed)(hub(app), l);
    }
}

/* --- runs --- */

static void begin(void)
{
    memset(&own, 0, sizeof(own));
    m.w.policy.adopt = below(2) == 0;
    m.w.policy.upsert = below(2) == 0;
}

static const struct history_seed once_failed[] = {
    {4, 26},         {27, 26},        {60, 26},        {75, 26},        {543, 26},
    {782, 26},       {1424, 26},      {3837, 26},      {311764, 26},    {313608, 26},
    {315326, 26},    {7004945, 26},   {7031873, 26},   {9415982, 26},   {73012872, 28},
    {110013464, 29}, {130016209, 29}, {170001995, 29}, {293000767, 29},
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
