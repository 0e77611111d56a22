/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep over the log of one writer: every object in it that the store does not have any more is
 * judged (deletion.h), all together, and those whose deletion is allowed are ended. What is held
 * stays, is shown, and is judged again later.
 *
 *    idle --miss--> due --a second without another miss--> judged --nothing held--> done
 *      ^                                                     |
 *      +------------ the guard's window is over, or the owner tries again (held) ---+
 *
 * The owner says what it knows of a key, ends a key, and shows what is held; it knows when it can
 * judge at all (its log is read, its store listed). Pure; loop thread.
 */
#pragma once

#include "sync/deletion/deletion.h"
#include "sync/deletion/guard.h"
#include "sync/deletion/missing.h"
#include "sync/writer.h"

/* What the sweep needs of its owner. */
typedef struct {
    /** What is known of this key; all but confirmed and too_many. @return false: it is not an
     * object's, or not to be judged here */
    bool (*know)(void *arg, ab_str key, ab_deletion_facts *out);
    /** The deletion is allowed: end the key. */
    void (*end)(void *arg, ab_str key, ab_deletion why);
    /** So many are held for want of a proof. Before `show`. @param first  one of these
     * keys; "" if there are none. May be NULL */
    void (*hold_unproved)(void *arg, size_t count, const char *first);
    /** The guard was asked. @param more  it holds another number than before: log it
     * @param total  how many objects there are, those that are missing included */
    void (*show)(void *arg, bool more, size_t total);
    void *arg;
} ab_sweep_role;

typedef struct {
    ab_guard guard;
    ab_missing held;     /* in the log, and held back when it was judged last */
    ab_digest confirmed; /* ab_missing.set of what the operator confirms, should exactly this be
                            what is held; taken back when the log is judged; none: nothing is */
    bool done;           /* nothing in the log is left to be judged */
    int64_t due_at; /* mono_ms: when what was missed may be judged: a list that lacks many objects
                       says so of one after another; 0: nothing waits for that */
} ab_sweep;

void ab_sweep_init(ab_sweep *s, ab_guard_limits limits);
/** Something is missing, and that was not observed. */
void ab_sweep_miss(ab_sweep *s, int64_t now_ms);
/** All is to be judged again, at once. */
void ab_sweep_again(ab_sweep *s);
/** Something is to be judged, and what was missed is waited for no more. @return false: not now */
bool ab_sweep_begin(ab_sweep *s, int64_t now_ms);
/** Is it time: what was missed can be judged now, or what is held may be back? */
bool ab_sweep_is_due(ab_sweep *s, int64_t now_ms);
/** Judge all that the log has, and end what may be ended. */
void ab_sweep_log(ab_sweep *s, ab_writer *w, const ab_sweep_role *role, int64_t now_ms);

/* What of the missing objects is confirmed. */
typedef enum {
    AB_CONFIRMED_NONE,
    AB_CONFIRMED_UNPROVED, /* those whose deletion is not proved: the others were not held */
    AB_CONFIRMED_ALL,
} ab_confirmed;

/** Is what is missing exactly what the operator confirmed? What is, is counted as deleted, and is
 * none of the missing ones any more. @param confirmed  an ab_missing.set; taken back
 * @param proved  missing, and proved to have been deleted @param unproved  and not
 * @param total  how many objects there are, both included */
ab_confirmed ab_sweep_confirm(ab_sweep *s, ab_digest *confirmed, ab_missing *proved,
                              ab_missing *unproved, int64_t now_ms, size_t total);
/** May `missing` inferred deletions be made? Shows what is held. @param unproved  how many more
 * objects are missing, whose deletion is not proved @param total  how many objects there are, both
 * included */
bool ab_sweep_may_end(ab_sweep *s, const ab_sweep_role *role, int64_t now_ms, size_t missing,
                      size_t unproved, size_t total);
