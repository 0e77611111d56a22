/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending what an agent's log has and the hub no longer has: object by object, each proved to have
 * been deleted (watermark.c). What was observed to be deleted is ended at once, what is inferred
 * from its absence is all judged together by the mass-deletion guard.
 */
#include "sync/principal/principal_priv.h"

#include <stdio.h>

/* How long nothing more is missed before what is inferred to be gone is judged. */
#define JUDGE_AFTER_MS 1000

struct sweep {
    struct peer *peer;
    size_t total;
    size_t missing;                /* and proved to have been deleted */
    size_t unproved;               /* missing, and not */
    char first[AB_OBJECT_KEY_MAX]; /* of these */
    bool uncovered;                /* the watermark does not cover something that is here */
    bool end;
};

static int64_t now_ms(const struct peer *peer)
{
    return ab_clock_mono_ms(peer->principal->env.clock);
}

/* --- the guard --- */

static size_t held_at(const struct peer *peer)
{
    return peer->guard.held + peer->proof.log + peer->proof.agent;
}

static void make_token(struct peer *peer)
{
    char id[37];
    peer->hold.token[0] = '\0'; /* without randomness there is none */
    if (ab_uuid(id) == AB_ERR_OK)
        snprintf(peer->hold.token, sizeof(peer->hold.token), "%.*s", HOLD_TOKEN - 1, id);
}

static void report_held(struct peer *peer)
{
    const ab_effects *fx = &peer->principal->env.effects;
    size_t count = held_at(peer);
    if (count == peer->hold.count)
        return;
    if (count > peer->hold.count)
        make_token(peer);
    if (count == 0)
        peer->hold.token[0] = '\0';
    peer->hold.count = count;
    fx->held(fx->arg, peer->name, count, peer->hold.token);
}

void ab_principal_show_held(struct peer *peer)
{
    const ab_principal_env *env = &peer->principal->env;
    ab_label label = {"agent", ab_str_of(peer->name)};
    ab_metric_set(ab_metric_get(env->metrics, AB_METRIC_GAUGE, "argobus_deletions_held",
                                "Deletions held back: too many, or without proof.", &label, 1),
                  (double)held_at(peer));
    report_held(peer);
    ab_principal_watch(peer);
}

static void log_held(const struct peer *peer, size_t total)
{
    const ab_guard *g = &peer->guard;
    AB_ERROR(peer->principal->env.log, SYNC,
             "deletions held back: too many objects are missing from the store, and their deletion "
             "was not observed; to delete them in the workload cluster, run argobusctl resync "
             "--confirm",
             AB_KV("agent", peer->name), AB_KV("missing", (int64_t)g->held),
             AB_KV("objects", (int64_t)total), AB_KV("deleted_before", (int64_t)g->made),
             AB_KV("max_deletions", (int64_t)g->limits.max));
}

void ab_principal_note_held(struct peer *peer, size_t held)
{
    bool more = held > peer->guard.held;
    peer->guard.held = held;
    ab_principal_show_held(peer);
    if (more)
        AB_ERROR(peer->principal->env.log, SYNC,
                 "deletions held back by the agent: too many objects are missing from its store; "
                 "to delete their mirrors, run argobusctl resync --confirm",
                 AB_KV("agent", peer->name), AB_KV("missing", (int64_t)held));
}

size_t ab_principal_held(const ab_principal *p, const char *agent)
{
    size_t held = 0;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i))
        if (agent == NULL || ab_str_is(i.key, agent))
            held += held_at(i.value);
    return held;
}

bool ab_principal_is_holding(const struct peer *peer)
{
    return held_at(peer) > 0;
}

bool ab_principal_may_end(struct peer *peer, size_t missing, size_t total)
{
    size_t before = peer->guard.held;
    bool may = ab_guard_all(&peer->guard, now_ms(peer), missing, total);
    ab_principal_show_held(peer);
    if (!may && peer->guard.held != before)
        log_held(peer, total);
    return may;
}

void ab_principal_guard_tick(struct peer *peer)
{
    bool missed = peer->judge_at != 0 && now_ms(peer) >= peer->judge_at;
    if (!ab_guard_is_due(&peer->guard, now_ms(peer)) && !missed)
        return;
    bool held = ab_principal_is_holding(peer);
    ab_principal_sweep(peer); /* the objects may be back */
    if (held && !ab_principal_is_holding(peer))
        ab_principal_resync_due(peer, "no deletions are held back any more");
}

/* --- what is gone --- */

static bool is_in_store(const ab_principal *p, ab_str key)
{
    const ab_principal_app *app = ab_principal_find(p, key);
    return (app != NULL && app->exists) || ab_principal_shared_exists(p, key) ||
           ab_mirror_exists(p, key);
}

/* The log has it, and the store has not: was it deleted? */
static bool is_proved(const struct peer *peer, ab_str key)
{
    const ab_writer *w = peer->writer;
    return ab_writer_is_confirmed_owned(w, key) ||
           (peer->principal->synced &&
            (peer->guard.confirmed ||
             ab_principal_watermark_covers(peer, ab_writer_version_of(w, key))));
}

static void note_unproved(struct sweep *s, ab_str key)
{
    if (!s->peer->principal->synced)
        return; /* it may be what cannot be read */
    if (s->unproved++ == 0)
        snprintf(s->first, sizeof(s->first), "%.*s", AB_STR_ARG(key));
}

static void end_deleted(struct peer *peer, ab_str key)
{
    char copy[AB_OBJECT_KEY_MAX]; /* ending it frees the log's own */
    snprintf(copy, sizeof(copy), "%.*s", AB_STR_ARG(key));
    ab_principal_end(peer, ab_str_of(copy));
    ab_principal_shared_requeue_project(peer, copy);
}

static void sweep_key(void *arg, ab_str key)
{
    struct sweep *s = arg;
    if (!ab_principal_is_object(key))
        return;
    s->total++;
    if (is_in_store(s->peer->principal, key)) {
        ab_version version = ab_writer_version_of(s->peer->writer, key);
        s->uncovered |= !ab_principal_watermark_covers(s->peer, version);
        ab_writer_confirm_owned(s->peer->writer, key);
        return;
    }
    if (!is_proved(s->peer, key)) {
        note_unproved(s, key);
        return;
    }
    s->missing++;
    if (s->end)
        end_deleted(s->peer, key);
}

static void end_missing(struct peer *peer)
{
    struct sweep s = {.peer = peer};
    ab_writer_each(peer->writer, "", sweep_key, &s);
    if (s.uncovered)
        ab_principal_watermark_note_listed(peer);
    ab_principal_watermark_hold(peer, &peer->proof.log, s.unproved, s.first);
    if (!ab_principal_may_end(peer, s.missing, s.total))
        return;
    peer->swept = peer->principal->synced && s.unproved == 0;
    s = (struct sweep){.peer = peer, .end = true};
    ab_writer_each(peer->writer, "", sweep_key, &s);
}

static void note_moved(void *arg, ab_str key)
{
    const struct peer *peer = arg;
    ab_principal_app *app = ab_principal_find(peer->principal, key);
    if (app != NULL && app->exists && app->peer != peer)
        ab_principal_note_moved(app);
}

/* --- what was observed to be deleted --- */

static bool note_observed(struct peer *peer, ab_str key)
{
    if (!ab_principal_takes_state(peer) || peer->guard.limits.observed)
        return false;
    if (peer->observed == NULL)
        peer->observed = ab_map_new();
    return peer->observed != NULL && ab_map_put(peer->observed, key, peer, NULL) == AB_ERR_OK;
}

void ab_principal_forget_observed(struct peer *peer)
{
    ab_map_free(peer->observed, NULL);
    peer->observed = NULL;
}

/* One that is here again was created again, perhaps for another agent. */
static void end_observed(struct peer *peer)
{
    if (peer->observed == NULL || !ab_principal_watermark_ask(peer))
        return;
    for (ab_map_iter i = ab_map_first(peer->observed); i.entry != NULL; ab_map_next(&i))
        if (is_in_store(peer->principal, i.key))
            peer->swept = false;
        else
            end_deleted(peer, i.key);
    ab_principal_forget_observed(peer);
}

void ab_principal_sweep(struct peer *peer)
{
    ab_principal *p = peer->principal;
    if (!p->listed || !ab_principal_takes_state(peer))
        return;
    end_observed(peer);
    if (peer->swept || now_ms(peer) < peer->judge_at)
        return;
    peer->judge_at = 0;
    ab_writer_each(peer->writer, "Application/", note_moved, peer);
    for (ab_list_iter i = ab_list_first(&p->moved); i.link != NULL; ab_list_next(&i))
        ab_principal_finish_move(AB_LINK_OF(i.link, ab_principal_app, in_moved));
    if (peer->guard.confirmed || ab_principal_watermark_ask(peer))
        end_missing(peer);
}

static void miss(struct peer *peer, ab_str key, bool observed)
{
    if (!ab_writer_has_key(peer->writer, key)) {
        if (peer->resync.unsent) { /* its log does not tell that the agent has it */
            peer->proof.again = true;
            (void)ab_principal_watermark_ask(peer);
        }
        return;
    }
    if (observed && note_observed(peer, key)) {
        (void)ab_principal_watermark_ask(peer);
        return;
    }
    if (peer->observed != NULL) /* what was observed was the end of a former one */
        (void)ab_map_take(peer->observed, key);
    peer->swept = false;
    peer->judge_at = now_ms(peer) + JUDGE_AFTER_MS;
    ab_principal_watch(peer);
}

void ab_principal_note_missing(ab_principal *p, ab_str key, bool observed)
{
    ab_principal_watermark_outdate(p);
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i))
        miss(i.value, key, observed);
}

ab_err ab_principal_confirm_token(ab_principal *p, const char *agent, ab_str token)
{
    const struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL || token.len == 0 || !ab_str_is(token, peer->hold.token))
        return AB_ERR_NOTFOUND;
    return ab_principal_confirm(p, agent);
}

ab_err ab_principal_confirm(ab_principal *p, const char *agent)
{
    if (agent != NULL && ab_principal_peer(p, ab_str_of(agent)) == NULL)
        return AB_ERR_NOTFOUND;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        struct peer *peer = i.value;
        if (agent != NULL && !ab_str_is(i.key, agent))
            continue;
        ab_principal_resync_stop(peer); /* one that was begun without it would use it up */
        peer->guard.confirmed = true;
        peer->swept = false;
        peer->judge_at = 0;
        ab_principal_sweep(peer);
    }
    return ab_principal_resync(p, agent, "confirmed");
}
