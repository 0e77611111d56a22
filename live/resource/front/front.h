/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end of live access to Kubernetes APIs: an HTTPS server that stands for the API
 * server of each agent. Who asks is known by a token or a certificate (identity), which agent is
 * meant by that or by the path prefix /agents/NAME, and the request becomes a stream to the agent,
 * whose answer is passed on as it comes. What argobus refuses itself is a Kubernetes Status: 400,
 * 401, 403, 429, 502 (the agent broke it off), 503 (the agent is away), 504 (no answer in time).
 *
 * Every request leaves one line in the log. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/crypto/revoked.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "live/lane/hub.h"
#include "net/tls/tls.h"

/* How long a request may take with its answer; watches, followed logs and terminals have no end. */
#define AB_RESOURCE_DEADLINE_MS 30000

typedef struct ab_resource_front ab_resource_front;

/* All borrowed, must outlive it, but for the texts, which are copied. */
typedef struct {
    uv_loop_t *loop;
    const char *host;
    int port; /* 0: any free one */
    const ab_tls *tls;
    const char *tokens;     /* file; NULL: none */
    const char *token_key;  /* file of an ab_agent_key; NULL: none */
    ab_revoked_ask revoked; /* certificates of clients */
    const ab_clock *clock;
    ab_live_hub *hub;
    ab_log *log;
    ab_metrics *metrics; /* argobus_live_*{kind} */
} ab_resource_front_env;

/** @return UNAVAILABLE: the port cannot be bound; CONFIG: certificates or tokens; NOMEM */
AB_MUST_USE ab_err ab_resource_front_start(const ab_resource_front_env *env,
                                           ab_resource_front **out, ab_error *err);
/**
 * Before the hub is stopped: requests are refused from now on. Watches, followed logs and terminals
 * end in order when their streams do, and each answer ends its connection. NULL is allowed.
 */
void ab_resource_front_stop(ab_resource_front *front);
/** Every client has what it is to be told. NULL is allowed. */
bool ab_resource_front_is_drained(const ab_resource_front *front);
/** End every request, before the hub is freed. The loop must be run afterwards. NULL is allowed. */
void ab_resource_front_free(ab_resource_front *front);
