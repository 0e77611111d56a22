/* SPDX-License-Identifier: Apache-2.0
 *
 * What a wire does with its socket, whether it is open or still comes about.
 */
#include "live/redis/wire_priv.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

size_t ab_redis_wire_queued(const ab_redis_wire *w)
{
    return w->out.len - w->sent;
}

void ab_redis_wire_watch(ab_redis_wire *w)
{
    int events = 0;
    if (w->closing || !w->polls)
        return;
    if (w->state == AB_REDIS_WIRE_HANDSHAKE || (w->state == AB_REDIS_WIRE_OPEN && !w->paused))
        events |= UV_READABLE;
    if (w->state == AB_REDIS_WIRE_CONNECTING || w->wants_write || w->kicked ||
        w->why.code != AB_ERR_OK || (w->state == AB_REDIS_WIRE_OPEN && ab_redis_wire_queued(w) > 0))
        events |= UV_WRITABLE;
    if (w->state == AB_REDIS_WIRE_DOWN || events == 0)
        uv_poll_stop(&w->poll);
    else
        uv_poll_start(&w->poll, events, w->on_ready);
}

void ab_redis_wire_fail(ab_redis_wire *w, ab_err code, int reason, const char *what)
{
    if (w->why.code != AB_ERR_OK)
        return;
    if (reason == 0)
        ab_fail(&w->why, code, "%s", what);
    else
        ab_fail_errno(&w->why, code, reason, "%s", what);
}

void ab_redis_wire_go_down(ab_redis_wire *w)
{
    if (w->closing || w->state == AB_REDIS_WIRE_DOWN)
        return;
    w->state = AB_REDIS_WIRE_DOWN;
    uv_timer_stop(&w->deadline);
    ab_redis_wire_watch(w);
    if (w->name != NULL)
        ab_error_prefix(&w->why, "%s", w->name);
    w->ops->on_down(w->arg, &w->why);
}

size_t ab_redis_wire_after_tls(ab_redis_wire *w, int rc, const char *what)
{
    int reason = errno;
    int code = SSL_get_error(w->ssl, rc);
    if (code == SSL_ERROR_WANT_WRITE)
        w->wants_write = true;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return 0;
    if (code == SSL_ERROR_ZERO_RETURN || code == SSL_ERROR_SYSCALL)
        ab_redis_wire_fail(w, AB_ERR_CLOSED, code == SSL_ERROR_SYSCALL ? reason : 0,
                           "connection closed");
    else if (w->why.code == AB_ERR_OK)
        ab_tls_context_explain(w->ssl, &w->why, what);
    ERR_clear_error();
    return 0;
}

size_t ab_redis_wire_read(ab_redis_wire *w, char *into, size_t len)
{
    size_t got = 0;
    if (w->ssl != NULL) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_read_ex(w->ssl, into, len, &got);
        return rc == 1 ? got : ab_redis_wire_after_tls(w, rc, "TLS failed");
    }
    ssize_t n = recv(w->fd, into, len, 0);
    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        ab_redis_wire_fail(w, AB_ERR_CLOSED, n == 0 ? 0 : errno, "connection closed");
    return 0;
}

size_t ab_redis_wire_write(ab_redis_wire *w, const char *bytes, size_t len)
{
    size_t put = 0;
    if (w->ssl != NULL) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write_ex(w->ssl, bytes, len, &put);
        return rc == 1 ? put : ab_redis_wire_after_tls(w, rc, "TLS failed");
    }
    ssize_t n = send(w->fd, bytes, len, MSG_NOSIGNAL);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN && errno != EINTR)
        ab_redis_wire_fail(w, AB_ERR_CLOSED, errno, "connection closed");
    return 0;
}

void ab_redis_wire_drop_socket(ab_redis_wire *w)
{
    SSL_free(w->ssl);
    w->ssl = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void ab_redis_wire_free_if_done(ab_redis_wire *w)
{
    if (!w->closing || w->handles > 0 || w->resolver != NULL)
        return;
    w->ops->on_closed(w->arg);
    uv_freeaddrinfo(w->addresses);
    ab_buf_wipe(&w->in);
    ab_buf_wipe(&w->out);
    free(w->name);
    free(w);
}
