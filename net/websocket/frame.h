/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of WebSockets (RFC 6455, section 5), without extensions. libwslay reads and writes them;
 * here is what it leaves to its caller: which frames may come, and that a control frame is handed
 * on whole. What came is handed on piece by piece and never kept: a connection holds libwslay's 4
 * KiB and the 125 bytes that a control frame has at most. Decision 0019 says why it is this part of
 * libwslay, and not the one that answers by itself.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

#include <wslay/wslay.h>

#define AB_WEBSOCKET_FRAME_HEAD    14 /* bytes at most */
#define AB_WEBSOCKET_FRAME_CONTROL 125

typedef struct {
    wslay_frame_context_ptr wslay;
    bool server;       /* what comes must be masked, and what goes is not; else the other way */
    uint64_t max;      /* bytes of one message that comes, over all its frames */
    ab_str in;         /* what is left of the bytes that came */
    bool in_message;   /* a message has begun, and continuations follow */
    uint64_t received; /* bytes of that message that were announced so far */
    uint64_t passed;   /* bytes of the payload of the frame that comes */
    char control[AB_WEBSOCKET_FRAME_CONTROL];
    uint8_t *out; /* where the message that goes out is written */
} ab_websocket_frames;

/* What next found. */
typedef struct {
    enum wslay_opcode opcode; /* BINARY: some of a message; CLOSE, PING, PONG: a whole frame */
    bool ends;                /* BINARY: the message is whole now */
    ab_str bytes;             /* unmasked; borrowed until the next call */
} ab_websocket_frame;

/**
 * @param f       stays where it is until fini
 * @param server  the peer is a client
 * @param max     bytes of a message that comes
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_websocket_frames_init(ab_websocket_frames *f, bool server, uint64_t max);
/** After init, or of zeros. */
void ab_websocket_frames_fini(ab_websocket_frames *f);

/** Bytes came. @param bytes  borrowed until next finds nothing more in them */
void ab_websocket_frames_feed(ab_websocket_frames *f, ab_str bytes);
/**
 * Read on in what was fed, up to the end of what is there of one frame.
 *
 * @param out  what was found; its bytes are absent when all that was fed has been read
 * @param why  on failure: static text for the peer
 * @return PARSE: no frame of RFC 6455; UNSUPPORTED: a message of text; TOOBIG: a message past the
 *         limit. Nothing can be read afterwards
 */
AB_MUST_USE ab_err ab_websocket_frames_next(ab_websocket_frames *f, ab_websocket_frame *out,
                                            const char **why);
/** The code for the peer of what next has returned. */
uint16_t ab_websocket_frames_close_code(ab_err e);
/** The code of a frame that closes; NO_STATUS_RCVD when it has none, PROTOCOL_ERROR when it is
 * none. */
uint16_t ab_websocket_frame_close_code(ab_str payload);

/**
 * Begin a message of `len` bytes, which ab_websocket_frames_go_on writes; one at a time.
 *
 * @param out  gets its head, AB_WEBSOCKET_FRAME_HEAD bytes at most
 * @return bytes of the head; 0: there is no randomness for the mask
 */
size_t ab_websocket_frames_begin(ab_websocket_frames *f, uint8_t *out, uint64_t len);
/** The next `len` bytes of the message that was begun become what is sent, in their place. */
void ab_websocket_frames_go_on(ab_websocket_frames *f, uint8_t *bytes, size_t len);
/**
 * Append a short message or a control frame; also while a message is under way that was begun.
 *
 * @return NOMEM or TOOBIG, which `out` has too; FATAL: there is no randomness for the mask
 */
AB_MUST_USE ab_err ab_websocket_frame_put(ab_buf *out, enum wslay_opcode opcode, ab_str payload,
                                          bool server);
/** As put, the frame that closes. @param why  literal, at most 123 bytes */
AB_MUST_USE ab_err ab_websocket_frame_put_close(ab_buf *out, uint16_t code, const char *why,
                                                bool server);
