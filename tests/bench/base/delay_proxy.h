/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that stands before a server and holds back every answer: what the server sends is
 * passed on later by always the same time, however much is under way. TLS and HTTP pass through as
 * they are.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct {
    uint16_t target; /* port of the server on 127.0.0.1 */
    int delay_ms;
    int listener; /* set by the start */
} ab_bench_delay_proxy;

/**
 * Start it; it ends with this process. Begin before there are connections that it would inherit.
 *
 * @param port  where it listens on 127.0.0.1
 * @return its process, -1 when it failed
 */
pid_t ab_bench_delay_proxy_start(ab_bench_delay_proxy *p, uint16_t *port);
