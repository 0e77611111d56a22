/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/fields.h"

#include "base/core/base64.h"
#include "base/core/hex.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>

#define DIGITS_MAX  8
#define TIMEOUT_MAX 99999999
#define NS_PER_MS   1000000
#define MS_PER_HOUR 3600000
#define MS_PER_MIN  60000
#define MS_PER_S    1000
#define VALUE_CAP   (64u * 1024)

static const char *const status_names[] = {
    [AB_RPC_OK] = "OK",
    [AB_RPC_CANCELLED] = "CANCELLED",
    [AB_RPC_UNKNOWN] = "UNKNOWN",
    [AB_RPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [AB_RPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [AB_RPC_NOT_FOUND] = "NOT_FOUND",
    [AB_RPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [AB_RPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [AB_RPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [AB_RPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [AB_RPC_ABORTED] = "ABORTED",
    [AB_RPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [AB_RPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [AB_RPC_INTERNAL] = "INTERNAL",
    [AB_RPC_UNAVAILABLE] = "UNAVAILABLE",
    [AB_RPC_DATA_LOSS] = "DATA_LOSS",
    [AB_RPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
};
#define STATUS_COUNT (sizeof(status_names) / sizeof(status_names[0]))

const char *ab_rpc_status_name(ab_rpc_status status)
{
    unsigned at = (unsigned)status;
    return at < STATUS_COUNT ? status_names[at] : status_names[AB_RPC_UNKNOWN];
}

ab_str ab_rpc_field_find(const ab_rpc_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (ab_str_is(fields[i].name, name))
            return fields[i].value;
    }
    return AB_STR_NONE;
}

bool ab_rpc_timeout_parse(ab_str text, int64_t *ms)
{
    uint64_t n = 0;
    if (text.len < 2 || text.len > DIGITS_MAX + 1)
        return false;
    if (ab_str_to_u64((ab_str){text.ptr, text.len - 1}, &n) != AB_ERR_OK)
        return false;
    int64_t amount = (int64_t)n;
    switch (text.ptr[text.len - 1]) {
    case 'H':
        *ms = amount * MS_PER_HOUR;
        return true;
    case 'M':
        *ms = amount * MS_PER_MIN;
        return true;
    case 'S':
        *ms = amount * MS_PER_S;
        return true;
    case 'm':
        *ms = amount;
        break;
    case 'u':
        *ms = (amount + MS_PER_S - 1) / MS_PER_S;
        break;
    case 'n':
        *ms = (amount + NS_PER_MS - 1) / NS_PER_MS;
        break;
    default:
        return false;
    }
    return true;
}

void ab_rpc_timeout_format(int64_t ms, char out[AB_RPC_TIMEOUT_TEXT])
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = {{1, 'm'}, {MS_PER_S, 'S'}, {MS_PER_MIN, 'M'}, {MS_PER_HOUR, 'H'}};
    size_t i = 0;
    while (i < 3 && ms / units[i].ms > TIMEOUT_MAX)
        i++;
    int64_t amount = ms / units[i].ms;
    unsigned shown = amount > TIMEOUT_MAX ? TIMEOUT_MAX : (unsigned)amount;
    snprintf(out, AB_RPC_TIMEOUT_TEXT, "%u%c", shown, units[i].unit);
}

void ab_rpc_text_encode(ab_str text, ab_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= ' ' && c <= '~' && c != '%')
            ab_buf_putc(out, (char)c);
        else
            ab_buf_printf(out, "%%%02X", c);
    }
}

static bool is_escape(ab_str text, size_t at)
{
    return text.ptr[at] == '%' && text.len - at > 2 && ab_hex_digit(text.ptr[at + 1]) >= 0 &&
           ab_hex_digit(text.ptr[at + 2]) >= 0;
}

void ab_rpc_text_decode(ab_str text, ab_buf *out)
{
    size_t begin = out->len;
    if (text.len == 0)
        return;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (is_escape(text, i)) {
            c = (char)(ab_hex_digit(text.ptr[i + 1]) * 16 + ab_hex_digit(text.ptr[i + 2]));
            i += 2;
        }
        ab_buf_putc(out, c);
    }
    if (ab_buf_status(out) != AB_ERR_OK ||
        ab_str_is_utf8((ab_str){out->ptr + begin, out->len - begin}))
        return;
    for (size_t i = begin; i < out->len; i++) {
        if ((unsigned char)out->ptr[i] > '~')
            out->ptr[i] = '?';
    }
}

ab_rpc_status ab_rpc_status_parse(ab_str text)
{
    uint64_t n = 0;
    if (text.ptr == NULL || ab_str_to_u64(text, &n) != AB_ERR_OK || n >= STATUS_COUNT)
        return AB_RPC_UNKNOWN;
    return (ab_rpc_status)n;
}

ab_rpc_status ab_rpc_status_of_http(ab_str http_status)
{
    static const struct {
        const char *http;
        ab_rpc_status status;
    } table[] = {
        {"400", AB_RPC_INTERNAL},          {"401", AB_RPC_UNAUTHENTICATED},
        {"403", AB_RPC_PERMISSION_DENIED}, {"404", AB_RPC_UNIMPLEMENTED},
        {"429", AB_RPC_UNAVAILABLE},       {"502", AB_RPC_UNAVAILABLE},
        {"503", AB_RPC_UNAVAILABLE},       {"504", AB_RPC_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (ab_str_is(http_status, table[i].http))
            return table[i].status;
    }
    return AB_RPC_UNKNOWN;
}

ab_rpc_status ab_rpc_status_of_reset(uint32_t code)
{
    switch (code) {
    case NGHTTP2_REFUSED_STREAM:
        return AB_RPC_UNAVAILABLE;
    case NGHTTP2_CANCEL:
        return AB_RPC_CANCELLED;
    case NGHTTP2_ENHANCE_YOUR_CALM:
        return AB_RPC_RESOURCE_EXHAUSTED;
    case NGHTTP2_INADEQUATE_SECURITY:
        return AB_RPC_PERMISSION_DENIED;
    default:
        return AB_RPC_INTERNAL;
    }
}

bool ab_rpc_name_is_reserved(ab_str name)
{
    static const char *const names[] = {"content-type", "te",      "host",
                                        "connection",   "upgrade", "content-length"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (ab_str_is(name, names[i]))
            return true;
    }
    return ab_str_starts(name, ":") || ab_str_starts(name, "grpc-") ||
           ab_str_starts(name, "sec-websocket-");
}

bool ab_rpc_name_is_valid(ab_str name)
{
    if (name.ptr == NULL || name.len == 0 || ab_rpc_name_is_reserved(name))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

bool ab_rpc_name_is_binary(ab_str name)
{
    return name.len > 4 && memcmp(name.ptr + name.len - 4, "-bin", 4) == 0;
}

void ab_rpc_binary_encode(ab_str bytes, ab_buf *out)
{
    size_t begin = out->len;
    ab_base64_encode(bytes, out);
    while (ab_buf_status(out) == AB_ERR_OK && out->len > begin && out->ptr[out->len - 1] == '=')
        out->ptr[--out->len] = '\0';
}

bool ab_rpc_binary_decode(ab_str text, ab_buf *out)
{
    ab_buf padded = ab_buf_up_to(VALUE_CAP);
    ab_buf_put(&padded, text);
    while (ab_buf_status(&padded) == AB_ERR_OK && padded.len % 4 != 0)
        ab_buf_putc(&padded, '=');
    bool good = ab_buf_status(&padded) == AB_ERR_OK && ab_base64_decode(ab_buf_str(&padded), out);
    ab_buf_fini(&padded);
    return good;
}
