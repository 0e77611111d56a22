/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end, for requests (spoke.c) and terminals (terminal.c).
 */
#pragma once

#include "live/resource/spoke/spoke.h"

#include <sys/queue.h>

struct ab_resource_spoke {
    ab_resource_spoke_env env;
    LIST_HEAD(, ab_resource_terminal) terminals;
    uv_timer_t *watch; /* of their limits; frees itself */
    size_t held;       /* by all requests: bodies, and answers that are to be masked */
    size_t held_max;
};

/** The most that all requests hold, when a spoke starts. */
#define AB_RESOURCE_SPOKE_HELD_MAX (64u * 1024 * 1024)

/** End the terminals whose time is over. */
void ab_resource_spoke_limit_terminals(ab_resource_spoke *spoke);
