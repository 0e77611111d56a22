/* SPDX-License-Identifier: Apache-2.0
 *
 * What a principal decides for managed agents. What users put into the hub's store goes down to the
 * agent whose name is the object's namespace, whenever it differs from what that agent's log says;
 * what agents report comes into the hub's store, newest only; what users ask for (sync, refresh,
 * terminate) becomes a command that is sent until it is answered.
 *
 * A machine without I/O, of the same shape as sync/agent.h. Loop thread.
 */
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "sync/application.h"
#include "sync/writer.h"

typedef struct ab_principal ab_principal;
typedef struct ab_principal_app ab_principal_app;

typedef struct {
    /* Store; answered with the object as it is afterwards, see ab_principal_done. */
    void (*get)(void *arg, ab_str key, ab_principal_app *app);
    /** The object's resourceVersion must be `version`. */
    void (*apply)(void *arg, ab_object *object, ab_str version, ab_principal_app *app);
    /** `stamp`: becomes annotation argobus.io/status-version; absent: left. */
    void (*patch_status)(void *arg, ab_str key, ab_str status, ab_str stamp, ab_principal_app *app);
    /** The delivery is dealt with. */
    void (*ack)(void *arg, void *delivery);
    /** Something can be sent to this agent. */
    void (*wake)(void *arg, const char *agent);
    void *arg;
} ab_principal_effects;

typedef struct {
    ab_principal_effects effects;
    const ab_clock *clock;
    ab_log *log;
    ab_metrics *metrics;
    const char *source; /* attribute source of our events; borrowed */
    const char *uid;    /* of this principal's installation (attribute principaluid); borrowed */
    int64_t set_aside_ms;
    /* Mass-deletion guard: at start, more deletions than this for one agent, and more than half of
     * what it has, are held back. */
    size_t deletions_max;
} ab_principal_env;

/** @param out  owned by the caller */
AB_MUST_USE ab_err ab_principal_new(const ab_principal_env *env, ab_principal **out);
/** NULL is allowed. No effect may be answered afterwards. */
void ab_principal_free(ab_principal *p);

/** Serve an agent. @return EXISTS, NOMEM */
AB_MUST_USE ab_err ab_principal_add_agent(ab_principal *p, const char *agent);

/* The hub's store. */
void ab_principal_seen(ab_principal *p, ab_object *object);
void ab_principal_gone(ab_principal *p, ab_object *object);
/** Every object that can be read was seen: events from agents can be dealt with. */
void ab_principal_listed(ab_principal *p);
/** No object is unreadable either (implies listed): what is not there was deleted. */
void ab_principal_synced(ab_principal *p);

/* The transport; all with the agent it is about. Unknown agents are ignored, their deliveries
 * acknowledged. */
void ab_principal_deliver(ab_principal *p, const char *agent, ab_event *event, void *delivery);
void ab_principal_written(ab_principal *p, const char *agent, const ab_event *head);
void ab_principal_ready(ab_principal *p, const char *agent, uint64_t epoch);
void ab_principal_log_lost(ab_principal *p, const char *agent);
/** An event can never be sent (too big, refused): show it on the object. */
void ab_principal_unsendable(ab_principal *p, const char *agent, const ab_event *event,
                             const ab_error *err);

/** The answer to an effect. `object` borrowed, may be NULL. */
void ab_principal_done(ab_principal_app *app, ab_err code, ab_object *object, const ab_error *err);
/** Time has passed: retries. Call about once a second. */
void ab_principal_tick(ab_principal *p);

/** The queue of what goes down to `agent`; NULL for an unknown one. */
ab_outbox *ab_principal_outbox(ab_principal *p, const char *agent);
