/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's role in a resync (sync/resync/resync.h): it holds an agent's reports, or its
 * objects, and corrects what the agent holds of its desired states. Only here is anything ended at
 * a managed agent that no log says: object by object, when it is proved to be gone.
 */
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"
#include "sync/kind/kind.h"

#include <stdio.h>

/* --- what we hold of the agent's --- */

static void hold_app(const ab_principal_app *app, ab_inventory *inv)
{
    if (!app->exists)
        return;
    /* One that nobody reported is named too: whoever has none says so then. */
    if (app->has_status || !ab_digest_is_none(&app->status_hash))
        ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(app->key),
                                                    .version = app->status_version,
                                                    .hash = app->status_hash});
    if (app->error != NULL && !app->error_ours)
        ab_inventory_add_error(inv, app->key, &app->error_hash);
}

static void hold_reports(const struct peer *peer, ab_inventory *inv)
{
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i))
        hold_app(AB_LINK_OF(i.link, ab_principal_app, in_records), inv);
    ab_principal_shared_hold_errors(peer, inv);
}

static ab_err hold(void *arg, ab_inventory *inv)
{
    const struct peer *peer = arg;
    if (peer->mode == AB_MANAGED) {
        (void)ab_principal_watermark_ask(peer); /* it is read by the time of the answer */
        hold_reports(peer, inv);
    } else {
        ab_mirror_hold_all(peer->records, inv);
    }
    return AB_ERR_OK;
}

static void tell(void *arg, ab_resync_message *m)
{
    struct peer *peer = arg;
    if (peer->mode == AB_AUTONOMOUS)
        m->confirmed = peer->hold.confirmed;
    m->namespace = ab_str_of(peer->principal->env.namespace);
    peer->resync.judged = peer->resync.unsent = false;
}

/* --- what the agent is to hold --- */

/* Is it what a managed agent holds of ours? An autonomous one holds nothing but answers. */
static bool is_desired(const struct peer *peer, ab_str key)
{
    return peer->mode == AB_MANAGED && ab_principal_is_object(key);
}

struct expected {
    const struct peer *peer;
    ab_inventory *inv;
};

static void expect_key(void *arg, ab_str key)
{
    const struct expected *s = arg;
    ab_inventory_entry entry = {.key = key};
    if (is_desired(s->peer, key) && ab_writer_find(s->peer->writer, key, &entry.hash))
        ab_inventory_add(s->inv, &entry);
}

static void expect(void *arg, ab_inventory *inv)
{
    const struct peer *peer = arg;
    ab_writer_each(peer->writer, "", expect_key, &(struct expected){peer, inv});
}

/* --- corrections --- */

/* Is the object to be at the agent? */
static enum verdict judge(const struct peer *peer, ab_str key)
{
    const ab_principal *p = peer->principal;
    const ab_principal_app *app = ab_principal_find(p, key);
    if (ab_mirror_exists(p, key))
        return NOT_KNOWN_YET; /* it is being handed over */
    if (app == NULL || !app->exists)
        return ab_principal_shared_verdict(peer, key);
    if (app->peer == peer)
        return FOR_IT;
    return ab_principal_is_moving(app) ? NOT_KNOWN_YET
                                       : NOT_FOR_IT; /* it stays until it has arrived elsewhere */
}

static bool is_on_its_way(const struct peer *peer, ab_str key)
{
    return ab_resync_is_on_its_way(&peer->resync.turn.resync, key, key);
}

static void send_again(struct peer *peer, ab_str key)
{
    ab_principal_app *app = ab_principal_find(peer->principal, key);
    ab_writer_repeat(peer->writer, key);
    if (app == NULL)
        ab_principal_shared_requeue(peer, key);
    else
        app->requeued = app->exists;
}

/* Not while the log is gone through: it may change. What was answered and stands all the same, in a
 * store that was restored for one, is asked again: the agent has its record of it. */
static void advance_apps(const struct peer *peer)
{
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i)) {
        ab_principal_app *app = AB_LINK_OF(i.link, ab_principal_app, in_records);
        if (app->requests != NULL && ab_requests_forget_answers(app->requests))
            app->requeued = app->exists;
        if (app->requeued)
            ab_reconcile_advance(&app->record);
    }
}

/* --- commands --- */

static void end_command(const struct peer *peer, ab_str key, ab_str lane)
{
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SET_OPERATION));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    if (ab_writer_end_anyway(peer->writer, key, lane, &draft, NULL) != AB_ERR_OK)
        AB_ERROR(peer->principal->env.log, SYNC, "out of memory", AB_KV("agent", peer->name));
}

/* The agent has an answer standing to a command that was ended. */
static void end_answered(const struct peer *peer, ab_str key)
{
    if (!ab_writer_has_key(peer->writer, key) && !is_on_its_way(peer, key))
        end_command(peer, key, key);
}

/* Behind the command, should that still be on its way: else it would come after its end, and stay.
 */
static void end_unasked(const struct peer *peer, ab_str key)
{
    ab_str lane = ab_outbox_lane_of(ab_writer_outbox(peer->writer), key);
    end_command(peer, key, lane.ptr == NULL ? key : lane);
}

static bool requeue_asking_app(const struct agent_records *r, ab_str id)
{
    for (ab_list_iter i = ab_list_first(&r->apps); i.link != NULL; ab_list_next(&i)) {
        ab_principal_app *app = AB_LINK_OF(i.link, ab_principal_app, in_records);
        if (ab_requests_ask_for(ab_principal_requests(app), id)) {
            app->requeued = app->exists;
            return true;
        }
    }
    return false;
}

/* Who asks for this command still is looked at again. @return false when nobody does */
static bool requeue_asker(const struct peer *peer, ab_str id)
{
    return peer->mode == AB_MANAGED ? requeue_asking_app(peer->records, id)
                                    : ab_mirror_ask_for(peer->records, id);
}

/* A command that stands in the log may have been answered into a log that was lost. */
static void ask_again(void *arg, ab_str key)
{
    const struct peer *peer = arg;
    if (ab_writer_queued_since(peer->writer, key, peer->resync.turn.resync.since))
        return;
    if (requeue_asker(peer, ab_str_of(key.ptr + sizeof(AB_KEY_COMMAND) - 1)))
        ab_writer_repeat_command(peer->writer, key);
    else
        end_unasked(peer, key);
}

/* --- all of it --- */

struct correction {
    struct peer *peer;
    ab_missing proved;             /* missing here, and proved to have been deleted */
    ab_missing unproved;           /* missing, and not */
    char first[AB_OBJECT_KEY_MAX]; /* of these */
    bool end;                      /* what may be ended: */
    bool end_proved;
    bool end_unproved;
};

static void note_missing(struct correction *c, ab_str key, bool proved)
{
    if (!proved && c->unproved.count == 0)
        snprintf(c->first, sizeof(c->first), "%.*s", AB_STR_ARG(key));
    ab_missing_add(proved ? &c->proved : &c->unproved, key);
}

/* With namespace mapping an Application is for the agent of its namespace. Another one that has it
 * was not sent it: its deletion there would be for nothing but the agent's word. */
static bool is_of_another(const struct peer *peer, ab_str key)
{
    ab_str kind, ns, name;
    const ab_kind *of = ab_kind_of_key(key);
    return !peer->principal->env.destination_mapping && of != NULL && !of->shared &&
           ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && !ab_str_is(ns, peer->name);
}

static void log_of_another(struct peer *peer, ab_str key)
{
    if (ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC,
                "the agent has an Application of another agent, which is left as it is: its "
                "agent.data is that agent's, or it was renamed",
                AB_KV("agent", peer->name), AB_KV("object", key),
                AB_KV("held_back", peer->lines.held_back));
}

/* A copy of what is another agent's was never sent to it: what that deployed stays. */
static bool is_orphan(const struct peer *peer, const ab_inventory_entry *theirs)
{
    bool copy = ab_version_is_none(theirs->version) &&
                ab_principal_find(peer->principal, theirs->key) != NULL;
    return copy || ab_principal_is_orphan(peer, theirs->key);
}

static void check_held(void *arg, const ab_inventory_entry *theirs)
{
    struct correction *c = arg;
    ab_digest ours;
    if (ab_str_starts(theirs->key, AB_KEY_COMMAND))
        end_answered(c->peer, theirs->key);
    if (!is_desired(c->peer, theirs->key) || is_on_its_way(c->peer, theirs->key))
        return;
    if (is_of_another(c->peer, theirs->key)) {
        if (!c->end)
            log_of_another(c->peer, theirs->key);
        return;
    }
    if (ab_writer_find(c->peer->writer, theirs->key, &ours)) {
        if (!c->end && !ab_digest_eq(&ours, &theirs->hash))
            send_again(c->peer, theirs->key);
        return;
    }
    if (judge(c->peer, theirs->key) != NOT_FOR_IT) {
        ab_principal_note_unsent(c->peer, theirs->key);
        return;
    }
    bool proved =
        ab_deletion_is_allowed(ab_principal_judge_unsent(c->peer, theirs->key, theirs->version));
    if (!c->end)
        note_missing(c, theirs->key, proved);
    else if (proved ? c->end_proved : c->end_unproved)
        ab_principal_end_anyway(c->peer, theirs->key, is_orphan(c->peer, theirs));
    else
        ab_principal_name_held(c->peer, theirs->key,
                               proved ? AB_DELETION_HELD_TOO_MANY : AB_DELETION_HELD_NO_PROOF);
}

/* Said, and not held. */
static void check_missing(void *arg, ab_str key)
{
    const struct correction *c = arg;
    const ab_resync *r = &c->peer->resync.turn.resync;
    if (is_desired(c->peer, key) && ab_resync_covers(r, key) && ab_resync_find(r, key) == NULL &&
        !is_on_its_way(c->peer, key))
        send_again(c->peer, key);
}

/* One deletion: what the log still has, and what only the agent has. */
static bool may_end_proved(struct peer *peer, const struct correction *c)
{
    size_t held = peer->sweep.done ? 0 : peer->sweep.guard.held;
    return (c->proved.count > 0 || held == 0) &&
           ab_principal_may_end(peer, c->proved.count + held, c->unproved.count + peer->proof.log,
                                peer->resync.turn.resync.theirs->summary.count);
}

static void end_missing(struct peer *peer, struct correction *c)
{
    const ab_resync *r = &peer->resync.turn.resync;
    ab_principal_sweep(peer);
    ab_confirmed confirmed =
        ab_sweep_confirm(&peer->sweep, &peer->hold.confirmed, &c->proved, &c->unproved,
                         ab_clock_mono_ms(peer->principal->env.clock), r->theirs->summary.count);
    c->end = true;
    c->end_unproved = confirmed != AB_CONFIRMED_NONE;
    bool may = may_end_proved(peer, c);
    c->end_proved = may || confirmed == AB_CONFIRMED_ALL;
    peer->hold.unsent = may ? c->unproved : ab_missing_join(&c->proved, &c->unproved);
    ab_principal_watermark_hold(peer, &peer->proof.agent, c->unproved.count, c->first);
    ab_principal_forget_held_names(peer);
    ab_resync_each(r, check_held, c);
}

/* The agent still had it when it told what it holds, and our log has nothing of it any more. */
static bool was_ended_since(const struct peer *peer)
{
    return peer->resync.ended.version > peer->resync.turn.resync.since.version;
}

/* Without the whole store, and its watermark, nothing is known to be gone. */
static void correct(void *arg)
{
    struct peer *peer = arg;
    bool may_end = peer->principal->synced && ab_principal_watermark_ask(peer);
    struct correction c = {.peer = peer};
    ab_principal_catch_up_compared(peer);
    ab_resync_each(&peer->resync.turn.resync, check_held, &c);
    ab_writer_each(peer->writer, "", check_missing, &c);
    ab_writer_each(peer->writer, AB_KEY_COMMAND, ask_again, peer);
    advance_apps(peer);
    ab_mirror_requeue_agent(peer->records);
    if (peer->mode != AB_MANAGED)
        return;
    peer->proof.again = !may_end;
    if (was_ended_since(peer)) {
        may_end = false;
        ab_resync_queue_again(&peer->resync.turn, "objects were deleted meanwhile");
    }
    peer->resync.judged = may_end;
    if (!may_end)
        return;
    end_missing(peer, &c);
}

/* --- the rest of the role --- */

static bool is_ready(void *arg)
{
    const struct peer *peer = arg;
    return peer->mode != 0 && peer->heard && peer->principal->listed &&
           ab_writer_is_ready(peer->writer) && peer->caught_up && peer->held.head == NULL &&
           ab_agent_records_are_done(peer->records);
}

/* An autonomous agent tells what its guard holds back. */
static void note_held(struct peer *peer, const ab_resync_message *m)
{
    bool unknown = m->held > 0 && ab_digest_is_none(&m->held_set);
    ab_principal_note_held(peer, &(ab_missing){m->held, m->held_set, unknown});
    ab_principal_forget_held_names(peer);
    if (m->held_names == NULL)
        return;
    for (ab_map_iter i = ab_map_first(m->held_names); i.entry != NULL; ab_map_next(&i))
        ab_principal_name_held(peer, i.key, AB_DELETION_HELD_TOO_MANY);
}

static bool heard(void *arg, const ab_event *event, const ab_resync_message *m)
{
    struct peer *peer = arg;
    (void)event;
    if (m->step == AB_RESYNC_ASK) {
        ab_resync_queue_again(&peer->resync.turn, "the agent asks for a resync");
        return true;
    }
    ab_watermark_note_epoch(&peer->line->run, ab_writer_newest(peer->writer).epoch);
    ab_watermark_note_version(&peer->line->run, m->summary.newest);
    if (peer->mode == AB_AUTONOMOUS)
        note_held(peer, m);
    return true;
}

static void over(void *arg, const char *why)
{
    struct peer *peer = arg;
    const ab_principal *p = peer->principal;
    ab_resync_queue_over(&peer->resync.turn, why);
    if (why != NULL)
        return;
    if (peer->mode == AB_AUTONOMOUS)
        ab_principal_unconfirm(peer);
    ab_metric_add(p->metrics.resyncs, 1);
    AB_INFO(p->env.log, SYNC, "up to date with the agent", AB_KV("agent", peer->name));
    ab_principal_watermark_note_resync(peer);
    ab_resync_queue_go(peer->resync.turn.queue);
}

static void refuse(void *arg, const ab_event *event, const char *why)
{
    struct peer *peer = arg;
    (void)event;
    if (ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC, "unreadable resync step skipped",
                AB_KV("agent", peer->name), AB_KV("why", why),
                AB_KV("held_back", peer->lines.held_back));
}

static void wake(void *arg)
{
    ab_principal_wake(arg);
}

static void late(void *arg)
{
    struct peer *peer = arg;
    ab_resync_queue_late(&peer->resync.turn);
}

const ab_resync_role ab_principal_resync_role = {is_ready, hold, expect, tell, heard,
                                                 correct,  over, refuse, wake, late};

ab_err ab_principal_resync(ab_principal *p, const char *agent, const char *why)
{
    if (agent != NULL && ab_principal_peer(p, ab_str_of(agent)) == NULL)
        return AB_ERR_NOTFOUND;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i))
        if (agent == NULL || ab_str_is(i.key, agent))
            ab_resync_queue_due(&((struct peer *)i.value)->resync.turn, why);
    return AB_ERR_OK;
}
