/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/front/front_priv.h"

#include "net/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CARE_MS    500
#define STALE_MS   5000
#define ACCEPT_MAX 16 /* in a turn */

int ab_redis_front_port(const ab_redis_front *front)
{
    return front->port;
}

/* Whoever reaches the port can connect: the oldest that the redis has not let in makes room for the
 * next. */
static bool has_room(ab_redis_front *f)
{
    if (f->conn_count < AB_REDIS_FRONT_CONNECTIONS)
        return true;
    for (ab_list_iter i = ab_list_first(&f->conns); i.link != NULL; ab_list_next(&i)) {
        ab_redis_conn *c = AB_LINK_OF(i.link, ab_redis_conn, link);
        if (c->admitted)
            continue;
        ab_redis_front_conn_close(c);
        return true;
    }
    return false;
}

static void accept_one(ab_redis_front *f, int fd)
{
    if (has_room(f)) {
        if (ab_redis_front_conn_new(f, fd) != AB_ERR_OK)
            AB_DEBUG(f->o.log, LIVE, "out of memory for a redis client");
        return;
    }
    static const char full[] = "-ERR max number of clients reached\r\n";
    if (f->listen_tls.insecure)
        (void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
    close(fd);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
    ab_redis_front *f = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        int fd = accept4(f->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accept_one(f, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            uv_poll_stop(&f->poll); /* the timer tries again */
        return;
    }
}

static void reload_if_stale(ab_redis_front *f, ab_tls_context *tls, const char *whose)
{
    ab_error err = {0};
    if (tls->insecure || !ab_tls_context_is_stale(tls))
        return;
    if (ab_tls_context_reload(tls, &err) == AB_ERR_OK)
        AB_INFO(f->o.log, LIVE, "certificates reloaded", AB_KV("of", whose));
    else
        AB_WARN(f->o.log, LIVE, "cannot load new certificates; still using the previous ones",
                AB_KV("error", err.text));
}

static void on_timer(uv_timer_t *timer)
{
    ab_redis_front *f = timer->data;
    int64_t now_ms = ab_redis_front_now_ms(f);
    if (!f->is_stopping)
        uv_poll_start(&f->poll, UV_READABLE, on_accept);
    for (ab_list_iter i = ab_list_first(&f->conns); i.link != NULL; ab_list_next(&i))
        ab_redis_front_conn_care(AB_LINK_OF(i.link, ab_redis_conn, link), now_ms);
    ab_redis_front_sub_retry(f, now_ms);
    if (now_ms - f->stale_ms < STALE_MS)
        return;
    f->stale_ms = now_ms;
    reload_if_stale(f, &f->listen_tls, "live.redis.tls");
    reload_if_stale(f, &f->redis_tls, "live.redis.address");
}

static ab_metric *counter(ab_metrics *m, const char *result)
{
    ab_label label = {"result", ab_str_of(result)};
    return ab_metric_get(m, AB_METRIC_COUNTER, "argobus_live_redis_requests_total",
                         "Keys of agents that clients of the redis proxy asked for.", &label, 1);
}

static void init_metrics(ab_redis_front *f)
{
    ab_metrics *m = f->o.metrics;
    if (m == NULL)
        return;
    f->connections = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_live_redis_connections",
                                   "Clients that are connected to the redis proxy.", NULL, 0);
    f->subscriptions = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_live_redis_subscriptions",
                                     "Subscriptions of clients to channels of agents.", NULL, 0);
    f->gets[AB_REDIS_GOT_VALUE] = counter(m, "value");
    f->gets[AB_REDIS_GOT_NOTHING] = counter(m, "nothing");
    f->gets[AB_REDIS_GOT_ERROR] = counter(m, "error");
    f->seconds = ab_metric_get(m, AB_METRIC_HISTOGRAM, "argobus_live_redis_request_seconds",
                               "Time until an agent's value was received whole.", NULL, 0);
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_redis_front *f = handle->data;
    f->handles--;
    ab_redis_front_free_if_done(f);
}

static ab_err begin(ab_redis_front *f, ab_error *err)
{
    ab_err e = ab_listener_open(f->o.listen_host, f->o.listen_port, &f->fd, &f->port, err);
    if (e != AB_ERR_OK)
        return e;
    if (uv_poll_init(f->o.loop, &f->poll, f->fd) != 0) {
        close(f->fd);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the redis proxy");
    }
    uv_timer_init(f->o.loop, &f->timer);
    f->poll.data = f;
    f->timer.data = f;
    f->handles = 2;
    uv_poll_start(&f->poll, UV_READABLE, on_accept);
    uv_timer_start(&f->timer, on_timer, CARE_MS, CARE_MS);
    return AB_ERR_OK;
}

ab_err ab_redis_front_new(const ab_redis_front_options *options, ab_redis_front **out,
                          ab_error *err)
{
    ab_redis_front *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the redis proxy");
    f->o = *options;
    f->o.redis_tls.unnamed = true;
    ab_link_init(&f->conns);
    ab_link_init(&f->retries);
    f->redis_host = strdup(options->redis_host);
    ab_err e =
        f->redis_host != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    if (e == AB_ERR_OK)
        e = ab_tls_context_init(&f->listen_tls, &options->listen_tls, true, "", err);
    if (e == AB_ERR_OK)
        e = ab_tls_context_init(&f->redis_tls, &f->o.redis_tls, false, f->redis_host, err);
    if (e == AB_ERR_OK)
        e = begin(f, err);
    if (e != AB_ERR_OK) {
        f->is_closing = true;
        ab_redis_front_free_if_done(f);
        return e;
    }
    init_metrics(f);
    AB_INFO(f->o.log, LIVE, "redis proxy listens", AB_KV("port", f->port),
            AB_KV("tls", !f->listen_tls.insecure));
    *out = f;
    return AB_ERR_OK;
}

void ab_redis_front_stop(ab_redis_front *f)
{
    if (f == NULL || f->is_stopping)
        return;
    f->is_stopping = true;
    uv_close((uv_handle_t *)&f->poll, on_handle_closed);
    close(f->fd);
    for (ab_list_iter i = ab_list_first(&f->conns); i.link != NULL; ab_list_next(&i)) {
        ab_redis_conn *c = AB_LINK_OF(i.link, ab_redis_conn, link);
        c->ops->go_on(c);
    }
}

bool ab_redis_front_is_drained(const ab_redis_front *f)
{
    return f == NULL || f->conn_count == 0;
}

void ab_redis_front_close(ab_redis_front *f)
{
    if (f == NULL)
        return;
    ab_redis_front_stop(f);
    f->is_closing = true;
    for (ab_list_iter i = ab_list_first(&f->conns); i.link != NULL; ab_list_next(&i))
        ab_redis_front_conn_close(AB_LINK_OF(i.link, ab_redis_conn, link));
    uv_close((uv_handle_t *)&f->timer, on_handle_closed);
}
