/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/rpc_priv.h"

#include <stdlib.h>

#define CARE_MIN_MS 20
#define CARE_MAX_MS 500
#define STALE_MS    5000
#define LOG_MS      1000
#define FEEDS_MAX   16 /* before others have their turn */

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

int64_t ab_rpc_end_now_ms(const ab_rpc_end *end)
{
    return ab_clock_mono_ms(end->env.clock);
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_rpc_end_let_go(handle->data);
}

static void on_idle(uv_idle_t *idle)
{
    ab_rpc_end *end = idle->data;
    /* What is woken in the meantime has its turn after others had theirs. */
    for (size_t n = end->work_count; n > 0 && end->work_count > 0; n--) {
        ab_rpc_conn *conn = TAILQ_FIRST(&end->work);
        ab_rpc_end_forget(conn);
        ab_rpc_conn_work(conn);
    }
    ab_rpc_end_feed(end);
    if (end->work_count == 0)
        uv_idle_stop(&end->idle);
}

void ab_rpc_end_wake(ab_rpc_conn *conn)
{
    ab_rpc_end *end = conn->end;
    if (conn->queued)
        return;
    conn->queued = true;
    TAILQ_INSERT_TAIL(&end->work, conn, work);
    /* Unlike a prepare handle, an active idle handle keeps the loop from sleeping. */
    if (end->work_count++ == 0)
        uv_idle_start(&end->idle, on_idle);
}

void ab_rpc_end_forget(ab_rpc_conn *conn)
{
    if (!conn->queued)
        return;
    conn->queued = false;
    TAILQ_REMOVE(&conn->end->work, conn, work);
    conn->end->work_count--;
}

static void reload_if_stale(ab_rpc_end *end, int64_t now_ms)
{
    ab_error err = {0};
    if (now_ms - end->stale_ms < STALE_MS)
        return;
    end->stale_ms = now_ms;
    if (!ab_tls_context_is_stale(&end->secure))
        return;
    if (ab_tls_context_reload(&end->secure, &err) == AB_ERR_OK)
        AB_INFO(end->env.log, TRANSPORT, "certificates reloaded");
    else
        AB_WARN(end->env.log, TRANSPORT,
                "cannot load new certificates; still using the previous ones",
                AB_KV("error", (const char *)err.text));
}

static void on_care(uv_timer_t *timer)
{
    ab_rpc_end *end = timer->data;
    int64_t now_ms = ab_rpc_end_now_ms(end);
    ab_rpc_conn *next;
    /* Caring for a connection frees no other one. */
    for (ab_rpc_conn *c = TAILQ_FIRST(&end->conns); c != NULL; c = next) {
        next = TAILQ_NEXT(c, at);
        ab_rpc_conn_care(c, now_ms);
    }
    reload_if_stale(end, now_ms);
    ab_metric_set(end->connections, (double)end->conn_count);
    ab_metric_set(end->buffered, (double)end->budget.used);
    ab_rpc_end_feed(end);
    end->ops->on_care(end);
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

static void init_handles(ab_rpc_end *end)
{
    uv_idle_init(end->env.loop, &end->idle);
    uv_timer_init(end->env.loop, &end->care);
    uv_timer_init(end->env.loop, &end->deadline);
    end->idle.data = end;
    end->care.data = end;
    end->deadline.data = end;
    end->handles = 3;
}

static void init_metrics(ab_rpc_end *end)
{
    ab_metrics *m = end->env.metrics;
    end->connections = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_grpc_connections",
                                     "Open gRPC connections.", NULL, 0);
    end->buffered =
        ab_metric_get(m, AB_METRIC_GAUGE, "argobus_grpc_buffered_bytes",
                      "Bytes of gRPC messages that are received in part or queued.", NULL, 0);
}

ab_err ab_rpc_end_init(ab_rpc_end *end, const ab_rpc_end_ops *ops, const ab_rpc_env *env,
                       const ab_rpc_limits *limits, const ab_tls *tls, bool server,
                       const char *host, ab_error *err)
{
    end->ops = ops;
    end->env = *env;
    end->limits = *limits;
    end->server = server;
    end->budget.max = limits->buffered_bytes;
    TAILQ_INIT(&end->conns);
    TAILQ_INIT(&end->work);
    TAILQ_INIT(&end->timed);
    TAILQ_INIT(&end->starved);
    TAILQ_INIT(&end->strangers);
    init_handles(end);
    init_metrics(end);
    end->in = malloc(AB_RPC_SCRATCH);
    end->out = malloc(AB_RPC_SCRATCH);
    bool knows_peers = server && limits->login_ms > 0;
    end->budget.shared = knows_peers;
    end->accounts = knows_peers ? ab_map_new() : NULL;
    if (end->in == NULL || end->out == NULL || (knows_peers && end->accounts == NULL) ||
        ab_rpc_http2_init(end) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for gRPC");
    ab_err e = ab_tls_context_init(&end->secure, tls, server, host, err);
    if (e != AB_ERR_OK)
        return e;
    end->stale_ms = ab_rpc_end_now_ms(end);
    uv_timer_start(&end->care, on_care, care_ms(limits), care_ms(limits));
    return AB_ERR_OK;
}

void ab_rpc_end_hold(ab_rpc_end *end)
{
    end->handles++;
}

static void fini(ab_rpc_end *end)
{
    nghttp2_session_callbacks_del(end->callbacks);
    nghttp2_option_del(end->option);
    ab_tls_context_fini(&end->secure);
    ab_rpc_compress_free(end->deflater);
    ab_map_free(end->accounts, free);
    free(end->in);
    free(end->out);
    end->ops->on_closed(end);
}

void ab_rpc_end_let_go(ab_rpc_end *end)
{
    if (--end->handles == 0)
        fini(end);
}

void ab_rpc_end_close(ab_rpc_end *end)
{
    end->closing = true;
    while (!TAILQ_EMPTY(&end->conns))
        ab_rpc_conn_free(TAILQ_FIRST(&end->conns), true);
    ab_metric_set(end->connections, 0);
    ab_metric_set(end->buffered, 0);
    uv_close((uv_handle_t *)&end->idle, on_handle_closed);
    uv_close((uv_handle_t *)&end->care, on_handle_closed);
    uv_close((uv_handle_t *)&end->deadline, on_handle_closed);
}

static void on_deadline(uv_timer_t *timer);

/* Few calls have a deadline and they are short, so that the next one is looked for among all. */
static void arm(ab_rpc_end *end, int64_t deadline_ms)
{
    if (end->deadline_ms > 0 && end->deadline_ms <= deadline_ms)
        return;
    int64_t wait_ms = deadline_ms - ab_rpc_end_now_ms(end);
    end->deadline_ms = deadline_ms;
    uv_timer_start(&end->deadline, on_deadline, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

static void on_deadline(uv_timer_t *timer)
{
    ab_rpc_end *end = timer->data;
    int64_t now_ms = ab_rpc_end_now_ms(end);
    ab_rpc_call *next;
    end->deadline_ms = 0;
    for (ab_rpc_call *c = TAILQ_FIRST(&end->timed); c != NULL; c = next) {
        next = TAILQ_NEXT(c, timed);
        if (c->deadline_ms > now_ms) {
            arm(end, c->deadline_ms);
            continue;
        }
        ab_rpc_end_time(c, 0);
        ab_rpc_call_cut(c, AB_RPC_DEADLINE_EXCEEDED, "deadline exceeded");
    }
}

void ab_rpc_end_time(ab_rpc_call *call, int64_t deadline_ms)
{
    ab_rpc_end *end = call->conn->end;
    if (call->deadline_ms > 0)
        TAILQ_REMOVE(&end->timed, call, timed);
    call->deadline_ms = deadline_ms;
    if (deadline_ms == 0)
        return;
    TAILQ_INSERT_TAIL(&end->timed, call, timed);
    arm(end, deadline_ms);
}

/* So much room that a call which is told of it can do something with it. */
static bool has_room(const ab_rpc_call *c)
{
    return ab_rpc_budget_room(&c->conn->budget) >= c->conn->end->limits.send_high_bytes;
}

void ab_rpc_end_feed(ab_rpc_end *end)
{
    ab_rpc_call *c;
    /* Those that are refused once more go to the end of the list. */
    for (int i = 0; i < FEEDS_MAX && (c = TAILQ_FIRST(&end->starved)) != NULL; i++) {
        TAILQ_REMOVE(&end->starved, c, starved);
        c->is_starved = !has_room(c);
        if (c->is_starved)
            TAILQ_INSERT_TAIL(&end->starved, c, starved);
        else
            ab_rpc_call_drained(c);
    }
}

void ab_rpc_end_note(ab_rpc_end *end, const ab_rpc_conn *conn, const char *reason)
{
    int64_t now_ms = ab_rpc_end_now_ms(end);
    ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(end->env.metrics, AB_METRIC_COUNTER, "argobus_grpc_refused_total",
                                "gRPC connections and calls refused because a limit was reached.",
                                &label, 1),
                  1);
    if (end->logged_ms > 0 && now_ms - end->logged_ms < LOG_MS) {
        end->unlogged++;
        return;
    }
    AB_WARN(end->env.log, TRANSPORT, "gRPC peer refused", AB_KV("reason", reason),
            AB_KV("why", conn->why.code == AB_ERR_OK ? reason : (const char *)conn->why.text),
            AB_KV("peer", conn->peer.address), AB_KV("port", conn->peer.port),
            AB_KV("unlogged", end->unlogged));
    end->logged_ms = now_ms;
    end->unlogged = 0;
}
