/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of each served agent beside its objects: whether it is connected, since when, how
 * it works, and why it is refused. It is kept to be shown; nothing is decided by it. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/core/map.h"
#include "transport/transport.h"

typedef struct ab_fleet ab_fleet;

#define AB_FLEET_VERSION 48

typedef struct {
    bool connected;
    int64_t since_us; /* wall clock: when it connected or disconnected last; 0: it was not heard
                         since the principal started */
    char version[AB_FLEET_VERSION]; /* of what it runs, cut if it is longer; "": not known */
    const char *mode;               /* that it is to work in; a literal; NULL: not known */
    const char *claimed;            /* that it says it works in; a literal; NULL: it has not said */
    char *refused; /* why nothing is sent to it or taken from it; NULL: it is not refused */
} ab_fleet_agent;

/** @param clock  borrowed. @return NULL when out of memory */
ab_fleet *ab_fleet_new(const ab_clock *clock);
/** NULL is allowed. */
void ab_fleet_free(ab_fleet *f);
/** This agent is served from now on. @return NOMEM */
AB_MUST_USE ab_err ab_fleet_add(ab_fleet *f, const char *agent);
/** It is served no more. Unknown agents are ignored; so below. */
void ab_fleet_remove(ab_fleet *f, const char *agent);
/** It has connected, or disconnected. @param peer  NULL when it went */
void ab_fleet_note_peer(ab_fleet *f, const char *agent, const ab_peer *peer);
/** How it works. @param refused  copied; NULL: it is not; without memory for the copy it is shown
 * as not refused */
void ab_fleet_note_mode(ab_fleet *f, const char *agent, const char *mode, const char *claimed,
                        const char *refused);

/** NULL: unknown. Borrowed until it is removed. */
const ab_fleet_agent *ab_fleet_find(const ab_fleet *f, ab_str agent);
/** All, in the order in which they were added; each value is an ab_fleet_agent. */
const ab_map *ab_fleet_agents(const ab_fleet *f);
/** Wall clock, microseconds: when the fleet began to be served. */
int64_t ab_fleet_started_us(const ab_fleet *f);
/** The agent whose name is the nearest to this one; absent: none is near. Borrowed. */
ab_str ab_fleet_nearest(const ab_fleet *f, ab_str name);
