/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as requests of a client, or as replies of a redis, as the lowest bit of the first byte
 * says. In pieces of any size they are the same requests and replies, and each element of what is
 * whole can be taken.
 */
#include "live/redis/resp.h"

#include <assert.h>

/* What was read, up to the first failure. */
typedef struct {
    ab_resp_requests requests;
    ab_resp_replies replies;
    bool is_reply;
    ab_buf text;
    size_t whole; /* bytes of `text` up to the last end */
    ab_err e;
} reading;

/* All elements of one that is whole: nothing is left behind them. */
static void take_all(ab_str bytes)
{
    char type;
    ab_str value;
    while (ab_resp_take(&bytes, &type, &value))
        ;
    assert(bytes.len == 0);
}

static void check_inline(ab_str line)
{
    ab_resp_requests requests = {0};
    ab_resp_piece piece;
    const char *why;
    ab_buf out;
    ab_buf_init(&out, 1u << 24);
    if (ab_resp_put_inline(&out, line) == AB_ERR_OK && out.len > 0) {
        ab_err e = ab_resp_requests_next(&requests, ab_buf_str(&out), &piece, &why);
        assert(e == AB_ERR_OK && piece.bytes.len > 0);
        (void)e;
    }
    ab_buf_fini(&out);
}

static void note(reading *r, const ab_resp_piece *piece)
{
    ab_buf_put(&r->text, piece->bytes);
    if (!piece->ends)
        return;
    if (!r->is_reply && piece->kind == AB_RESP_INLINE)
        check_inline(piece->bytes);
    else if (piece->begins)
        take_all(piece->bytes);
    ab_buf_putc(&r->text, '|');
    r->whole = r->text.len;
}

/* @return bytes that were handed out */
static size_t read_on(reading *r, ab_str bytes)
{
    size_t used = 0;
    const char *why = NULL;
    ab_resp_piece piece;
    do {
        ab_str rest = {bytes.ptr + used, bytes.len - used};
        r->e = r->is_reply ? ab_resp_replies_next(&r->replies, rest, &piece, &why)
                           : ab_resp_requests_next(&r->requests, rest, &piece, &why);
        assert(r->e == AB_ERR_OK || why != NULL);
        if (r->e != AB_ERR_OK)
            return used;
        note(r, &piece);
        used += piece.bytes.len;
    } while (piece.bytes.len > 0);
    assert(bytes.len - used <= 2 * (size_t)AB_RESP_WHOLE_MAX);
    return used;
}

static void read_in(reading *r, const uint8_t *data, size_t size, bool is_reply, size_t step)
{
    size_t used = 0;
    *r = (reading){.is_reply = is_reply};
    ab_buf_init(&r->text, 1u << 24);
    for (size_t end = 0; end < size && r->e == AB_ERR_OK;) {
        end = size - end < step ? size : end + step;
        used += read_on(r, (ab_str){(const char *)data + used, end - used});
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reading whole;
    reading pieces;
    if (size < 2)
        return 0;
    bool is_reply = (data[0] & 1) != 0;
    read_in(&whole, data + 1, size - 1, is_reply, size);
    read_in(&pieces, data + 1, size - 1, is_reply, (data[0] >> 1) + 1u);
    assert(whole.e == pieces.e && whole.whole == pieces.whole);
    assert(whole.whole == 0 || memcmp(whole.text.ptr, pieces.text.ptr, whole.whole) == 0);
    ab_buf_fini(&whole.text);
    ab_buf_fini(&pieces.text);
    return 0;
}
