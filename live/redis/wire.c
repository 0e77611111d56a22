/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/wire_priv.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_MAX      (512u * 1024)
#define OUT_MAX     (8u * 1024 * 1024)
#define READ_BYTES  (32u * 1024)
#define READ_ROUNDS 4    /* then others have their turn */
#define KEEP_BYTES  4096 /* a queue that is smaller stays allocated */

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
        memmove(w->out.ptr, w->out.ptr + w->sent, ab_redis_wire_queued(w));
        w->out.len = ab_redis_wire_queued(w);
        w->sent = 0;
    }
}

static void send_queue(ab_redis_wire *w)
{
    if (ab_buf_status(&w->out) != AB_ERR_OK)
        ab_redis_wire_fail(w, ab_buf_status(&w->out), 0,
                           "the peer does not read what is sent to it");
    while (ab_redis_wire_queued(w) > 0 && w->why.code == AB_ERR_OK) {
        size_t n = ab_redis_wire_write(w, w->out.ptr + w->sent, ab_redis_wire_queued(w));
        if (n == 0)
            break;
        w->sent += n;
    }
    if (w->why.code == AB_ERR_OK)
        trim_out(w);
}

void ab_redis_wire_flush(ab_redis_wire *w)
{
    if (w->closing || w->state != AB_REDIS_WIRE_OPEN)
        return;
    w->wants_write = false;
    send_queue(w);
    ab_redis_wire_watch(w);
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
            ab_redis_wire_fail(w, AB_ERR_TOOBIG, 0, "the peer sends more than can be held");
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
        n = ab_redis_wire_read(w, bytes, sizeof(bytes));
        if (n > 0)
            hand_over(w, (ab_str){bytes, n});
    }
    /* What OpenSSL has read, the socket does not tell of. */
    w->kicked = n > 0 && w->ssl != NULL;
}

static void tell_room(ab_redis_wire *w)
{
    if (!w->owes_room || ab_redis_wire_queued(w) >= AB_REDIS_WIRE_HIGH / 2)
        return;
    w->owes_room = false;
    if (w->ops->on_room != NULL)
        w->ops->on_room(w->arg);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    ab_redis_wire *w = poll->data;
    (void)events;
    if (status < 0 && w->state != AB_REDIS_WIRE_CONNECTING)
        ab_redis_wire_fail(w, AB_ERR_CLOSED, -status, "connection closed");
    w->wants_write = false;
    if (w->state == AB_REDIS_WIRE_CONNECTING)
        ab_redis_wire_finish_connect(w);
    if (!w->polls)
        return;
    if (w->state == AB_REDIS_WIRE_HANDSHAKE && w->why.code == AB_ERR_OK) {
        w->kicked = false;
        ab_redis_wire_shake_hands(w);
    }
    if (w->state == AB_REDIS_WIRE_OPEN && !w->closing && w->why.code == AB_ERR_OK)
        receive(w);
    if (w->state == AB_REDIS_WIRE_OPEN && !w->closing && w->why.code == AB_ERR_OK)
        send_queue(w);
    if (!w->closing && w->why.code == AB_ERR_OK)
        tell_room(w);
    if (!w->closing && w->why.code != AB_ERR_OK)
        ab_redis_wire_go_down(w);
    ab_redis_wire_watch(w);
}

static ab_redis_wire *new_wire(uv_loop_t *loop, const ab_redis_wire_ops *ops, void *arg)
{
    ab_redis_wire *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    *w = (ab_redis_wire){.loop = loop, .ops = ops, .arg = arg, .on_ready = on_ready, .fd = -1};
    ab_buf_init(&w->in, IN_MAX);
    ab_buf_init(&w->out, OUT_MAX);
    uv_timer_init(loop, &w->deadline);
    w->deadline.data = w;
    w->handles = 1;
    ab_redis_wire_limit(w);
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
    ab_redis_wire_adopt(w, fd, tls);
    *out = w;
    return AB_ERR_OK;
}

ab_err ab_redis_wire_connect(uv_loop_t *loop, const char *host, int port, const ab_tls_context *tls,
                             const ab_redis_wire_ops *ops, void *arg, ab_redis_wire **out)
{
    ab_redis_wire *w = new_wire(loop, ops, arg);
    if (w == NULL)
        return AB_ERR_NOMEM;
    ab_redis_wire_dial(w, host, port, tls);
    *out = w;
    return AB_ERR_OK;
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_redis_wire *w = handle->data;
    w->handles--;
    ab_redis_wire_free_if_done(w);
}

void ab_redis_wire_close(ab_redis_wire *w)
{
    if (w == NULL || w->closing)
        return;
    w->closing = true;
    if (w->ssl != NULL && w->state == AB_REDIS_WIRE_OPEN) {
        (void)SSL_shutdown(w->ssl);
        ERR_clear_error();
    }
    if (w->polls)
        uv_close((uv_handle_t *)&w->poll, on_handle_closed);
    uv_close((uv_handle_t *)&w->deadline, on_handle_closed);
    if (w->resolver != NULL)
        uv_cancel((uv_req_t *)w->resolver);
    if (w->polls || w->handles == 1)
        ab_redis_wire_drop_socket(w);
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

bool ab_redis_wire_is_full(ab_redis_wire *w)
{
    if (ab_redis_wire_queued(w) < AB_REDIS_WIRE_HIGH)
        return false;
    w->owes_room = true;
    return true;
}

void ab_redis_wire_pause(ab_redis_wire *w, bool paused)
{
    if (w->paused && !paused)
        w->kicked = true;
    w->paused = paused;
    ab_redis_wire_watch(w);
}
