/* SPDX-License-Identifier: Apache-2.0
 *
 * All commands of argobusctl in one table, apart from main.c, so that a test can look at each.
 */
#pragma once

#include "services/ctl/args.h"

/* In the order in which help and manual name them. */
extern const ab_ctl_commands ab_ctl_all_commands;
