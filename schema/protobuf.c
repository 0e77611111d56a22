/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* ----- memory ----- */

static void *fail(ab_pb_arena *a, ab_err e)
{
    a->status = e;
    return NULL;
}

static size_t find_large(const ab_pb_arena *a, const void *block)
{
    size_t i = 0;
    while (i < AB_PB_LARGE_MAX && a->large[i].at != block)
        i++;
    return i;
}

static void *alloc_large(ab_pb_arena *a, size_t size)
{
    size_t i = find_large(a, NULL);
    if (i == AB_PB_LARGE_MAX || size > a->most)
        return fail(a, AB_ERR_TOOBIG);
    a->large[i].at = malloc(size);
    a->large[i].size = size;
    return a->large[i].at != NULL ? a->large[i].at : fail(a, AB_ERR_NOMEM);
}

/* The one block; what is left of the arena itself stays unused. */
static bool open_block(ab_pb_arena *a, size_t size)
{
    if (a->block != NULL || size > a->most)
        return fail(a, AB_ERR_TOOBIG) != NULL;
    a->block = malloc(a->most);
    if (a->block == NULL)
        return fail(a, AB_ERR_NOMEM) != NULL;
    a->at = a->block;
    a->end = a->block + a->most;
    return true;
}

void *ab_pb_alloc(ab_pb_arena *a, size_t size)
{
    const size_t unit = _Alignof(max_align_t);
    if (size > SIZE_MAX - unit)
        return fail(a, AB_ERR_TOOBIG);
    if (size >= AB_PB_LARGE)
        return alloc_large(a, size);
    size = (size + unit - 1) / unit * unit;
    if (size > (size_t)(a->end - a->at) && !open_block(a, size))
        return NULL;
    void *room = a->at;
    a->at += size;
    return room;
}

bool ab_pb_take(ab_pb_arena *a, const void *field)
{
    size_t i = field == NULL ? AB_PB_LARGE_MAX : find_large(a, field);
    if (i < AB_PB_LARGE_MAX)
        a->large[i].at = NULL;
    return i < AB_PB_LARGE_MAX;
}

static void *on_alloc(void *arena, size_t size)
{
    return ab_pb_alloc(arena, size);
}

/* Small parts stay until the end of the arena. */
static void on_free(void *arena, void *part)
{
    if (ab_pb_take(arena, part))
        free(part);
}

void ab_pb_arena_init(ab_pb_arena *a, size_t most)
{
    a->allocator = (ProtobufCAllocator){.alloc = on_alloc, .free = on_free, .allocator_data = a};
    a->at = a->first;
    a->end = a->first + sizeof(a->first);
    a->block = NULL;
    a->most = most;
    memset(a->large, 0, sizeof(a->large));
    a->status = AB_ERR_OK;
}

void ab_pb_arena_fini(ab_pb_arena *a)
{
    for (size_t i = 0; i < AB_PB_LARGE_MAX; i++)
        free(a->large[i].at);
    free(a->block);
    ab_pb_arena_init(a, a->most);
}

void ab_pb_arena_wipe(ab_pb_arena *a)
{
    for (size_t i = 0; i < AB_PB_LARGE_MAX; i++)
        if (a->large[i].at != NULL)
            explicit_bzero(a->large[i].at, a->large[i].size);
    if (a->block != NULL)
        explicit_bzero(a->block, (size_t)(a->at - a->block));
    explicit_bzero(a->first, sizeof(a->first));
    ab_pb_arena_fini(a);
}

/* ----- messages ----- */

ab_err ab_pb_unpack(ab_pb_arena *a, const ProtobufCMessageDescriptor *type, ab_str bytes,
                    const ProtobufCMessage **out)
{
    *out = protobuf_c_message_unpack(type, &a->allocator, bytes.len, (const uint8_t *)bytes.ptr);
    if (*out != NULL)
        return AB_ERR_OK;
    return a->status != AB_ERR_OK ? a->status : AB_ERR_PARSE;
}

typedef struct {
    ProtobufCBuffer base; /* first: protobuf-c hands it back */
    ab_buf *out;
    const char *tail; /* is left out; NULL: nothing is */
} head_buffer;

static void on_append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
    head_buffer *b = (head_buffer *)buffer;
    if (b->tail == NULL || (const char *)data != b->tail)
        ab_buf_put(b->out, (ab_str){(const char *)data, len});
}

void ab_pb_pack_head(const ProtobufCMessage *message, ab_str tail, ab_buf *out)
{
    head_buffer b = {.base = {.append = on_append}, .out = out};
    b.tail = tail.len > 0 ? tail.ptr : NULL;
    (void)protobuf_c_message_pack_to_buffer(message, &b.base);
}

void ab_pb_pack(const ProtobufCMessage *message, ab_buf *out)
{
    char *to = ab_buf_extend(out, protobuf_c_message_get_packed_size(message));
    if (to != NULL)
        (void)protobuf_c_message_pack(message, (uint8_t *)to);
}
