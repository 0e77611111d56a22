/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields that protobuf messages consist of, for messages that are few and known: written to
 * where their maker has made room, read in place. Any thread.
 */
#pragma once

#include "base/buf.h"

/* How the value of a field is encoded. */
typedef enum {
    AB_PB_VARINT = 0,
    AB_PB_FIXED64 = 1,
    AB_PB_BYTES = 2, /* text, bytes, a message */
    AB_PB_FIXED32 = 5
} ab_pb_type;

typedef struct {
    uint64_t number;
    ab_pb_type type;
    uint64_t value; /* of a varint */
    ab_str bytes;   /* of AB_PB_BYTES: borrowed, never absent; else absent */
} ab_pb_field;

/** Take the next field off the front of `in`.
 *  @return PARSE: there is none, or one that nothing can be read after */
AB_MUST_USE ab_err ab_pb_take(ab_str *in, ab_pb_field *out);

/** Bytes that a varint takes. */
size_t ab_pb_varint_size(uint64_t value);
/** Bytes that a field of AB_PB_BYTES with a number below 16 takes. */
size_t ab_pb_bytes_size(size_t len);

/* Each writes to `to`, where there is room, and returns where it ends. */

char *ab_pb_put_varint(char *to, uint64_t value);
char *ab_pb_put_tag(char *to, unsigned number, ab_pb_type type);
/** Tag and length of a field of AB_PB_BYTES, whose `len` bytes follow. */
char *ab_pb_put_head(char *to, unsigned number, size_t len);
/** A whole field of AB_PB_BYTES. */
char *ab_pb_put_bytes(char *to, unsigned number, ab_str bytes);
