/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/client.h"

#include "base/core/file.h"
#include "live/redis/wire.h"

#include <stdlib.h>

#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS   15000
#define PASSWORD_MAX   4096
#define STEADY_MS      10000 /* a connection that lasted so long was a good one */

/* IDLE -> CONNECTING -> LOGGING_IN -> UP; without a password LOGGING_IN is left out. Any of them ->
 * WAITING when it fails and is needed, else IDLE. */
typedef enum { IDLE, CONNECTING, LOGGING_IN, UP, WAITING } client_state;

struct ab_redis_client {
    uv_loop_t *loop;
    ab_log *log;
    char *host;
    int port;
    char *username;
    char *password_file;
    ab_tls_context tls;
    const ab_redis_client_ops *ops;
    void *arg;
    client_state state;
    ab_redis_wire *wire; /* the present one */
    int open;            /* wires and handles that are not closed */
    uv_timer_t retry;
    ab_backoff backoff;
    uint64_t up_ms; /* by the loop's clock */
    ab_resp_replies replies;
    bool paused;
    bool is_closing;
};

static void free_if_done(ab_redis_client *c)
{
    if (!c->is_closing || c->open > 0)
        return;
    ab_tls_context_fini(&c->tls);
    free(c->host);
    free(c->username);
    free(c->password_file);
    free(c);
}

static void on_closed(void *arg)
{
    ab_redis_client *c = arg;
    c->open--;
    free_if_done(c);
}

static void on_handle_closed(uv_handle_t *handle)
{
    on_closed(handle->data);
}

void ab_redis_client_drop(ab_redis_client *c)
{
    ab_redis_wire_close(c->wire);
    c->wire = NULL;
    c->state = IDLE;
    c->paused = false;
    c->replies = (ab_resp_replies){0};
    uv_timer_stop(&c->retry);
}

static void on_retry(uv_timer_t *timer)
{
    ab_redis_client *c = timer->data;
    c->state = IDLE;
    ab_redis_client_need(c);
}

/* From the loop only. */
static void fail(ab_redis_client *c, const ab_error *why)
{
    if (c->state == UP && uv_now(c->loop) - c->up_ms >= STEADY_MS)
        ab_backoff_reset(&c->backoff);
    ab_redis_client_drop(c);
    if (!c->ops->on_down(c->arg, why) || c->is_closing || c->state != IDLE)
        return;
    c->state = WAITING;
    uv_timer_start(&c->retry, on_retry, (uint64_t)ab_backoff_next(&c->backoff), 0);
}

static void fail_text(ab_redis_client *c, ab_err code, const char *what, ab_str detail)
{
    ab_error err = {0};
    ab_fail(&err, code, "%s:%d: %s: %.*s", c->host, c->port, what, AB_STR_ARG(detail));
    fail(c, &err);
}

static void go_up(ab_redis_client *c)
{
    c->state = UP;
    c->up_ms = uv_now(c->loop);
    c->ops->on_up(c->arg);
}

static void put_login(ab_redis_client *c, ab_str password)
{
    ab_str args[3] = {AB_STR("AUTH"), password, password};
    if (c->username != NULL)
        args[1] = ab_str_of(c->username);
    ab_resp_put_command(ab_redis_wire_out(c->wire), args, c->username == NULL ? 2 : 3);
    c->state = LOGGING_IN;
}

static void on_open(void *arg)
{
    ab_redis_client *c = arg;
    ab_error err = {0};
    if (c->password_file == NULL) {
        go_up(c);
        return;
    }
    ab_buf text = ab_buf_secret_up_to(PASSWORD_MAX);
    ab_err e = ab_file_read_named(c->password_file, &text, &err);
    ab_str password = ab_buf_str(&text);
    while (password.len > 0 && strchr("\r\n", password.ptr[password.len - 1]) != NULL)
        password.len--;
    if (e == AB_ERR_OK)
        put_login(c, password);
    else
        fail_text(c, AB_ERR_UNAVAILABLE, "cannot read its password", ab_str_of(err.text));
    ab_buf_fini(&text);
}

/* @return false: the connection is gone */
static bool take_piece(ab_redis_client *c, const ab_resp_piece *piece)
{
    const ab_redis_wire *wire = c->wire;
    if (c->state != LOGGING_IN) {
        c->ops->on_reply(c->arg, piece);
    } else if (ab_str_starts(piece->bytes, "+OK")) {
        go_up(c);
    } else {
        ab_str line = {piece->bytes.ptr + 1, piece->bytes.len - 1};
        while (line.len > 0 && strchr("\r\n", line.ptr[line.len - 1]) != NULL)
            line.len--;
        fail_text(c, AB_ERR_DENIED, "it refuses the password", line);
    }
    return c->wire == wire;
}

static size_t on_bytes(void *arg, ab_str bytes)
{
    ab_redis_client *c = arg;
    ab_resp_piece piece;
    const char *why = NULL;
    size_t used = 0;
    do {
        ab_str rest = {bytes.ptr + used, bytes.len - used};
        if (c->paused)
            break;
        if (ab_resp_replies_next(&c->replies, rest, &piece, &why) != AB_ERR_OK) {
            fail_text(c, AB_ERR_PARSE, "cannot read its reply", ab_str_of(why));
            return bytes.len;
        }
        used += piece.bytes.len;
        if (piece.bytes.len > 0 && !take_piece(c, &piece))
            return bytes.len;
    } while (piece.bytes.len > 0);
    return used;
}

static void on_wire_down(void *arg, const ab_error *why)
{
    fail(arg, why);
}

static const ab_redis_wire_ops ops = {
    .on_open = on_open,
    .on_bytes = on_bytes,
    .on_down = on_wire_down,
    .on_closed = on_closed,
};

static void on_no_memory(uv_timer_t *timer)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_NOMEM, "out of memory for a connection");
    fail(timer->data, &err);
}

void ab_redis_client_need(ab_redis_client *c)
{
    ab_error err = {0};
    if (c->state != IDLE || c->is_closing)
        return;
    if (ab_tls_context_is_stale(&c->tls) && ab_tls_context_reload(&c->tls, &err) != AB_ERR_OK)
        AB_WARN(c->log, LIVE, "cannot load new certificates; still using the previous ones",
                AB_KV("error", err.text));
    c->state = CONNECTING;
    if (ab_redis_wire_connect(c->loop, c->host, c->port, &c->tls, &ops, c, &c->wire) == AB_ERR_OK)
        c->open++;
    else
        uv_timer_start(&c->retry, on_no_memory, 0, 0);
}

bool ab_redis_client_is_up(const ab_redis_client *c)
{
    return c->state == UP;
}

void ab_redis_client_send(ab_redis_client *c, const ab_str *args, size_t count)
{
    ab_resp_put_command(ab_redis_wire_out(c->wire), args, count);
}

size_t ab_redis_client_queued(const ab_redis_client *c)
{
    return c->wire == NULL ? 0 : ab_redis_wire_queued(c->wire);
}

void ab_redis_client_pause(ab_redis_client *c, bool paused)
{
    c->paused = paused;
    if (c->wire != NULL)
        ab_redis_wire_pause(c->wire, paused);
}

static bool copy_text(const char *text, char **out)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

ab_err ab_redis_client_new(uv_loop_t *loop, ab_log *log, const ab_redis_address *address,
                           const ab_redis_client_ops *client_ops, void *arg, ab_redis_client **out,
                           ab_error *err)
{
    ab_redis_client *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    *c = (ab_redis_client){
        .loop = loop, .log = log, .port = address->port, .ops = client_ops, .arg = arg};
    ab_backoff_init(&c->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_tls tls = address->tls;
    tls.unnamed = true;
    ab_err e = AB_ERR_OK;
    if (!copy_text(address->host, &c->host) || !copy_text(address->username, &c->username) ||
        !copy_text(address->password_file, &c->password_file))
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    if (e == AB_ERR_OK)
        e = ab_tls_context_init(&c->tls, &tls, false, c->host, err);
    if (e != AB_ERR_OK) {
        c->is_closing = true;
        free_if_done(c);
        return e;
    }
    uv_timer_init(loop, &c->retry);
    c->retry.data = c;
    c->open = 1;
    *out = c;
    return AB_ERR_OK;
}

ab_err ab_redis_client_another(const ab_redis_client *c, void *arg, ab_redis_client **out,
                               ab_error *err)
{
    const ab_redis_address address = {.host = c->host,
                                      .port = c->port,
                                      .tls = {.insecure = c->tls.insecure,
                                              .ca = c->tls.files[0],
                                              .cert = c->tls.files[1],
                                              .key = c->tls.files[2],
                                              .min_version = c->tls.min_version,
                                              .ciphers = c->tls.ciphers,
                                              .server_name = c->tls.server_name},
                                      .username = c->username,
                                      .password_file = c->password_file};
    return ab_redis_client_new(c->loop, c->log, &address, c->ops, arg, out, err);
}

void ab_redis_client_close(ab_redis_client *c)
{
    if (c == NULL || c->is_closing)
        return;
    c->is_closing = true;
    ab_redis_client_drop(c);
    uv_close((uv_handle_t *)&c->retry, on_handle_closed);
}
