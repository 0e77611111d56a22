/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/rpc/frame_priv.h"

#include <assert.h>

#define FIN      0x80u
#define RESERVED 0x70u
#define OPCODE   0x0fu
#define MASK     0x80u
#define SHORT    0x7fu
#define IN_2     126u /* the length is in the two bytes that follow */
#define IN_8     127u
#define CONTROL  0x08u

void ab_rpc_frames_init(ab_rpc_frames *f, bool masked, uint64_t max)
{
    *f = (ab_rpc_frames){.masked = masked, .max = max};
}

static ab_rpc_opcode opcode_of(const ab_rpc_frames *f)
{
    return (ab_rpc_opcode)(f->head[0] & OPCODE);
}

static bool is_control(const ab_rpc_frames *f)
{
    return (f->head[0] & CONTROL) != 0;
}

static size_t length_bytes(const ab_rpc_frames *f)
{
    unsigned len = f->head[1] & SHORT;
    if (len < IN_2)
        return 0;
    return len == IN_2 ? 2 : 8;
}

/* Bytes of the head, as far as those that are there tell. */
static size_t head_needed(const ab_rpc_frames *f)
{
    if (f->head_len < 2)
        return 2;
    return 2 + length_bytes(f) + (f->masked ? AB_RPC_FRAME_KEY : 0);
}

static const uint8_t *key_of(const ab_rpc_frames *f)
{
    return f->head + 2 + length_bytes(f);
}

static ab_err fail(const char **why, ab_err e, const char *text)
{
    *why = text;
    return e;
}

/* Of what the first two bytes say. */
static ab_err check_start(const ab_rpc_frames *f, const char **why)
{
    ab_rpc_opcode opcode = opcode_of(f);
    bool fin = (f->head[0] & FIN) != 0;
    if ((f->head[0] & RESERVED) != 0)
        return fail(why, AB_ERR_PARSE, "a reserved bit of a frame is set");
    if (((f->head[1] & MASK) != 0) != f->masked)
        return fail(why, AB_ERR_PARSE,
                    f->masked ? "a client's frame is not masked" : "a server's frame is masked");
    if (is_control(f)) {
        if (opcode > AB_RPC_FRAME_PONG)
            return fail(why, AB_ERR_PARSE, "a frame has an unknown opcode");
        if (!fin || length_bytes(f) > 0)
            return fail(why, AB_ERR_PARSE, "a control frame is in parts or too long");
        return AB_ERR_OK;
    }
    if (opcode == AB_RPC_FRAME_TEXT)
        return fail(why, AB_ERR_UNSUPPORTED, "a message is text, not binary");
    if (opcode > AB_RPC_FRAME_BINARY)
        return fail(why, AB_ERR_PARSE, "a frame has an unknown opcode");
    if ((opcode == AB_RPC_FRAME_CONTINUATION) != f->in_message)
        return fail(why, AB_ERR_PARSE,
                    f->in_message ? "a message begins within another one"
                                  : "a frame continues no message");
    return AB_ERR_OK;
}

static uint64_t length_of(const ab_rpc_frames *f)
{
    size_t bytes = length_bytes(f);
    uint64_t len = bytes == 0 ? f->head[1] & SHORT : 0;
    for (size_t i = 0; i < bytes; i++)
        len = len << 8 | f->head[2 + i];
    return len;
}

static ab_err open_frame(ab_rpc_frames *f, const char **why)
{
    static const uint64_t least[] = {[0] = 0, [2] = IN_2, [8] = 0x10000};
    uint64_t len = length_of(f);
    if (len < least[length_bytes(f)])
        return fail(why, AB_ERR_PARSE, "the length of a frame is not in its shortest form");
    if (!is_control(f)) {
        if (len > f->max - f->received)
            return fail(why, AB_ERR_TOOBIG, "a message is larger than the limit");
        f->received += len;
    }
    f->open = true;
    f->left = len;
    f->masked_at = 0;
    f->control_len = 0;
    return AB_ERR_OK;
}

static ab_err read_head(ab_rpc_frames *f, const char *in, size_t len, size_t *taken,
                        const char **why)
{
    while (f->head_len < head_needed(f)) {
        if (*taken == len)
            return AB_ERR_OK;
        f->head[f->head_len++] = (uint8_t)in[(*taken)++];
        if (f->head_len != 2)
            continue;
        ab_err e = check_start(f, why);
        if (e != AB_ERR_OK)
            return e;
    }
    return open_frame(f, why);
}

static void close_frame(ab_rpc_frames *f)
{
    f->open = false;
    f->head_len = 0;
}

static void give_control(ab_rpc_frames *f, ab_str part, ab_rpc_frame *out)
{
    memcpy(f->control + f->control_len, part.ptr, part.len);
    f->control_len += part.len;
    if (f->left > 0)
        return;
    *out = (ab_rpc_frame){opcode_of(f), true, {f->control, f->control_len}};
    close_frame(f);
}

static void give_data(ab_rpc_frames *f, ab_str part, ab_rpc_frame *out)
{
    *out = (ab_rpc_frame){AB_RPC_FRAME_BINARY, false, part};
    if (f->left > 0)
        return;
    out->ends = (f->head[0] & FIN) != 0;
    f->in_message = !out->ends;
    f->received = out->ends ? 0 : f->received;
    close_frame(f);
}

ab_err ab_rpc_frames_feed(ab_rpc_frames *f, char *in, size_t len, size_t *taken, ab_rpc_frame *out,
                          const char **why)
{
    *taken = 0;
    *out = (ab_rpc_frame){.bytes = AB_STR_NONE};
    if (!f->open) {
        ab_err e = read_head(f, in, len, taken, why);
        if (e != AB_ERR_OK || !f->open)
            return e;
    }
    ab_str part = {in + *taken, len - *taken};
    if (part.len > f->left)
        part.len = (size_t)f->left;
    if (f->masked)
        ab_rpc_frame_mask((uint8_t *)in + *taken, part.len, key_of(f), f->masked_at);
    *taken += part.len;
    f->left -= part.len;
    f->masked_at += part.len;
    if (is_control(f))
        give_control(f, part, out);
    else
        give_data(f, part, out);
    return AB_ERR_OK;
}

uint16_t ab_rpc_frames_close_code(ab_err e)
{
    if (e == AB_ERR_TOOBIG)
        return AB_RPC_CLOSE_TOO_BIG;
    return e == AB_ERR_UNSUPPORTED ? AB_RPC_CLOSE_KIND : AB_RPC_CLOSE_PROTOCOL;
}

/* ---- sending ---- */

static size_t put_length(uint8_t *out, uint64_t len)
{
    size_t bytes = len > UINT16_MAX ? 8 : 2;
    if (len < IN_2) {
        out[0] = (uint8_t)len;
        return 1;
    }
    out[0] = bytes == 8 ? IN_8 : IN_2;
    for (size_t i = 0; i < bytes; i++)
        out[1 + i] = (uint8_t)(len >> (8 * (bytes - 1 - i)));
    return 1 + bytes;
}

size_t ab_rpc_frame_head(uint8_t out[AB_RPC_FRAME_HEAD], ab_rpc_opcode opcode, uint64_t len,
                         const uint8_t *key)
{
    out[0] = (uint8_t)(FIN | opcode);
    size_t n = 1 + put_length(out + 1, len);
    if (key == NULL)
        return n;
    out[1] |= MASK;
    memcpy(out + n, key, AB_RPC_FRAME_KEY);
    return n + AB_RPC_FRAME_KEY;
}

void ab_rpc_frame_mask(uint8_t *bytes, size_t len, const uint8_t key[AB_RPC_FRAME_KEY], size_t at)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= key[(at + i) % AB_RPC_FRAME_KEY];
}

void ab_rpc_frame_put(ab_buf *out, ab_rpc_opcode opcode, ab_str payload, const uint8_t *key)
{
    uint8_t head[AB_RPC_FRAME_HEAD];
    size_t len = ab_rpc_frame_head(head, opcode, payload.len, key);
    ab_buf_put(out, (ab_str){(const char *)head, len});
    size_t at = out->len;
    ab_buf_put(out, payload);
    if (key != NULL && ab_buf_status(out) == AB_ERR_OK)
        ab_rpc_frame_mask((uint8_t *)out->ptr + at, payload.len, key, 0);
}

void ab_rpc_frame_put_close(ab_buf *out, uint16_t code, const char *why, const uint8_t *key)
{
    char payload[AB_RPC_FRAME_CONTROL] = {(char)(code >> 8), (char)(code & 0xff)};
    size_t len = strlen(why);
    assert(len <= sizeof(payload) - 2);
    memcpy(payload + 2, why, len);
    ab_rpc_frame_put(out, AB_RPC_FRAME_CLOSE, (ab_str){payload, 2 + len}, key);
}

uint16_t ab_rpc_frame_close_code(ab_str payload)
{
    if (payload.len == 0)
        return AB_RPC_CLOSE_NONE;
    if (payload.len == 1)
        return AB_RPC_CLOSE_PROTOCOL;
    return (uint16_t)((uint8_t)payload.ptr[0] << 8 | (uint8_t)payload.ptr[1]);
}
