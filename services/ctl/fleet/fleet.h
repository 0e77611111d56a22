/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that ask a running principal about its agents.
 */
#pragma once

#include "services/ctl/command.h"

/** The names of the agents that the principal serves, a line each, for completion; what goes wrong
 * is said on standard error. @param socket  as in ab_ctl, but NULL means $ARGOBUS_CONTROL_SOCKET,
 * too */
void ab_ctl_put_agent_names(const char *socket, ab_buf *out);

extern const ab_ctl_command ab_ctl_agent_list;
extern const ab_ctl_command ab_ctl_agent_inspect;
extern const ab_ctl_command ab_ctl_lag;
extern const ab_ctl_command ab_ctl_pending;
extern const ab_ctl_command ab_ctl_deletions;
extern const ab_ctl_command ab_ctl_resync;
