/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/frame.h"

#include <assert.h>
#include <openssl/rand.h>

/* ---- libwslay calls these ---- */

static ssize_t read_in(uint8_t *into, size_t room, int flags, void *arg)
{
    ab_websocket_frames *f = arg;
    size_t n = f->in.len < room ? f->in.len : room;
    (void)flags;
    memcpy(into, f->in.ptr, n);
    f->in = (ab_str){f->in.ptr + n, f->in.len - n};
    return (ssize_t)n; /* 0: it waits for more */
}

/* Of a payload that is not masked, the bytes are in their place. */
static ssize_t write_out(const uint8_t *bytes, size_t len, int flags, void *arg)
{
    ab_websocket_frames *f = arg;
    (void)flags;
    if (bytes != f->out)
        memcpy(f->out, bytes, len);
    f->out += len;
    return (ssize_t)len;
}

static int make_key(uint8_t *key, size_t len, void *arg)
{
    (void)arg;
    return RAND_bytes(key, (int)len) == 1 ? 0 : -1;
}

static const struct wslay_frame_callbacks callbacks = {write_out, read_in, make_key};

ab_err ab_websocket_frames_init(ab_websocket_frames *f, bool server, uint64_t max)
{
    *f = (ab_websocket_frames){.server = server, .max = max, .in = AB_STR("")};
    return wslay_frame_context_init(&f->wslay, &callbacks, f) == 0 ? AB_ERR_OK : AB_ERR_NOMEM;
}

void ab_websocket_frames_fini(ab_websocket_frames *f)
{
    wslay_frame_context_free(f->wslay);
    f->wslay = NULL;
}

/* ---- receiving ---- */

static ab_err fail(const char **why, ab_err e, const char *text)
{
    *why = text;
    return e;
}

static ab_err check_data(ab_websocket_frames *f, const struct wslay_frame_iocb *frame,
                         const char **why)
{
    if (frame->opcode == WSLAY_TEXT_FRAME)
        return fail(why, AB_ERR_UNSUPPORTED, "a message is text, not binary");
    if (frame->opcode > WSLAY_BINARY_FRAME)
        return fail(why, AB_ERR_PARSE, "a frame has an unknown opcode");
    if ((frame->opcode == WSLAY_CONTINUATION_FRAME) != f->in_message)
        return fail(why, AB_ERR_PARSE,
                    f->in_message ? "a message begins within another one"
                                  : "a frame continues no message");
    if (frame->payload_length > f->max - f->received)
        return fail(why, AB_ERR_TOOBIG, "a message is larger than the limit");
    f->received += frame->payload_length;
    return AB_ERR_OK;
}

/* Of what its head says, which libwslay hands on with the first bytes of the payload. */
static ab_err check_frame(ab_websocket_frames *f, const struct wslay_frame_iocb *frame,
                          const char **why)
{
    if (frame->rsv != WSLAY_RSV_NONE)
        return fail(why, AB_ERR_PARSE, "a reserved bit of a frame is set");
    if ((frame->mask != 0) != f->server)
        return fail(why, AB_ERR_PARSE,
                    f->server ? "a client's frame is not masked" : "a server's frame is masked");
    if (!wslay_is_ctrl_frame(frame->opcode))
        return check_data(f, frame, why);
    if (frame->opcode > WSLAY_PONG)
        return fail(why, AB_ERR_PARSE, "a frame has an unknown opcode");
    return AB_ERR_OK;
}

static void give_data(ab_websocket_frames *f, const struct wslay_frame_iocb *part, bool ends,
                      ab_websocket_frame *out)
{
    ab_str bytes = {(const char *)part->data, part->data_length};
    *out = (ab_websocket_frame){WSLAY_BINARY_FRAME, ends, bytes};
    f->in_message = !ends;
    f->received = ends ? 0 : f->received;
}

/* @param at  where in its frame the part begins; libwslay lets no frame be longer than `control` */
static void give_control(ab_websocket_frames *f, const struct wslay_frame_iocb *part, uint64_t at,
                         ab_websocket_frame *out)
{
    assert(at + part->data_length <= sizeof(f->control));
    memcpy(f->control + at, part->data, part->data_length);
    if (f->passed == 0)
        *out = (ab_websocket_frame){part->opcode, true, {f->control, (size_t)part->payload_length}};
}

static ab_err take_part(ab_websocket_frames *f, const struct wslay_frame_iocb *part,
                        ab_websocket_frame *out, const char **why)
{
    uint64_t at = f->passed;
    ab_err e = at == 0 ? check_frame(f, part, why) : AB_ERR_OK;
    if (e != AB_ERR_OK)
        return e;
    f->passed = at + part->data_length;
    if (f->passed == part->payload_length)
        f->passed = 0;
    if (wslay_is_ctrl_frame(part->opcode))
        give_control(f, part, at, out);
    else
        give_data(f, part, f->passed == 0 && part->fin != 0, out);
    return AB_ERR_OK;
}

void ab_websocket_frames_feed(ab_websocket_frames *f, ab_str bytes)
{
    f->in = bytes;
}

ab_err ab_websocket_frames_next(ab_websocket_frames *f, ab_websocket_frame *out, const char **why)
{
    ab_err e = AB_ERR_OK;
    *out = (ab_websocket_frame){.bytes = AB_STR_NONE};
    while (e == AB_ERR_OK && out->bytes.ptr == NULL) {
        struct wslay_frame_iocb part;
        ssize_t n = wslay_frame_recv(f->wslay, &part);
        if (n == WSLAY_ERR_WANT_READ)
            return AB_ERR_OK;
        if (n < 0)
            return fail(why, AB_ERR_PARSE,
                        "a frame's length is wrong, or a control frame is in parts");
        e = take_part(f, &part, out, why);
    }
    return e;
}

uint16_t ab_websocket_frames_close_code(ab_err e)
{
    if (e == AB_ERR_TOOBIG)
        return WSLAY_CODE_MESSAGE_TOO_BIG;
    return e == AB_ERR_UNSUPPORTED ? WSLAY_CODE_UNSUPPORTED_DATA : WSLAY_CODE_PROTOCOL_ERROR;
}

uint16_t ab_websocket_frame_close_code(ab_str payload)
{
    if (payload.len == 0)
        return WSLAY_CODE_NO_STATUS_RCVD;
    if (payload.len == 1)
        return WSLAY_CODE_PROTOCOL_ERROR;
    return (uint16_t)((uint8_t)payload.ptr[0] << 8 | (uint8_t)payload.ptr[1]);
}

/* ---- sending ---- */

static ssize_t send_part(ab_websocket_frames *f, enum wslay_opcode opcode, uint64_t len,
                         ab_str part)
{
    struct wslay_frame_iocb frame = {.fin = 1,
                                     .opcode = (uint8_t)opcode,
                                     .mask = !f->server,
                                     .payload_length = len,
                                     .data = (const uint8_t *)part.ptr,
                                     .data_length = part.len};
    return wslay_frame_send(f->wslay, &frame);
}

size_t ab_websocket_frames_begin(ab_websocket_frames *f, uint8_t *out, uint64_t len)
{
    f->out = out;
    ssize_t n = send_part(f, WSLAY_BINARY_FRAME, len, AB_STR(""));
    return n < 0 ? 0 : (size_t)(f->out - out);
}

void ab_websocket_frames_go_on(ab_websocket_frames *f, uint8_t *bytes, size_t len)
{
    f->out = bytes;
    ssize_t n = send_part(f, WSLAY_BINARY_FRAME, len, (ab_str){(const char *)bytes, len});
    assert(n == (ssize_t)len); /* write_out takes all */
    (void)n;
}

static ab_err write_frame(ab_websocket_frames *f, ab_buf *out, enum wslay_opcode opcode,
                          ab_str payload)
{
    char *at = ab_buf_extend(out, AB_WEBSOCKET_FRAME_HEAD + payload.len);
    if (at == NULL)
        return ab_buf_status(out);
    f->out = (uint8_t *)at;
    ssize_t n = send_part(f, opcode, payload.len, payload);
    out->len = (size_t)((char *)f->out - out->ptr);
    return n < 0 ? AB_ERR_FATAL : AB_ERR_OK;
}

ab_err ab_websocket_frame_put(ab_buf *out, enum wslay_opcode opcode, ab_str payload, bool server)
{
    ab_websocket_frames f; /* not that of the connection, which may be within a message */
    ab_err e = ab_websocket_frames_init(&f, server, 0);
    if (e == AB_ERR_OK)
        e = write_frame(&f, out, opcode, payload);
    ab_websocket_frames_fini(&f);
    return e;
}

ab_err ab_websocket_frame_put_close(ab_buf *out, uint16_t code, const char *why, bool server)
{
    char payload[AB_WEBSOCKET_FRAME_CONTROL] = {(char)(code >> 8), (char)(code & 0xff)};
    size_t len = strlen(why);
    assert(len <= sizeof(payload) - 2);
    memcpy(payload + 2, why, len);
    return ab_websocket_frame_put(out, WSLAY_CONNECTION_CLOSE, (ab_str){payload, 2 + len}, server);
}
