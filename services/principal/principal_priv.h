/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by principal.c, effects.c and agents.c only.
 */
#pragma once

#include "base/core/map.h"
#include "services/control.h"
#include "services/principal/app_meter.h"
#include "services/principal/blocklist.h"
#include "services/principal/changes.h"
#include "services/principal/fleet.h"
#include "services/principal/holds.h"
#include "services/principal/identity.h"
#include "services/principal/live/live.h"
#include "services/principal/page/page.h"
#include "services/principal/persisted_agents.h"
#include "services/principal/recipients.h"
#include "services/principal/registration/registration.h"
#include "services/principal/registry.h"
#include "services/sender.h"
#include "services/service.h"
#include "sync/principal/principal.h"

typedef struct {
    ab_service base;
    ab_principal *machine;
    bool fresh; /* what was published before is not known */
    ab_identity *identity;
    ab_principal_live *live;
    ab_control *control; /* NULL: not listened to the operator */
    ab_page *page;       /* NULL: not served */
    char uid[37];
    ab_map *senders;       /* agent -> ab_sender */
    ab_link unsent;        /* senders that have something to send */
    ab_map *claimed_modes; /* agent -> the ab_mode_set that it says it has */
    ab_registry *registry;
    ab_registration *registration; /* NULL: agents cannot register themselves */
    ab_holds *holds;
    ab_blocklist blocklist;
    ab_changes *changes;
    ab_app_meter app_meter;
    ab_fleet *fleet;
    ab_recipients *recipients;
    ab_persisted_agents persisted; /* without principal.data: zeroed */
    bool synced;                   /* all objects were seen, and none is unreadable */
    bool cleaned_up;               /* what was served before and is not any more, is dealt with */
    ab_patterns *namespaces;
    bool sealed;        /* secrets.protection */
    bool agent_secrets; /* cluster Secrets name agents */
    ab_store_watch watches[8];
} service;

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
/** Those that were served by a former process and are not named any more were taken away while none
 * ran: what is kept for them is removed. Once per process, when the registry is known to be
 * complete and we know who we are. */
void ab_principal_agents_clean_up(service *s);
/** An agent says what it is. */
void ab_principal_agents_note(service *s, const char *agent, const ab_peer *peer);
/** May this agent work in the mode that it claims? As ab_transport_events.admits. */
bool ab_principal_agents_admit(void *arg, const char *agent, const char *claimed, ab_str labels,
                               ab_error *why);
/** Let agents register themselves, where the configuration says so. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_principal_agents_register(service *s, ab_error *err);
/** Does the configuration say that its Secrets may travel in clear? `arg` is the service. */
bool ab_principal_agents_in_clear(void *arg, const char *agent);

/* live_agents.c */
/** Whose key of redis is it? The argument is the service. */
ab_redis_agents ab_principal_live_agents(service *s);

/* operator.c */
/** Listen to the operator, where the configuration says so. @return UNAVAILABLE, NOMEM */
AB_MUST_USE ab_err ab_principal_listen(service *s, ab_error *err);

/* fleet_page.c */
/** Serve the fleet page, where the configuration says so. @return CONFIG, UNAVAILABLE, NOMEM */
AB_MUST_USE ab_err ab_principal_show(service *s, ab_error *err);
