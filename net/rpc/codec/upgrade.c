/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/upgrade.h"

#include "net/http/head.h"

#define PROTOCOL       "grpc-ws"
#define FIELD_NAME_MAX 256

size_t ab_rpc_upgrade_head_len(ab_str bytes)
{
    const char *end = bytes.len == 0 ? NULL : memmem(bytes.ptr, bytes.len, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - bytes.ptr) + 4;
}

/* The next line, without its end. @return false: there is none */
static bool next_line(ab_str *text, ab_str *line)
{
    const char *end = text->len == 0 ? NULL : memmem(text->ptr, text->len, "\r\n", 2);
    if (end == NULL)
        return false;
    *line = (ab_str){text->ptr, (size_t)(end - text->ptr)};
    text->len -= line->len + 2;
    text->ptr = end + 2;
    return true;
}

static bool is_token(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", s.ptr[i]) != NULL)
            return false;
    }
    return s.len > 0 && s.len <= FIELD_NAME_MAX;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static bool add_line(ab_str line, ab_rpc_head_in *into)
{
    char name[FIELD_NAME_MAX];
    ab_str given = ab_str_cut(&line, ':');
    if (line.ptr == NULL)
        return false;
    ab_str value = ab_http_trim(line);
    if (!is_token(given) || !ab_str_is_utf8(value) || memchr(value.ptr, '\0', value.len) != NULL)
        return false;
    for (size_t i = 0; i < given.len; i++)
        name[i] = lower(given.ptr[i]);
    ab_rpc_head_in_add(into, (ab_str){name, given.len}, value);
    return true;
}

bool ab_rpc_upgrade_read_fields(ab_str lines, ab_rpc_head_in *into)
{
    ab_str line;
    while (next_line(&lines, &line)) {
        if (!add_line(line, into))
            return false;
    }
    return lines.len == 0;
}

/* In the form that Go gives them: "Grpc-Status". */
static void put_name(ab_buf *out, ab_str name)
{
    for (size_t i = 0; i < name.len; i++)
        ab_buf_putc(out, i == 0 || name.ptr[i - 1] == '-' ? upper(name.ptr[i]) : name.ptr[i]);
}

static ab_rpc_field row_of(const ab_rpc_head_out *head, size_t i)
{
    const nghttp2_nv *row = &head->rows[i];
    return (ab_rpc_field){{(const char *)row->name, row->namelen},
                          {(const char *)row->value, row->valuelen}};
}

void ab_rpc_upgrade_put_fields(ab_buf *out, const ab_rpc_head_out *head)
{
    for (size_t i = 0; i < head->count; i++) {
        ab_rpc_field f = row_of(head, i);
        if (ab_str_starts(f.name, ":"))
            continue;
        put_name(out, f.name);
        ab_buf_puts(out, ": ");
        ab_buf_put(out, f.value);
        ab_buf_puts(out, "\r\n");
    }
}

static ab_str pseudo(const ab_rpc_head_out *head, const char *name)
{
    for (size_t i = 0; i < head->count; i++) {
        ab_rpc_field f = row_of(head, i);
        if (ab_str_is(f.name, name))
            return f.value;
    }
    return AB_STR("");
}

/* ---- server ---- */

static const ab_rpc_upgrade_refusal good = {NULL, NULL};

static ab_rpc_upgrade_refusal refuse(const char *status, const char *why)
{
    return (ab_rpc_upgrade_refusal){status, why};
}

/* "GET /package.Service/Method HTTP/1.1" */
static ab_rpc_upgrade_refusal read_request_line(ab_str line, ab_rpc_head_in *into)
{
    const char *tail = " HTTP/1.1";
    size_t tail_len = strlen(tail);
    if (line.len < tail_len || memcmp(line.ptr + line.len - tail_len, tail, tail_len) != 0)
        return refuse("400 Bad Request", "the request is not HTTP/1.1");
    if (!ab_str_starts(line, "GET "))
        return refuse("405 Method Not Allowed", "a WebSocket starts with GET");
    ab_str path = {line.ptr + 4, line.len - 4 - tail_len};
    if (!ab_str_starts(path, "/") || !ab_str_is_printable(path) ||
        memchr(path.ptr, ' ', path.len) != NULL)
        return refuse("400 Bad Request", "the path is invalid");
    ab_rpc_head_in_add(into, AB_STR(":method"), AB_STR("POST"));
    ab_rpc_head_in_add(into, AB_STR(":path"), path);
    return good;
}

static ab_rpc_upgrade_refusal check_request(const ab_rpc_head_in *head)
{
    if (head->too_large)
        return refuse("431 Request Header Fields Too Large", "the headers exceed the limit");
    if (!ab_http_list_has(ab_rpc_head_in_find(head, "connection"), "upgrade") ||
        !ab_http_list_has(ab_rpc_head_in_find(head, "upgrade"), "websocket"))
        return refuse("426 Upgrade Required", "only gRPC over WebSockets is supported");
    if (!ab_str_is(ab_rpc_head_in_find(head, "sec-websocket-version"), "13"))
        return refuse("426 Upgrade Required", "only WebSocket version 13 is supported");
    if (!ab_http_list_has(ab_rpc_head_in_find(head, "sec-websocket-protocol"), PROTOCOL))
        return refuse("400 Bad Request", "the only supported sub-protocol is " PROTOCOL);
    if (!ab_websocket_key_is_good(ab_rpc_head_in_find(head, "sec-websocket-key")))
        return refuse("400 Bad Request", "Sec-WebSocket-Key is invalid");
    if (ab_rpc_head_in_refusal(head) != NULL)
        return refuse("415 Unsupported Media Type", "content-type is not application/grpc");
    return good;
}

ab_rpc_upgrade_refusal ab_rpc_upgrade_read_request(ab_str head, ab_rpc_head_in *into,
                                                   char accept[AB_WEBSOCKET_ACCEPT])
{
    ab_str line;
    if (!next_line(&head, &line))
        return refuse("400 Bad Request", "the request is not HTTP/1.1");
    ab_rpc_upgrade_refusal r = read_request_line(line, into);
    if (r.status != NULL)
        return r;
    head.len -= 2; /* the empty line */
    if (!ab_rpc_upgrade_read_fields(head, into))
        return refuse("400 Bad Request", "a header is invalid");
    r = check_request(into);
    if (r.status == NULL &&
        !ab_websocket_key_accept(ab_rpc_head_in_find(into, "sec-websocket-key"), accept))
        r = refuse("500 Internal Server Error", "out of memory");
    return r;
}

void ab_rpc_upgrade_put_answer(ab_buf *out, const char *accept)
{
    ab_buf_printf(out,
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                  "Sec-WebSocket-Protocol: " PROTOCOL "\r\n\r\n",
                  accept);
}

void ab_rpc_upgrade_put_refusal(ab_buf *out, const ab_rpc_upgrade_refusal *refusal)
{
    bool offer = ab_str_starts(ab_str_of(refusal->status), "426");
    ab_buf_printf(out,
                  "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Type: text/plain\r\n"
                  "Content-Length: %zu\r\n\r\n%s\n",
                  refusal->status,
                  offer ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" : "",
                  strlen(refusal->why) + 1, refusal->why);
}

/* ---- client ---- */

void ab_rpc_upgrade_put_request(ab_buf *out, const ab_rpc_head_out *head, const char *key)
{
    ab_buf_printf(out,
                  "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nConnection: Upgrade\r\n"
                  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " PROTOCOL "\r\n",
                  AB_STR_ARG(pseudo(head, ":path")), AB_STR_ARG(pseudo(head, ":authority")), key);
    ab_rpc_upgrade_put_fields(out, head);
    ab_buf_puts(out, "\r\n");
}

static const char *check_answer(const ab_rpc_head_in *head, const char *key)
{
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_str protocol = ab_rpc_head_in_find(head, "sec-websocket-protocol");
    ab_str extensions = ab_rpc_head_in_find(head, "sec-websocket-extensions");
    if (head->too_large)
        return "the headers of the response exceed the limit";
    if (!ab_http_list_has(ab_rpc_head_in_find(head, "connection"), "upgrade") ||
        !ab_http_is_same(ab_rpc_head_in_find(head, "upgrade"), "websocket"))
        return "the response does not upgrade to a WebSocket";
    if (!ab_websocket_key_accept(ab_str_of(key), accept) ||
        !ab_str_is(ab_rpc_head_in_find(head, "sec-websocket-accept"), accept))
        return "Sec-WebSocket-Accept does not match the key";
    if (protocol.ptr != NULL && !ab_str_is(protocol, PROTOCOL))
        return "the sub-protocol of the response is not " PROTOCOL;
    return extensions.len > 0 ? "the response has extensions that were not requested" : NULL;
}

const char *ab_rpc_upgrade_read_answer(ab_str head, const char *key, size_t header_bytes,
                                       ab_str *status)
{
    ab_str line;
    *status = AB_STR_NONE;
    if (!next_line(&head, &line) || !ab_str_starts(line, "HTTP/1.1 ") || line.len < 12)
        return "the response is not HTTP/1.1";
    *status = (ab_str){line.ptr + 9, 3};
    if (!ab_str_is(*status, "101"))
        return "the server does not accept WebSockets";
    head.len -= 2; /* the empty line */
    ab_rpc_head_in *fields = ab_rpc_head_in_new(header_bytes);
    if (fields == NULL)
        return "out of memory";
    const char *why = ab_rpc_upgrade_read_fields(head, fields)
                          ? check_answer(fields, key)
                          : "a header of the response is invalid";
    ab_rpc_head_in_free(fields);
    return why;
}
