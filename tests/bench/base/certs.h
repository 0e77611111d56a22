/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates (ECDSA P-256) for a principal on localhost and any number of agents, in a folder:
 *
 *   ca.crt, server.crt, server.key
 *   agent.key, which all agents share, and w0.crt, w1.crt, ... with CN=w0 and so on
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

typedef struct {
    char folder[PATH_MAX];
    unsigned agents;
} ab_bench_certs;

/** Make them in a new folder. @return false when it failed; said on stderr. Close it in any case */
bool ab_bench_certs_open(ab_bench_certs *c, unsigned agents);
/** Remove the folder. */
void ab_bench_certs_close(const ab_bench_certs *c);
