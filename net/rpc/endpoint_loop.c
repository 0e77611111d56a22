/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint on the loop: it begins, its connections have their turns, and it ends.
 */
#include "net/rpc/carrier/carrier.h"
#include "net/rpc/rpc_priv.h"

#include <stdlib.h>

#define CARE_MIN_MS 20
#define CARE_MAX_MS 500
#define STALE_MS    5000
/* Certificates that are checked again in a round of care: some milliseconds of work. */
#define CHECKS_MAX 50

const ab_rpc_limits ab_rpc_default_limits = {
    .message_bytes = 200u * 1024 * 1024,
    .buffered_bytes = 384u * 1024 * 1024,
    .stranger_bytes = 64u * 1024,
    .send_high_bytes = 256u * 1024,
    .header_bytes = 16u * 1024,
    .streams = 100,
    .connections = 16384,
    .strangers = 512,
    .strangers_per_address = 128,
    .agent_connections = 32,
    .window_bytes = 1024u * 1024,
    .handshake_ms = 10000,
    .ping_ms = 60000,
    .ping_timeout_ms = 20000,
    .retry_first_ms = 500,
    .retry_max_ms = 30000,
    .resets = {200, 10000},
    .settings = {100, 10000},
    .pings = {100, 10000},
};

static void on_handle_closed(uv_handle_t *handle)
{
    ab_rpc_endpoint_unref(handle->data);
}

static void on_prepare(uv_prepare_t *prepare)
{
    ab_rpc_endpoint *endpoint = prepare->data;
    endpoint->spent_ns = 0;
}

static void on_idle(uv_idle_t *idle)
{
    ab_rpc_endpoint *endpoint = idle->data;
    endpoint->spent_ns = 0;
    /* What is woken in the meantime has its turn after others had theirs. */
    for (size_t n = endpoint->work_count;
         n > 0 && endpoint->work_count > 0 && ab_rpc_endpoint_has_time(endpoint); n--) {
        ab_rpc_conn *conn = TAILQ_FIRST(&endpoint->work);
        ab_rpc_endpoint_forget(conn);
        ab_rpc_conn_work(conn);
    }
    ab_rpc_call_feed(endpoint);
    if (endpoint->work_count == 0)
        uv_idle_stop(&endpoint->idle);
}

static void reload_if_stale(ab_rpc_endpoint *endpoint, int64_t now_ms)
{
    ab_error err = {0};
    if (now_ms - endpoint->stale_ms < STALE_MS)
        return;
    endpoint->stale_ms = now_ms;
    if (!ab_tls_context_is_stale(&endpoint->secure))
        return;
    if (ab_tls_context_reload(&endpoint->secure, &err) == AB_ERR_OK)
        AB_INFO(endpoint->env.log, TRANSPORT, "certificates reloaded");
    else
        AB_WARN(endpoint->env.log, TRANSPORT,
                "cannot load new certificates; still using the previous ones",
                AB_KV("error", err.text));
}

static void on_care(uv_timer_t *timer)
{
    ab_rpc_endpoint *endpoint = timer->data;
    int64_t now_ms = ab_rpc_endpoint_now_ms(endpoint);
    ab_rpc_conn *next;
    endpoint->checks = CHECKS_MAX;
    /* Caring for a connection frees no other one. */
    for (ab_rpc_conn *c = TAILQ_FIRST(&endpoint->conns); c != NULL; c = next) {
        next = TAILQ_NEXT(c, at);
        ab_rpc_conn_care(c, now_ms);
    }
    reload_if_stale(endpoint, now_ms);
    ab_metric_set(endpoint->connections, (double)endpoint->conn_count);
    ab_metric_set(endpoint->buffered, (double)endpoint->budget.used);
    ab_rpc_call_feed(endpoint);
    if (endpoint->ops->on_care != NULL)
        endpoint->ops->on_care(endpoint);
}

/* Often enough for the shortest of the times that are watched. */
static uint64_t care_ms(const ab_rpc_limits *l)
{
    int64_t ms = l->handshake_ms < l->ping_timeout_ms ? l->handshake_ms : l->ping_timeout_ms;
    if (l->ping_ms > 0 && l->ping_ms < ms)
        ms = l->ping_ms;
    if (l->login_ms > 0 && l->login_ms < ms)
        ms = l->login_ms;
    ms /= 4;
    ms = ms > CARE_MAX_MS ? CARE_MAX_MS : ms;
    return (uint64_t)(ms < CARE_MIN_MS ? CARE_MIN_MS : ms);
}

static void init_handles(ab_rpc_endpoint *endpoint)
{
    uv_prepare_init(endpoint->env.loop, &endpoint->poll);
    uv_idle_init(endpoint->env.loop, &endpoint->idle);
    uv_timer_init(endpoint->env.loop, &endpoint->care);
    uv_timer_init(endpoint->env.loop, &endpoint->deadline);
    endpoint->poll.data = endpoint;
    endpoint->idle.data = endpoint;
    endpoint->on_idle = on_idle;
    endpoint->care.data = endpoint;
    endpoint->deadline.data = endpoint;
    endpoint->handles = 4;
}

static void init_metrics(ab_rpc_endpoint *endpoint)
{
    ab_metrics *m = endpoint->env.metrics;
    endpoint->connections = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_grpc_connections",
                                          "Open gRPC connections.", NULL, 0);
    endpoint->buffered =
        ab_metric_get(m, AB_METRIC_GAUGE, "argobus_grpc_buffered_bytes",
                      "Bytes of gRPC messages that are received in part or queued.", NULL, 0);
}

ab_err ab_rpc_endpoint_init(ab_rpc_endpoint *endpoint, const ab_rpc_endpoint_ops *ops,
                            const ab_rpc_env *env, const ab_rpc_limits *limits, const ab_tls *tls,
                            bool server, const char *host, ab_error *err)
{
    endpoint->ops = ops;
    endpoint->env = *env;
    endpoint->limits = *limits;
    endpoint->server = server;
    endpoint->budget.max = limits->buffered_bytes;
    TAILQ_INIT(&endpoint->conns);
    TAILQ_INIT(&endpoint->work);
    TAILQ_INIT(&endpoint->timed);
    TAILQ_INIT(&endpoint->starved);
    TAILQ_INIT(&endpoint->strangers);
    init_handles(endpoint);
    init_metrics(endpoint);
    endpoint->in = malloc(AB_RPC_SCRATCH);
    endpoint->out = malloc(AB_RPC_SCRATCH);
    bool knows_peers = server && limits->login_ms > 0;
    endpoint->budget.shared = knows_peers;
    endpoint->accounts = knows_peers ? ab_map_new() : NULL;
    if (endpoint->in == NULL || endpoint->out == NULL ||
        (knows_peers && endpoint->accounts == NULL) || ab_rpc_http2_init(endpoint) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for gRPC");
    ab_err e = ab_tls_context_init(&endpoint->secure, tls, server, host, err);
    if (e != AB_ERR_OK)
        return e;
    endpoint->stale_ms = ab_rpc_endpoint_now_ms(endpoint);
    uv_prepare_start(&endpoint->poll, on_prepare);
    uv_timer_start(&endpoint->care, on_care, care_ms(limits), care_ms(limits));
    return AB_ERR_OK;
}

void ab_rpc_endpoint_close(ab_rpc_endpoint *endpoint)
{
    endpoint->closing = true;
    while (!TAILQ_EMPTY(&endpoint->conns))
        ab_rpc_conn_free(TAILQ_FIRST(&endpoint->conns), true);
    ab_metric_set(endpoint->connections, 0);
    ab_metric_set(endpoint->buffered, 0);
    uv_close((uv_handle_t *)&endpoint->poll, on_handle_closed);
    uv_close((uv_handle_t *)&endpoint->idle, on_handle_closed);
    uv_close((uv_handle_t *)&endpoint->care, on_handle_closed);
    uv_close((uv_handle_t *)&endpoint->deadline, on_handle_closed);
}
