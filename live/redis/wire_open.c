/* SPDX-License-Identifier: Apache-2.0
 *
 * How a wire comes about: name, addresses one after the other, TLS.
 */
#include "live/redis/wire_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that is gone without a word is noticed after the first and some of the second. */
#define KEEPALIVE_S       60
#define KEEPALIVE_EVERY_S 10
#define KEEPALIVE_COUNT   3

static void open_now(ab_redis_wire *w)
{
    w->state = AB_REDIS_WIRE_OPEN;
    uv_timer_stop(&w->deadline);
    uv_freeaddrinfo(w->addresses);
    w->addresses = NULL;
    w->next = NULL;
    if (w->ops->on_open != NULL)
        w->ops->on_open(w->arg);
}

void ab_redis_wire_shake_hands(ab_redis_wire *w)
{
    if (w->ssl == NULL) {
        open_now(w);
        return;
    }
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(w->ssl);
    if (rc == 1)
        open_now(w);
    else
        (void)ab_redis_wire_after_tls(w, rc, "TLS handshake failed");
}

static ab_err begin_poll(ab_redis_wire *w)
{
    int on = 1;
    int idle = KEEPALIVE_S;
    int every = KEEPALIVE_EVERY_S;
    int count = KEEPALIVE_COUNT;
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(w->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    if (uv_poll_init(w->loop, &w->poll, w->fd) != 0)
        return AB_ERR_NOMEM;
    w->poll.data = w;
    w->polls = true;
    w->handles++;
    return AB_ERR_OK;
}

/* Redis has no name in ALPN. */
static ab_err begin_tls(ab_redis_wire *w, const ab_tls_context *tls)
{
    if (tls == NULL || tls->insecure)
        return AB_ERR_OK;
    w->ssl = ab_tls_context_open(tls, w->fd);
    if (w->ssl == NULL)
        return AB_ERR_NOMEM;
    (void)SSL_set_alpn_protos(w->ssl, NULL, 0);
    return AB_ERR_OK;
}

static bool dial(ab_redis_wire *w, const struct addrinfo *a)
{
    w->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (w->fd < 0)
        return false;
    if ((connect(w->fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS) &&
        begin_tls(w, w->tls) == AB_ERR_OK && begin_poll(w) == AB_ERR_OK) {
        w->state = AB_REDIS_WIRE_CONNECTING;
        ab_redis_wire_watch(w);
        return true;
    }
    ab_redis_wire_fail(w, AB_ERR_UNAVAILABLE, errno, "cannot connect");
    SSL_free(w->ssl);
    w->ssl = NULL;
    close(w->fd);
    w->fd = -1;
    return false;
}

static void dial_next(ab_redis_wire *w)
{
    while (w->next != NULL) {
        const struct addrinfo *a = w->next;
        w->next = a->ai_next;
        w->why = (ab_error){0};
        if (dial(w, a))
            return;
    }
    ab_redis_wire_fail(w, AB_ERR_UNAVAILABLE, 0, "cannot connect");
    ab_redis_wire_go_down(w);
}

/* The socket of this attempt is closed: the next address. */
static void on_attempt_closed(uv_handle_t *handle)
{
    ab_redis_wire *w = handle->data;
    w->handles--;
    ab_redis_wire_drop_socket(w);
    if (w->closing)
        ab_redis_wire_free_if_done(w);
    else if (w->state != AB_REDIS_WIRE_DOWN)
        dial_next(w);
}

void ab_redis_wire_finish_connect(ab_redis_wire *w)
{
    int reason = 0;
    socklen_t len = sizeof(reason);
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0)
        reason = errno;
    if (reason == 0) {
        w->state = AB_REDIS_WIRE_HANDSHAKE;
        return;
    }
    ab_redis_wire_fail(w, AB_ERR_UNAVAILABLE, reason, "cannot connect");
    if (w->next == NULL)
        return;
    w->polls = false;
    uv_close((uv_handle_t *)&w->poll, on_attempt_closed);
}

static void on_deadline(uv_timer_t *timer)
{
    ab_redis_wire *w = timer->data;
    ab_redis_wire_fail(w, AB_ERR_TIMEOUT, 0, "the connection does not come about in time");
    ab_redis_wire_go_down(w);
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    ab_redis_wire *w = req->data;
    free(req);
    w->resolver = NULL;
    w->addresses = list;
    if (w->closing) {
        ab_redis_wire_free_if_done(w);
        return;
    }
    w->next = list;
    if (status != 0)
        ab_redis_wire_fail(w, AB_ERR_UNAVAILABLE, -status, "cannot resolve the name");
    if (w->state == AB_REDIS_WIRE_RESOLVING)
        dial_next(w);
}

/* on_down follows from the loop. */
static void fail_soon(ab_redis_wire *w)
{
    ab_redis_wire_fail(w, AB_ERR_NOMEM, 0, "out of memory for a connection");
    uv_timer_start(&w->deadline, on_deadline, 0, 0);
}

void ab_redis_wire_adopt(ab_redis_wire *w, int fd, const ab_tls_context *tls)
{
    w->fd = fd;
    w->state = AB_REDIS_WIRE_HANDSHAKE;
    if (begin_tls(w, tls) != AB_ERR_OK || begin_poll(w) != AB_ERR_OK)
        fail_soon(w);
    w->kicked = true; /* plain TCP is open at once */
    ab_redis_wire_watch(w);
}

void ab_redis_wire_dial(ab_redis_wire *w, const char *host, int port, const ab_tls_context *tls)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
    size_t room = strlen(host) + sizeof(service) + 2;
    w->name = malloc(room);
    w->resolver = malloc(sizeof(*w->resolver));
    w->tls = tls;
    if (w->name != NULL)
        snprintf(w->name, room, "%s:%d", host, port);
    if (w->resolver != NULL)
        w->resolver->data = w;
    if (w->name == NULL || w->resolver == NULL ||
        uv_getaddrinfo(w->loop, w->resolver, on_resolved, host, service, &hints) != 0) {
        free(w->resolver);
        w->resolver = NULL;
        fail_soon(w);
    }
}

void ab_redis_wire_limit(ab_redis_wire *w)
{
    uv_timer_start(&w->deadline, on_deadline, AB_REDIS_WIRE_OPEN_MS, 0);
}
