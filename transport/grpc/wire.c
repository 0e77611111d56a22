/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/wire.h"

/* Wire types of the protobuf encoding. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define VARINT_MAX 10

/* ----- out ----- */

static void put_varint(ab_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        ab_buf_putc(out, (char)(value & 0x7f) | (char)0x80);
        value >>= 7;
    }
    ab_buf_putc(out, (char)value);
}

static void put_text(ab_buf *out, unsigned number, ab_str text)
{
    if (text.len == 0)
        return;
    put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    put_varint(out, text.len);
    ab_buf_put(out, text);
}

/* Of a field with this content. */
static size_t text_size(ab_str text)
{
    size_t size = text.len == 0 ? 0 : 2 + text.len;
    for (size_t left = text.len; left >= 0x80; left >>= 7)
        size++;
    return size;
}

void ab_grpc_write_login(const ab_grpc_login *login, ab_buf *out)
{
    put_text(out, 1, login->method);
    for (size_t i = 0; i < login->credential_count; i++) {
        const ab_grpc_credential *c = &login->credentials[i];
        put_varint(out, 2 << 3 | WIRE_BYTES);
        put_varint(out, text_size(c->name) + text_size(c->value));
        put_text(out, 1, c->name);
        put_text(out, 2, c->value);
    }
    put_text(out, 3, login->mode);
    put_text(out, 4, login->version);
    put_text(out, 5, login->namespace);
}

void ab_grpc_write_grant(const ab_grpc_grant *grant, ab_buf *out)
{
    put_text(out, 1, grant->access);
    put_text(out, 2, grant->refresh);
    put_text(out, 3, grant->version);
    put_text(out, 4, grant->namespace);
}

void ab_grpc_write_text(ab_str text, ab_buf *out)
{
    put_text(out, 1, text);
}

/* ----- in ----- */

typedef struct {
    uint64_t number;
    ab_str text; /* absent unless it is of wire type 2 */
} field;

static bool take_varint(ab_str *in, uint64_t *out)
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

static bool take_bytes(ab_str *in, uint64_t len, ab_str *out)
{
    if (len > in->len)
        return false;
    *out = (ab_str){in->ptr, (size_t)len};
    in->ptr += len;
    in->len -= (size_t)len;
    return true;
}

static bool take_field(ab_str *in, field *out)
{
    uint64_t tag, number;
    ab_str skipped;
    if (!take_varint(in, &tag))
        return false;
    out->number = tag >> 3;
    out->text = AB_STR_NONE;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(in, &number);
    case WIRE_FIXED64:
        return take_bytes(in, 8, &skipped);
    case WIRE_BYTES:
        return take_varint(in, &number) && take_bytes(in, number, &out->text);
    case WIRE_FIXED32:
        return take_bytes(in, 4, &skipped);
    default: /* groups: nobody sends them any more */
        return false;
    }
}

/* Read a message whose fields of interest are texts: number i goes to texts[i - 1]. Of a repeated
 * one the last counts; one of another wire type is as unknown. */
static ab_err read_texts(ab_str in, ab_str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        texts[i] = AB_STR("");
    while (in.len > 0) {
        field f;
        if (!take_field(&in, &f))
            return AB_ERR_PARSE;
        if (f.text.ptr != NULL && f.number >= 1 && f.number <= count)
            texts[f.number - 1] = f.text;
    }
    return AB_ERR_OK;
}

static ab_err read_credential(ab_str in, ab_grpc_login *login)
{
    ab_str texts[2];
    if (login->credential_count == AB_GRPC_CREDENTIALS_MAX)
        return AB_ERR_TOOBIG;
    ab_err e = read_texts(in, texts, 2);
    if (e == AB_ERR_OK)
        login->credentials[login->credential_count++] = (ab_grpc_credential){texts[0], texts[1]};
    return e;
}

ab_err ab_grpc_read_login(ab_str bytes, ab_grpc_login *out)
{
    ab_str texts[5];
    *out = (ab_grpc_login){0};
    ab_err e = read_texts(bytes, texts, 5);
    if (e != AB_ERR_OK)
        return e;
    out->method = texts[0];
    out->mode = texts[2];
    out->version = texts[3];
    out->namespace = texts[4];
    field f;
    while (e == AB_ERR_OK && bytes.len > 0 && take_field(&bytes, &f)) {
        if (f.number == 2 && f.text.ptr != NULL)
            e = read_credential(f.text, out);
    }
    return e;
}

ab_err ab_grpc_read_grant(ab_str bytes, ab_grpc_grant *out)
{
    ab_str texts[4];
    ab_err e = read_texts(bytes, texts, 4);
    *out = (ab_grpc_grant){texts[0], texts[1], texts[2], texts[3]};
    return e;
}

ab_err ab_grpc_read_text(ab_str bytes, ab_str *out)
{
    return read_texts(bytes, out, 1);
}
