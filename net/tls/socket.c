/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES    (32u * 1024)
#define READS_MAX     4 /* before others have their turn */
#define OUT_MAX       (64u * 1024 * 1024)
#define COMPACT_BYTES (64u * 1024)

typedef enum { CONNECTING, HANDSHAKE, OPEN, CLOSED } state;
typedef enum { DONE, AGAIN, FAILED } outcome;

struct ab_tls_socket {
    uv_loop_t *loop;
    uv_poll_t poll;
    uv_idle_t turn; /* active: there is something to do besides waiting for the socket */
    unsigned handles;
    int watched;
    int fd;
    SSL *ssl; /* NULL: plain */
    state state;
    bool reading;
    bool patient;
    bool more;  /* stopped reading before all was read */
    bool woken; /* on_turn is owed */
    bool full;  /* ... when half of the queue has left */
    bool shut_wanted;
    bool shut;
    size_t full_bytes;
    ab_buf out;
    size_t sent; /* of `out` */
    uint64_t moved;
    const ab_tls_socket_events *events;
    void *arg;
};

/* ---- bytes ---- */

static outcome fail(ab_tls_socket *s, const ab_error *why)
{
    ab_tls_socket_free(s);
    s->events->on_end(s->arg, why);
    return FAILED;
}

static outcome fail_io(ab_tls_socket *s, int reason, const char *what)
{
    ab_error err = {0};
    if (reason == 0)
        ab_fail(&err, AB_ERR_CLOSED, "%s", what);
    else
        ab_fail_errno(&err, AB_ERR_UNAVAILABLE, reason, "%s", what);
    return fail(s, &err);
}

/* One side does not trust the other: the peer's certificate is not good, or the peer has said so by
 * an alert. */
static bool is_denied(const ab_tls_socket *s)
{
    return SSL_get_verify_result(s->ssl) != X509_V_OK ||
           ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET;
}

/* What OpenSSL's return value means; `what` was tried. */
static outcome after_tls(ab_tls_socket *s, int rc, const char *what)
{
    int reason = errno;
    int code = SSL_get_error(s->ssl, rc);
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return AGAIN;
    if (code == SSL_ERROR_ZERO_RETURN || (code == SSL_ERROR_SYSCALL && reason != 0)) {
        ERR_clear_error();
        return fail_io(s, code == SSL_ERROR_SYSCALL ? reason : 0, "connection closed");
    }
    ab_error err = {0};
    bool denied = is_denied(s);
    ab_tls_context_explain(s->ssl, &err, what);
    err.code = denied ? AB_ERR_DENIED : err.code;
    return fail(s, &err);
}

static outcome read_some(ab_tls_socket *s, char *into, size_t room, size_t *got)
{
    errno = 0;
    if (s->ssl != NULL) {
        ERR_clear_error();
        int rc = SSL_read_ex(s->ssl, into, room, got);
        return rc == 1 ? DONE : after_tls(s, rc, "TLS failed");
    }
    ssize_t n = recv(s->fd, into, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return AGAIN;
    if (n <= 0)
        return fail_io(s, n < 0 ? errno : 0, "connection closed");
    *got = (size_t)n;
    return DONE;
}

static outcome write_some(ab_tls_socket *s, const char *bytes, size_t len, size_t *put)
{
    errno = 0;
    if (s->ssl != NULL) {
        ERR_clear_error();
        int rc = SSL_write_ex(s->ssl, bytes, len, put);
        return rc == 1 ? DONE : after_tls(s, rc, "TLS failed");
    }
    ssize_t n = send(s->fd, bytes, len, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return AGAIN;
    if (n < 0)
        return fail_io(s, errno, "connection closed");
    *put = (size_t)n;
    return DONE;
}

/* ---- what the socket is ready for ---- */

static void receive(ab_tls_socket *s)
{
    char bytes[READ_BYTES];
    s->more = false;
    for (int i = 0; i < READS_MAX && s->reading && s->state == OPEN; i++) {
        size_t got = 0;
        if (read_some(s, bytes, sizeof(bytes), &got) != DONE)
            return;
        s->events->on_bytes(s->arg, (ab_str){bytes, got});
    }
    s->more = true;
}

static void say_goodbye(ab_tls_socket *s)
{
    if (s->ssl == NULL || s->state != OPEN)
        return;
    (void)SSL_shutdown(s->ssl);
    ERR_clear_error();
}

/* All of the queue has left. */
static void after_flush(ab_tls_socket *s)
{
    ab_buf_fini(&s->out);
    s->sent = 0;
    if (!s->shut_wanted || s->shut)
        return;
    s->shut = true;
    say_goodbye(s);
    (void)shutdown(s->fd, SHUT_WR);
}

static void compact(ab_tls_socket *s)
{
    if (s->sent < COMPACT_BYTES)
        return;
    s->out.len -= s->sent;
    memmove(s->out.ptr, s->out.ptr + s->sent, s->out.len);
    s->sent = 0;
}

/* A part of it is missing, so nothing more can be sent. */
static outcome fail_queue(ab_tls_socket *s)
{
    ab_error err = {0};
    ab_fail(&err, ab_buf_status(&s->out), "the peer does not read what is sent to it");
    return fail(s, &err);
}

static void flush(ab_tls_socket *s)
{
    outcome o = DONE;
    if (s->shut)
        ab_buf_fini(&s->out);
    if (ab_buf_status(&s->out) != AB_ERR_OK)
        o = fail_queue(s);
    while (s->sent < s->out.len && o == DONE) {
        size_t put = 0;
        o = write_some(s, s->out.ptr + s->sent, s->out.len - s->sent, &put);
        s->sent += put;
        if (put > 0)
            s->moved = uv_now(s->loop);
    }
    if (o == FAILED)
        return;
    if (s->sent == s->out.len)
        after_flush(s);
    else
        compact(s);
    if (s->full && ab_tls_socket_queued(s) <= s->full_bytes / 2) {
        s->full = false;
        s->woken = true;
    }
}

/* ---- the beginning ---- */

static outcome finish_tcp(ab_tls_socket *s)
{
    int reason = 0;
    socklen_t len = sizeof(reason);
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0)
        reason = errno;
    if (reason != 0)
        return fail_io(s, reason, "cannot connect");
    s->state = HANDSHAKE;
    return DONE;
}

static outcome shake_hands(ab_tls_socket *s)
{
    errno = 0;
    if (s->ssl != NULL) {
        ERR_clear_error(); /* on plain connections it would set the library up for nothing */
        int rc = SSL_do_handshake(s->ssl);
        if (rc != 1)
            return after_tls(s, rc, "TLS handshake failed");
    }
    s->state = OPEN;
    s->moved = uv_now(s->loop);
    s->more = true; /* bytes may have come with the end of the handshake */
    s->events->on_open(s->arg);
    return DONE;
}

static void open_up(ab_tls_socket *s)
{
    if (s->state == CONNECTING && finish_tcp(s) != DONE)
        return;
    (void)shake_hands(s);
}

/* ---- on the loop ---- */

static void end_turn(ab_tls_socket *s);

static void on_poll(uv_poll_t *poll, int status, int events)
{
    ab_tls_socket *s = poll->data;
    bool readable = status < 0 || (events & UV_READABLE) != 0;
    if (s->state < OPEN)
        open_up(s);
    else if (readable && s->reading)
        receive(s);
    /* After an error libuv does not look at the socket any more. */
    bool gone = status < 0 || ((events & UV_DISCONNECT) != 0 && !s->reading && !s->patient);
    if (gone && s->state != CLOSED)
        fail_io(s, 0, "connection closed");
    end_turn(s);
}

static void on_idle(uv_idle_t *idle)
{
    ab_tls_socket *s = idle->data;
    uv_idle_stop(&s->turn);
    bool woken = s->woken;
    s->woken = false;
    if (s->more && s->reading && s->state == OPEN)
        receive(s);
    if (woken && s->state == OPEN)
        s->events->on_turn(s->arg);
    end_turn(s);
}

static int events_of(const ab_tls_socket *s)
{
    if (s->state == CONNECTING)
        return UV_WRITABLE;
    if (s->state == HANDSHAKE)
        return s->ssl != NULL && SSL_want_write(s->ssl) ? UV_WRITABLE : UV_READABLE;
    return (s->reading || !s->patient ? UV_DISCONNECT : 0) | (s->reading ? UV_READABLE : 0) |
           (ab_tls_socket_queued(s) > 0 ? UV_WRITABLE : 0);
}

/* The last step of every entry from the loop: send, then wait. */
static void end_turn(ab_tls_socket *s)
{
    if (s->state == OPEN)
        flush(s);
    if (s->state == CLOSED)
        return;
    int events = events_of(s);
    if (events != s->watched)
        uv_poll_start(&s->poll, events, on_poll);
    s->watched = events;
    if (s->woken || (s->more && s->reading && s->state == OPEN))
        uv_idle_start(&s->turn, on_idle);
}

static void need_turn(ab_tls_socket *s)
{
    if (s->state != CLOSED)
        uv_idle_start(&s->turn, on_idle);
}

/* ---- life ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    ab_tls_socket *s = handle->data;
    if (--s->handles == 0)
        free(s);
}

static void set_options(int fd)
{
    int on = 1;
    int idle_s = 30;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
}

ab_err ab_tls_socket_new(uv_loop_t *loop, const ab_tls_socket_options *options, ab_tls_socket **out)
{
    ab_tls_socket *s = calloc(1, sizeof(*s));
    bool plain = options->tls->insecure;
    SSL *ssl = plain ? NULL : ab_tls_context_open(options->tls, options->fd);
    if (s == NULL || (ssl == NULL && !plain) ||
        uv_poll_init_socket(loop, &s->poll, options->fd) != 0) {
        SSL_free(ssl);
        free(s);
        return AB_ERR_NOMEM;
    }
    set_options(options->fd);
    uv_idle_init(loop, &s->turn);
    s->poll.data = s;
    s->turn.data = s;
    s->handles = 2;
    s->loop = loop;
    s->fd = options->fd;
    s->ssl = ssl;
    s->state = options->connecting ? CONNECTING : HANDSHAKE;
    s->reading = true;
    s->patient = options->patient;
    s->full_bytes = options->full_bytes;
    s->events = options->events;
    s->arg = options->arg;
    s->moved = uv_now(loop);
    ab_buf_init(&s->out, OUT_MAX);
    s->watched = s->state == CONNECTING || plain ? UV_WRITABLE : UV_READABLE;
    uv_poll_start(&s->poll, s->watched, on_poll);
    *out = s;
    return AB_ERR_OK;
}

void ab_tls_socket_free(ab_tls_socket *s)
{
    if (s == NULL || s->state == CLOSED)
        return;
    say_goodbye(s);
    s->state = CLOSED;
    uv_close((uv_handle_t *)&s->poll, on_handle_closed);
    uv_close((uv_handle_t *)&s->turn, on_handle_closed);
    SSL_free(s->ssl);
    s->ssl = NULL;
    close(s->fd);
    ab_buf_fini(&s->out);
    s->sent = 0;
}

void ab_tls_socket_read(ab_tls_socket *s, bool on)
{
    if (s->reading == on)
        return;
    s->reading = on;
    /* OpenSSL may hold some that the socket does not show any more. */
    s->more = true;
    need_turn(s);
}

ab_buf *ab_tls_socket_out(ab_tls_socket *s)
{
    if (s->out.len == 0)
        s->moved = uv_now(s->loop);
    need_turn(s);
    return &s->out;
}

size_t ab_tls_socket_queued(const ab_tls_socket *s)
{
    return s->out.len - s->sent;
}

bool ab_tls_socket_is_full(ab_tls_socket *s)
{
    s->full = s->full || ab_tls_socket_queued(s) >= s->full_bytes;
    return s->full;
}

void ab_tls_socket_shut(ab_tls_socket *s)
{
    s->shut_wanted = true;
    need_turn(s);
}

void ab_tls_socket_wake(ab_tls_socket *s)
{
    s->woken = true;
    need_turn(s);
}

bool ab_tls_socket_has_unread(const ab_tls_socket *s)
{
    int count = 0;
    return ioctl(s->fd, FIONREAD, &count) == 0 && count > 0;
}

uint64_t ab_tls_socket_moved(const ab_tls_socket *s)
{
    return s->moved;
}

X509 *ab_tls_socket_certificate(const ab_tls_socket *s)
{
    return s->ssl == NULL ? NULL : SSL_get0_peer_certificate(s->ssl);
}

bool ab_tls_socket_is_trusted(const ab_tls_socket *s, const ab_tls_context *tls)
{
    return ab_tls_context_trusts(tls, s->ssl);
}
