/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that ask a running principal about its agents.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_resync;
