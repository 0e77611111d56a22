/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents are served, and why: those that the configuration lists, and those that Argo CD's
 * cluster Secrets name by label. An agent is served as long as one of them names it. A cluster
 * Secret may also say, by annotation, how its agent works, and to which project the cluster
 * belongs.
 */
#pragma once

#include "base/config/config.h"
#include "base/json/object.h"
#include "base/observe/log.h"

typedef struct ab_registry ab_registry;

typedef struct {
    /** Called from inside the calls below. `agent` is borrowed until `removed` has returned. */
    void (*added)(void *arg, const char *agent);
    void (*removed)(void *arg, const char *agent);
    /** What ab_registry_mode says of this agent is another than before. */
    void (*changed)(void *arg, const char *agent);
    /** What ab_registry_is_scoped says of this agent and project is another than before. */
    void (*scope_changed)(void *arg, const char *agent, ab_str project);
    void *arg;
} ab_registry_events;

/** @return NULL when out of memory */
ab_registry *ab_registry_new(ab_registry_events events, ab_log *log);
/** Without `removed`; NULL is allowed. */
void ab_registry_free(ab_registry *r);

/** These, of option `agents`, are the ones that the configuration lists. @return NOMEM */
AB_MUST_USE ab_err ab_registry_list(ab_registry *r, const ab_config *config);
/** What option `agents` says of this agent.
 *  @param config  that ab_registry_list was called with last
 *  @return NULL: nothing */
const char *ab_registry_listed(const ab_registry *r, const ab_config *config, const char *agent,
                               const char *field);
/** Does option `agents` list this agent, or did it before it was read last? */
bool ab_registry_is_configured(const ab_registry *r, const char *agent);
/** The agent that an Argo CD cluster Secret names; absent: it names none, or it registers one that
 * waits for approval. */
ab_str ab_registry_agent_of(const ab_object *secret);
/** A Secret of the store, whatever it is for. */
void ab_registry_on_updated(ab_registry *r, const ab_object *secret);
void ab_registry_on_deleted(ab_registry *r, const ab_object *secret);
/** "managed" or "autonomous", as annotation argobus.io/mode of its cluster Secrets says.
 *  @return NULL: they do not say, they contradict each other, or there are none */
const char *ab_registry_mode(const ab_registry *r, const char *agent);
/** Does a cluster Secret of this agent make the cluster one of this AppProject's own? */
bool ab_registry_is_scoped(const ab_registry *r, const char *agent, ab_str project);
