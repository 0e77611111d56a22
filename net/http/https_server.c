/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening, the bound on connections, and time. Why this is no library is in
 * docs/decisions/0031-an-http-server-of-our-own.md.
 */
#include "net/http/https_priv.h"

#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_MAX 64 /* before others have their turn */
#define RETRY_MS    1000
#define STALE_MS    5000
/* Certificates that are checked again in a round of care: some milliseconds of work. */
#define CHECKS_MAX  50
#define CARE_MIN_MS 20
#define CARE_MAX_MS 500

const ab_https_limits ab_https_default_limits = {
    .connections = 1024,
    .head_bytes = 32u * 1024,
    .send_bytes = 128u * 1024,
    .message_bytes = 1024u * 1024,
    .grace_ms = 1000,
    .head_ms = 10000,
    .body_ms = 30000,
    .idle_ms = 120000,
    .stall_ms = 600000,
    .ping_ms = 30000,
};

/* ---- time ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint64_t care_ms(const ab_https_limits *l)
{
    int64_t ms = least(least(l->head_ms, l->body_ms), least(l->idle_ms, l->stall_ms));
    ms = least(ms, l->ping_ms) / 4;
    return (uint64_t)(ms < CARE_MIN_MS ? CARE_MIN_MS : least(ms, CARE_MAX_MS));
}

/* Certificates that changed; until they can be read, those before stay in use. */
static void reload(ab_https_server *s)
{
    ab_error err = {0};
    if (uv_now(s->loop) - s->stale < STALE_MS)
        return;
    s->stale = uv_now(s->loop);
    if (s->tls.insecure || !ab_tls_context_is_stale(&s->tls))
        return;
    if (ab_tls_context_reload(&s->tls, &err) == AB_ERR_OK)
        AB_INFO(s->options.log, HTTP, "server certificates reloaded");
    else
        AB_WARN(s->options.log, HTTP,
                "cannot load new server certificates; still using the previous ones",
                AB_KV("why", err.text));
}

/* ---- connections ---- */

static void on_connection(uv_poll_t *poll, int status, int events);

static void set_accepting(ab_https_server *s, bool on)
{
    if (uv_is_closing((uv_handle_t *)&s->listen))
        return;
    if (on)
        uv_poll_start(&s->listen, UV_READABLE, on_connection);
    else
        uv_poll_stop(&s->listen);
}

static void on_care(uv_timer_t *timer)
{
    ab_https_server *s = timer->data;
    ab_https_conn *next;
    /* One of the busy ones may have become idle, which makes room. */
    if (!uv_is_active((uv_handle_t *)&s->retry))
        set_accepting(s, true);
    reload(s);
    s->checks = CHECKS_MAX;
    for (ab_https_conn *c = TAILQ_FIRST(&s->conns); c != NULL; c = next) {
        next = TAILQ_NEXT(c, at);
        ab_https_conn_care(c, uv_now(s->loop));
    }
}

static void on_retry(uv_timer_t *timer)
{
    set_accepting(timer->data, true);
}

static void on_room(ab_https_server *s)
{
    set_accepting(s, true);
    if (s->count == 0)
        uv_timer_stop(&s->care);
}

/* Since when it could make room. One whose bytes have come and are about to be read has not waited
 * at all: without that, a turn of the loop longer than grace_ms would cost it its request. */
static uint64_t spare_since(const ab_https_server *s, const ab_https_conn *c, uint64_t before)
{
    uint64_t now = uv_now(s->loop);
    uint64_t since = ab_https_conn_spare_since(c);
    bool due = since < before && now - since >= (uint64_t)s->limits.grace_ms;
    return due && ab_https_conn_has_unread(c) ? now : since;
}

/* The one that makes room for another. NULL: none now; listening has stopped until there is one */
static ab_https_conn *find_spare(ab_https_server *s)
{
    uint64_t first = UINT64_MAX;
    ab_https_conn *spare = NULL;
    ab_https_conn *c;
    TAILQ_FOREACH(c, &s->conns, at)
    {
        uint64_t since = spare_since(s, c, first);
        if (since < first) {
            spare = c;
            first = since;
        }
    }
    uint64_t now = uv_now(s->loop);
    uint64_t until = spare == NULL ? UINT64_MAX : first + (uint64_t)s->limits.grace_ms;
    if (until <= now)
        return spare;
    set_accepting(s, false);
    if (spare != NULL)
        uv_timer_start(&s->retry, on_retry, until - now, 0);
    return NULL;
}

static void take_in(ab_https_server *s, int fd, const struct sockaddr *from, ab_https_conn *spare)
{
    reload(s);
    if (spare != NULL)
        ab_https_conn_free(spare);
    if (ab_https_conn_new(s, fd, from) != AB_ERR_OK)
        close(fd);
    else if (s->count == 1)
        uv_timer_start(&s->care, on_care, care_ms(&s->limits), care_ms(&s->limits));
}

/* When there is no room, or no descriptor to accept with, listening stops for a while, or the loop
 * would spin. @return false: nobody waits, or there is no room */
static bool take_next(ab_https_server *s)
{
    struct sockaddr_storage from = {0};
    struct sockaddr *name = (struct sockaddr *)&from;
    socklen_t len = sizeof(from);
    ab_https_conn *spare = NULL;
    if (s->count >= s->limits.connections && (spare = find_spare(s)) == NULL)
        return false;
    int fd = accept4(s->fd, name, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        take_in(s, fd, name, spare);
    } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
        set_accepting(s, false);
        uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
    }
    return fd >= 0;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        if (!take_next(poll->data))
            return;
    }
}

/* ---- life ---- */

static void set_limits(ab_https_limits *l, const ab_https_limits *given)
{
    const ab_https_limits *d = &ab_https_default_limits;
    *l = given == NULL ? *d : *given;
    l->connections = l->connections == 0 ? d->connections : l->connections;
    l->head_bytes = l->head_bytes == 0 ? d->head_bytes : l->head_bytes;
    l->send_bytes = l->send_bytes == 0 ? d->send_bytes : l->send_bytes;
    l->message_bytes = l->message_bytes == 0 ? d->message_bytes : l->message_bytes;
    l->grace_ms = l->grace_ms == 0 ? d->grace_ms : l->grace_ms;
    l->head_ms = l->head_ms == 0 ? d->head_ms : l->head_ms;
    l->body_ms = l->body_ms == 0 ? d->body_ms : l->body_ms;
    l->idle_ms = l->idle_ms == 0 ? d->idle_ms : l->idle_ms;
    l->stall_ms = l->stall_ms == 0 ? d->stall_ms : l->stall_ms;
    l->ping_ms = l->ping_ms == 0 ? d->ping_ms : l->ping_ms;
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_https_server *s = handle->data;
    if (--s->handles == 0)
        free(s);
}

static void start_listening(ab_https_server *s)
{
    /* Fails only for a descriptor that is already watched or is not a socket. */
    int rc = uv_poll_init_socket(s->loop, &s->listen, s->fd);
    assert(rc == 0);
    (void)rc;
    uv_timer_init(s->loop, &s->retry);
    uv_timer_init(s->loop, &s->care);
    s->listen.data = s;
    s->retry.data = s;
    s->care.data = s;
    s->handles = 3;
    set_accepting(s, true);
}

static ab_err init_tls(ab_https_server *s, const ab_tls *tls, ab_error *err)
{
    ab_tls settings = *tls;
    settings.http1 = true;
    settings.min_version = tls->min_version == NULL ? "1.2" : tls->min_version;
    return ab_tls_context_init(&s->tls, &settings, true, "", err);
}

ab_err ab_https_server_start(uv_loop_t *loop, const ab_https_options *options,
                             ab_https_server **out, ab_error *err)
{
    ab_https_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an HTTP server");
    s->loop = loop;
    s->options = *options;
    s->fd = -1;
    s->on_room = on_room;
    s->stale = uv_now(loop);
    TAILQ_INIT(&s->conns);
    set_limits(&s->limits, options->limits);
    ab_err e = init_tls(s, options->tls, err);
    if (e == AB_ERR_OK)
        e = ab_listener_open(options->host, options->port, &s->fd, &s->port, err);
    if (e != AB_ERR_OK) {
        ab_https_server_free(s);
        return e;
    }
    start_listening(s);
    *out = s;
    return AB_ERR_OK;
}

int ab_https_server_port(const ab_https_server *s)
{
    return s->port;
}

size_t ab_https_server_connections(const ab_https_server *s)
{
    return s->count;
}

void ab_https_server_drain(ab_https_server *s)
{
    s->draining = true;
}

size_t ab_https_server_busy(const ab_https_server *s)
{
    size_t count = 0;
    const ab_https_conn *c;
    TAILQ_FOREACH(c, &s->conns, at)
    {
        count += ab_https_conn_is_busy(c);
    }
    return count;
}

void ab_https_server_free(ab_https_server *s)
{
    if (s == NULL)
        return;
    ab_tls_context_fini(&s->tls);
    if (s->handles == 0) {
        free(s);
        return;
    }
    uv_close((uv_handle_t *)&s->listen, on_handle_closed);
    while (!TAILQ_EMPTY(&s->conns))
        ab_https_conn_free(TAILQ_FIRST(&s->conns));
    uv_close((uv_handle_t *)&s->retry, on_handle_closed);
    uv_close((uv_handle_t *)&s->care, on_handle_closed);
    close(s->fd);
}
