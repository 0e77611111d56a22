/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that prepare a new agent, and what takes one away again. They print and write files;
 * nothing is changed in a cluster or a broker, which kubectl does, or Helm.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_agent_create;
extern const ab_ctl_command ab_ctl_agent_delete;
