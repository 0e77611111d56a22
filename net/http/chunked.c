/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/chunked.h"

#include "base/core/hex.h"

#define LINE_MAX_BYTES 256
#define DROPPED_MAX    4096

enum { SIZE, DATA, DATA_END, TRAILER, ENDED };

/* The next line, without its end. @return OK and absent: it is not whole; PARSE: it is too long, or
 * has a control in it */
static ab_err next_line(ab_str *in, ab_str *line)
{
    *line = AB_STR_NONE;
    const char *end = in->len == 0 ? NULL : memchr(in->ptr, '\n', in->len);
    if (end == NULL)
        return in->len <= LINE_MAX_BYTES ? AB_ERR_OK : AB_ERR_PARSE;
    size_t len = (size_t)(end - in->ptr);
    if (len == 0 || len > LINE_MAX_BYTES || end[-1] != '\r')
        return AB_ERR_PARSE;
    for (size_t i = 0; i + 1 < len; i++) {
        if ((unsigned char)in->ptr[i] < ' ' && in->ptr[i] != '\t')
            return AB_ERR_PARSE;
    }
    *line = (ab_str){in->ptr, len - 1};
    *in = ab_str_skip(*in, len + 1);
    return AB_ERR_OK;
}

static ab_err drop(ab_http_chunked *c, size_t len)
{
    c->dropped += len;
    return c->dropped > DROPPED_MAX ? AB_ERR_PARSE : AB_ERR_OK;
}

static ab_err read_size(ab_http_chunked *c, ab_str line)
{
    size_t digits = 0;
    c->left = 0;
    while (digits < line.len && ab_hex_digit(line.ptr[digits]) >= 0 && digits < 15)
        c->left = c->left * 16 + (uint64_t)ab_hex_digit(line.ptr[digits++]);
    if (digits == 0 || (digits < line.len && line.ptr[digits] != ';'))
        return AB_ERR_PARSE;
    c->state = c->left == 0 ? TRAILER : DATA;
    return drop(c, line.len - digits);
}

/* A line between the data. */
static ab_err read_line(ab_http_chunked *c, ab_str line)
{
    if (c->state == SIZE)
        return read_size(c, line);
    if (c->state == DATA_END) {
        c->state = SIZE;
        return line.len == 0 ? AB_ERR_OK : AB_ERR_PARSE;
    }
    if (line.len == 0)
        c->state = ENDED;
    return drop(c, line.len);
}

static void read_data(ab_http_chunked *c, ab_str *in, ab_str *piece)
{
    size_t len = in->len < c->left ? in->len : (size_t)c->left;
    *piece = (ab_str){in->ptr, len};
    *in = ab_str_skip(*in, len);
    c->left -= len;
    if (c->left == 0)
        c->state = DATA_END;
}

ab_err ab_http_chunked_next(ab_http_chunked *c, ab_str *in, ab_str *piece, bool *ended)
{
    *piece = AB_STR_NONE;
    while (c->state != ENDED && in->len > 0) {
        if (c->state == DATA) {
            read_data(c, in, piece);
            break;
        }
        ab_str line;
        ab_err e = next_line(in, &line);
        if (e == AB_ERR_OK && line.ptr != NULL)
            e = read_line(c, line);
        if (e != AB_ERR_OK)
            return e;
        if (line.ptr == NULL)
            break;
    }
    *ended = c->state == ENDED;
    return AB_ERR_OK;
}
