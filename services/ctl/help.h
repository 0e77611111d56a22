/* SPDX-License-Identifier: Apache-2.0
 *
 * What argobusctl --help shows, made of the tables of commands and flags.
 */
#pragma once

#include "services/ctl/args.h"

/** Append the help of one command, or the list of all. @param command  NULL: of all */
void ab_ctl_help(ab_ctl_commands commands, const ab_ctl_command *command, ab_buf *out);
