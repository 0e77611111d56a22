/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf-c with memory and buffers of ours. The generated code of schema/proto reads and writes
 * every message; this is what it allocates from and what it writes to. Any thread.
 */
#pragma once

#include "base/core/buf.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* A message whose parts fit in here costs no allocation. */
#define AB_PB_ARENA_INLINE 8192
/* Bytes fields of at least this size get a block of their own, which the reader may keep: more than
 * an attribute may have. */
#define AB_PB_LARGE     32768
#define AB_PB_LARGE_MAX 4
/* Room for the parts of a message beside the bytes that it carries. */
#define AB_PB_OVERHEAD (64u * 1024)

/* Where the parts of one message lie: in the arena itself, then in one block, and large fields in
 * blocks of their own. Not to be copied or moved. */
typedef struct {
    ProtobufCAllocator allocator;
    char *at; /* free from here ... */
    char *end;
    char *block; /* NULL: not needed yet */
    size_t most; /* bytes of `block`, and of each large field */
    struct {
        void *at; /* NULL: free */
        size_t size;
    } large[AB_PB_LARGE_MAX];
    ab_err status; /* why an allocation failed: NOMEM, TOOBIG */
    _Alignas(max_align_t) char first[AB_PB_ARENA_INLINE];
} ab_pb_arena;

/** @param most  bytes to allocate beside the arena itself; each of the block and a large field */
void ab_pb_arena_init(ab_pb_arena *a, size_t most);
/** Release all of the message. */
void ab_pb_arena_fini(ab_pb_arena *a);
/** As fini, with the parts wiped first: for passwords and tokens. */
void ab_pb_arena_wipe(ab_pb_arena *a);
/** @return aligned for any type; NULL: `status` says why */
void *ab_pb_alloc(ab_pb_arena *a, size_t size);
/** Take a large field's block out of the arena. @return false: the field has no block of its own;
 *  true: the caller owns it (free()) */
bool ab_pb_take(ab_pb_arena *a, const void *field);

/**
 * Read a message into an arena that was just initialised.
 *
 * @param out  lies in the arena; every text and list of it too
 * @return PARSE, TOOBIG (more parts than the arena may hold), NOMEM
 */
AB_MUST_USE ab_err ab_pb_unpack(ab_pb_arena *a, const ProtobufCMessageDescriptor *type,
                                ab_str bytes, const ProtobufCMessage **out);
/** Append a message; failures show in ab_buf_status. */
void ab_pb_pack(const ProtobufCMessage *message, ab_buf *out);
/** As ab_pb_pack, without the message's last bytes, which are `tail`, a field of it. For flat
 * messages: protobuf-c measures nested ones once for each level here. */
void ab_pb_pack_head(const ProtobufCMessage *message, ab_str tail, ab_buf *out);

/** A field as text: empty when it is not set, never absent. */
static inline ab_str ab_pb_str(ProtobufCBinaryData field)
{
    return field.len == 0 ? AB_STR("") : (ab_str){(const char *)field.data, field.len};
}

/** The field of a text, which is borrowed. */
static inline ProtobufCBinaryData ab_pb_bytes(ab_str text)
{
    return (ProtobufCBinaryData){.len = text.len, .data = (uint8_t *)(uintptr_t)text.ptr};
}
