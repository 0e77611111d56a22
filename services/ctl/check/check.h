/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that look at a set-up before a program runs, or while one does: with the program's
 * own configuration, and as whoever that says.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_check;
extern const ab_ctl_command ab_ctl_connect;
