/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending what an agent's log has and the hub no longer has: object by object, each proved to have
 * been deleted (watermark.c). What was observed to be deleted is ended at once, what is inferred
 * from its absence is all judged together by the mass-deletion guard.
 */
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include <stdio.h>

/* What a sweep knows, and learns. */
struct judge {
    struct peer *peer;
    bool checked;  /* the watermark was read since something was missed, and is ours */
    ab_link found; /* Applications that it may have still, and that are another agent's */
};

static int64_t now_ms(const struct peer *peer)
{
    return ab_clock_mono_ms(peer->principal->env.clock);
}

/* --- the guard --- */

static void log_held(const struct peer *peer, size_t total)
{
    const ab_guard *g = &peer->sweep.guard;
    AB_ERROR(peer->principal->env.log, SYNC,
             "deletions held back: too many objects are missing from the store, and their deletion "
             "was not observed; to delete them in the workload cluster, run argobusctl resync "
             "--agent NAME --confirm TOKEN; argobusctl deletions shows the token",
             AB_KV("agent", peer->name), AB_KV("missing", (int64_t)g->held),
             AB_KV("unproved", (int64_t)(peer->proof.log + peer->proof.agent)),
             AB_KV("objects", (int64_t)total), AB_KV("deleted_before", (int64_t)g->made),
             AB_KV("max_deletions", (int64_t)g->limits.max));
}

static void show(void *arg, bool more, size_t total)
{
    const struct judge *j = arg;
    ab_principal_show_held(j->peer);
    if (more)
        log_held(j->peer, total);
}

void ab_principal_guard_tick(struct peer *peer)
{
    if (!ab_sweep_is_due(&peer->sweep, now_ms(peer)))
        return;
    bool held = peer->sweep.held.count > 0;
    ab_principal_sweep(peer); /* the objects may be back */
    if (held && peer->sweep.held.count == 0)
        ab_resync_queue_due(&peer->resync.turn, "no deletions are held back any more");
    else if (peer->mode == AB_MANAGED && peer->hold.unsent.count > 0)
        ab_resync_queue_due(&peer->resync.turn, "deletions are held back");
}

void ab_principal_watermark_tick(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    if (ab_watermark_store_is_log_late(&p->watermark, peer->line) &&
        !ab_writer_is_ready(peer->writer))
        ab_principal_watermark_note_listed(peer);
    bool unproved = peer->proof.log + peer->proof.agent > 0;
    if (!unproved || now_ms(peer) < peer->proof.retry_at)
        return;
    peer->proof.retry_at = now_ms(peer) + HELD_RETRY_MS;
    peer->sweep.done = false;
    ab_principal_sweep(peer);
    ab_resync_queue_due(&peer->resync.turn, "deletions are held back");
}

/* --- what is gone --- */

static bool is_in_store(const ab_principal *p, ab_str key)
{
    const ab_principal_app *app = ab_principal_find(p, key);
    return (app != NULL && app->exists) || ab_principal_shared_exists(p, key) ||
           ab_mirror_exists(p, key);
}

static bool know(void *arg, ab_str key, ab_deletion_facts *out)
{
    struct judge *j = arg;
    const struct peer *peer = j->peer;
    if (!ab_principal_is_object(key))
        return false;
    *out = (ab_deletion_facts){
        .exists = is_in_store(peer->principal, key),
        .store_checked = j->checked,
        .observed = peer->observed != NULL && ab_map_find(peer->observed, key) != NULL,
        .store_synced = peer->principal->synced,
        .owned = !peer->line->run.distrusted && ab_writer_is_confirmed_owned(peer->writer, key),
        .covered = ab_watermark_proves(&peer->line->sent, &peer->line->run,
                                       ab_writer_version_of(peer->writer, key))};
    if (out->exists)
        ab_principal_confirm_owned(j->peer, key);
    return true;
}

/* Values of peer->observed: had the object a finalizer that deletes what it deployed? */
static char with_resources, without_resources;

/* In Kubernetes an object goes when its finalizers have gone, and a user who removes them wants to
 * keep what it deployed; it may go so soon after that its agent never sees it without them. In a
 * folder it goes with them. One that is there, and for no agent that is known, nobody has deleted.
 */
bool ab_principal_is_orphan(const struct peer *peer, ab_str key)
{
    const ab_principal *p = peer->principal;
    const void *seen = peer->observed == NULL ? NULL : ab_map_find(peer->observed, key);
    const ab_principal_app *app = ab_principal_find(p, key);
    const ab_kind *kind = ab_kind_of_key(key);
    if (kind == NULL || !kind->reports)
        return false;
    if (app != NULL && app->exists)
        return app->peer == NULL;
    if (seen != NULL)
        return seen == &without_resources;
    return !p->env.store_stays && !is_in_store(p, key);
}

static void end(void *arg, ab_str key, ab_deletion why)
{
    const struct judge *j = arg;
    AB_DEBUG(j->peer->principal->env.log, SYNC, "deletion passed on", AB_KV("agent", j->peer->name),
             AB_KV("object", key), AB_KV("why", ab_deletion_text(why)));
    ab_principal_end(j->peer, key, ab_principal_is_orphan(j->peer, key));
    ab_principal_shared_requeue_project(j->peer, key);
}

static void hold_unproved(void *arg, size_t count, const char *first)
{
    const struct judge *j = arg;
    ab_principal_watermark_hold(j->peer, &j->peer->proof.log, count, first);
}

static ab_sweep_role role_of(struct judge *j)
{
    return (ab_sweep_role){
        .know = know, .end = end, .hold_unproved = hold_unproved, .show = show, .arg = j};
}

bool ab_principal_may_end(struct peer *peer, size_t missing, size_t unproved, size_t total)
{
    struct judge j = {.peer = peer};
    ab_sweep_role role = role_of(&j);
    return ab_sweep_may_end(&peer->sweep, &role, now_ms(peer), missing, unproved, total);
}

ab_deletion ab_principal_judge_unsent(const struct peer *peer, ab_str key, ab_version version)
{
    const ab_principal_app *app = ab_principal_find(peer->principal, key);
    /* What it has no version of it was perhaps never sent: a backup of another's cluster, or
     * another name for the same one. */
    bool was_sent = !ab_version_is_none(version);
    return ab_deletion_judge(&(ab_deletion_facts){
        .store_checked = true,
        .store_synced = peer->principal->synced,
        .elsewhere = was_sent && app != NULL && app->exists,
        .covered = ab_watermark_proves(&peer->line->sent, &peer->line->run, version)});
}

static void note_former(ab_principal_app *app, const struct peer *peer)
{
    if (ab_principal_note_former(app, peer->records) != AB_ERR_OK)
        AB_ERROR(app->principal->env.log, SYNC, "out of memory", AB_KV("object", app->key));
}

void ab_principal_note_unsent(struct peer *peer, ab_str key)
{
    ab_principal_app *app = ab_principal_find(peer->principal, key);
    peer->resync.unsent = true;
    if (app != NULL && app->peer != peer)
        note_former(app, peer);
}

static void find_moved(void *arg, ab_str key)
{
    struct judge *j = arg;
    ab_principal_app *app = ab_principal_find(j->peer->principal, key);
    if (app == NULL || !app->exists || app->peer == j->peer)
        return;
    note_former(app, j->peer);
    ab_list_append(&j->found, &app->in_found);
}

/* After the log was gone through: ending a move changes it. */
static void finish_moves(struct judge *j)
{
    ab_link_init(&j->found);
    ab_writer_each(j->peer->writer, "Application/", find_moved, j);
    for (ab_link *l = ab_list_pop(&j->found); l != NULL; l = ab_list_pop(&j->found))
        ab_principal_finish_move(AB_LINK_OF(l, ab_principal_app, in_found));
}

/* --- what was observed to be deleted --- */

static bool note_observed(struct peer *peer, ab_str key, bool orphan)
{
    if (!ab_principal_takes_state(peer) || peer->sweep.guard.limits.observed)
        return false;
    if (peer->observed == NULL)
        peer->observed = ab_map_new();
    return peer->observed != NULL &&
           ab_map_put(peer->observed, key, orphan ? &without_resources : &with_resources, NULL) ==
               AB_ERR_OK;
}

void ab_principal_forget_observed(struct peer *peer)
{
    ab_map_free(peer->observed, NULL);
    peer->observed = NULL;
}

/* One that is here again was created again, perhaps for another agent. */
static void end_observed(struct judge *j)
{
    struct peer *peer = j->peer;
    ab_deletion_facts facts;
    j->checked = peer->observed != NULL && ab_principal_watermark_ask(peer);
    if (!j->checked)
        return;
    for (ab_map_iter i = ab_map_first(peer->observed); i.entry != NULL; ab_map_next(&i)) {
        if (!know(j, i.key, &facts))
            continue;
        ab_deletion verdict = ab_deletion_judge(&facts);
        if (ab_deletion_is_allowed(verdict))
            end(j, i.key, verdict);
        else
            peer->sweep.done = false;
    }
    ab_principal_forget_observed(peer);
}

void ab_principal_sweep(struct peer *peer)
{
    if (!peer->principal->listed || !ab_principal_takes_state(peer))
        return;
    struct judge j = {.peer = peer};
    ab_sweep_role role = role_of(&j);
    end_observed(&j);
    if (!ab_sweep_begin(&peer->sweep, now_ms(peer)))
        return;
    finish_moves(&j);
    j.checked = ab_principal_watermark_ask(peer);
    if (j.checked)
        ab_sweep_log(&peer->sweep, peer->writer, &role, now_ms(peer));
}

static void miss(struct peer *peer, ab_str key, bool orphan, bool observed)
{
    bool inferred = !observed || peer->sweep.guard.limits.observed;
    if (inferred)
        ab_principal_unconfirm(peer); /* the operator has not seen that this is held */
    if (inferred && (peer->resync.unsent || ab_writer_has_key(peer->writer, key)))
        peer->hold.others = true;
    if (!ab_writer_has_key(peer->writer, key)) {
        if (peer->resync.unsent) { /* its log does not tell that the agent has it */
            peer->proof.again = true;
            (void)ab_principal_watermark_ask(peer);
        }
        return;
    }
    if (observed && note_observed(peer, key, orphan)) {
        (void)ab_principal_watermark_ask(peer);
        return;
    }
    if (peer->observed != NULL) /* what was observed was the end of a former one */
        (void)ab_map_take(peer->observed, key);
    ab_sweep_miss(&peer->sweep, now_ms(peer));
    ab_principal_watch(peer);
}

void ab_principal_note_missing(ab_principal *p, const struct agent_records *of, ab_str key,
                               bool orphan, bool observed)
{
    ab_watermark_store_outdate(&p->watermark);
    if (!observed && !p->env.store_stays)
        ab_watermark_store_miss_unseen(&p->watermark,
                                       of == NULL ? AB_STR_NONE : ab_str_of(of->name));
    if (of != NULL && of->peer != NULL)
        miss(of->peer, key, orphan, observed);
    /* One that is not open is swept when it is. */
    for (ab_list_iter i = ab_list_first(&p->open); of == NULL && i.link != NULL; ab_list_next(&i))
        miss(AB_LINK_OF(i.link, struct peer, in_open), key, orphan, observed);
}

void ab_principal_note_missing_app(ab_principal_app *app, bool orphan, bool requested,
                                   bool observed)
{
    struct judge j = {.peer = app->peer};
    ab_str key = ab_str_of(app->key);
    ab_deletion verdict = ab_deletion_judge(&(ab_deletion_facts){.requested = requested});
    if (ab_deletion_is_allowed(verdict) && ab_principal_is_open(app) &&
        ab_writer_has_key(app->peer->writer, key))
        end(&j, key, verdict);
    else
        ab_principal_note_missing(app->principal, app->records, key, orphan, observed);
    for (ab_list_iter i = ab_list_first(&app->formers); i.link != NULL; ab_list_next(&i))
        ab_principal_note_missing(app->principal, ab_principal_former(i.link), key, orphan,
                                  observed);
}

/* --- confirmed --- */

static void log_unknown(struct peer *peer)
{
    if (ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC,
                "the deletions that the agent holds back cannot be confirmed: its version does not "
                "say which they are; upgrade the agent",
                AB_KV("agent", peer->name), AB_KV("held_back", peer->lines.held_back));
}

/* It covers the objects that were told with the token: it takes effect where exactly these are held
 * still. */
ab_err ab_principal_confirm(ab_principal *p, const char *agent, ab_str token)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL || peer->hold.others || token.len == 0 || !ab_str_is(token, peer->hold.token))
        return AB_ERR_NOTFOUND;
    if (peer->hold.told.unknown) {
        log_unknown(peer);
        return AB_ERR_UNSUPPORTED;
    }
    /* One that was begun without it would use it up. */
    ab_resync_queue_stop(&peer->resync.turn);
    peer->sweep.confirmed = peer->sweep.held.set;
    peer->hold.confirmed = peer->hold.unsent.set;
    ab_sweep_again(&peer->sweep);
    ab_principal_sweep(peer);
    ab_resync_queue_due(&peer->resync.turn, "confirmed");
    return AB_ERR_OK;
}

/* --- shown --- */

struct shown {
    struct judge judge;
    ab_principal_visitor visit;
    void *arg;
};

static void show_if_held(void *arg, ab_str key)
{
    struct shown *shown = arg;
    ab_deletion_facts facts;
    if (!know(&shown->judge, key, &facts))
        return;
    facts.too_many = shown->judge.peer->sweep.guard.held > 0;
    ab_deletion verdict = ab_deletion_judge(&facts);
    if (verdict == AB_DELETION_HELD_NO_PROOF || verdict == AB_DELETION_HELD_TOO_MANY)
        shown->visit(shown->arg, key, ab_deletion_text(verdict));
}

void ab_principal_each_held(const ab_principal *p, const char *agent, ab_principal_visitor visit,
                            void *arg)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    struct shown shown = {{.peer = peer, .checked = true}, visit, arg};
    if (peer != NULL && peer->mode == AB_MANAGED && peer->sweep.held.count > 0)
        ab_writer_each(peer->writer, "", show_if_held, &shown);
    if (peer == NULL || peer->hold.names == NULL)
        return;
    for (ab_map_iter i = ab_map_first(peer->hold.names); i.entry != NULL; ab_map_next(&i))
        visit(arg, i.key, ab_deletion_text(*(const ab_deletion *)i.value));
}
