/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/wire.h"

#include "base/protobuf.h"
#include "event/codec_protobuf.h"

/* ----- out ----- */

static void put_text(ab_buf *out, unsigned number, ab_str text)
{
    char *to = text.len == 0 ? NULL : ab_buf_extend(out, ab_pb_bytes_size(text.len));
    if (to != NULL)
        ab_pb_put_bytes(to, number, text);
}

/* Of a field with this content. */
static size_t text_size(ab_str text)
{
    return text.len == 0 ? 0 : ab_pb_bytes_size(text.len);
}

static void put_credential(ab_buf *out, const ab_grpc_credential *c)
{
    size_t len = text_size(c->name) + text_size(c->value);
    char *to = ab_buf_extend(out, ab_pb_bytes_size(len) - len);
    if (to != NULL)
        ab_pb_put_head(to, 2, len);
    put_text(out, 1, c->name);
    put_text(out, 2, c->value);
}

void ab_grpc_write_login(const ab_grpc_login *login, ab_buf *out)
{
    put_text(out, 1, login->method);
    for (size_t i = 0; i < login->credential_count; i++)
        put_credential(out, &login->credentials[i]);
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

enum { ACK_EPOCH = 1, ACK_VERSION };

static void put_number(ab_buf *out, unsigned number, uint64_t value)
{
    char *to = ab_buf_extend(out, 1 + ab_pb_varint_size(value));
    if (to != NULL)
        ab_pb_put_varint(ab_pb_put_tag(to, number, AB_PB_VARINT), value);
}

enum { SUMMARY_RECEIVED = 2 };

void ab_grpc_write_push_summary(uint32_t received, ab_buf *out)
{
    if (received > 0)
        put_number(out, SUMMARY_RECEIVED, received > INT32_MAX ? INT32_MAX : received);
}

void ab_grpc_write_ack(const ab_grpc_ack *ack, const ab_grpc_ack *last, ab_buf *out)
{
    if (ack->epoch != last->epoch)
        put_number(out, ACK_EPOCH, ack->epoch);
    put_number(out, ACK_VERSION, ack->version);
}

/* The field's head comes before what it tells the length of: there is room for the longest. */
#define EVENT_HEAD_MAX 11

ab_err ab_grpc_write_event(const ab_event *event, ab_buf *out, ab_str *head)
{
    char field[EVENT_HEAD_MAX];
    ab_buf_clear(out);
    (void)ab_buf_extend(out, EVENT_HEAD_MAX);
    ab_err e = ab_event_to_protobuf_head(event, out);
    if (e != AB_ERR_OK)
        return e;
    size_t written = out->len - EVENT_HEAD_MAX;
    const char *end = ab_pb_put_head(field, 1, written + ab_event_data(event).len);
    size_t len = (size_t)(end - field);
    char *begin = out->ptr + EVENT_HEAD_MAX - len;
    memcpy(begin, field, len);
    *head = (ab_str){begin, len + written};
    return AB_ERR_OK;
}

/* ----- in ----- */

/* Read a message whose fields of interest are texts: number i goes to texts[i - 1]. Of a repeated
 * one the last counts; one of another wire type is as unknown. */
static ab_err read_texts(ab_str in, ab_str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        texts[i] = AB_STR("");
    while (in.len > 0) {
        ab_pb_field f;
        ab_err e = ab_pb_take(&in, &f);
        if (e != AB_ERR_OK)
            return e;
        if (f.type == AB_PB_BYTES && f.number <= count)
            texts[f.number - 1] = f.bytes;
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
    while (e == AB_ERR_OK && bytes.len > 0) {
        ab_pb_field f;
        e = ab_pb_take(&bytes, &f);
        if (e == AB_ERR_OK && f.number == 2 && f.type == AB_PB_BYTES)
            e = read_credential(f.bytes, out);
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

ab_err ab_grpc_read_ack(ab_str *list, ab_grpc_ack *ack, bool *found)
{
    ab_pb_field f;
    *found = false;
    ab_err e = ab_pb_take(list, &f);
    if (e != AB_ERR_OK || f.type != AB_PB_VARINT)
        return e;
    if (f.number == ACK_EPOCH)
        ack->epoch = f.value;
    if (f.number == ACK_VERSION)
        ack->version = f.value;
    *found = f.number == ACK_VERSION;
    return AB_ERR_OK;
}
