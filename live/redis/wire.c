/* SPDX-License-Identifier: Apache-2.0
 *
 * A socket of net/tls with what redis needs besides: bytes that were not taken are kept, what is
 * sent before it is open waits, and of a name all addresses are tried.
 */
#include "live/redis/wire.h"

#include "net/tls/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_MAX   (512u * 1024)
#define WAIT_MAX (8u * 1024 * 1024)

struct ab_redis_wire {
    uv_loop_t *loop;
    const ab_redis_wire_ops *ops;
    void *arg;
    ab_tls_socket *socket; /* NULL: no address yet, down or closing */
    bool open;
    bool down; /* on_down was called */
    bool closing;
    bool paused;
    bool owes_room;
    const ab_tls_context *tls; /* until the connection stands */
    char *name;                /* "host:port", for errors; NULL: accepted */
    uv_getaddrinfo_t *resolver;
    struct addrinfo *addresses;
    struct addrinfo *next; /* to be tried when the present one fails */
    uv_timer_t deadline;   /* of opening; is closed last */
    bool has_timer;
    ab_buf in;   /* came and was not taken */
    ab_buf wait; /* to be sent when it is open */
    ab_error why;
};

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
    if (w->closing || w->down)
        return;
    w->down = true;
    w->open = false;
    uv_timer_stop(&w->deadline);
    ab_tls_socket_free(w->socket);
    w->socket = NULL;
    if (w->name != NULL)
        ab_error_prefix(&w->why, "%s", w->name);
    w->ops->on_down(w->arg, &w->why);
}

/* The owner takes from the front of what was held and of what came. */
static void hand_over(ab_redis_wire *w, ab_str fresh)
{
    bool held = w->in.len > 0;
    if (held)
        ab_buf_put(&w->in, fresh);
    ab_str all = held ? ab_buf_str(&w->in) : fresh;
    size_t taken = all.len == 0 ? 0 : w->ops->on_bytes(w->arg, all);
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
    if (ab_buf_status(&w->in) == AB_ERR_OK)
        return;
    fail(w, AB_ERR_TOOBIG, 0, "the peer sends more than can be held");
    go_down(w);
}

static void on_bytes(void *arg, ab_str bytes)
{
    hand_over(arg, bytes);
}

static void on_turn(void *arg)
{
    ab_redis_wire *w = arg;
    if (!w->paused && w->in.len > 0)
        hand_over(w, (ab_str){0});
    if (!w->open)
        return;
    ab_tls_socket_read(w->socket, !w->paused);
    if (!w->owes_room || ab_tls_socket_is_full(w->socket))
        return;
    w->owes_room = false;
    if (w->ops->on_room != NULL)
        w->ops->on_room(w->arg);
}

static void drop_addresses(ab_redis_wire *w)
{
    uv_freeaddrinfo(w->addresses);
    w->addresses = NULL;
    w->next = NULL;
}

static void on_open(void *arg)
{
    ab_redis_wire *w = arg;
    w->open = true;
    uv_timer_stop(&w->deadline);
    drop_addresses(w);
    if (ab_buf_status(&w->wait) != AB_ERR_OK) {
        fail(w, ab_buf_status(&w->wait), 0, "too much was to be sent before it was open");
        go_down(w);
        return;
    }
    ab_buf_put(ab_tls_socket_out(w->socket), ab_buf_str(&w->wait));
    ab_buf_wipe(&w->wait);
    ab_tls_socket_read(w->socket, !w->paused);
    if (w->owes_room)
        ab_tls_socket_wake(w->socket);
    if (w->ops->on_open != NULL)
        w->ops->on_open(w->arg);
}

static void dial_next(ab_redis_wire *w);

static void on_end(void *arg, const ab_error *why)
{
    ab_redis_wire *w = arg;
    w->socket = NULL; /* it frees itself */
    w->why = *why;
    if (w->next != NULL)
        dial_next(w);
    else
        go_down(w);
}

static const ab_tls_socket_events events = {on_open, on_bytes, on_turn, on_end};

static ab_err begin(ab_redis_wire *w, int fd, const ab_tls_context *tls, bool connecting)
{
    const ab_tls_socket_options options = {.tls = tls,
                                           .fd = fd,
                                           .connecting = connecting,
                                           .patient = true,
                                           .full_bytes = AB_REDIS_WIRE_HIGH,
                                           .events = &events,
                                           .arg = w};
    ab_err e = ab_tls_socket_new(w->loop, &options, &w->socket);
    if (e != AB_ERR_OK)
        close(fd);
    return e;
}

static bool dial(ab_redis_wire *w, const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)) {
        fail(w, AB_ERR_UNAVAILABLE, errno, "cannot connect");
        if (fd >= 0)
            close(fd);
        return false;
    }
    ab_err e = begin(w, fd, w->tls, true);
    if (e != AB_ERR_OK)
        fail(w, e, 0, "out of memory for a connection");
    return e == AB_ERR_OK;
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

static void free_if_done(ab_redis_wire *w)
{
    if (!w->closing || w->has_timer || w->resolver != NULL)
        return;
    w->ops->on_closed(w->arg);
    drop_addresses(w);
    ab_buf_wipe(&w->in);
    ab_buf_wipe(&w->wait);
    free(w->name);
    free(w);
}

static void on_timer_closed(uv_handle_t *handle)
{
    ab_redis_wire *w = handle->data;
    w->has_timer = false;
    free_if_done(w);
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
    if (w->down)
        return;
    w->next = list;
    if (status != 0)
        fail(w, AB_ERR_UNAVAILABLE, -status, "cannot resolve the name");
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
    *w = (ab_redis_wire){.loop = loop, .ops = ops, .arg = arg, .has_timer = true};
    ab_buf_init(&w->in, IN_MAX);
    ab_buf_init(&w->wait, WAIT_MAX);
    uv_timer_init(loop, &w->deadline);
    w->deadline.data = w;
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
    if (begin(w, fd, tls, false) != AB_ERR_OK)
        fail_soon(w);
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
    w->open = false;
    ab_tls_socket_free(w->socket);
    w->socket = NULL;
    if (w->resolver != NULL)
        uv_cancel((uv_req_t *)w->resolver);
    uv_close((uv_handle_t *)&w->deadline, on_timer_closed);
}

/* ---- for the owner ---- */

ab_buf *ab_redis_wire_out(ab_redis_wire *w)
{
    return w->open ? ab_tls_socket_out(w->socket) : &w->wait;
}

void ab_redis_wire_put(ab_redis_wire *w, ab_str bytes)
{
    ab_buf_put(ab_redis_wire_out(w), bytes);
}

void ab_redis_wire_shut(ab_redis_wire *w)
{
    if (w->open)
        ab_tls_socket_shut(w->socket);
}

size_t ab_redis_wire_queued(const ab_redis_wire *w)
{
    return w->open ? ab_tls_socket_queued(w->socket) : w->wait.len;
}

bool ab_redis_wire_is_full(ab_redis_wire *w)
{
    bool full = w->open ? ab_tls_socket_is_full(w->socket) : w->wait.len >= AB_REDIS_WIRE_HIGH;
    w->owes_room = w->owes_room || full;
    return full;
}

void ab_redis_wire_pause(ab_redis_wire *w, bool paused)
{
    bool goes_on = w->paused && !paused;
    w->paused = paused;
    if (!w->open)
        return;
    if (paused || w->in.len == 0)
        ab_tls_socket_read(w->socket, !paused);
    else if (goes_on)
        ab_tls_socket_wake(w->socket); /* first what was held */
}
