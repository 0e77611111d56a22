/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"

#include <stdlib.h>

/* Agents that are sent everything in one tick, for want of a comparison: those that came together
 * are late together. */
#define LATE_MAX 10

static void safe(void *arg, void *token)
{
    ab_principal_ack(arg, token);
}

void ab_principal_peer_free(void *value)
{
    struct peer *peer = value;
    ab_inbox_fini(&peer->held);
    ab_resync_queue_leave(&peer->resync.turn);
    ab_principal_forget_observed(peer);
    ab_link_remove(&peer->in_watched);
    ab_link_remove(&peer->in_open);
    ab_link_remove(&peer->in_waiting);
    ab_link_remove(&peer->in_counting);
    ab_writer_free(peer->writer);
    ab_map_free(peer->errors, ab_principal_shared_error_free);
    ab_map_free(peer->unsendable, free);
    ab_principal_forget_held_names(peer);
    if (peer->line != NULL)
        ab_watermark_parts_leave(&peer->principal->watermark.parts, peer->line);
    if (peer->records != NULL && peer->records->peer == peer)
        peer->records->peer = NULL;
    ab_agent_records_leave(peer->records);
    free(peer);
}

static void wait_no_more(struct peer *peer)
{
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i))
        AB_LINK_OF(i.link, ab_principal_app, in_records)->peer = peer;
}

static void park_apps(const struct peer *peer)
{
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i))
        ab_principal_park(AB_LINK_OF(i.link, ab_principal_app, in_records));
}

static bool has_all(struct peer *peer)
{
    return peer->records != NULL && peer->writer != NULL && peer->errors != NULL &&
           peer->unsendable != NULL &&
           ab_watermark_store_join(&peer->principal->watermark, ab_str_of(peer->name), peer,
                                   &peer->line) == AB_ERR_OK;
}

ab_err ab_principal_add_agent(ab_principal *p, const char *agent)
{
    if (ab_principal_peer(p, ab_str_of(agent)) != NULL)
        return AB_ERR_EXISTS;
    struct peer *peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return AB_ERR_NOMEM;
    peer->principal = p;
    ab_link_init(&peer->in_watched);
    ab_link_init(&peer->in_open);
    ab_link_init(&peer->in_waiting);
    ab_link_init(&peer->in_counting);
    ab_inbox_init(&peer->held);
    ab_sweep_init(&peer->sweep, p->env.guard);
    peer->records = ab_agent_records_use(p, ab_str_of(agent));
    peer->name = peer->records == NULL ? NULL : peer->records->name;
    peer->writer = ab_writer_new(
        &(ab_writer_env){p->env.clock, p->env.source, peer->name, safe, p, p->env.effects.trace});
    ab_resync_queue_join(&p->resyncs, &peer->resync.turn, peer, peer->writer, peer->name);
    peer->errors = ab_map_new();
    peer->unsendable = ab_map_new();
    if (!has_all(peer) || ab_map_put(p->peers, ab_str_of(agent), peer, NULL) != AB_ERR_OK) {
        ab_principal_peer_free(peer);
        return AB_ERR_NOMEM;
    }
    peer->records->peer = peer;
    wait_no_more(peer);
    ab_principal_watch(peer);
    ab_mirror_agents_changed(p, agent);
    return AB_ERR_OK;
}

void ab_principal_remove_agent(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_map_take(p->peers, ab_str_of(agent));
    if (peer == NULL)
        return;
    peer->records->peer = NULL;
    park_apps(peer);
    for (const ab_task *t = peer->held.head; t != NULL; t = t->next)
        ab_principal_ack(p, t->delivery);
    ab_mirror_requeue_agent(peer->records);
    ab_mirror_agents_changed(p, agent);
    ab_outbox_drop(ab_writer_outbox(peer->writer));
    ab_principal_peer_free(peer);
}

/* --- time --- */

void ab_principal_peers_tick(ab_principal *p)
{
    ab_link due;
    unsigned late = 0;
    ab_link_init(&due);
    ab_list_move_all(&p->watched, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due)) {
        struct peer *peer = AB_LINK_OF(l, struct peer, in_watched);
        ab_principal_guard_tick(peer);
        ab_principal_watermark_tick(peer);
        if (late < LATE_MAX && ab_principal_catch_up_tick(peer))
            late++;
        ab_principal_watch(peer);
    }
}

/* --- what waits --- */

void ab_principal_take_held(struct peer *peer)
{
    if (!peer->principal->listed || peer->mode == 0)
        return;
    /* Some may have to wait on: once round, not until it is empty. */
    const ab_task *last = peer->held.tail;
    bool more = last != NULL;
    while (more) {
        more = peer->held.head != last;
        ab_event *event = ab_event_ref(peer->held.head->event);
        ab_principal_take(peer, event, ab_inbox_pop(&peer->held));
        ab_event_unref(event);
    }
    ab_resync_queue_sort(&peer->resync.turn);
}

void ab_principal_return_held(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    while (peer->held.head != NULL)
        p->env.effects.give_back(p->env.effects.arg, ab_inbox_pop(&peer->held));
    ab_resync_queue_sort(&peer->resync.turn);
}

/* --- the transport --- */

void ab_principal_written(ab_principal *p, const char *agent, const ab_event *head)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    ab_str uid = ab_event_attr(head, AB_CE_PRINCIPALUID);
    ab_version version;
    if (peer == NULL)
        return;
    if (ab_writer_learn(peer->writer, head) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory");
    if (!ab_principal_is_object(key))
        return;
    /* Of what another principal said the watermark of this store tells nothing. */
    if (uid.len > 0 && !ab_str_is(uid, p->env.uid))
        ab_writer_forget_version(peer->writer, key);
    else if (ab_version_of(head, &version, NULL) == AB_ERR_OK)
        ab_watermark_note_version(&peer->line->run, version);
}

static void release_key(void *arg, ab_str key)
{
    ab_principal_give_up(arg, key);
}

/* Events go to the peer from now on. */
static void open_writer(struct peer *peer)
{
    if (!ab_writer_is_ready(peer->writer))
        return;
    peer->sweep.done = false;
    if (peer->mode == AB_AUTONOMOUS) /* what its log has of the time when it was managed */
        ab_writer_each(peer->writer, "", release_key, peer);
    ab_principal_sweep(peer);
    ab_principal_catch_up(peer);
    if (ab_principal_takes_state(peer))
        ab_principal_shared_open(peer);
}

/* What was waited for, readiness or the mode, is there. */
static void open_peer(struct peer *peer)
{
    if (peer->mode == 0)
        return;
    open_writer(peer);
    ab_mirror_requeue_agent(peer->records);
    ab_principal_take_held(peer);
    ab_resync_queue_due(&peer->resync.turn, "connected");
}

void ab_principal_ready(ab_principal *p, const char *agent, uint64_t epoch)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    /* At once, whether its mode is known or not: what waits may be sent from now on. */
    ab_writer_ready(peer->writer, epoch);
    ab_watermark_note_epoch(&peer->line->run, ab_writer_newest(peer->writer).epoch);
    open_peer(peer);
}

/* What it said while it was managed, or may have been, means nothing any more. */
static void forget_words(struct peer *peer)
{
    park_apps(peer);
    wait_no_more(peer);
    ab_principal_forget_observed(peer);
    peer->sweep.guard.held = peer->proof.log = peer->proof.agent = 0; /* it was of its log */
    peer->sweep.held = peer->hold.unsent = (ab_missing){0};
    ab_principal_forget_held_names(peer);
    ab_principal_unconfirm(peer);
    ab_principal_show_held(peer);
}

void ab_principal_set_mode(ab_principal *p, const char *agent, ab_mode_set mode)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL || peer->mode == (unsigned)mode)
        return;
    if (mode == AB_AUTONOMOUS)
        forget_words(peer);
    ab_resync_queue_stop(&peer->resync.turn); /* what it was told means something else now */
    ab_principal_shared_close(peer);
    peer->mode = mode;
    AB_INFO(p->env.log, SYNC, "agent's mode is known", AB_KV("agent", agent),
            AB_KV("mode", mode == AB_MANAGED ? "managed" : "autonomous"));
    open_peer(peer);
}

void ab_principal_unset_mode(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    ab_resync_queue_stop(&peer->resync.turn);
    ab_principal_forget_observed(peer);
    ab_writer_confirm_none_owned(
        peer->writer); /* what the store has now is not compared with its watermark */
    peer->mode = 0;
    ab_principal_shared_close(peer);
    ab_resync_queue_sort(&peer->resync.turn);
}

void ab_principal_log_lost(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    ab_resync_queue_stop(&peer->resync.turn);
    ab_writer_forget(peer->writer);
    ab_principal_forget_observed(peer); /* what is not told while it is closed is inferred */
    ab_principal_watch(peer);
    ab_principal_shared_close(peer);
    ab_resync_queue_sort(&peer->resync.turn);
}

void ab_principal_presence(ab_principal *p, const char *agent, bool heard)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    peer->heard = heard;
    ab_resync_queue_sort(&peer->resync.turn);
    ab_resync_queue_go(&p->resyncs);
}

void ab_principal_gap(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    peer->caught_up = false;
    ab_resync_queue_sort(&peer->resync.turn);
}

void ab_principal_caught_up(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL || peer->caught_up)
        return;
    peer->caught_up = true;
    ab_resync_queue_due(&peer->resync.turn, "caught up");
}

ab_outbox *ab_principal_outbox(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    return peer == NULL ? NULL : ab_writer_outbox(peer->writer);
}
