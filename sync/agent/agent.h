/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent decides. Managed: for each object it holds what the principal last asked for (kept
 * durably by its owner), and what the local store has, and brings the second to the first:
 * create, update, revert, delete. Status goes up whenever it differs from what the log has.
 * Autonomous: its Applications and AppProjects go up, whole, whenever they differ from what the log
 * has; of the principal it takes nothing but commands. Commands run in order with the state they
 * follow, at most once each.
 *
 * A machine without I/O: facts come in by calls, effects go out (sync/reconcile/effects.h). Loop
 * thread.
 */
#pragma once

#include "base/core/pattern.h"
#include "base/crypto/seal.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "sync/deletion/guard.h"
#include "sync/object/application.h"
#include "sync/reconcile/effects.h"
#include "sync/writer.h"

typedef struct ab_agent ab_agent;

/* What becomes of an Application that was deleted here by somebody else, when it is made again. */
typedef enum {
    AB_RECREATE_IGNORE,       /* it gets its last status again, as far as that was seen */
    AB_RECREATE_CLEAR_STATUS, /* it has none, so that auto-sync tries again */
    AB_RECREATE_RESYNC        /* it has none, and a sync is asked for */
} ab_recreate_policy;

typedef struct {
    const char *namespace; /* Argo CD's own here; borrowed */
    bool by_destination;   /* destination mapping: Applications keep the namespace they have at the
                              hub; else they all are in `namespace` */
    const ab_patterns *namespaces; /* where else Applications may be; NULL: nowhere; borrowed */
    bool adopt;                    /* adoption policy is "always" */
    bool upsert;                   /* source-uid mismatch policy is "upsert", else "recreate" */
    ab_recreate_policy recreate;
    /* The agent owns its objects: they are published, and nothing of the principal is followed. */
    bool autonomous;
    ab_guard_limits guard;  /* of an autonomous agent: what it may end at the hub */
    int64_t defer_after_ms; /* after so long of failing, an object no longer holds its delivery */
    const char *name;       /* of this agent, which seals are bound to; borrowed */
    bool sealed_only;       /* what is of a sealed kind and comes unsealed is refused */
    /** Open a sealed payload, see ab_seal_open; NULL: there is no key. */
    ab_err (*open)(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                   ab_error *err);
    void *open_arg;
} ab_agent_policy;

typedef struct {
    ab_agent_policy policy;
    ab_effects effects;
    const ab_clock *clock;
    ab_log *log;
    ab_metrics *metrics;
    const char *source; /* attribute source of our events; borrowed */
} ab_agent_env;

/** @param out  owned by the caller */
AB_MUST_USE ab_err ab_agent_new(const ab_agent_env *env, ab_agent **out);
/** NULL is allowed. No effect may be answered afterwards. */
void ab_agent_free(ab_agent *a);

/** One row of the state database, at start, before anything else; of no use to an autonomous agent.
 * A kind that is not synchronised is passed over.
 * @return NOMEM */
AB_MUST_USE ab_err ab_agent_restore(ab_agent *a, ab_str key, const ab_received_state *received);

/* The local store's changes. */
void ab_agent_on_updated(ab_agent *a, ab_object *object);
/** @param observed  the store observed its deletion (AB_STORE_DELETED); else a list made after a
 * gap does not have it (AB_STORE_ABSENT) */
void ab_agent_on_deleted(ab_agent *a, ab_object *object, bool observed);
/** The list is done: every readable object was reported, so that missing objects can be created.
 * Called again when more can be read, to retry what was refused. */
void ab_agent_on_list_done(ab_agent *a);
/** The store is synced: no object is unreadable either (implies on_list_done), so an object that
 * was not reported was deleted. */
void ab_agent_on_synced(ab_agent *a);

/* The transport. */
/** One event from the principal; `delivery` comes back by effects.ack, exactly once. */
void ab_agent_deliver(ab_agent *a, ab_event *event, void *delivery);
/** What our own log says (on_written), and that it is complete (on_ready). */
void ab_agent_written(ab_agent *a, const ab_event *head);
void ab_agent_ready(ab_agent *a, uint64_t epoch);
/** An event of ours can never be sent (too big, refused): say so in an event that is small. */
void ab_agent_unsendable(ab_agent *a, const ab_event *event, const ab_error *err);
/** Our log was replaced (AB_GAP_RECREATED). */
void ab_agent_log_lost(ab_agent *a);
/** Continuity of receiving was lost: until ab_agent_caught_up, what comes may be long over, and
 * both ends are to compare what they hold. */
void ab_agent_gap(ab_agent *a);

/** What it remembered is lost, and the principal's log is read from its beginning: no object that
 * the store has is written to until ab_agent_caught_up and all that came before is saved, for it
 * may be long over. Nothing counts as dealt with before all of it is in effect, or deferred. Before
 * all else. */
void ab_agent_replay(ab_agent *a);
/** Is that not over yet? */
bool ab_agent_is_replaying(const ab_agent *a);
/** All that the log had at the start, or at the last gap, was received. */
void ab_agent_caught_up(ab_agent *a);
/** End it if all of that is saved; so do ab_agent_caught_up and ab_agent_tick. Before an event that
 * comes later, so that it counts until it is in effect. */
void ab_agent_end_replay(ab_agent *a);

/** True: nothing is written to the store until it is false again, for another process of our name
 * is at work on it. */
void ab_agent_pause(ab_agent *a, bool paused);

/** Time has passed: retries. Call about once a second. */
void ab_agent_tick(ab_agent *a);

/** The queue of what goes up. */
ab_outbox *ab_agent_outbox(ab_agent *a);
