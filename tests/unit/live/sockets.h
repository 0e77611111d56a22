/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain sockets of this process, whose other end is on the loop of a `joined`. What fails here
 * fails the test.
 */
#pragma once

#include "tests/unit/live/joined.h"

/** Listen on a free port of 127.0.0.1. @return a descriptor, the caller's */
int sockets_listen(int *port);
/** The next connection that comes there. */
int sockets_accept(joined *j, int listener);
/** A new connection to 127.0.0.1, with small buffers: the kernel does not hold all that a test
 * sends. */
int sockets_dial(int port);
/** Send as much as is taken. @return bytes */
size_t sockets_offer(joined *j, int fd, ab_str bytes);
/** Send all of it. */
void sockets_send(joined *j, int fd, ab_str bytes);
/** Read until `text` has come, or to the end where it is NULL; fail without. What was read is in
 * `out`, which the caller has initialised. */
void sockets_read(joined *j, int fd, const char *text, ab_buf *out);
/** These bytes come next. */
void sockets_expect(joined *j, int fd, ab_str bytes);
/** Nothing comes next, but the end. */
void sockets_expect_end(joined *j, int fd);
/** Nothing has come, and the loop has turned for a while. */
void sockets_expect_silence(joined *j, int fd);
