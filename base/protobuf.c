/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#define VARINT_MAX 10

/* ----- in ----- */

static bool take_long_varint(ab_str *in, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < in->len; i++) {
        uint8_t byte = (uint8_t)in->ptr[i];
        *out |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            in->ptr += i + 1;
            in->len -= i + 1;
            return true;
        }
    }
    return false;
}

/* Most have one byte. */
static inline bool take_varint(ab_str *in, uint64_t *out)
{
    if (in->len == 0 || (uint8_t)in->ptr[0] >= 0x80)
        return take_long_varint(in, out);
    *out = (uint8_t)in->ptr[0];
    in->ptr++;
    in->len--;
    return true;
}

static bool take_bytes(ab_str *in, uint64_t len, ab_str *out)
{
    if (len > in->len)
        return false;
    *out = (ab_str){in->ptr, (size_t)len};
    in->ptr += len;
    in->len -= (size_t)len;
    return true;
}

static bool take_value(ab_str *in, ab_pb_field *out)
{
    ab_str skipped;
    switch (out->type) {
    case AB_PB_VARINT:
        return take_varint(in, &out->value);
    case AB_PB_FIXED64:
        return take_bytes(in, 8, &skipped);
    case AB_PB_BYTES:
        return take_varint(in, &out->value) && take_bytes(in, out->value, &out->bytes);
    case AB_PB_FIXED32:
        return take_bytes(in, 4, &skipped);
    }
    return false; /* groups: nobody sends them any more */
}

ab_err ab_pb_take(ab_str *in, ab_pb_field *out)
{
    uint64_t tag;
    if (!take_varint(in, &tag))
        return AB_ERR_PARSE;
    *out = (ab_pb_field){.number = tag >> 3, .type = (ab_pb_type)(tag & 7)};
    return out->number > 0 && take_value(in, out) ? AB_ERR_OK : AB_ERR_PARSE;
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
