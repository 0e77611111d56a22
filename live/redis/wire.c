/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES  (32u * 1024)
#define READ_ROUNDS 4 /* then others have their turn */
#define IN_MAX      (512u * 1024)
#define OUT_MAX     (8u * 1024 * 1024)
#define KEEP_BYTES  4096 /* a queue that is smaller stays allocated */
/* A peer that is gone without a word is noticed after the first and some of the second. */
#define KEEPALIVE_S       60
#define KEEPALIVE_EVERY_S 10
#define KEEPALIVE_COUNT   3

/* RESOLVING -> CONNECTING -> HANDSHAKE -> OPEN; an accepted one begins with HANDSHAKE. Any of them
 * -> DOWN, when on_down was called. */
typedef enum { RESOLVING, CONNECTING, HANDSHAKE, OPEN, DOWN } wire_state;

struct ab_redis_wire {
    uv_loop_t *loop;
    const ab_redis_wire_ops *ops;
    void *arg;
    wire_state state;
    uv_poll_t poll;
    bool polls; /* `poll` is initialised */
    int fd;
    SSL *ssl;
    const ab_tls_context *tls; /* until the connection stands */
    char *name;                /* "host:port", for errors; NULL: accepted */
    uv_getaddrinfo_t *resolver;
    struct addrinfo *addresses;
    struct addrinfo *next; /* to be tried when the present one fails */
    uv_timer_t deadline;   /* of opening */
    ab_buf in;             /* came and was not taken */
    ab_buf out;
    size_t sent; /* of `out` */
    bool paused;
    bool wants_write; /* TLS does */
    bool kicked;      /* look at `in` and into TLS, whatever the socket says */
    bool owes_room;
    bool closing;
    int handles; /* that are not closed */
    ab_error why;
};

static void on_ready(uv_poll_t *poll, int status, int events);

static size_t queued(const ab_redis_wire *w)
{
    return w->out.len - w->sent;
}

/* Ask the loop for what is waited for now. */
static void watch(ab_redis_wire *w)
{
    int events = 0;
    if (w->closing || !w->polls)
        return;
    if (w->state == HANDSHAKE || (w->state == OPEN && !w->paused))
        events |= UV_READABLE;
    if (w->state == CONNECTING || w->wants_write || w->kicked || w->why.code != AB_ERR_OK ||
        (w->state == OPEN && queued(w) > 0))
        events |= UV_WRITABLE;
    if (w->state == DOWN || events == 0)
        uv_poll_stop(&w->poll);
    else
        uv_poll_start(&w->poll, events, on_ready);
}

static void fail(ab_redis_wire *w, ab_err code, int reason, const char *what)
{
    if (w->why.code != AB_ERR_OK)
        return;
    if (reason == 0)
        ab_fail(&w->why, code, "%s", what);
    else
        ab_fail_errno(&w->why, code, reason, "%s", what);
}

/* From the loop only. */
static void go_down(ab_redis_wire *w)
{
    if (w->closing || w->state == DOWN)
        return;
    w->state = DOWN;
    uv_timer_stop(&w->deadline);
    watch(w);
    if (w->name != NULL)
        ab_error_prefix(&w->why, "%s", w->name);
    w->ops->on_down(w->arg, &w->why);
}

/* ---- bytes ---- */

/* @return bytes; 0: none now, or it has failed */
static size_t after_tls(ab_redis_wire *w, int rc, const char *what)
{
    int reason = errno;
    int code = SSL_get_error(w->ssl, rc);
    if (code == SSL_ERROR_WANT_WRITE)
        w->wants_write = true;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return 0;
    if (code == SSL_ERROR_ZERO_RETURN || code == SSL_ERROR_SYSCALL)
        fail(w, AB_ERR_CLOSED, code == SSL_ERROR_SYSCALL ? reason : 0, "connection closed");
    else if (w->why.code == AB_ERR_OK)
        ab_tls_context_explain(w->ssl, &w->why, what);
    ERR_clear_error();
    return 0;
}

static size_t read_some(ab_redis_wire *w, char *into, size_t len)
{
    size_t got = 0;
    if (w->ssl != NULL) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_read_ex(w->ssl, into, len, &got);
        return rc == 1 ? got : after_tls(w, rc, "TLS failed");
    }
    ssize_t n = recv(w->fd, into, len, 0);
    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        fail(w, AB_ERR_CLOSED, n == 0 ? 0 : errno, "connection closed");
    return 0;
}

static size_t write_some(ab_redis_wire *w, const char *bytes, size_t len)
{
    size_t put = 0;
    if (w->ssl != NULL) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write_ex(w->ssl, bytes, len, &put);
        return rc == 1 ? put : after_tls(w, rc, "TLS failed");
    }
    ssize_t n = send(w->fd, bytes, len, MSG_NOSIGNAL);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN && errno != EINTR)
        fail(w, AB_ERR_CLOSED, errno, "connection closed");
    return 0;
}

/* What was sent makes room; a large queue is given back. */
static void trim_out(ab_redis_wire *w)
{
    if (w->sent == w->out.len) {
        w->sent = 0;
        if (w->out.room > KEEP_BYTES)
            ab_buf_fini(&w->out);
        else
            ab_buf_clear(&w->out);
    } else if (w->sent > AB_REDIS_WIRE_HIGH) {
        memmove(w->out.ptr, w->out.ptr + w->sent, queued(w));
        w->out.len = queued(w);
        w->sent = 0;
    }
}

static void send_queue(ab_redis_wire *w)
{
    if (ab_buf_status(&w->out) != AB_ERR_OK)
        fail(w, ab_buf_status(&w->out), 0, "the peer does not read what is sent to it");
    while (queued(w) > 0 && w->why.code == AB_ERR_OK) {
        size_t n = write_some(w, w->out.ptr + w->sent, queued(w));
        if (n == 0)
            break;
        w->sent += n;
    }
    if (w->why.code == AB_ERR_OK)
        trim_out(w);
}

void ab_redis_wire_flush(ab_redis_wire *w)
{
    if (w->closing || w->state != OPEN)
        return;
    w->wants_write = false;
    send_queue(w);
    watch(w);
}

/* The owner takes from the front of what was held and of what came. */
static void hand_over(ab_redis_wire *w, ab_str fresh)
{
    bool held = w->in.len > 0;
    if (held)
        ab_buf_put(&w->in, fresh);
    ab_str all = held ? ab_buf_str(&w->in) : fresh;
    if (all.len == 0 || ab_buf_status(&w->in) != AB_ERR_OK) {
        if (all.len > 0)
            fail(w, AB_ERR_TOOBIG, 0, "the peer sends more than can be held");
        return;
    }
    size_t taken = w->ops->on_bytes(w->arg, all);
    if (w->closing)
        return;
    if (!held && taken < all.len) {
        ab_buf_put(&w->in, (ab_str){all.ptr + taken, all.len - taken});
    } else if (taken == all.len) {
        ab_buf_fini(&w->in);
    } else if (taken > 0) {
        memmove(w->in.ptr, w->in.ptr + taken, all.len - taken);
        w->in.len = all.len - taken;
    }
}

static void receive(ab_redis_wire *w)
{
    char bytes[READ_BYTES];
    size_t n = 1;
    if (w->kicked && w->in.len > 0 && !w->paused)
        hand_over(w, (ab_str){bytes, 0});
    w->kicked = false;
    for (int i = 0; i < READ_ROUNDS && n > 0; i++) {
        if (w->closing || w->paused || w->why.code != AB_ERR_OK)
            return;
        n = read_some(w, bytes, sizeof(bytes));
        if (n > 0)
            hand_over(w, (ab_str){bytes, n});
    }
    /* What OpenSSL has read, the socket does not tell of. */
    w->kicked = n > 0 && w->ssl != NULL;
}

static void tell_room(ab_redis_wire *w)
{
    if (!w->owes_room || queued(w) >= AB_REDIS_WIRE_HIGH / 2)
        return;
    w->owes_room = false;
    if (w->ops->on_room != NULL)
        w->ops->on_room(w->arg);
}

/* ---- opening ---- */

static void open_now(ab_redis_wire *w)
{
    w->state = OPEN;
    uv_timer_stop(&w->deadline);
    uv_freeaddrinfo(w->addresses);
    w->addresses = NULL;
    w->next = NULL;
    if (w->ops->on_open != NULL)
        w->ops->on_open(w->arg);
}

static void shake_hands(ab_redis_wire *w)
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
        (void)after_tls(w, rc, "TLS handshake failed");
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
        w->state = CONNECTING;
        watch(w);
        return true;
    }
    fail(w, AB_ERR_UNAVAILABLE, errno, "cannot connect");
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
    fail(w, AB_ERR_UNAVAILABLE, 0, "cannot connect");
    go_down(w);
}

static void drop_socket(ab_redis_wire *w)
{
    SSL_free(w->ssl);
    w->ssl = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static void free_if_done(ab_redis_wire *w)
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

static void on_handle_closed(uv_handle_t *handle)
{
    ab_redis_wire *w = handle->data;
    w->handles--;
    free_if_done(w);
}

/* The socket of this attempt is closed: the next address. */
static void on_attempt_closed(uv_handle_t *handle)
{
    ab_redis_wire *w = handle->data;
    w->handles--;
    drop_socket(w);
    if (w->closing)
        free_if_done(w);
    else if (w->state != DOWN)
        dial_next(w);
}

static void finish_connect(ab_redis_wire *w)
{
    int reason = 0;
    socklen_t len = sizeof(reason);
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0)
        reason = errno;
    if (reason == 0) {
        w->state = HANDSHAKE;
        return;
    }
    fail(w, AB_ERR_UNAVAILABLE, reason, "cannot connect");
    if (w->next == NULL)
        return;
    w->polls = false;
    uv_close((uv_handle_t *)&w->poll, on_attempt_closed);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    ab_redis_wire *w = poll->data;
    (void)events;
    if (status < 0 && w->state != CONNECTING)
        fail(w, AB_ERR_CLOSED, -status, "connection closed");
    w->wants_write = false;
    if (w->state == CONNECTING)
        finish_connect(w);
    if (!w->polls)
        return;
    if (w->state == HANDSHAKE && w->why.code == AB_ERR_OK) {
        w->kicked = false;
        shake_hands(w);
    }
    if (w->state == OPEN && !w->closing && w->why.code == AB_ERR_OK)
        receive(w);
    if (w->state == OPEN && !w->closing && w->why.code == AB_ERR_OK)
        send_queue(w);
    if (!w->closing && w->why.code == AB_ERR_OK)
        tell_room(w);
    if (!w->closing && w->why.code != AB_ERR_OK)
        go_down(w);
    watch(w);
}

static void on_deadline(uv_timer_t *timer)
{
    ab_redis_wire *w = timer->data;
    fail(w, AB_ERR_TIMEOUT, 0, "the connection does not come about in time");
    go_down(w);
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    ab_redis_wire *w = req->data;
    free(req);
    w->resolver = NULL;
    w->addresses = list;
    if (w->closing) {
        free_if_done(w);
        return;
    }
    w->next = list;
    if (status != 0)
        fail(w, AB_ERR_UNAVAILABLE, -status, "cannot resolve the name");
    if (w->state == RESOLVING)
        dial_next(w);
}

/* on_down follows from the loop. */
static void fail_soon(ab_redis_wire *w)
{
    fail(w, AB_ERR_NOMEM, 0, "out of memory for a connection");
    uv_timer_start(&w->deadline, on_deadline, 0, 0);
}

static ab_redis_wire *new_wire(uv_loop_t *loop, const ab_redis_wire_ops *ops, void *arg)
{
    ab_redis_wire *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    *w = (ab_redis_wire){.loop = loop, .ops = ops, .arg = arg, .fd = -1};
    ab_buf_init(&w->in, IN_MAX);
    ab_buf_init(&w->out, OUT_MAX);
    uv_timer_init(loop, &w->deadline);
    w->deadline.data = w;
    w->handles = 1;
    uv_timer_start(&w->deadline, on_deadline, AB_REDIS_WIRE_OPEN_MS, 0);
    return w;
}

ab_err ab_redis_wire_accept(uv_loop_t *loop, int fd, const ab_tls_context *tls,
                            const ab_redis_wire_ops *ops, void *arg, ab_redis_wire **out)
{
    ab_redis_wire *w = new_wire(loop, ops, arg);
    if (w == NULL) {
        close(fd);
        return AB_ERR_NOMEM;
    }
    w->fd = fd;
    w->state = HANDSHAKE;
    if (begin_tls(w, tls) != AB_ERR_OK || begin_poll(w) != AB_ERR_OK)
        fail_soon(w);
    w->kicked = true; /* plain TCP is open at once */
    watch(w);
    *out = w;
    return AB_ERR_OK;
}

ab_err ab_redis_wire_connect(uv_loop_t *loop, const char *host, int port, const ab_tls_context *tls,
                             const ab_redis_wire_ops *ops, void *arg, ab_redis_wire **out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char service[16];
    ab_redis_wire *w = new_wire(loop, ops, arg);
    if (w == NULL)
        return AB_ERR_NOMEM;
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
        uv_getaddrinfo(loop, w->resolver, on_resolved, host, service, &hints) != 0) {
        free(w->resolver);
        w->resolver = NULL;
        fail_soon(w);
    }
    *out = w;
    return AB_ERR_OK;
}

void ab_redis_wire_close(ab_redis_wire *w)
{
    if (w == NULL || w->closing)
        return;
    w->closing = true;
    if (w->ssl != NULL && w->state == OPEN) {
        (void)SSL_shutdown(w->ssl);
        ERR_clear_error();
    }
    if (w->polls)
        uv_close((uv_handle_t *)&w->poll, on_handle_closed);
    uv_close((uv_handle_t *)&w->deadline, on_handle_closed);
    if (w->resolver != NULL)
        uv_cancel((uv_req_t *)w->resolver);
    if (w->polls || w->handles == 1)
        drop_socket(w);
}

/* ---- for the owner ---- */

void ab_redis_wire_put(ab_redis_wire *w, ab_str bytes)
{
    ab_buf_put(&w->out, bytes);
}

ab_buf *ab_redis_wire_out(ab_redis_wire *w)
{
    return &w->out;
}

size_t ab_redis_wire_queued(const ab_redis_wire *w)
{
    return queued(w);
}

bool ab_redis_wire_is_full(ab_redis_wire *w)
{
    if (queued(w) < AB_REDIS_WIRE_HIGH)
        return false;
    w->owes_room = true;
    return true;
}

void ab_redis_wire_pause(ab_redis_wire *w, bool paused)
{
    if (w->paused && !paused)
        w->kicked = true;
    w->paused = paused;
    watch(w);
}
