/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by principal.c, events.c, effects.c, agents.c and live_agents.c only.
 */
#pragma once

#include "services/principal/state.h"

/* events.c: what the store and the transport say; the argument is the service */
ab_store_events ab_principal_events_of_store(service *s);
ab_transport_events ab_principal_events_of_transport(service *s);

/* effects.c: what the machine asks for */
ab_effects ab_principal_service_effects(service *s);
/** Something may be sent to this agent. */
void ab_principal_service_wake(service *s, const char *agent);

/* agents.c: who is served */
/** Serve the agents that the configuration lists; more may come from the store. */
AB_MUST_USE ab_err ab_principal_agents_new(service *s, ab_error *err);
void ab_principal_agents_free(service *s);
/** The configuration was read again. */
void ab_principal_agents_reload(service *s);
/** Look whether certificates have changed. */
void ab_principal_agents_reload_certificates(service *s);
/** The blocklist has changed: seal to none of those that it names. */
void ab_principal_agents_block_certificates(service *s);
/** Those that were served by a former process and are not named any more were taken away while none
 * ran: what is kept for them is removed. Once per process, when the registry is known to be
 * complete and we know who we are. */
void ab_principal_agents_clean_up(service *s);
/** Nothing is left of this agent, which was removed. */
void ab_principal_agents_cleaned_up(service *s, const char *agent);
/** An agent says what it is. */
void ab_principal_agents_note(service *s, const char *agent, const ab_peer *peer);
/** May this agent work in the mode that it claims? As ab_transport_events.admits. */
bool ab_principal_agents_admit(void *arg, const char *agent, const char *claimed, ab_str labels,
                               ab_error *why);
/** May a line go into the log that this agent has caused by what it is or how it connects? It is
 * served. @return the quota, whose `held_back` the line tells; NULL: it may not */
const ab_log_quota *ab_principal_agents_may_log(const service *s, const char *agent);
/** Let agents register themselves, where the configuration says so. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_principal_agents_register(service *s, ab_error *err);
/** Does the configuration say that its Secrets may travel in clear? `arg` is the service. */
bool ab_principal_agents_in_clear(void *arg, const char *agent);

/* live_agents.c */
/** Whose key of redis is it? The argument is the service. */
ab_redis_agents ab_principal_live_agents(service *s);
