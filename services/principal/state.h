/* SPDX-License-Identifier: Apache-2.0
 *
 * All that a principal consists of. For this folder, and for fleet/, which shows it.
 */
#pragma once

#include "base/core/map.h"
#include "services/control.h"
#include "services/principal/app_meter.h"
#include "services/principal/blocklist.h"
#include "services/principal/changes.h"
#include "services/principal/fleet/fleet.h"
#include "services/principal/holds.h"
#include "services/principal/identity.h"
#include "services/principal/live/live.h"
#include "services/principal/page/page.h"
#include "services/principal/persisted_agents.h"
#include "services/principal/presence_log.h"
#include "services/principal/recipients.h"
#include "services/principal/registration/registration.h"
#include "services/principal/registry.h"
#include "services/principal/revocations.h"
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
    ab_map *lines;         /* agent -> the ab_log_quota of those that it causes */
    ab_presence_log *presence_log;
    ab_registry *registry;
    ab_registration *registration; /* NULL: agents cannot register themselves */
    ab_holds *holds;
    ab_blocklist blocklist;
    ab_revocations revocations; /* of clients' certificates */
    ab_changes *changes;
    ab_app_meter app_meter;
    ab_fleet *fleet;
    ab_recipients *recipients;
    ab_persisted_agents persisted; /* without principal.data: zeroed */
    bool synced;                   /* all objects were seen, and none is unreadable */
    bool cleaned_up;               /* what was served before and is not any more, is dealt with */
    ab_patterns *namespaces;
    bool agent_secrets; /* cluster Secrets name agents */
    ab_store_watch watches[8];
} service;
