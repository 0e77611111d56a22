/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of a WebSocket, from a client or a server as the lowest bit of the first byte says. In
 * pieces of any size they must be the same messages as at once.
 */
#include "net/websocket/frame.h"

#include <assert.h>

#define MESSAGE_MAX 65536

/* What was read, up to the first failure. */
typedef struct {
    ab_buf text;
    ab_err e;
} result;

static void note(ab_buf *text, const ab_websocket_frame *frame)
{
    if (frame->bytes.ptr == NULL)
        return;
    if (frame->opcode != WSLAY_BINARY_FRAME)
        assert(frame->bytes.len <= AB_WEBSOCKET_FRAME_CONTROL);
    ab_buf_put(text, frame->bytes);
    if (frame->ends)
        ab_buf_printf(text, "|%d|", (int)frame->opcode);
}

static void read_piece(ab_websocket_frames *f, ab_str piece, result *r)
{
    ab_websocket_frame frame;
    const char *why = NULL;
    ab_websocket_frames_feed(f, piece);
    do {
        r->e = ab_websocket_frames_next(f, &frame, &why);
        assert(r->e == AB_ERR_OK ? frame.bytes.ptr != NULL || f->in.len == 0 : why != NULL);
        if (r->e == AB_ERR_OK)
            note(&r->text, &frame);
    } while (r->e == AB_ERR_OK && frame.bytes.ptr != NULL);
}

static result read_in(const uint8_t *data, size_t size, bool server, size_t step)
{
    result r = {.e = AB_ERR_OK};
    ab_websocket_frames f;
    ab_err e = ab_websocket_frames_init(&f, server, MESSAGE_MAX);
    assert(e == AB_ERR_OK);
    (void)e;
    ab_buf_init(&r.text, SIZE_MAX);
    for (size_t at = 0; at < size && r.e == AB_ERR_OK; at += step)
        read_piece(&f, (ab_str){(const char *)data + at, size - at < step ? size - at : step}, &r);
    ab_websocket_frames_fini(&f);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool server = (data[0] & 1) != 0;
    result whole = read_in(data + 1, size - 1, server, size);
    result pieces = read_in(data + 1, size - 1, server, (data[0] >> 1) + 1u);
    assert(whole.e == pieces.e && ab_str_eq(ab_buf_str(&whole.text), ab_buf_str(&pieces.text)));
    ab_buf_fini(&whole.text);
    ab_buf_fini(&pieces.text);
    return 0;
}
