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
};

/** End the terminals whose time is over. */
void ab_resource_spoke_limit_terminals(ab_resource_spoke *spoke);
