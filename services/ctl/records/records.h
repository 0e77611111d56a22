/* SPDX-License-Identifier: Apache-2.0
 *
 * "records": what an agent's topics hold.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_records;
