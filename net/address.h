/* SPDX-License-Identifier: Apache-2.0
 *
 * "host:port" as it stands in an option. Any thread.
 */
#pragma once

#include "base/core/buf.h"

typedef struct {
    char host[256]; /* without the brackets of an IPv6 address; empty: none was given */
    int port;
} ab_address;

/**
 * Read "host:port", ":port", "[::1]:port", and "host" where there is a default port.
 *
 * @param option        its name, for the error
 * @param default_port  below 0: a port must be given
 * @return CONFIG with what is wrong
 */
AB_MUST_USE ab_err ab_address_parse(const char *option, const char *text, int default_port,
                                    ab_address *out, ab_error *err);
