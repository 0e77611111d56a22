/* SPDX-License-Identifier: Apache-2.0
 *
 * What Argo CD says of an Application in one word each: whether it is in sync, and how its objects
 * are. Pure; any thread.
 */
#pragma once

#include "base/json/object.h"

typedef enum { AB_APP_SYNC_UNKNOWN, AB_APP_SYNCED, AB_APP_OUT_OF_SYNC, AB_APP_SYNCS } ab_app_sync;
typedef enum {
    AB_APP_HEALTH_UNKNOWN,
    AB_APP_HEALTHY,
    AB_APP_PROGRESSING,
    AB_APP_DEGRADED,
    AB_APP_SUSPENDED,
    AB_APP_MISSING,
    AB_APP_HEALTHS
} ab_app_health;

/* How many Applications are in which state. */
typedef struct {
    size_t all;
    size_t sync[AB_APP_SYNCS];
    size_t health[AB_APP_HEALTHS];
} ab_app_counts;

/* The state that one of them is counted with. */
typedef struct {
    unsigned char is_counted; /* the others mean nothing unless it is */
    unsigned char sync;       /* an ab_app_sync */
    unsigned char health;     /* an ab_app_health */
} ab_app_state;

/** As Argo CD writes it: "OutOfSync". A literal. */
const char *ab_app_sync_name(ab_app_sync sync);
/** The same: "Degraded". */
const char *ab_app_health_name(ab_app_health health);
/** Count an Application with its state now, instead of the one before.
 * @param state  kept by the caller with the Application; zero-initialised
 * @param app    NULL: it is not counted any more. Without a status, or with one of another word, it
 * is Unknown */
void ab_app_counts_set(ab_app_counts *counts, ab_app_state *state, const ab_object *app);
