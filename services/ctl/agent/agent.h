/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that prepare a new agent, and what takes one away again. They print and write files;
 * clusters are changed by kubectl and Helm. At the brokers they change topics and ACLs, if a flag
 * says so.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_agent_create;
extern const ab_ctl_command ab_ctl_agent_delete;
