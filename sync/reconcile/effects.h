/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sync machines ask of the world outside: they do no I/O themselves. Whoever asks gets one
 * answer, later; only an effect that fails at once may answer from inside its call. Loop thread.
 */
#pragma once

#include "event/event.h"
#include "sync/kind/kind.h"
#include "sync/received_state.h"
#include "sync/trace.h"

typedef struct ab_asker ab_asker;

/* First member of everything that asks for an effect. */
struct ab_asker {
    /** The answer to get, apply, patch_status and remove. */
    void (*done)(ab_asker *asker, ab_err code, ab_object *object, const ab_error *err);
    /** The answer to save and load. */
    void (*row_done)(ab_asker *asker, ab_err code, const ab_received_state *row,
                     const ab_error *err);
};

/* What the object must be for a write to it; absent: whatever it is. */
typedef struct {
    ab_str uid;
    ab_str version; /* resourceVersion */
} ab_precondition;

/* Strings are borrowed during the call. */
typedef struct {
    /* Store; answered with the object as it is afterwards (NULL when it is gone), see
     * ab_effects_done. */
    void (*get)(void *arg, ab_str key, ab_asker *asker);
    /** The object's resourceVersion must be `version`; absent: it must not exist. */
    void (*apply)(void *arg, ab_object *object, ab_str version, ab_asker *asker);
    /** `stamp`: becomes annotation argobus.io/status-version; absent: left. */
    void (*patch_status)(void *arg, ab_str key, ab_str status, ab_str stamp,
                         const ab_precondition *must_be, ab_asker *asker);
    /** `foreground`: what the object owns is deleted before it. */
    void (*remove)(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                   ab_asker *asker);

    /* State database; answered by ab_effects_row_done. */
    /** Save durably; answered when it is safe. `received` and what it points to is valid during the
     * call. */
    void (*save)(void *arg, ab_str key, const ab_received_state *received, ab_asker *asker);
    /** NOTFOUND at once where there is no state database. */
    void (*load)(void *arg, ab_str key, ab_asker *asker);

    /* Transport; not answered. */
    /** The delivery is dealt with. */
    void (*ack)(void *arg, void *delivery);
    /** Something can be sent to this agent, or by it. */
    void (*wake)(void *arg, const char *agent);
    /** The delivery is not dealt with, and comes again with its agent. NULL where
     * ab_principal_return_held is never called. */
    void (*give_back)(void *arg, void *delivery);

    /* Of a principal only; not answered. */
    /** `count` deletions are held back for this agent, or by it; 0: none is any more. Called when
     * that changes. @param token  confirms these, and no more than these; "" when there is none */
    void (*held)(void *arg, const char *agent, size_t count, const char *token);
    /** The object of `key` (as in the events to this agent) is not in effect at it, although
     * nothing of it is on its way: the agent has deferred or refused it, or it cannot be sent. Or
     * that is over. May say the same again. NULL: nobody is told. */
    void (*deferred)(void *arg, const char *agent, ab_str key, bool deferred);
    /** What was seen of the store is not of the one that is there now: only a new start helps. The
     * machine ends nothing any more. */
    void (*fatal)(void *arg, const char *why);
    void *arg;
    const ab_trace *trace; /* borrowed; NULL: no traces */
} ab_effects;

/** The answer to an effect on the store. @param asker  an ab_asker. `object` is borrowed, and may
 * be NULL */
void ab_effects_done(void *asker, ab_err code, ab_object *object, const ab_error *err);
/** The answer to save and load. @param asker  an ab_asker. `row`: as it is in the state database,
 * borrowed; NULL unless `code` is OK */
void ab_effects_row_done(void *asker, ab_err code, const ab_received_state *row,
                         const ab_error *err);
