/* SPDX-License-Identifier: Apache-2.0
 *
 * A block of headers, in and out. Coming in, blocks of one connection do not interleave, so that a
 * connection has one of these for all its calls.
 */
#pragma once

#include "net/rpc/rpc.h"

#include <nghttp2/nghttp2.h>

#define AB_RPC_HEAD_FIELDS 128

typedef struct {
    ab_buf text; /* names and values, one behind the other */
    struct {
        uint32_t name_len;
        uint32_t value_len;
    } rows[AB_RPC_HEAD_FIELDS];
    size_t count;
    bool too_large; /* more than the limit; what is there is not all */
} ab_rpc_head_in;

/** An empty one. @return NULL when out of memory */
ab_rpc_head_in *ab_rpc_head_in_new(size_t bytes_max);
void ab_rpc_head_in_free(ab_rpc_head_in *h);
void ab_rpc_head_in_add(ab_rpc_head_in *h, ab_str name, ab_str value);
/** The first value under `name`, absent when there is none. Borrowed. */
ab_str ab_rpc_head_in_find(const ab_rpc_head_in *h, const char *name);
/**
 * What of it is metadata, binary values decoded; those that are not base64 are left out.
 *
 * @param fields  room for AB_RPC_HEAD_FIELDS; set to borrow from the head
 * @return how many
 */
size_t ab_rpc_head_in_metadata(ab_rpc_head_in *h, ab_rpc_field *fields);

/** Its content-type is that of gRPC. */
bool ab_rpc_head_in_is_grpc(const ab_rpc_head_in *h);
/** The status of HTTP by which a request that is not a call is answered; NULL: it is one. */
const char *ab_rpc_head_in_refusal(const ab_rpc_head_in *h);

/* A block to be sent. */
typedef struct {
    ab_buf text; /* values that had to be made */
    nghttp2_nv rows[AB_RPC_HEAD_FIELDS];
    size_t made[AB_RPC_HEAD_FIELDS]; /* 1 + where in `text` the value lies, or 0 */
    size_t count;
    ab_err status;
} ab_rpc_head_out;

void ab_rpc_head_out_init(ab_rpc_head_out *h);
void ab_rpc_head_out_fini(ab_rpc_head_out *h);
/** Both borrowed until sent. */
void ab_rpc_head_out_add(ab_rpc_head_out *h, const char *name, ab_str value);
/** grpc-message; absent or empty: nothing. */
void ab_rpc_head_out_add_text(ab_rpc_head_out *h, ab_str text);
/** INVALID in the status for a name or value that cannot be sent. */
void ab_rpc_head_out_add_metadata(ab_rpc_head_out *h, const ab_rpc_field *fields, size_t count);
/** The rows are ready to be given to nghttp2. @return INVALID, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_rpc_head_out_seal(ab_rpc_head_out *h);
