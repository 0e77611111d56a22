/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of a WebSocket in a stream of bytes: each as 4 bytes of its length (big endian) and
 * its bytes, both ways. A terminal's channel is the first byte of a message, which nobody between
 * its two ends looks at. Loop thread.
 */
#pragma once

#include "base/core/buf.h"

/* Bytes of one message. */
#define AB_RESOURCE_MESSAGE_MAX  (1024u * 1024)
#define AB_RESOURCE_MESSAGE_HEAD 4

/* Bytes that came, of which some have been taken. */
typedef struct {
    ab_buf bytes;
    size_t taken;
} ab_resource_messages;

void ab_resource_messages_init(ab_resource_messages *m);
/** Wipe and release. */
void ab_resource_messages_fini(ab_resource_messages *m);
/** The next bytes of the stream. @return TOOBIG: more than may wait; NOMEM */
AB_MUST_USE ab_err ab_resource_messages_feed(ab_resource_messages *m, ab_str bytes);
/**
 * The next message that is whole.
 *
 * @param out  absent when there is none; borrowed until the next call
 * @return TOOBIG: its length is more than AB_RESOURCE_MESSAGE_MAX
 */
AB_MUST_USE ab_err ab_resource_messages_next(const ab_resource_messages *m, ab_str *out);
/** The message of ab_resource_messages_next was passed on. */
void ab_resource_messages_drop(ab_resource_messages *m, ab_str message);
/** Append a message to what is to be sent. */
void ab_resource_messages_put(ab_buf *out, ab_str message);
