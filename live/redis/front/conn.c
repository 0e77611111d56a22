/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/front/front_priv.h"

#include <stdlib.h>
#include <unistd.h>

#define EXPECTED_MAX 4096 /* commands without a reply; then the client is not read */
#define ENDING_MS    10000

static void free_if_done(ab_redis_conn *c)
{
    if (!c->over || c->wires > 0)
        return;
    ab_redis_front *front = c->front;
    free(c);
    front->open_count--;
    ab_redis_front_free_if_done(front);
}

static void on_closed(void *arg)
{
    ab_redis_conn *c = arg;
    c->wires--;
    free_if_done(c);
}

void ab_redis_front_conn_close(ab_redis_conn *c)
{
    if (c->over)
        return;
    c->over = true;
    ab_link_remove(&c->link);
    c->front->conn_count--;
    ab_metric_set(c->front->connections, (double)c->front->conn_count);
    ab_redis_front_get_cancel(c->get);
    c->get = NULL;
    ab_redis_front_sub_end_all(c);
    ab_redis_front_expect_free(c);
    ab_redis_wire_close(c->client);
    ab_redis_wire_close(c->server);
}

void ab_redis_front_conn_care(ab_redis_conn *c, int64_t now_ms)
{
    if (c->ending && (ab_redis_wire_queued(c->client) == 0 || now_ms - c->ending_ms >= ENDING_MS))
        ab_redis_front_conn_close(c);
}

static void conn_end(ab_redis_conn *c)
{
    if (c->over || c->ending)
        return;
    c->ending = true;
    c->ending_ms = ab_redis_front_now_ms(c->front);
    if (c->server != NULL)
        ab_redis_wire_pause(c->server, true);
    /* It reads the last reply, and closes. */
    ab_redis_wire_shut(c->client);
    ab_redis_wire_pause(c->client, false);
}

static bool is_stuck(ab_redis_conn *c)
{
    return c->over || c->ending || c->get != NULL || ab_redis_wire_is_full(c->client);
}

static void conn_go_on(ab_redis_conn *c)
{
    if (c->over || c->ending)
        return;
    if (c->front->is_stopping && c->expected_count == 0 && !c->in_reply) {
        conn_end(c);
        return;
    }
    ab_redis_front_sub_deliver(c);
    if (c->server != NULL)
        ab_redis_wire_pause(c->server, is_stuck(c));
    bool busy = c->in_garbage || c->expected_count >= EXPECTED_MAX ||
                (c->server != NULL && ab_redis_wire_is_full(c->server));
    ab_redis_wire_pause(c->client, busy);
}

/* ---- the control plane's redis ---- */

/* Each client that comes has a connection of its own there. */
static void log_unreadable(ab_redis_front *front, const char *why)
{
    if (ab_log_quota_pass(&front->lines, ab_redis_front_now_ms(front)))
        AB_WARN(front->o.log, LIVE, "cannot read a reply of the control plane's redis",
                AB_KV("error", why), AB_KV("held_back", front->lines.held_back));
}

static size_t on_server_bytes(void *arg, ab_str bytes)
{
    ab_redis_conn *c = arg;
    ab_resp_piece piece;
    const char *why = NULL;
    size_t used = 0;
    do {
        ab_str rest = {bytes.ptr + used, bytes.len - used};
        if (is_stuck(c))
            break;
        if (ab_resp_replies_next(&c->replies, rest, &piece, &why) != AB_ERR_OK) {
            log_unreadable(c->front, why);
            conn_end(c);
            return bytes.len;
        }
        used += piece.bytes.len;
        if (piece.bytes.len > 0)
            ab_redis_front_reply(c, &piece);
    } while (piece.bytes.len > 0);
    conn_go_on(c);
    return used;
}

/* A redis that closes the connection has a reason, such as QUIT; one that cannot be reached is told
 * to the client. */
static void on_server_down(void *arg, const ab_error *why)
{
    ab_redis_conn *c = arg;
    if (why->code != AB_ERR_CLOSED) {
        ab_error text = *why;
        ab_error_prefix(&text, "the control plane's redis cannot be reached");
        AB_DEBUG(c->front->o.log, LIVE, "the control plane's redis cannot be reached",
                 AB_KV("error", why->text));
        if (!c->in_reply)
            ab_resp_put_error(ab_redis_wire_out(c->client), ab_str_of(text.text));
    }
    conn_end(c);
}

static void on_server_room(void *arg)
{
    conn_go_on(arg);
}

static const ab_redis_wire_ops server_ops = {
    .on_bytes = on_server_bytes,
    .on_room = on_server_room,
    .on_down = on_server_down,
    .on_closed = on_closed,
};

static bool has_server(ab_redis_conn *c)
{
    const ab_redis_front *f = c->front;
    if (c->server != NULL)
        return true;
    if (ab_redis_wire_connect(f->o.loop, f->redis_host, f->o.redis_port, &f->redis_tls, &server_ops,
                              c, &c->server) != AB_ERR_OK)
        return false;
    c->wires++;
    return true;
}

/* ---- the client ---- */

static size_t on_client_bytes(void *arg, ab_str bytes)
{
    ab_redis_conn *c = arg;
    ab_resp_piece piece = {.ends = true};
    const char *why = NULL;
    size_t used = 0;
    if (c->ending || c->in_garbage || !has_server(c)) {
        conn_end(c);
        return bytes.len;
    }
    do {
        ab_str rest = {bytes.ptr + used, bytes.len - used};
        if (c->expected_count >= EXPECTED_MAX || ab_redis_wire_is_full(c->server))
            break;
        if (ab_resp_requests_next(&c->requests, rest, &piece, &why) != AB_ERR_OK) {
            ab_redis_front_command_refuse(c, why);
            used = bytes.len;
            break;
        }
        used += piece.bytes.len;
        if (piece.bytes.len > 0)
            ab_redis_front_command(c, &piece);
    } while (piece.bytes.len > 0 && !c->over && !c->in_garbage);
    conn_go_on(c);
    return used;
}

static void on_client_room(void *arg)
{
    ab_redis_conn *c = arg;
    if (c->get != NULL)
        ab_redis_front_get_go_on(c->get);
    conn_go_on(c);
}

static void on_client_down(void *arg, const ab_error *why)
{
    ab_redis_conn *c = arg;
    AB_DEBUG(c->front->o.log, LIVE, "redis client disconnected", AB_KV("reason", why->text));
    ab_redis_front_conn_close(c);
}

static const ab_redis_wire_ops client_ops = {
    .on_bytes = on_client_bytes,
    .on_room = on_client_room,
    .on_down = on_client_down,
    .on_closed = on_closed,
};

static const ab_redis_conn_ops ops = {
    .close = ab_redis_front_conn_close, .end = conn_end, .go_on = conn_go_on};

ab_err ab_redis_front_conn_new(ab_redis_front *front, int fd)
{
    ab_redis_conn *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        close(fd);
        return AB_ERR_NOMEM;
    }
    c->front = front;
    c->ops = &ops;
    ab_link_init(&c->link);
    ab_link_init(&c->expected);
    ab_link_init(&c->told);
    ab_err e =
        ab_redis_wire_accept(front->o.loop, fd, &front->listen_tls, &client_ops, c, &c->client);
    if (e != AB_ERR_OK) {
        free(c);
        return e;
    }
    c->wires = 1;
    front->open_count++;
    ab_list_append(&front->conns, &c->link);
    ab_metric_set(front->connections, (double)++front->conn_count);
    return AB_ERR_OK;
}
