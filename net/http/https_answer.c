/* SPDX-License-Identifier: Apache-2.0
 *
 * What the application says to a request goes into the socket's queue at once; that it is finished,
 * or aborted, is noted for the loop.
 */
#include "net/http/https_priv.h"

#include <inttypes.h>

#define REFUSAL_MAX 4096

static const struct {
    int status;
    const char *text;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return "Status";
}

static bool is_framing(ab_str name)
{
    static const char *const names[] = {
        "connection", "content-length", "keep-alive",       "transfer-encoding",
        "upgrade",    "trailer",        "proxy-connection", NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        if (name.len == strlen(names[i]) && strncasecmp(name.ptr, names[i], name.len) == 0)
            return true;
    }
    return false;
}

static void put_fields(ab_buf *out, const ab_http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_framing(fields[i].name))
            continue;
        ab_buf_put(out, fields[i].name);
        ab_buf_puts(out, ": ");
        ab_buf_put(out, fields[i].value);
        ab_buf_puts(out, "\r\n");
    }
}

/* A body that nobody will read is not worth the connection when it is long. */
static bool is_last(const ab_https_conn *c)
{
    return c->close || c->server->draining ||
           (c->state == AB_HTTPS_BODY && (c->chunked || c->left > AB_HTTPS_DROP_BYTES));
}

static void put_head(ab_https_request *r, int status, const ab_http_field *fields, size_t count)
{
    ab_buf *out = ab_tls_socket_out(r->conn->socket);
    ab_buf_printf(out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    put_fields(out, fields, count);
    if (r->chunked)
        ab_buf_puts(out, "transfer-encoding: chunked\r\n");
    else if (r->left >= 0 && status != 204)
        ab_buf_printf(out, "content-length: %" PRId64 "\r\n", r->left);
    ab_buf_puts(out, r->conn->close ? "connection: close\r\n\r\n" : "\r\n");
}

/* The end of the connection tells what a queue without memory would hold. */
static ab_err check_queue(ab_https_request *r)
{
    ab_err e = ab_buf_status(ab_tls_socket_out(r->conn->socket));
    if (e != AB_ERR_OK)
        ab_https_abort(r);
    return e;
}

static bool is_over(const ab_https_request *r)
{
    return r->conn->doomed || r->finished || r->aborted;
}

static ab_err check_fields(const ab_http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!ab_http_field_is_good(fields[i].name, fields[i].value))
            return AB_ERR_INVALID;
    }
    return AB_ERR_OK;
}

void ab_https_take(ab_https_request *r, const ab_https_handler *handler, void *arg)
{
    r->handler = handler;
    r->arg = arg;
}

ab_err ab_https_answer(ab_https_request *r, int status, const ab_http_field *fields, size_t count,
                       int64_t length)
{
    if (is_over(r) || r->answered)
        return AB_ERR_CLOSED;
    if (status < 200 || status > 999 || check_fields(fields, count) != AB_ERR_OK)
        return AB_ERR_INVALID;
    r->answered = true;
    r->no_body = r->is_head || status == 204 || status == 304;
    r->chunked = length < 0 && !r->no_body && !r->old;
    r->left = length;
    r->conn->close = is_last(r->conn);
    put_head(r, status, fields, count);
    return check_queue(r);
}

ab_err ab_https_send(ab_https_request *r, ab_str bytes)
{
    if (is_over(r) || !r->answered || r->conn->state == AB_HTTPS_WEBSOCKET)
        return AB_ERR_CLOSED;
    if (r->no_body || bytes.len == 0)
        return AB_ERR_OK;
    if (r->left >= 0 && bytes.len > (uint64_t)r->left)
        return AB_ERR_TOOBIG;
    if (ab_tls_socket_is_full(r->conn->socket)) {
        r->full = true;
        return AB_ERR_FULL;
    }
    ab_buf *out = ab_tls_socket_out(r->conn->socket);
    if (r->chunked)
        ab_buf_printf(out, "%zx\r\n", bytes.len);
    ab_buf_put(out, bytes);
    if (r->chunked)
        ab_buf_puts(out, "\r\n");
    if (r->left >= 0)
        r->left -= (int64_t)bytes.len;
    return check_queue(r);
}

void ab_https_finish(ab_https_request *r)
{
    if (is_over(r))
        return;
    if (r->answered && r->chunked)
        ab_buf_puts(ab_tls_socket_out(r->conn->socket), "0\r\n\r\n");
    r->finished = r->answered && r->conn->state != AB_HTTPS_WEBSOCKET;
    r->aborted = !r->finished || check_queue(r) != AB_ERR_OK;
    ab_tls_socket_wake(r->conn->socket);
}

void ab_https_abort(ab_https_request *r)
{
    if (is_over(r))
        return;
    r->aborted = true;
    ab_tls_socket_wake(r->conn->socket);
}

ab_err ab_https_reply(ab_https_request *r, int status, const char *type, ab_str body)
{
    const ab_http_field fields[] = {{AB_STR("content-type"), ab_str_of(type)}};
    ab_err e = ab_https_answer(r, status, fields, 1, (int64_t)body.len);
    if (e != AB_ERR_OK)
        return e;
    /* Past the queue's limit: it is whole, and nothing follows it. */
    if (!r->no_body) {
        ab_buf_put(ab_tls_socket_out(r->conn->socket), body);
        r->left = 0;
    }
    ab_https_finish(r);
    return check_queue(r);
}

void ab_https_pause(ab_https_request *r)
{
    if (!r->paused)
        r->paused_at = uv_now(r->conn->server->loop);
    r->paused = true;
}

void ab_https_resume(ab_https_request *r)
{
    if (!r->paused)
        return;
    r->paused = false;
    /* The client is not to blame for that time, in which nothing of it was read. */
    r->conn->heard = uv_now(r->conn->server->loop);
    r->conn->since += r->conn->heard - r->paused_at;
    if (!r->conn->doomed)
        ab_tls_socket_wake(r->conn->socket);
}

/* ---- the server's own answers ---- */

static void put_refusal(ab_https_conn *c, int status, const char *type, ab_str body)
{
    ab_buf *out = ab_tls_socket_out(c->socket);
    ab_buf_printf(out,
                  "HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n"
                  "connection: close\r\n\r\n",
                  status, reason_of(status), type, body.len);
    ab_buf_put(out, body);
}

void ab_https_refuse(ab_https_conn *c, int status, const char *why)
{
    const ab_https_options *o = &c->server->options;
    const char *type = "text/plain; charset=utf-8";
    bool begun = c->request != NULL && c->request->answered;
    ab_buf body = ab_buf_up_to(REFUSAL_MAX);
    if (o->write_refusal != NULL)
        type = o->write_refusal(o->arg, status, why, &body);
    else
        ab_buf_printf(&body, "%s\n", why);
    if (!begun)
        put_refusal(c, status, type, ab_buf_str(&body));
    ab_buf_fini(&body);
    if (c->request != NULL)
        ab_https_conn_over(c, status == 408 ? AB_ERR_TIMEOUT : AB_ERR_PARSE, 0);
    if (!c->doomed)
        ab_https_conn_linger(c);
}
