/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end of live access to its Kubernetes API: each stream is one request, which is read
 * (map), judged (policy, managed), done at the API server (api), and answered as that answers.
 * Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "live/resource/api.h"
#include "live/resource/service.h"
#include "live/resource/spoke/policy.h"

#include <uv.h>

typedef struct ab_resource_spoke ab_resource_spoke;

typedef struct {
    uv_loop_t *loop;
    const ab_clock *clock;
    ab_resource_api api;       /* `ops` NULL: there is none, requests are refused with 503 */
    ab_resource_policy policy; /* moved */
    int64_t terminal_idle_ms;  /* a terminal in which nothing moves ends after this */
    int64_t terminal_limit_ms; /* and any terminal after this */
    ab_log *log;
    ab_metrics *metrics; /* argobus_live_served_total{code} */
} ab_resource_spoke_env;

/** @return NULL when out of memory; `env->policy` is the caller's then */
ab_resource_spoke *ab_resource_spoke_new(const ab_resource_spoke_env *env);
/** After every stream is over. NULL is allowed. */
void ab_resource_spoke_free(ab_resource_spoke *spoke);
/** Serve a stream of AB_RESOURCE_SERVICE; as ab_live_service.serve. @param arg  the spoke */
void ab_resource_spoke_serve(void *arg, ab_live_stream *s, const ab_live_request *from);
/** Serve a stream of AB_RESOURCE_EXEC_SERVICE: a terminal. Its messages are those of messages.h,
 * the field sec-websocket-protocol names the protocols to offer, and in the answer the one that the
 * server chose. @param arg  the spoke */
void ab_resource_spoke_serve_terminal(void *arg, ab_live_stream *s, const ab_live_request *from);
