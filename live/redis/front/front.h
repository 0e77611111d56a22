/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end of the redis proxy. argocd-server takes it for the control plane's redis:
 * every command goes there as it came, and so do passwords and ACL users, who need no configuration
 * here. Only a GET of an agent's key (live/redis/route.h) is answered by the agent, and what is
 * published on an agent's channel is delivered to its subscribers.
 *
 * Also these go to the control plane's redis first, and its answer says whether the client may read
 * the key or channel, and in which place of the pipeline it belongs; so the two sides never differ
 * about who is let in. The alternative, following AUTH, HELLO, RESET and ACLs here, would be a
 * second access control that has to agree with that of redis.
 *
 * So a reply must never be taken for that to another command: a user could be shown what redis has
 * refused. Refused are commands after which replies cannot be told apart: MONITOR, SYNC, PSYNC,
 * REPLCONF, CLIENT REPLY, SCRIPT DEBUG, and in a transaction subscriptions and HELLO. Refused are
 * also GET of an agent's key in a transaction, and patterns (PSUBSCRIBE) of agents' channels. Other
 * patterns match only what the control plane's redis publishes. Loop thread.
 */
#pragma once

#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "live/lane/stream.h"
#include "live/redis/route.h"
#include "net/tls/tls.h"

#include <uv.h>

typedef struct ab_redis_front ab_redis_front;

#define AB_REDIS_FRONT_CONNECTIONS 2000 /* at a time; strangers first, more are closed */

/* Texts are copied; what functions point to is borrowed as long as the front lives. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics; /* NULL: none */
    const ab_clock *clock;
    const char *listen_host; /* "": all addresses */
    int listen_port;         /* 0: any free one */
    ab_tls listen_tls;       /* insecure: plain TCP */
    const char *redis_host;  /* the control plane's own redis */
    int redis_port;
    ab_tls redis_tls;
    ab_redis_agents agents;
    /** Ask an agent, as ab_live_hub_request. */
    ab_err (*request)(void *arg, const char *agent, const ab_live_request *request,
                      const ab_live_handler *handler, void *handler_arg, ab_live_stream **out,
                      ab_error *err);
    void *arg;
    int64_t deadline_ms; /* for an agent's answer to a GET */
} ab_redis_front_options;

/**
 * Listen, and serve clients from now on.
 *
 * @param out  owned by the caller; ab_redis_front_close
 * @return UNAVAILABLE: cannot listen; CONFIG: certificates; NOMEM
 */
AB_MUST_USE ab_err ab_redis_front_new(const ab_redis_front_options *options, ab_redis_front **out,
                                      ab_error *err);
/** The port that was taken. */
int ab_redis_front_port(const ab_redis_front *front);
/** Listen no more, and end each connection when it is owed no reply. NULL is allowed. */
void ab_redis_front_stop(ab_redis_front *front);
/** Every connection has ended. NULL is allowed. */
bool ab_redis_front_is_drained(const ab_redis_front *front);
/** Close all connections and free the front; the loop must be run afterwards. Agents must still
 *  take ab_live_stream_cancel. NULL is allowed. */
void ab_redis_front_close(ab_redis_front *front);
