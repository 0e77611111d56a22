/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers of peer.py, started for a test program and ended with it.
 */
#pragma once

#include "base/core/buf.h"

#define AB_PEER_PATH 128

/** Start them and wait until they answer. For cmocka's group setup and teardown. */
int ab_peer_start(void **state);
int ab_peer_stop(void **state);
/** Port of a server of peer.py, 0 when it does not run here. */
int ab_peer_port(const char *name);
/** A PEM file that peer.py made; borrowed until ab_peer_stop. */
ab_str ab_peer_pem(const char *name);
/** The path of such a file. @param path  room for AB_PEER_PATH bytes; @return path */
const char *ab_peer_path(const char *name, char *path);
