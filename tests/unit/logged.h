/* SPDX-License-Identifier: Apache-2.0
 *
 * A log that a test reads. What fails here fails the test.
 */
#pragma once

#include "base/observe/log.h"

#include <stdio.h>

/** @param out  the caller's: ab_log_free. @return where its lines go, to be closed by fclose */
FILE *logged_open(const ab_clock *clock, ab_log **out);
/** How often the log has this text. */
size_t logged_count(FILE *file, const char *text);
