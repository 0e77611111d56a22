/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of WebSockets (RFC 6455, section 5), without extensions. A reader takes bytes as they come
 * and keeps none but a frame's head and the 125 bytes that a control frame has at most.
 */
#pragma once

#include "base/buf.h"

#define AB_RPC_FRAME_HEAD    14 /* at most */
#define AB_RPC_FRAME_CONTROL 125
#define AB_RPC_FRAME_KEY     4

typedef enum {
    AB_RPC_FRAME_CONTINUATION = 0,
    AB_RPC_FRAME_TEXT = 1,
    AB_RPC_FRAME_BINARY = 2,
    AB_RPC_FRAME_CLOSE = 8,
    AB_RPC_FRAME_PING = 9,
    AB_RPC_FRAME_PONG = 10
} ab_rpc_opcode;

/* Codes by which a WebSocket is closed. */
enum {
    AB_RPC_CLOSE_NORMAL = 1000,
    AB_RPC_CLOSE_LEAVING = 1001,
    AB_RPC_CLOSE_PROTOCOL = 1002,
    AB_RPC_CLOSE_KIND = 1003, /* of data that is not taken */
    AB_RPC_CLOSE_NONE = 1005, /* the frame had no code; never sent */
    AB_RPC_CLOSE_POLICY = 1008,
    AB_RPC_CLOSE_TOO_BIG = 1009,
    AB_RPC_CLOSE_INTERNAL = 1011
};

typedef struct {
    bool masked;       /* what comes must be, since it is a client's; else it must not */
    uint64_t max;      /* bytes of one message, over all its frames */
    bool in_message;   /* a message has begun, and continuations follow */
    uint64_t received; /* bytes of that message that were announced so far */
    uint8_t head[AB_RPC_FRAME_HEAD];
    size_t head_len;
    bool open;     /* the head is whole, and `left` bytes follow */
    uint64_t left; /* of the frame's payload */
    size_t masked_at;
    char control[AB_RPC_FRAME_CONTROL];
    size_t control_len;
} ab_rpc_frames;

/* What feed found. */
typedef struct {
    ab_rpc_opcode opcode; /* BINARY: some of a message; CLOSE, PING, PONG: a whole frame */
    bool ends;            /* BINARY: the message is whole now */
    ab_str bytes;         /* unmasked; borrowed from what was fed, or until the next feed */
} ab_rpc_frame;

/** @param masked  the frames are a client's */
void ab_rpc_frames_init(ab_rpc_frames *f, bool masked, uint64_t max);
/**
 * Read on, up to the end of what is there of one frame.
 *
 * @param in     bytes that came, unmasked in their place
 * @param len    of them
 * @param taken  set to how many were read
 * @param out    what was found; its bytes are absent when nothing was
 * @param why    on failure: static text for the peer
 * @return PARSE: no frame of RFC 6455; UNSUPPORTED: a message of text; TOOBIG: a message past the
 *         limit. It is of no use afterwards
 */
AB_MUST_USE ab_err ab_rpc_frames_feed(ab_rpc_frames *f, char *in, size_t len, size_t *taken,
                                      ab_rpc_frame *out, const char **why);
/** The code for the peer of what feed has returned. */
uint16_t ab_rpc_frames_close_code(ab_err e);

/**
 * The head of a whole message, or of a control frame.
 *
 * @param key  by which the payload is masked; NULL: it is not, as a server does
 * @return how many bytes of `out` it takes
 */
size_t ab_rpc_frame_head(uint8_t out[AB_RPC_FRAME_HEAD], ab_rpc_opcode opcode, uint64_t len,
                         const uint8_t *key);
/** Mask bytes that begin `at` bytes after the beginning of the payload; twice gives them back. */
void ab_rpc_frame_mask(uint8_t *bytes, size_t len, const uint8_t key[AB_RPC_FRAME_KEY], size_t at);
/** Append a short message or control frame. */
void ab_rpc_frame_put(ab_buf *out, ab_rpc_opcode opcode, ab_str payload, const uint8_t *key);
/** Append the frame that closes. @param why  literal, at most 123 bytes */
void ab_rpc_frame_put_close(ab_buf *out, uint16_t code, const char *why, const uint8_t *key);
/** The code of a frame that closes; NONE when it has none, PROTOCOL when it is none. */
uint16_t ab_rpc_frame_close_code(ab_str payload);
