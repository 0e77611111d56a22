/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal in a container, as a web page has one: keys are typed one at a time, the next when the
 * last one has shown.
 */
#pragma once

#include "net/websocket/client.h"
#include "tests/bench/live/live_case.h"

#define AB_BENCH_LIVE_SHELL "shell" /* the pod */

typedef struct ab_bench_live_terminal {
    ab_websocket *socket;
    bool open;
    bool ended;
    int64_t typed_ns; /* the last key; 0: it has shown */
    /** A key has shown. */
    void (*on_echo)(struct ab_bench_live_terminal *t, double ms);
    void *arg;
} ab_bench_live_terminal;

/** The certificates of ab_bench_live_at; "" is an empty one. */
typedef struct {
    ab_buf ca, cert, key;
} ab_bench_live_pems;

/** @param out  ab_bench_live_pems_fini in any case
 *  @param http  gets them, borrowed
 *  @return false; said on stderr */
bool ab_bench_live_pems_read(const ab_bench_live_at *at, ab_bench_live_pems *out,
                             ab_http_options *http);
void ab_bench_live_pems_fini(ab_bench_live_pems *p);
/** Begin to open one. @param number  of the agent, where `at` has agents
 *  @return false; said on stderr */
bool ab_bench_live_terminal_open(ab_bench_live_terminal *t, uv_loop_t *loop,
                                 const ab_bench_live_at *at, unsigned number);
/** Type a key; nothing happens while one has not shown. */
void ab_bench_live_terminal_type(ab_bench_live_terminal *t);
/** Also one that has ended, or was never opened. */
void ab_bench_live_terminal_close(ab_bench_live_terminal *t);
/** live.key. @return false; said on stderr */
bool ab_bench_live_key(const ab_bench_live_case *c);
