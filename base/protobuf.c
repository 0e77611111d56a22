/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#define VARINT_MAX 10

/* ----- in ----- */

/* What takes returns where it ends; NULL: it does not, before `end`. */

static const char *take_long_varint(const char *at, const char *end, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_MAX && at < end; i++) {
        uint8_t byte = (uint8_t)*at++;
        *out |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return at;
    }
    return NULL;
}

/* Most have one byte. */
static inline const char *take_varint(const char *at, const char *end, uint64_t *out)
{
    if (at == end || (uint8_t)*at >= 0x80)
        return take_long_varint(at, end, out);
    *out = (uint8_t)*at;
    return at + 1;
}

static inline const char *skip(const char *at, const char *end, uint64_t len)
{
    return len > (size_t)(end - at) ? NULL : at + len;
}

static inline const char *take_bytes(const char *at, const char *end, ab_pb_field *out)
{
    at = take_varint(at, end, &out->value);
    if (at == NULL)
        return NULL;
    out->bytes = (ab_str){at, (size_t)out->value};
    return skip(at, end, out->value);
}

static inline const char *take_value(const char *at, const char *end, ab_pb_field *out)
{
    switch (out->type) {
    case AB_PB_VARINT:
        return take_varint(at, end, &out->value);
    case AB_PB_FIXED64:
        return skip(at, end, 8);
    case AB_PB_BYTES:
        return take_bytes(at, end, out);
    case AB_PB_FIXED32:
        return skip(at, end, 4);
    }
    return NULL; /* groups: nobody sends them any more */
}

ab_err ab_pb_take(ab_str *in, ab_pb_field *out)
{
    const char *at = in->ptr;
    const char *end = in->len == 0 ? at : at + in->len;
    uint64_t tag;
    at = take_varint(at, end, &tag);
    if (at == NULL || tag >> 3 == 0)
        return AB_ERR_PARSE;
    *out = (ab_pb_field){.number = tag >> 3, .type = (ab_pb_type)(tag & 7)};
    at = take_value(at, end, out);
    if (at == NULL)
        return AB_ERR_PARSE;
    *in = (ab_str){at, (size_t)(end - at)};
    return AB_ERR_OK;
}

/* ----- out ----- */

size_t ab_pb_varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

size_t ab_pb_bytes_size(size_t len)
{
    return 1 + ab_pb_varint_size(len) + len;
}

char *ab_pb_put_varint(char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(uint8_t)(value | 0x80);
    *to++ = (char)value;
    return to;
}

char *ab_pb_put_tag(char *to, unsigned number, ab_pb_type type)
{
    return ab_pb_put_varint(to, (uint64_t)number << 3 | type);
}

char *ab_pb_put_head(char *to, unsigned number, size_t len)
{
    return ab_pb_put_varint(ab_pb_put_tag(to, number, AB_PB_BYTES), len);
}

char *ab_pb_put_bytes(char *to, unsigned number, ab_str bytes)
{
    to = ab_pb_put_head(to, number, bytes.len);
    if (bytes.len > 0)
        memcpy(to, bytes.ptr, bytes.len);
    return to + bytes.len;
}
