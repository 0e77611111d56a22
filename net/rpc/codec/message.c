/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/message.h"

#include <stdlib.h>

#define GZIP_BITS   (15 + 16) /* a window of 32 KiB; 16 asks for gzip's header */
#define GZIP_LEVEL  1
#define GZIP_MEMORY 8
#define FIRST_ROOM  4096u
/* Of an inflater: its state and its window. */
#define INFLATER_BYTES (40u * 1024)
#define BUSY           "too many bytes are being received"
#define NOT_GZIP       "a message is truncated gzip"

void ab_rpc_reader_init(ab_rpc_reader *r, ab_rpc_budget *budget, size_t *allowance, size_t max)
{
    *r = (ab_rpc_reader){.budget = budget, .allowance = allowance, .max = max};
}

static void end_inflater(ab_rpc_reader *r)
{
    if (r->inflater == NULL)
        return;
    inflateEnd(r->inflater);
    free(r->inflater);
    r->inflater = NULL;
    ab_rpc_budget_give(r->budget, INFLATER_BYTES);
}

void ab_rpc_reader_next(ab_rpc_reader *r)
{
    end_inflater(r);
    free(r->body);
    ab_rpc_budget_give(r->budget, r->room);
    r->body = NULL;
    r->len = 0;
    r->room = 0;
    r->prefix_len = 0;
    r->inflated = false;
}

void ab_rpc_reader_fini(ab_rpc_reader *r)
{
    if (r->budget != NULL)
        ab_rpc_reader_next(r);
}

bool ab_rpc_reader_is_amid(const ab_rpc_reader *r)
{
    return r->prefix_len > 0;
}

static bool is_compressed(const ab_rpc_reader *r)
{
    return r->prefix[0] == 1;
}

static ab_err begin_inflating(ab_rpc_reader *r, const char **why)
{
    if (!ab_rpc_budget_take(r->budget, INFLATER_BYTES)) {
        *why = BUSY;
        return AB_ERR_FULL;
    }
    r->inflater = calloc(1, sizeof(*r->inflater));
    if (r->inflater != NULL && inflateInit2(r->inflater, GZIP_BITS) == Z_OK)
        return AB_ERR_OK;
    free(r->inflater);
    r->inflater = NULL;
    ab_rpc_budget_give(r->budget, INFLATER_BYTES);
    return AB_ERR_NOMEM;
}

static ab_err begin_message(ab_rpc_reader *r, const char **why)
{
    const uint8_t *p = r->prefix;
    r->left = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] > 1) {
        *why = "the flag of a message is neither 0 nor 1";
        return AB_ERR_PARSE;
    }
    if (p[0] == 1 && !r->gzip) {
        *why = "a message is compressed, but grpc-encoding does not say so";
        return AB_ERR_UNSUPPORTED;
    }
    if (r->left > r->max) {
        *why = "a message is larger than the limit";
        return AB_ERR_TOOBIG;
    }
    return p[0] == 1 ? begin_inflating(r, why) : AB_ERR_OK;
}

static ab_err read_prefix(ab_rpc_reader *r, ab_str *in, const char **why)
{
    size_t n = AB_RPC_PREFIX - r->prefix_len;
    n = in->len < n ? in->len : n;
    memcpy(r->prefix + r->prefix_len, in->ptr, n);
    r->prefix_len += n;
    in->ptr += n;
    in->len -= n;
    return r->prefix_len == AB_RPC_PREFIX ? begin_message(r, why) : AB_ERR_OK;
}

/* Room for more than `len`, at least doubled, at most `most`, which is above `len`. */
static ab_err grow(ab_rpc_reader *r, size_t least, size_t most, const char **why)
{
    size_t room = r->room * 2 < FIRST_ROOM ? FIRST_ROOM : r->room * 2;
    room = room < least ? least : room;
    room = room > most ? most : room;
    if (!ab_rpc_budget_take(r->budget, room - r->room)) {
        *why = BUSY;
        return AB_ERR_FULL;
    }
    char *body = realloc(r->body, room);
    if (body == NULL) {
        ab_rpc_budget_give(r->budget, room - r->room);
        return AB_ERR_NOMEM;
    }
    r->body = body;
    r->room = room;
    return AB_ERR_OK;
}

static ab_err collect(ab_rpc_reader *r, ab_str part, const char **why)
{
    if (part.len > r->room - r->len) {
        /* r->left has already lost `part`. */
        ab_err e = grow(r, r->len + part.len, r->len + part.len + r->left, why);
        if (e != AB_ERR_OK)
            return e;
    }
    if (part.len > 0)
        memcpy(r->body + r->len, part.ptr, part.len);
    r->len += part.len;
    return AB_ERR_OK;
}

static ab_err room_to_inflate(ab_rpc_reader *r, const char **why)
{
    if (r->len < r->room)
        return AB_ERR_OK;
    /* One byte more than the limit, to see the one that goes past it. */
    return grow(r, r->len + 1, r->max + 1, why);
}

/* As much as fits, and is allowed. @return as inflate */
static int inflate_some(ab_rpc_reader *r)
{
    z_stream *z = r->inflater;
    size_t most = r->room - r->len;
    most = most > *r->allowance ? *r->allowance : most;
    z->next_out = (Bytef *)r->body + r->len;
    z->avail_out = (uInt)most;
    int rc = inflate(z, Z_NO_FLUSH);
    r->len += most - z->avail_out;
    *r->allowance -= most - z->avail_out;
    return rc;
}

static ab_err inflate_all(ab_rpc_reader *r, const char **why)
{
    while (!r->inflated && *r->allowance > 0) {
        ab_err e = room_to_inflate(r, why);
        if (e != AB_ERR_OK)
            return e;
        int rc = inflate_some(r);
        if (r->len > r->max) {
            *why = "a message is larger than the limit";
            return AB_ERR_TOOBIG;
        }
        if (rc == Z_BUF_ERROR)
            break;
        if (rc == Z_MEM_ERROR)
            return AB_ERR_NOMEM;
        if (rc != Z_OK && rc != Z_STREAM_END) {
            *why = NOT_GZIP;
            return AB_ERR_PARSE;
        }
        r->inflated = rc == Z_STREAM_END;
    }
    return AB_ERR_OK;
}

/* What is not read for want of allowance is given back to `in`. */
static ab_err take_compressed(ab_rpc_reader *r, ab_str part, ab_str *in, const char **why)
{
    z_stream *z = r->inflater;
    z->next_in = (z_const Bytef *)(uintptr_t)part.ptr;
    z->avail_in = (uInt)part.len;
    ab_err e = inflate_all(r, why);
    if (e != AB_ERR_OK)
        return e;
    bool goes_on = !r->inflated && *r->allowance == 0;
    bool ended = r->left == 0 && z->avail_in == 0;
    if ((z->avail_in > 0 && !goes_on) || (ended && !r->inflated)) {
        *why = NOT_GZIP;
        return AB_ERR_PARSE;
    }
    *in = (ab_str){in->ptr - z->avail_in, in->len + z->avail_in};
    r->left += z->avail_in;
    return AB_ERR_OK;
}

ab_err ab_rpc_reader_feed(ab_rpc_reader *r, ab_str *in, ab_str *message, const char **why)
{
    *message = AB_STR_NONE;
    *why = "out of memory";
    if (r->prefix_len < AB_RPC_PREFIX) {
        ab_err e = read_prefix(r, in, why);
        if (e != AB_ERR_OK || r->prefix_len < AB_RPC_PREFIX)
            return e;
    }
    ab_str part = {in->ptr, in->len < r->left ? in->len : r->left};
    in->ptr += part.len;
    in->len -= part.len;
    r->left -= part.len;
    if (!is_compressed(r) && r->len == 0 && r->left == 0) {
        *message = part;
        return AB_ERR_OK;
    }
    ab_err e = is_compressed(r) ? take_compressed(r, part, in, why) : collect(r, part, why);
    if (e == AB_ERR_OK && r->left == 0)
        *message = (ab_str){r->body, r->len};
    return e;
}

void ab_rpc_prefix_put(uint8_t out[AB_RPC_PREFIX], bool compressed, size_t len)
{
    out[0] = compressed ? 1 : 0;
    out[1] = (uint8_t)(len >> 24);
    out[2] = (uint8_t)(len >> 16);
    out[3] = (uint8_t)(len >> 8);
    out[4] = (uint8_t)len;
}

static z_stream *new_compressor(void)
{
    z_stream *z = calloc(1, sizeof(*z));
    if (z == NULL)
        return NULL;
    if (deflateInit2(z, GZIP_LEVEL, Z_DEFLATED, GZIP_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static int compress_part(z_stream *z, ab_str part, int flush)
{
    z->next_in = (z_const Bytef *)(uintptr_t)part.ptr;
    z->avail_in = (uInt)part.len;
    return deflate(z, flush);
}

size_t ab_rpc_compress(z_stream **z, const ab_str parts[2], uint8_t *out, size_t room)
{
    if (*z == NULL)
        *z = new_compressor();
    if (*z == NULL || deflateReset(*z) != Z_OK)
        return 0;
    (*z)->next_out = out;
    (*z)->avail_out = (uInt)room;
    if (parts[0].len > 0 && (compress_part(*z, parts[0], Z_NO_FLUSH) != Z_OK || (*z)->avail_in > 0))
        return 0;
    bool ended = compress_part(*z, parts[1], Z_FINISH) == Z_STREAM_END;
    return ended ? room - (*z)->avail_out : 0;
}

void ab_rpc_compress_free(z_stream *z)
{
    if (z == NULL)
        return;
    deflateEnd(z);
    free(z);
}
