/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/client_priv.h"

#include "net/address.h"

#define REQUEST_MAX (256u * 1024)

/* ---- the request ---- */

static bool is_target(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || s.ptr[i] == '#')
            return false;
    }
    return true;
}

/* Host and port of "https://host:port/path". @return the path and the query; absent: not a URL */
static ab_str read_url(ab_websocket *w, const char *url, bool *plain, ab_str *authority)
{
    char text[300];
    ab_address address;
    *plain = strncmp(url, "http://", 7) == 0;
    if (!*plain && strncmp(url, "https://", 8) != 0)
        return AB_STR_NONE;
    const char *host = url + (*plain ? 7 : 8);
    size_t len = strcspn(host, "/?#");
    *authority = (ab_str){host, len};
    if (len >= sizeof(text) || memchr(host, '@', len) != NULL || !is_target(*authority))
        return AB_STR_NONE;
    memcpy(text, host, len);
    text[len] = '\0';
    if (ab_address_parse("url", text, *plain ? 80 : 443, &address, NULL) != AB_ERR_OK ||
        address.host[0] == '\0')
        return AB_STR_NONE;
    w->host = strdup(address.host);
    w->port = address.port;
    ab_str target = host[len] == '\0' ? AB_STR("/") : ab_str_of(host + len);
    return is_target(target) ? target : AB_STR_NONE;
}

static ab_err put_headers(ab_buf *out, const char *const *headers)
{
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i++) {
        ab_str line = ab_str_of(headers[i]);
        const char *colon = strchr(headers[i], ':');
        size_t name = colon == NULL ? 0 : (size_t)(colon - headers[i]);
        if (!ab_http_field_is_good((ab_str){line.ptr, name},
                                   (ab_str){line.ptr + name, line.len - name}))
            return AB_ERR_INVALID;
        ab_buf_put(out, line);
        ab_buf_puts(out, "\r\n");
    }
    return AB_ERR_OK;
}

static ab_err put_protocols(ab_websocket *w, const char *const *protocols)
{
    ab_buf text = ab_buf_up_to(4096);
    for (size_t i = 0; protocols != NULL && protocols[i] != NULL; i++)
        ab_buf_printf(&text, "%s%s", i == 0 ? "" : ", ", protocols[i]);
    if (text.len == 0)
        return AB_ERR_OK;
    if (!ab_http_field_is_good(AB_STR("a"), ab_buf_str(&text))) {
        ab_buf_fini(&text);
        return AB_ERR_INVALID;
    }
    ab_buf_puts(&w->head, "Sec-WebSocket-Protocol: ");
    ab_buf_put(&w->head, ab_buf_str(&text));
    ab_buf_puts(&w->head, "\r\n");
    w->protocols = ab_buf_take(&text);
    return w->protocols == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_websocket_make_request(ab_websocket *w, const ab_websocket_request *request, bool *plain,
                                 ab_error *err)
{
    ab_str authority;
    const char *agent = request->http->agent;
    ab_str target = read_url(w, request->url, plain, &authority);
    if (target.ptr == NULL)
        return ab_fail(err, AB_ERR_INVALID, "not a URL of http or https");
    if (!ab_websocket_key_make(w->key))
        return ab_fail(err, AB_ERR_FATAL, "random number generator failed");
    ab_buf_init_secret(&w->head, REQUEST_MAX); /* a token may be in it */
    ab_buf_printf(&w->head, "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\n",
                  target.ptr[0] == '/' ? "" : "/", AB_STR_ARG(target), AB_STR_ARG(authority));
    ab_buf_printf(&w->head,
                  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: %s\r\n",
                  w->key);
    if (agent != NULL)
        ab_buf_printf(&w->head, "User-Agent: %s\r\n", agent);
    ab_err e = put_protocols(w, request->protocols);
    if (e == AB_ERR_OK)
        e = put_headers(&w->head, request->headers);
    ab_buf_puts(&w->head, "\r\n");
    if (e == AB_ERR_OK)
        e = w->host == NULL ? AB_ERR_NOMEM : ab_buf_status(&w->head);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "the request of the WebSocket: %s", ab_err_text(e));
}

/* ---- the answer ---- */

/* @return NULL, or why it does not make a WebSocket */
static const char *check_upgrade(ab_websocket *w, const ab_http_head *head)
{
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_str protocol = ab_http_head_find(head, "sec-websocket-protocol");
    if (!ab_http_list_has(ab_http_head_find(head, "connection"), "upgrade") ||
        !ab_http_list_has(ab_http_head_find(head, "upgrade"), "websocket"))
        return "the response does not upgrade to a WebSocket";
    if (!ab_websocket_key_accept(ab_str_of(w->key), accept) ||
        !ab_str_is(ab_http_head_find(head, "sec-websocket-accept"), accept))
        return "Sec-WebSocket-Accept does not match the key";
    if (ab_http_head_find(head, "sec-websocket-extensions").len > 0)
        return "the response has extensions that were not requested";
    if (protocol.ptr == NULL)
        return NULL;
    w->protocol = ab_str_dup(protocol);
    if (w->protocol == NULL)
        return "out of memory";
    return ab_http_list_has(ab_str_of(w->protocols), w->protocol)
               ? NULL
               : "the sub-protocol of the response was not offered";
}

static ab_err begin_refusal(ab_websocket *w, const ab_http_head *head)
{
    ab_str type = ab_http_head_find(head, "content-type");
    w->state = AB_WEBSOCKET_REFUSED;
    w->status = head->status;
    w->chunked = head->chunked;
    w->left = head->length_bytes;
    w->type = ab_str_dup(type);
    return type.ptr != NULL && w->type == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_websocket_read_answer(ab_websocket *w, char *head, size_t len, ab_error *err)
{
    ab_http_head answer;
    const char *why = ab_http_head_read_answer(head, len, &answer);
    if (why == NULL && answer.status != 101)
        return begin_refusal(w, &answer);
    if (why == NULL)
        why = check_upgrade(w, &answer);
    if (why != NULL)
        return ab_fail(err, AB_ERR_PARSE, "cannot open the WebSocket: %s", why);
    size_t max = w->request.message_bytes;
    w->state = AB_WEBSOCKET_OPEN;
    return ab_websocket_frames_init(&w->frames, false, max);
}
