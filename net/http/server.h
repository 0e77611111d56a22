/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of /healthz, /readyz and /metrics: plain HTTP on the process's loop.
 */
#pragma once

#include "base/observe/log.h"
#include "base/observe/metrics.h"

#include <uv.h>

typedef struct ab_http_server ab_http_server;

/* Answers of the probes. Write one line of reason to `why` when the answer is false; what is
 * written when it is true is shown below the "ok". Loop thread. */
typedef struct {
    bool (*healthy)(void *arg, ab_buf *why);
    bool (*ready)(void *arg, ab_buf *why);
    void *arg;
} ab_http_probes;

/**
 * Listen and serve GET /healthz and /readyz (200 "ok" and remarks, or 503 and the reason) and GET
 * /metrics (of 17 under way the oldest is cut); 404 for other paths, 405 for other methods.
 * Each answer ends its connection.
 *
 * @param host     address to bind, e.g. "127.0.0.1"; "" = all
 * @param port     0 = pick one (see ab_http_server_port)
 * @param metrics  borrowed; must outlive the server
 * @return UNAVAILABLE with host, port and reason when it cannot be bound; NOMEM
 */
AB_MUST_USE ab_err ab_http_server_start(uv_loop_t *loop, const char *host, int port,
                                        const ab_http_probes *probes, ab_metrics *metrics,
                                        ab_log *log, ab_http_server **out, ab_error *err);
/** The port that is listened on. */
int ab_http_server_port(const ab_http_server *s);
/** Stop listening, drop connections, free. The loop must be run afterwards for handles to close.
 * NULL allowed. */
void ab_http_server_free(ab_http_server *s);
