/* SPDX-License-Identifier: Apache-2.0
 *
 * The manual page argobusctl(1), made of the tables of commands and flags.
 */
#pragma once

#include "services/ctl/args.h"

/** Append the page as roff. */
void ab_ctl_manual(ab_ctl_commands commands, ab_buf *out);
