/* SPDX-License-Identifier: Apache-2.0
 *
 * A Unix socket on which the operator speaks to a daemon: one request a connection, one line of
 * JSON each way. Only the daemon's own user and root are listened to.
 */
#pragma once

#include "base/observe/log.h"

#include <uv.h>

typedef struct ab_control ab_control;

/* Longest request, its line's end included. */
#define AB_CONTROL_REQUEST_MAX 4096
/* Longest answer: the state of tens of thousands of agents. A longer one ends the connection
 * without an answer. */
#define AB_CONTROL_ANSWER_MAX (32u * 1024 * 1024)

/** Carry out a request (one line, without its end) and write one line of answer. Loop thread. */
typedef void (*ab_control_handler)(void *arg, ab_str request, ab_buf *answer);

/* Values of option control.socket that are not paths. */
#define AB_CONTROL_AUTO "auto"
#define AB_CONTROL_NONE "none"

/**
 * Listen where option control.socket says. "auto": at the first place of control_path.h where that
 * can be done; where it can be done nowhere, or another process listens there, that is logged. A
 * socket that a former process left is replaced.
 *
 * @param program  name of the daemon
 * @param out      NULL when nothing is listened to
 * @return EXISTS when another process listens at the path that is set; UNAVAILABLE with path and
 *         reason; NOMEM
 */
AB_MUST_USE ab_err ab_control_open(uv_loop_t *loop, const char *option, const char *program,
                                   ab_control_handler handler, void *arg, ab_log *log,
                                   ab_control **out, ab_error *err);
/** Stop listening and drop connections; the loop must be run afterwards for handles to close. NULL
 * is allowed. */
void ab_control_free(ab_control *c);
