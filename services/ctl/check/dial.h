/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to a peer of the program, opened by the caller's thread. Each step waits a bounded
 * time.
 */
#pragma once

#include "net/tls/tls.h"
#include "services/ctl/check/setup.h"

#include <netdb.h>

#define AB_DIAL_STEP_MS 5000

/** @param out  owned by the caller: freeaddrinfo. @return 0, or what gai_strerror explains */
int ab_dial_resolve(const char *host, int port, struct addrinfo **out);
/**
 * Connect to the first of these that can be reached.
 * @param failed  why not the last one, as errno
 * @return a socket that does not block, owned by the caller; -1: none can be reached
 */
int ab_dial_tcp(const struct addrinfo *list, int *failed);
/** What the program would use, with the files of its configuration.
 * @return as ab_tls_context_init; `context` is to be given to fini in any case */
AB_MUST_USE ab_err ab_dial_tls_init(ab_tls_context *context, const ab_setup *s, const char *host,
                                    ab_error *err);
/** Wait for what OpenSSL waits for. @param rc  what it returned @return false: it failed, or in
 * vain */
bool ab_dial_wait(SSL *ssl, int fd, int rc);
/** @return false: ab_tls_context_explain says why */
bool ab_dial_handshake(SSL *ssl, int fd);
