/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain sockets of this process as clients of a server on its loop, which is turned while they
 * wait. What fails here fails the test.
 */
#pragma once

#include "base/core/buf.h"

#include <uv.h>

/** To a port of this machine. @return a socket that is connected, or is about to be: to block would
 *  stop the server too, once its queue is full */
int socket_dial(int port);
/** Turn the loop once and wait a little for the client. @param fd  -1: for none */
void socket_turn(uv_loop_t *loop, int fd, short events);
/** Send all of `text`; what the server no longer takes is left out. */
void socket_send(uv_loop_t *loop, int fd, ab_str text, int64_t patience_ms);
/** Milliseconds of the clock that does not jump. */
int64_t now_ms(void);
