/* SPDX-License-Identifier: Apache-2.0
 *
 * The key of a WebSocket's upgrade and what a server makes of it (RFC 6455, section 4). Any thread.
 */
#pragma once

#include "base/core/buf.h"

#define AB_WEBSOCKET_KEY    25 /* in base64, with the NUL */
#define AB_WEBSOCKET_ACCEPT 29

/** A new key. @return false: the random number generator failed */
bool ab_websocket_key_make(char key[AB_WEBSOCKET_KEY]);
/** 16 bytes in base64. */
bool ab_websocket_key_is_good(ab_str key);
/** What Sec-WebSocket-Accept answers to it. @return false: out of memory */
bool ab_websocket_key_accept(ab_str key, char accept[AB_WEBSOCKET_ACCEPT]);
