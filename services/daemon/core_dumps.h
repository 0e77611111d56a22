/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a crash may write this process's memory, with its keys and opened Secrets, to a disk
 * (docs/decisions/0059).
 */
#pragma once

#include <stdbool.h>

/** For this process; programs that it starts are not affected. */
void ab_core_dumps_allow(bool allow);
