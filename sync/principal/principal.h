/* SPDX-License-Identifier: Apache-2.0
 *
 * What a principal decides. For managed agents: what users put into the hub's store goes down to
 * the agent it belongs to, whenever it differs from what that agent's log says; what agents report
 * comes into the hub's store, newest only; what users ask for (sync, refresh, terminate) becomes a
 * command that is sent until it is answered.
 *
 * An Application belongs to the agent that its namespace names (namespace mapping) or that its
 * spec.destination.name names (destination mapping). AppProjects, repository Secrets and the GPG
 * keys of the principal's namespace go to every agent they concern.
 *
 * What an autonomous agent publishes stands in the hub's store as a mirror: it follows its source
 * and nothing else, and what users change of it is undone. What they ask for becomes a command.
 *
 * A machine without I/O, of the same shape as sync/agent.h. Loop thread.
 */
#pragma once

#include "base/core/pattern.h"
#include "base/crypto/seal.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "schema/catalogue.h"
#include "sync/deletion/guard.h"
#include "sync/object/app_state.h"
#include "sync/object/application.h"
#include "sync/reconcile/effects.h"
#include "sync/writer.h"

typedef struct ab_principal ab_principal;
/* How the data of Secrets is kept from those who carry it; answered at once. */
typedef struct {
    bool off; /* Secrets are sent in clear */
    /** Secrets are sent in clear to this agent; NULL: to none. */
    bool (*in_clear)(void *arg, const char *agent);
    /** Id of the certificate that `agent` can open; NULL while it has none: its Secrets wait. */
    const char *(*recipient)(void *arg, const char *agent);
    /** As ab_seal, for the recipient of `agent`. */
    ab_err (*seal)(void *arg, const char *agent, const ab_seal_binding *binding, ab_str payload,
                   ab_buf *out, ab_error *err);
    void *arg;
} ab_principal_sealing;

typedef struct {
    ab_effects effects;
    ab_principal_sealing sealing;
    const ab_clock *clock;
    ab_log *log;
    ab_metrics *metrics;
    const char *source;    /* attribute source of our events; borrowed */
    const char *uid;       /* of this principal's installation (attribute principaluid); borrowed */
    const char *namespace; /* the principal's own; borrowed */
    /** Is Argo CD's cluster of `agent` scoped to this AppProject? Answered at once; NULL: none is.
     */
    bool (*is_scoped)(void *scopes, const char *agent, ab_str project);
    void *scopes;
    bool destination_mapping;
    /* Destination mapping: the namespaces beside its own whose Applications are served; NULL: none.
     * Borrowed. */
    const ab_patterns *namespaces;
    int64_t defer_after_ms;
    bool store_stays;      /* the store is never replaced while the principal runs */
    ab_guard_limits guard; /* for each agent */
    int64_t resync_ms; /* how often both ends compare what they hold; 0: only when there is cause */
    size_t resyncs_max; /* how many resyncs are under way at once */
    size_t mirrors_max; /* how many objects of one agent are mirrored; 0: any number */
} ab_principal_env;

/** @param out  owned by the caller */
AB_MUST_USE ab_err ab_principal_new(const ab_principal_env *env, ab_principal **out);
/** NULL is allowed. No effect may be answered afterwards. */
void ab_principal_free(ab_principal *p);

/** The transport does not tell what was sent in former runs: what a managed agent is to have is
 * compared with what it has before it is sent. Before anything else. */
void ab_principal_compare_first(ab_principal *p);

/** One row of the state database, at start, before anything else. A kind that is not mirrored is
 * passed over.
 * @return NOMEM */
AB_MUST_USE ab_err ab_principal_restore(ab_principal *p, ab_str key,
                                        const ab_received_state *received);

/** Serve an agent. What belongs to it is sent once its mode is known. @return EXISTS, NOMEM */
AB_MUST_USE ab_err ab_principal_add_agent(ab_principal *p, const char *agent);
/** How it works. Until this is known nothing is sent to it, and what it says waits. Another mode
 * than before is a hand-over, which deletes nothing: see docs/protocol.md. Unknown agents are
 * ignored. */
void ab_principal_set_mode(ab_principal *p, const char *agent, ab_mode_set mode);
/** How it works is not known any more. Unknown agents are ignored. */
void ab_principal_unset_mode(ab_principal *p, const char *agent);
/** Whether it is heard now: a resync is held with agents that are. Unknown agents are ignored. */
void ab_principal_presence(ab_principal *p, const char *agent, bool heard);
/** It has gone, and what was not acknowledged comes again with it: keep none of that here. Not for
 * a transport that delivers it again only after a restart. Unknown agents are ignored. */
void ab_principal_return_held(ab_principal *p, const char *agent);
/** Continuity of receiving from it is lost until ab_principal_caught_up; so it is at first. Unknown
 * agents are ignored; so below. */
void ab_principal_gap(ab_principal *p, const char *agent);
/** All that was there to be received has been delivered. */
void ab_principal_caught_up(ab_principal *p, const char *agent);
/** Is all that the agent is to have in its log, or queued for it? Not before the store is listed,
 * our log read, and its mode known; nor, where the transport does not tell what was sent in former
 * runs, before both ends are compared. */
bool ab_principal_is_all_queued(const ab_principal *p, const char *agent);
/** Both ends are to compare what they hold, as soon as there is room for one more. NULL: with every
 * agent. @param why  for the log; a literal. @return NOTFOUND */
AB_MUST_USE ab_err ab_principal_resync(ab_principal *p, const char *agent, const char *why);
/** The deletions that were told with this token are meant: make them, once, and compare again. An
 * autonomous agent, whose own guard it is, is told so with that. What else is held by then stays.
 * @return NOTFOUND when the token is not that of what is held back for this agent now, and from
 * when another object is missing until that is judged and told; UNSUPPORTED when the agent does not
 * tell which deletions it holds back, which nobody can confirm then */
AB_MUST_USE ab_err ab_principal_confirm(ab_principal *p, const char *agent, ab_str token);
/** How many deletions are held back for this agent, or by it; NULL: for all. */
size_t ab_principal_held(const ab_principal *p, const char *agent);
/** Serve it no more: its outbox is gone, its deliveries are acknowledged, its Applications wait for
 * it to come back. Nothing is deleted at the agent. Unknown agents are ignored. */
void ab_principal_remove_agent(ab_principal *p, const char *agent);

/* The hub's store. Objects that do not concern the principal are ignored. */
void ab_principal_on_updated(ab_principal *p, ab_object *object);
/** @param observed  the store observed its deletion (AB_STORE_DELETED); else a list made after a
 * gap does not have it (AB_STORE_ABSENT) */
void ab_principal_on_deleted(ab_principal *p, ab_object *object, bool observed);
/** The list is done: every readable object was reported, so that events from agents can be handled.
 */
void ab_principal_on_list_done(ab_principal *p);
/** The store is synced: no object is unreadable either (implies on_list_done), so an object that
 * was not reported was deleted. */
void ab_principal_on_synced(ab_principal *p);
/** The store's watch is interrupted: what was sent and no watermark covers proves no deletion any
 * more, since another store may be there when it is resumed (docs/decisions/0041). */
void ab_principal_on_interrupted(ab_principal *p);
/** It is another store than it was, restored from a backup: ends the principal (effect fatal),
 * since statuses, requests and deletions that are known are those of the former store. */
void ab_principal_on_replaced(ab_principal *p);
/** It is watched again, and all that it lost was reported. */
void ab_principal_on_resumed(ab_principal *p);

/* The transport; all with the agent it is about. Unknown agents are ignored, their deliveries
 * acknowledged. */
void ab_principal_deliver(ab_principal *p, const char *agent, ab_event *event, void *delivery);
void ab_principal_written(ab_principal *p, const char *agent, const ab_event *head);
void ab_principal_ready(ab_principal *p, const char *agent, uint64_t epoch);
void ab_principal_log_lost(ab_principal *p, const char *agent);
/** An event can never be sent (too big, refused): show it on the object. */
void ab_principal_unsendable(ab_principal *p, const char *agent, const ab_event *event,
                             const ab_error *err);

/** What `sealing` says of this agent has changed: look at the Secrets again. */
void ab_principal_recipient_changed(ab_principal *p, const char *agent);

/** What `is_scoped` says of this agent and AppProject has changed: look at the project
 * again, and at its Secrets. Unknown agents are ignored. */
void ab_principal_scope_changed(ab_principal *p, const char *agent, ab_str project);

/** Time has passed: retries. Call about once a second. */
void ab_principal_tick(ab_principal *p);

/** It is about to stop: write down what it would write down later. */
void ab_principal_flush(ab_principal *p);

/** The queue of what goes down to `agent`, until it is removed; NULL for an unknown one. */
ab_outbox *ab_principal_outbox(ab_principal *p, const char *agent);
/** Whose Application of the control plane this is; absent: no agent's. Borrowed until the next
 * change of it. */
ab_str ab_principal_agent_of(const ab_principal *p, ab_str namespace, ab_str name);

/* What an operator is shown of an agent; unknown agents have nothing. */

/** Why the object of `key` is not in effect at `agent`, although nothing of it is on its way: what
 * the agent reports, or why it cannot be sent. Goes through what the agent reports of shared
 * objects. Borrowed until the next change.
 * @param ours  set when there is a reason: the principal found it, the agent did not report it
 * @return absent: nothing is known */
ab_str ab_principal_why_deferred(const ab_principal *p, const char *agent, ab_str key, bool *ours);
/** @param why  for a held deletion the verdict of deletion.h; else NULL */
typedef void (*ab_principal_visitor)(void *arg, ab_str key, const char *why);
/** In which states the Applications of this agent are at the hub; mirrors count, too. */
void ab_principal_app_counts(const ab_principal *p, const char *agent, ab_app_counts *out);
/** How many Secrets wait for a certificate of this agent, as counted last: where thousands
 * of agents have none, some seconds ago. */
size_t ab_principal_secrets_waiting(const ab_principal *p, const char *agent);
/** Call `visit` for each of them. Goes through all shared objects. */
void ab_principal_each_secret_waiting(const ab_principal *p, const char *agent,
                                      ab_principal_visitor visit, void *arg);
/** Call `visit` for each object of the agent's log whose deletion is held back, then for the first
 * 100 of those that only the agent has, or that an autonomous agent holds back, under its own keys,
 * as of the last resync; all are counted by ab_principal_held. Goes through the log if any of it is
 * held. */
void ab_principal_each_held(const ab_principal *p, const char *agent, ab_principal_visitor visit,
                            void *arg);
