/* SPDX-License-Identifier: Apache-2.0
 *
 * Names are compared after decoding: `w%61tch=true` is a watch for the API server, and has to be
 * one for the policy.
 */
#include "live/resource/query.h"

#include "base/core/hex.h"

#include <string.h>

#define VALUE_MAX (16u * 1024)

ab_err ab_resource_query_decode(ab_str text, bool plus, ab_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int high = i + 2 < text.len ? ab_hex_digit(text.ptr[i + 1]) : -1;
            int low = i + 2 < text.len ? ab_hex_digit(text.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return AB_ERR_INVALID;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        ab_buf_putc(out, c);
    }
    return ab_buf_status(out);
}

static bool has_control(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return true;
    }
    return false;
}

static ab_err check_part(ab_str part, ab_buf *decoded, ab_error *err)
{
    ab_buf_clear(decoded);
    ab_err e = ab_resource_query_decode(part, true, decoded);
    if (e == AB_ERR_NOMEM)
        return ab_fail(err, e, "out of memory for a query");
    if (e != AB_ERR_OK)
        return ab_fail(err, AB_ERR_INVALID, "the query has a wrong percent-escape");
    if (!ab_str_is_utf8(ab_buf_str(decoded)) || has_control(ab_buf_str(decoded)))
        return ab_fail(err, AB_ERR_INVALID, "the query has control characters or is not UTF-8");
    return AB_ERR_OK;
}

ab_err ab_resource_query_check(ab_str query, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    if (query.len > 0 && memchr(query.ptr, ';', query.len) != NULL)
        return ab_fail(err, AB_ERR_INVALID, "the query has a semicolon; write it as %%3B");
    ab_buf decoded = ab_buf_up_to(VALUE_MAX);
    while (e == AB_ERR_OK && query.len > 0) {
        ab_str value = ab_str_cut(&query, '&');
        ab_str name = ab_str_cut(&value, '=');
        e = check_part(name, &decoded, err);
        if (e == AB_ERR_OK)
            e = check_part(value, &decoded, err);
    }
    ab_buf_fini(&decoded);
    return e;
}

/* Names are short: one of more than 128 bytes is none that anyone asks for. */
static bool is_named(ab_str raw, const char *name)
{
    ab_buf decoded = ab_buf_up_to(128);
    bool same = ab_resource_query_decode(raw, true, &decoded) == AB_ERR_OK &&
                ab_str_is(ab_buf_str(&decoded), name);
    ab_buf_fini(&decoded);
    return same;
}

ab_err ab_resource_query_find(ab_str query, const char *name, ab_buf *out, size_t *count)
{
    size_t found = 0;
    while (query.len > 0) {
        ab_str value = ab_str_cut(&query, '&');
        ab_str key = ab_str_cut(&value, '=');
        if (!is_named(key, name))
            continue;
        if (found++ == 0 && out != NULL) {
            ab_err e = ab_resource_query_decode(value, true, out);
            if (e != AB_ERR_OK)
                return e;
        }
    }
    *count = found;
    return AB_ERR_OK;
}

ab_err ab_resource_query_bool(ab_str query, const char *name, bool *out, ab_error *err)
{
    size_t count = 0;
    ab_buf value = ab_buf_up_to(64);
    ab_err e = ab_resource_query_find(query, name, &value, &count);
    ab_str is = ab_buf_str(&value);
    bool yes = ab_str_is(is, "true") || ab_str_is(is, "1");
    bool no = ab_str_is(is, "false") || ab_str_is(is, "0");
    ab_buf_fini(&value);
    if (e == AB_ERR_NOMEM)
        return ab_fail(err, e, "out of memory for a query");
    if (e != AB_ERR_OK || count > 1 || (count == 1 && !yes && !no))
        return ab_fail(err, AB_ERR_INVALID, "parameter %s must be there once, as true or false",
                       name);
    *out = count == 1 && yes;
    return AB_ERR_OK;
}

void ab_resource_query_without(ab_str query, const char *const *left_out, ab_buf *out)
{
    bool first = true;
    while (query.len > 0) {
        ab_str pair = ab_str_cut(&query, '&');
        ab_str value = pair;
        ab_str name = ab_str_cut(&value, '=');
        bool dropped = false;
        for (const char *const *n = left_out; *n != NULL; n++)
            dropped = dropped || is_named(name, *n);
        if (dropped || pair.len == 0)
            continue;
        if (!first)
            ab_buf_putc(out, '&');
        first = false;
        ab_buf_put(out, pair);
    }
}

void ab_resource_query_encode(ab_str text, ab_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c != '\0' && strchr("-._~:", c) != NULL);
        if (plain)
            ab_buf_putc(out, c);
        else
            ab_buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
    }
}
