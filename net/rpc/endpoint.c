/* SPDX-License-Identifier: Apache-2.0
 *
 * What the connections of an endpoint share: the clock, the turn of the loop, the log.
 */
#include "net/rpc/rpc_priv.h"

#include <stdlib.h>

#define LOG_MS 1000
/* Twice in a turn of the loop: for sockets that are ready, and for connections that wait. Two
 * TLS handshakes, or some hundred small messages. */
#define WORK_NS 1000000

int64_t ab_rpc_endpoint_now_ms(const ab_rpc_endpoint *endpoint)
{
    return ab_clock_mono_ms(endpoint->env.clock);
}

bool ab_rpc_endpoint_has_time(const ab_rpc_endpoint *endpoint)
{
    return endpoint->spent_ns < WORK_NS;
}

void ab_rpc_endpoint_wake(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    if (conn->queued)
        return;
    conn->queued = true;
    TAILQ_INSERT_TAIL(&endpoint->work, conn, work);
    /* Unlike a prepare handle, an active idle handle keeps the loop from sleeping. */
    if (endpoint->work_count++ == 0)
        uv_idle_start(&endpoint->idle, endpoint->on_idle);
}

void ab_rpc_endpoint_forget(ab_rpc_conn *conn)
{
    if (!conn->queued)
        return;
    conn->queued = false;
    TAILQ_REMOVE(&conn->endpoint->work, conn, work);
    conn->endpoint->work_count--;
}

void ab_rpc_endpoint_ref(ab_rpc_endpoint *endpoint)
{
    endpoint->handles++;
}

static void fini(ab_rpc_endpoint *endpoint)
{
    nghttp2_session_callbacks_del(endpoint->callbacks);
    nghttp2_option_del(endpoint->option);
    ab_tls_context_fini(&endpoint->secure);
    ab_rpc_compress_free(endpoint->deflater);
    ab_map_free(endpoint->accounts, free);
    free(endpoint->in);
    free(endpoint->out);
    endpoint->ops->on_closed(endpoint);
}

void ab_rpc_endpoint_unref(ab_rpc_endpoint *endpoint)
{
    if (--endpoint->handles == 0)
        fini(endpoint);
}

void ab_rpc_endpoint_log_refusal(ab_rpc_endpoint *endpoint, const ab_rpc_conn *conn,
                                 const char *reason)
{
    int64_t now_ms = ab_rpc_endpoint_now_ms(endpoint);
    ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(
        ab_metric_get(endpoint->env.metrics, AB_METRIC_COUNTER, "argobus_grpc_refused_total",
                      "gRPC connections and calls refused because a limit was reached.", &label, 1),
        1);
    if (endpoint->logged_ms > 0 && now_ms - endpoint->logged_ms < LOG_MS) {
        endpoint->unlogged++;
        return;
    }
    AB_WARN(endpoint->env.log, TRANSPORT, "gRPC peer refused", AB_KV("reason", reason),
            AB_KV("why", conn->why.code == AB_ERR_OK ? reason : (const char *)conn->why.text),
            AB_KV("peer", conn->peer.address), AB_KV("port", conn->peer.port),
            AB_KV("unlogged", endpoint->unlogged));
    endpoint->logged_ms = now_ms;
    endpoint->unlogged = 0;
}
