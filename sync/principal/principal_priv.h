/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the sources of this folder only.
 */
#pragma once

#include "sync/principal/agent_records.h"
#include "sync/principal/deferral.h"
#include "sync/principal/event.h"
#include "sync/principal/inbound.h"
#include "sync/principal/lookup.h"
#include "sync/principal/request.h"
#include "sync/principal/route.h"
#include "sync/principal/sweep.h"

/* How often to look whether what is held back for want of proof has come back. */
#define HELD_RETRY_MS 60000

/* holds.c: deletions that are held back */
/** Deletions are held back at it or may be judged later, or its log is not known yet: ticks look at
 * it for as long as that is so. */
void ab_principal_watch(struct peer *peer);
/** An autonomous agent tells which deletions here its guard holds back. */
void ab_principal_note_held(struct peer *peer, const ab_missing *held);
/** Show and tell how many deletions are held back. Others than before get a new token. */
void ab_principal_show_held(struct peer *peer);
/** This is one of those that only the agent has and that are held back: keep its key, if it is one
 * of the first of them, to show it (ab_principal_each_held). @param why  AB_DELETION_HELD_... */
void ab_principal_name_held(struct peer *peer, ab_str key, ab_deletion why);
/** Others are held back than those that were named, or none. */
void ab_principal_forget_held_names(struct peer *peer);
/** Something else is missing than what the operator confirmed: nothing is confirmed any more. */
void ab_principal_unconfirm(struct peer *peer);
/** Is a deletion held back at it? */
bool ab_principal_is_holding(const struct peer *peer);

/* peer.c: agents come and go */
/** Take up again what is kept. */
void ab_principal_take_held(struct peer *peer);
void ab_principal_peer_free(void *value);
void ab_principal_peers_tick(ab_principal *p);

/* sweep.c: ending what is gone */
/** The agent has this, and its log does not say so. It is for it, or comes from a move. */
void ab_principal_note_unsent(struct peer *peer, ab_str key);
/** What was observed means nothing any more for this agent. */
void ab_principal_forget_observed(struct peer *peer);
/** Learn from the peer's log: end what is another agent's now and what the hub no longer has, as
 * far as that is proved, under the mass-deletion guard. */
void ab_principal_sweep(struct peer *peer);
/** May all that is missing here of what the agent has be ended? When not, it is shown as held.
 * @param unproved  how many more are missing, and held anyway */
bool ab_principal_may_end(struct peer *peer, size_t missing, size_t unproved, size_t total);
/** May this be ended, which the agent has and its log does not, and which the store does not have
 * for it? The watermark was read; neither the guard nor the operator is asked.
 * @param version  of what the agent has */
ab_deletion ab_principal_judge_unsent(const struct peer *peer, ab_str key, ab_version version);
/** The store does not have this Application: does what it deployed stay when its key is ended? */
bool ab_principal_is_orphan(const struct peer *peer, ab_str key);
/** Once in a while, look whether what the guard holds back is back. */
void ab_principal_guard_tick(struct peer *peer);
/** Once in a while, look whether the objects without a deletion proof are back. */
void ab_principal_watermark_tick(struct peer *peer);

/* watermark.c: what proves that the store once had what it does not have now */
/** Has the agent's part of the watermark been read since something was missed last? If not it is
 * read, and the agent is swept then. */
bool ab_principal_watermark_ask(const struct peer *peer);
/** The store may have what its watermark does not cover: the log does not come to tell. */
void ab_principal_watermark_note_listed(struct peer *peer);
/** So many deletions are held back for want of proof. @param held  which count of peer->proof
 *  @param first  one of their keys */
void ab_principal_watermark_hold(struct peer *peer, size_t *held, size_t count, const char *first);
/** A resync with it came to its end. */
void ab_principal_watermark_note_resync(struct peer *peer);

/* catch_up.c: what an agent is to have and its log does not */
/** It is open: send it that, or compare first. */
void ab_principal_catch_up(struct peer *peer);
/** In a resync with it all of its pages that were wanted are here: learn what it has, and send what
 * it has not. */
void ab_principal_catch_up_compared(struct peer *peer);
/** Time has passed. @return true: it came to no comparison in time, and was sent everything */
bool ab_principal_catch_up_tick(struct peer *peer);

/* resync.c: the role in a resync */
/* `arg` is the peer. */
extern const ab_resync_role ab_principal_resync_role;

/* deliver.c: events that arrive, each given to the record it is about */
/** Deal with an event; the store is listed. */
void ab_principal_take(struct peer *peer, ab_event *event, void *delivery);
