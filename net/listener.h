/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening TCP socket.
 */
#pragma once

#include "base/core/error.h"

/**
 * Bind and listen, without blocking and closed on exec.
 *
 * @param host        name or address; "" = all, IPv6 and IPv4
 * @param port        0 = any free one
 * @param fd          owned by the caller
 * @param bound_port  the port taken
 * @return UNAVAILABLE with host, port and reason
 */
AB_MUST_USE ab_err ab_listener_open(const char *host, int port, int *fd, int *bound_port,
                                    ab_error *err);
