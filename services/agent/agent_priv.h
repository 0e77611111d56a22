/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by agent.c and effects.c only.
 */
#pragma once

#include "services/agent/live.h"
#include "services/agent/secrets.h"
#include "services/outbox_meter.h"
#include "services/sender.h"
#include "services/service.h"
#include "sync/agent/agent.h"

/* The daemon's state. */
typedef struct {
    ab_service base;
    bool fresh;           /* agent.data was, or its first replay is not over */
    bool replays;         /* that is under way */
    char replaying[4096]; /* the file that says so */
    ab_patterns *namespaces;
    ab_agent_secrets secrets;
    ab_buf labels; /* as one text */
    ab_store_watch watches[5];
    ab_agent *machine;
    ab_sender sender;
    ab_outbox_meter outbox_meter;
    ab_agent_live *live;
    char source[80];
} service;
