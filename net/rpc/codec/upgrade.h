/* SPDX-License-Identifier: Apache-2.0
 *
 * The request and the answer of HTTP/1.1 by which a connection becomes a WebSocket (RFC 6455,
 * section 4) with the sub-protocol grpc-ws: the headers of one call are among the request's.
 */
#pragma once

#include "net/rpc/codec/head.h"
#include "net/websocket/key.h"

/** Bytes of a head that ends in an empty line; 0: it is not whole. */
size_t ab_rpc_upgrade_head_len(ab_str bytes);
/** Add lines "Name: value" to a head, names in lower-case.
 *  @return false: a line is none */
bool ab_rpc_upgrade_read_fields(ab_str lines, ab_rpc_head_in *into);
/** Append headers as such lines, without those that begin with a colon. */
void ab_rpc_upgrade_put_fields(ab_buf *out, const ab_rpc_head_out *head);

/* The answer to a bad request. */
typedef struct {
    const char *status; /* of HTTP, with its text; NULL: it is good */
    const char *why;
} ab_rpc_upgrade_refusal;

/**
 * Read a request that begins a call.
 *
 * @param head    whole
 * @param into    set to the headers of the call, as HTTP/2 would have brought them
 * @param accept  what the client expects to be answered
 */
ab_rpc_upgrade_refusal ab_rpc_upgrade_read_request(ab_str head, ab_rpc_head_in *into,
                                                   char accept[AB_WEBSOCKET_ACCEPT]);
void ab_rpc_upgrade_put_answer(ab_buf *out, const char *accept);
void ab_rpc_upgrade_put_refusal(ab_buf *out, const ab_rpc_upgrade_refusal *refusal);

/** @param key  random bytes in base64 */
void ab_rpc_upgrade_put_request(ab_buf *out, const ab_rpc_head_out *head, const char *key);
/**
 * Read the answer to a request with `key`.
 *
 * @param status  set to that of HTTP; absent: the answer is not in HTTP/1.1
 * @return NULL: the connection is a WebSocket now; else why it is not, for people
 */
const char *ab_rpc_upgrade_read_answer(ab_str head, const char *key, size_t header_bytes,
                                       ab_str *status);
