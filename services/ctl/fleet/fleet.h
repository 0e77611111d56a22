/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that ask a running principal about its agents.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_agent_list;
extern const ab_ctl_command ab_ctl_agent_inspect;
extern const ab_ctl_command ab_ctl_lag;
extern const ab_ctl_command ab_ctl_pending;
extern const ab_ctl_command ab_ctl_deletions;
extern const ab_ctl_command ab_ctl_resync;
