/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts for a terminal. What agents, servers and certificates say must not move its cursor.
 */
#pragma once

#include "base/core/buf.h"

/** Is it U+0080 to U+009F, which terminals take for the start of a control sequence?
 * @param len  bytes from `at` on that may be looked at */
bool ab_ctl_is_c1_control(const char *at, size_t len);
/** Put a blank in place of each byte of control characters.
 * @param lines  the ends of lines stay */
void ab_ctl_make_plain(char *text, size_t len, bool lines);
