/* SPDX-License-Identifier: Apache-2.0
 *
 * A resync with one other end: each tells the other what it holds, and corrects what the other
 * holds wrongly (docs/protocol.md). All of it that does not depend on what is held is here, for the
 * principal's end and for the agent's: the messages, whether they count, which pages differ. What
 * is held, and what is done about a difference, is the role's.
 *
 *   IDLE        none is under way
 *    |  principal: ab_resync_begin sends BEGIN
 *    |  agent: BEGIN was received, and all that came before it is dealt with
 *   TOLD        the role's `hold` was told, or is in the same turn
 *    |  principal: ANSWER was received; sends WANT and the pages that the agent wants
 *    |  agent: at once, BEGIN has the summary; sends ANSWER
 *   COMPARED    the pages of theirs that are not as the role's `expect` says are waited for
 *    |  the last of them was received, or none is wanted: the role's `correct`
 *    |  agent: sends TAKEN, if it wanted any
 *   CORRECTED
 *    |  principal: the agent has its pages (TAKEN), if it wanted any; sends END
 *    |  agent: END was received
 *   IDLE
 *
 * From each state ab_resync_stop leads to IDLE, for the agent also the next BEGIN, which opens
 * another one, and for the principal ASK.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/observe/log.h"
#include "sync/resync/message.h"
#include "sync/writer.h"

/* What this end holds, and does. `arg` is the env's. */
typedef struct {
    /** May one begin, or be answered? Only when all that was received is dealt with: it would look
     * as if it were missing. Asked by ab_resync_go and the queue. */
    bool (*is_ready)(void *arg);
    /** Add all that we hold of the other side's objects. @return why a session cannot begin */
    ab_err (*hold)(void *arg, ab_inventory *inv);
    /** Add all that the other side should hold, by what we sent. */
    void (*expect)(void *arg, ab_inventory *inv);
    /** The step that tells what we hold is about to be sent: add what only this role tells. */
    void (*tell)(void *arg, ab_resync_message *m);
    /** ASK, BEGIN or ANSWER was received. @return false: it does not count */
    bool (*heard)(void *arg, const ab_event *event, const ab_resync_message *m);
    /** All pages that are wanted are in hand: repair what differs. */
    void (*correct)(void *arg);
    /** The session is over. @param why  it failed; NULL: both ends agree */
    void (*over)(void *arg, const char *why);
    /** A step could not be read. */
    void (*refuse)(void *arg, const ab_event *event, const char *why);
    /** Something was queued. */
    void (*wake)(void *arg);
    /** Principal only: ANSWER was received while none is under way. The agent has read an old
     * BEGIN, and answered it instead of asking. */
    void (*late)(void *arg);
} ab_resync_role;

/* All is borrowed, for as long as the engine is used. */
typedef struct {
    const ab_resync_role *role;
    void *arg;
    ab_writer *writer;
    const ab_clock *clock;
    ab_log *log;
    const char *agent; /* its name, for the log */
    const char
        *principal_uid; /* at the principal: attribute of its steps; NULL: this is an agent */
} ab_resync_env;

typedef enum {
    AB_RESYNC_IDLE,
    AB_RESYNC_TOLD,
    AB_RESYNC_COMPARED,
    AB_RESYNC_CORRECTED,
} ab_resync_state;

/* Read by roles, written here only. */
typedef struct {
    ab_resync_env env;
    ab_resync_state state;
    char id[AB_RESYNC_ID_MAX];  /* of the newest one */
    const char *why;            /* agent: one is to be asked for; NULL: none is */
    ab_resync_message *begin;   /* agent: is to be answered; NULL: nothing is */
    ab_inventory *mine;         /* what we hold; NULL: idle */
    ab_resync_message *theirs;  /* has the summary of what they hold; NULL: not told yet */
    uint16_t *want;             /* their pages that differ */
    size_t want_count, awaited; /* of them, and of those that are not in hand */
    ab_inventory **pages;       /* theirs; NULL: not wanted, or not in hand */
    size_t bytes;               /* of those in hand */
    int64_t heard_at;           /* mono_ms: of the last word of theirs, or of the beginning */
    ab_version since;           /* the newest that we had sent when it began */
    bool repeated;   /* agent: this one, or a former process, may have answered it before */
    bool raised;     /* our epoch was too low: what is on its way may be refused as older */
    bool pages_sent; /* principal: the agent wants pages, and has not said that it took them */
} ab_resync;

/** `r` is zeroed before. */
void ab_resync_init(ab_resync *r, const ab_resync_env *env);
/** Is this event for ab_resync_take: a step, or a page? */
bool ab_resync_is_about(const ab_event *event);
/** Deal with it; it need not be kept. */
void ab_resync_take(ab_resync *r, const ab_event *event);
/** Give up what is under way, and forget what is to be answered. Nothing is called. */
void ab_resync_stop(ab_resync *r);

/** Principal: open a session. @param why  for the log
 *  @return NOMEM, TOOBIG, FATAL (no randomness): none was opened */
AB_MUST_USE ab_err ab_resync_begin(ab_resync *r, const char *why);
/** Agent: ask for one, as soon as that can be. @param why  for the principal's log; lives on */
void ab_resync_ask(ab_resync *r, const char *why);
/** Agent: ask or answer, if that is to be done, and can be now. */
void ab_resync_go(ab_resync *r);

/* For the role, while it corrects. */
/** Is `key` on a page in hand? Only of such keys is known whether the other side has them. */
bool ab_resync_covers(const ab_resync *r, ab_str key);
/** What the other side has under `key`; NULL: nothing, if the key is covered. Borrowed. */
const ab_inventory_entry *ab_resync_find(const ab_resync *r, ab_str key);
/** Call `visit` for each entry of the pages in hand. */
void ab_resync_each(const ab_resync *r, void (*visit)(void *arg, const ab_inventory_entry *theirs),
                    void *arg);
/** Was something sent under `key` since it began, or does something of `object` wait? What the
 * other side told is older then, and need not be corrected. */
bool ab_resync_is_on_its_way(const ab_resync *r, ab_str key, ab_str object);
