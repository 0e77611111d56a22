/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/resp.h"

#include <limits.h>

#define NUMBER_LINE_MAX 32 /* "$-9223372036854775808" and its end */

#define NOT_SCANNED SIZE_MAX

/* Length of the line that begins at `at`, without its end.
 * @return NOT_SCANNED: it has not come as a whole; PARSE: a CR or LF by itself */
static ab_err find_line(ab_str bytes, size_t at, size_t max, size_t *len)
{
    size_t room = bytes.len - at < max ? bytes.len - at : max;
    const char *start = bytes.ptr + at;
    const char *cr = memchr(start, '\r', room);
    size_t plain = cr == NULL ? room : (size_t)(cr - start);
    *len = NOT_SCANNED;
    if (memchr(start, '\n', plain) != NULL)
        return AB_ERR_PARSE;
    if (cr == NULL || plain + 1 == room)
        return room == max ? AB_ERR_TOOBIG : AB_ERR_OK;
    if (cr[1] != '\n')
        return AB_ERR_PARSE;
    *len = plain;
    return AB_ERR_OK;
}

/* As redis reads it: no plus, no zeros in front. */
static bool to_number(ab_str text, int64_t *out)
{
    bool minus = text.len > 0 && text.ptr[0] == '-';
    ab_str digits = {text.ptr + minus, text.len - minus};
    uint64_t n = 0;
    if (digits.len == 0 || ab_str_to_u64(digits, &n) != AB_ERR_OK || n > INT64_MAX ||
        (digits.ptr[0] == '0' && text.len > 1))
        return false;
    *out = minus ? -(int64_t)n : (int64_t)n;
    return true;
}

/* Bytes of a bulk string, and the end of line behind them.
 * @param whole  set when its end has been scanned */
static ab_err scan_data(ab_str bytes, size_t *at, uint64_t *left, bool *in_data, bool *whole)
{
    size_t n = bytes.len - *at;
    if (n > *left)
        n = (size_t)*left;
    *at += n;
    *left -= n;
    *whole = false;
    if (bytes.len - *at < 2)
        return AB_ERR_OK;
    if (bytes.ptr[*at] != '\r' || bytes.ptr[*at + 1] != '\n')
        return AB_ERR_PARSE;
    *at += 2;
    *in_data = false;
    *whole = true;
    return AB_ERR_OK;
}

/* ---- requests ---- */

/* The line of an array's or an argument's length. `*n` stays as it is while the line has not come
 * as a whole. */
static ab_err scan_number(ab_resp_requests *r, ab_str bytes, int64_t max, bool *has, int64_t *n)
{
    size_t len;
    ab_err e = find_line(bytes, r->at, NUMBER_LINE_MAX, &len);
    *has = e == AB_ERR_OK && len != NOT_SCANNED;
    if (!*has)
        return e;
    if (!to_number((ab_str){bytes.ptr + r->at + 1, len - 1}, n) || *n > max)
        return AB_ERR_PARSE;
    r->at += len + 2;
    return AB_ERR_OK;
}

static ab_err scan_array(ab_resp_requests *r, ab_str bytes, ab_resp_piece *out, const char **why)
{
    bool has;
    int64_t n = 0;
    ab_err e = scan_number(r, bytes, AB_RESP_REQUEST_ARGS, &has, &n);
    if (e != AB_ERR_OK)
        *why = "invalid multibulk length";
    if (e != AB_ERR_OK || !has)
        return e;
    out->begins = true;
    out->kind = n > 0 ? AB_RESP_COMMAND : AB_RESP_EMPTY;
    out->ends = n <= 0;
    r->args_left = n > 0 ? (uint32_t)n : 0;
    return AB_ERR_OK;
}

/* Redis ends a line at LF, and strips a CR in front of it. */
static ab_err scan_inline(ab_resp_requests *r, ab_str bytes, ab_resp_piece *out, const char **why)
{
    size_t room = bytes.len < AB_RESP_WHOLE_MAX ? bytes.len : AB_RESP_WHOLE_MAX;
    const char *lf = memchr(bytes.ptr, '\n', room);
    *why = "too big inline request";
    if (lf == NULL)
        return room == AB_RESP_WHOLE_MAX ? AB_ERR_TOOBIG : AB_ERR_OK;
    r->at = (size_t)(lf - bytes.ptr) + 1;
    /* Redis would look for the end of the line only up to here. */
    *why = "invalid inline request";
    if (memchr(bytes.ptr, '\0', r->at) != NULL)
        return AB_ERR_PARSE;
    out->begins = true;
    out->ends = true;
    out->kind = AB_RESP_INLINE;
    return AB_ERR_OK;
}

static ab_err scan_argument(ab_resp_requests *r, ab_str bytes, bool *stuck, const char **why)
{
    bool has;
    int64_t n = 0;
    if (bytes.ptr[r->at] != '$') {
        *why = "expected '$'";
        return AB_ERR_PARSE;
    }
    ab_err e = scan_number(r, bytes, AB_RESP_REQUEST_BULK, &has, &n);
    if (e != AB_ERR_OK || n < 0) {
        *why = "invalid bulk length";
        return e == AB_ERR_OK ? AB_ERR_PARSE : e;
    }
    *stuck = !has;
    if (has) {
        r->data_left = (uint64_t)n;
        r->in_data = true;
    }
    return AB_ERR_OK;
}

/* Arguments, as far as they have come. */
static ab_err scan_arguments(ab_resp_requests *r, ab_str bytes, const char **why)
{
    bool stuck = false;
    while (r->args_left > 0 && !stuck && r->at < bytes.len) {
        bool whole = true;
        ab_err e = r->in_data ? AB_ERR_OK : scan_argument(r, bytes, &stuck, why);
        if (e != AB_ERR_OK || stuck)
            return e;
        *why = "an argument is longer than its length";
        e = scan_data(bytes, &r->at, &r->data_left, &r->in_data, &whole);
        if (e != AB_ERR_OK)
            return e;
        r->args_left -= whole;
        stuck = !whole;
    }
    return AB_ERR_OK;
}

static void hand_out(ab_str bytes, size_t *at, bool *is_split, ab_resp_piece *out)
{
    out->bytes = (ab_str){bytes.ptr, *at};
    out->begins = !*is_split;
    *is_split = !out->ends;
    *at = 0;
}

ab_err ab_resp_requests_next(ab_resp_requests *r, ab_str bytes, ab_resp_piece *out,
                             const char **why)
{
    ab_err e = AB_ERR_OK;
    *out = (ab_resp_piece){.bytes = {bytes.ptr, 0}};
    if (r->args_left == 0) {
        if (bytes.len == 0)
            return AB_ERR_OK;
        e = bytes.ptr[0] == '*' ? scan_array(r, bytes, out, why) : scan_inline(r, bytes, out, why);
        if (e != AB_ERR_OK || !out->begins)
            return e;
    }
    if (!out->ends) {
        e = scan_arguments(r, bytes, why);
        out->ends = r->args_left == 0;
    }
    if (e == AB_ERR_OK && (out->ends || r->at >= AB_RESP_WHOLE_MAX))
        hand_out(bytes, &r->at, &r->is_split, out);
    return e;
}

/* ---- replies ---- */

/* An element has ended: which others have with it? @return true: the reply has */
static bool end_element(ab_resp_replies *r)
{
    while (r->depth > 0) {
        unsigned level = r->depth - 1u;
        if (--r->left[level] > 0)
            return false;
        r->depth--;
        /* Attributes are followed by the element that they are about. */
        if ((r->attributes >> level & 1) != 0)
            return false;
    }
    return true;
}

static ab_err begin_aggregate(ab_resp_replies *r, char type, int64_t n, bool *ends)
{
    bool is_attribute = type == '|';
    if (n == 0 || (n == -1 && type == '*')) {
        *ends = !is_attribute && end_element(r);
        return AB_ERR_OK;
    }
    if (n < 0 || n > AB_RESP_REPLY_ELEMENTS || r->depth == AB_RESP_REPLY_DEPTH ||
        (type == '>' && r->depth > 0))
        return AB_ERR_PARSE;
    r->left[r->depth] = (uint32_t)n * (type == '%' || is_attribute ? 2 : 1);
    r->attributes &= ~(UINT32_C(1) << r->depth);
    r->attributes |= (uint32_t)is_attribute << r->depth;
    r->depth++;
    return AB_ERR_OK;
}

static ab_err begin_bulk(ab_resp_replies *r, char type, int64_t n, bool *ends)
{
    if (n == -1 && type == '$') {
        *ends = end_element(r);
        return AB_ERR_OK;
    }
    if (n < 0 || n > AB_RESP_REPLY_BULK)
        return AB_ERR_PARSE;
    r->data_left = (uint64_t)n;
    r->in_data = true;
    return AB_ERR_OK;
}

/* The line that begins at r->at, of `len` bytes with its type. */
static ab_err scan_line(ab_resp_replies *r, ab_str line, bool *ends)
{
    int64_t n = 0;
    char type = line.len == 0 ? '\0' : line.ptr[0];
    r->at += line.len + 2;
    if (type != '\0' && strchr("+-:,(#_", type) != NULL) {
        *ends = end_element(r);
        return AB_ERR_OK;
    }
    if (type == '\0' || strchr("$!=*~>%|", type) == NULL ||
        !to_number((ab_str){line.ptr + 1, line.len - 1}, &n))
        return AB_ERR_PARSE;
    return strchr("$!=", type) != NULL ? begin_bulk(r, type, n, ends)
                                       : begin_aggregate(r, type, n, ends);
}

/* One element, or what has come of it. */
static ab_err scan_element(ab_resp_replies *r, ab_str bytes, bool *stuck, bool *ends)
{
    bool whole = false;
    size_t len;
    if (r->in_data) {
        ab_err e = scan_data(bytes, &r->at, &r->data_left, &r->in_data, &whole);
        *stuck = !whole;
        *ends = whole && end_element(r);
        return e;
    }
    ab_err e = find_line(bytes, r->at, AB_RESP_WHOLE_MAX, &len);
    *stuck = len == NOT_SCANNED;
    return e != AB_ERR_OK || *stuck ? e : scan_line(r, (ab_str){bytes.ptr + r->at, len}, ends);
}

ab_err ab_resp_replies_next(ab_resp_replies *r, ab_str bytes, ab_resp_piece *out, const char **why)
{
    bool stuck = false;
    *out = (ab_resp_piece){.bytes = {bytes.ptr, 0}};
    while (r->at < bytes.len && !stuck && !out->ends) {
        ab_err e = scan_element(r, bytes, &stuck, &out->ends);
        if (e != AB_ERR_OK) {
            *why = "not a reply of redis";
            return e;
        }
    }
    if (out->ends || r->at >= AB_RESP_WHOLE_MAX)
        hand_out(bytes, &r->at, &r->is_split, out);
    return AB_ERR_OK;
}

/* ---- what was scanned, and what is written ---- */

bool ab_resp_take(ab_str *rest, char *type, ab_str *value)
{
    size_t len;
    int64_t n = 0;
    if (rest->len == 0 || find_line(*rest, 0, SIZE_MAX, &len) != AB_ERR_OK || len == NOT_SCANNED ||
        len == 0)
        return false;
    ab_str text = {rest->ptr + 1, len - 1};
    size_t used = len + 2;
    char t = rest->ptr[0];
    if (strchr("$!=", t) != NULL && to_number(text, &n) && n >= 0) {
        if (rest->len - used < 2 || (uint64_t)n > rest->len - used - 2)
            return false;
        text = (ab_str){rest->ptr + used, (size_t)n};
        used += (size_t)n + 2;
    }
    *type = t;
    *value = t == '_' || n < 0 || (t == '*' && ab_str_is(text, "-1")) ? AB_STR_NONE : text;
    *rest = (ab_str){rest->ptr + used, rest->len - used};
    return true;
}

int64_t ab_resp_take_length(ab_str *rest)
{
    size_t len;
    int64_t n = 0;
    if (rest->len == 0 || rest->ptr[0] != '$' ||
        find_line(*rest, 0, NUMBER_LINE_MAX, &len) != AB_ERR_OK || len == NOT_SCANNED ||
        !to_number((ab_str){rest->ptr + 1, len - 1}, &n) || n < 0)
        return -1;
    *rest = (ab_str){rest->ptr + len + 2, rest->len - len - 2};
    return n;
}

void ab_resp_put_head(ab_buf *out, char type, uint64_t count)
{
    ab_buf_printf(out, "%c%llu\r\n", type, (unsigned long long)count);
}

void ab_resp_put_bulk(ab_buf *out, ab_str value)
{
    ab_resp_put_head(out, '$', value.len);
    ab_buf_put(out, value);
    ab_buf_puts(out, "\r\n");
}

void ab_resp_put_command(ab_buf *out, const ab_str *args, size_t count)
{
    ab_resp_put_head(out, '*', count);
    for (size_t i = 0; i < count; i++)
        ab_resp_put_bulk(out, args[i]);
}

void ab_resp_put_error(ab_buf *out, ab_str text)
{
    ab_buf_puts(out, "-ERR argobus: ");
    for (size_t i = 0; i < text.len; i++)
        ab_buf_putc(out, text.ptr[i] >= ' ' && text.ptr[i] <= '~' ? text.ptr[i] : '?');
    ab_buf_puts(out, "\r\n");
}
