/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/head.h"

#include "net/rpc/codec/fields.h"

#include <stdlib.h>

#define OUT_CAP (48u * 1024) /* nghttp2 sends blocks of up to 64 KiB */

ab_rpc_head_in *ab_rpc_head_in_new(size_t bytes_max)
{
    ab_rpc_head_in *h = calloc(1, sizeof(*h));
    if (h != NULL)
        ab_buf_init(&h->text, bytes_max);
    return h;
}

void ab_rpc_head_in_free(ab_rpc_head_in *h)
{
    if (h == NULL)
        return;
    ab_buf_wipe(&h->text); /* tokens are among it */
    free(h);
}

void ab_rpc_head_in_add(ab_rpc_head_in *h, ab_str name, ab_str value)
{
    if (h->count == AB_RPC_HEAD_FIELDS)
        h->too_large = true;
    if (h->too_large)
        return;
    ab_buf_put(&h->text, name);
    ab_buf_put(&h->text, value);
    if (ab_buf_status(&h->text) != AB_ERR_OK) {
        h->too_large = true;
        return;
    }
    h->rows[h->count].name_len = (uint32_t)name.len;
    h->rows[h->count].value_len = (uint32_t)value.len;
    h->count++;
}

/* Row `i`, which begins at `at` of the text; moves `at` to the next one. */
static ab_rpc_field row_of(const ab_rpc_head_in *h, size_t i, size_t *at)
{
    const char *text = h->text.ptr + *at;
    ab_rpc_field f = {{text, h->rows[i].name_len},
                      {text + h->rows[i].name_len, h->rows[i].value_len}};
    *at += f.name.len + f.value.len;
    return f;
}

ab_str ab_rpc_head_in_find(const ab_rpc_head_in *h, const char *name)
{
    size_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        ab_rpc_field f = row_of(h, i, &at);
        if (ab_str_is(f.name, name))
            return f.value;
    }
    return AB_STR_NONE;
}

/* Decoded in place, since the bytes are fewer than their text. */
static bool decode_value(const ab_rpc_head_in *h, ab_str *value)
{
    ab_buf bytes = ab_buf_up_to(value->len + 1);
    bool good = ab_rpc_binary_decode(*value, &bytes) && ab_buf_status(&bytes) == AB_ERR_OK;
    if (good && bytes.len > 0)
        memcpy(h->text.ptr + (value->ptr - h->text.ptr), bytes.ptr, bytes.len);
    value->len = bytes.len;
    ab_buf_wipe(&bytes);
    return good;
}

size_t ab_rpc_head_in_metadata(ab_rpc_head_in *h, ab_rpc_field *fields)
{
    size_t count = 0;
    size_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        ab_rpc_field f = row_of(h, i, &at);
        if (ab_rpc_name_is_reserved(f.name))
            continue;
        if (ab_rpc_name_is_binary(f.name) && !decode_value(h, &f.value))
            continue;
        fields[count++] = f;
    }
    return count;
}

bool ab_rpc_head_in_is_grpc(const ab_rpc_head_in *h)
{
    ab_str type = ab_rpc_head_in_find(h, "content-type");
    if (!ab_str_starts(type, "application/grpc"))
        return false;
    size_t len = sizeof("application/grpc") - 1;
    return type.len == len || type.ptr[len] == '+' || type.ptr[len] == ';';
}

const char *ab_rpc_head_in_refusal(const ab_rpc_head_in *h)
{
    if (!ab_str_is(ab_rpc_head_in_find(h, ":method"), "POST"))
        return "405";
    return ab_rpc_head_in_is_grpc(h) ? NULL : "415";
}

void ab_rpc_head_out_init(ab_rpc_head_out *h)
{
    h->count = 0;
    h->status = AB_ERR_OK;
    ab_buf_init(&h->text, OUT_CAP);
}

void ab_rpc_head_out_fini(ab_rpc_head_out *h)
{
    ab_buf_wipe(&h->text);
}

static void add_row(ab_rpc_head_out *h, ab_str name, ab_str value, size_t made)
{
    if (h->count == AB_RPC_HEAD_FIELDS) {
        h->status = AB_ERR_TOOBIG;
        return;
    }
    h->made[h->count] = made;
    /* nghttp2 copies them, and its pointers are not const only for history. */
    h->rows[h->count++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.ptr,
                                       .namelen = name.len,
                                       .value = (uint8_t *)(uintptr_t)value.ptr,
                                       .valuelen = value.len};
}

void ab_rpc_head_out_add(ab_rpc_head_out *h, const char *name, ab_str value)
{
    add_row(h, ab_str_of(name), value, 0);
}

void ab_rpc_head_out_add_text(ab_rpc_head_out *h, ab_str text)
{
    size_t at = h->text.len;
    if (text.len == 0)
        return;
    ab_rpc_text_encode(text, &h->text);
    add_row(h, AB_STR("grpc-message"), (ab_str){NULL, h->text.len - at}, at + 1);
}

void ab_rpc_head_out_add_metadata(ab_rpc_head_out *h, const ab_rpc_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ab_rpc_field *f = &fields[i];
        size_t at = h->text.len;
        bool binary = ab_rpc_name_is_binary(f->name);
        if (!ab_rpc_name_is_valid(f->name) || (!binary && !ab_str_is_printable(f->value)))
            h->status = AB_ERR_INVALID;
        if (binary)
            ab_rpc_binary_encode(f->value, &h->text);
        ab_str value = binary ? (ab_str){NULL, h->text.len - at} : f->value;
        add_row(h, f->name, value, binary ? at + 1 : 0);
    }
}

ab_err ab_rpc_head_out_seal(ab_rpc_head_out *h)
{
    if (h->status != AB_ERR_OK)
        return h->status;
    if (ab_buf_status(&h->text) != AB_ERR_OK)
        return ab_buf_status(&h->text);
    for (size_t i = 0; i < h->count; i++) {
        if (h->made[i] > 0)
            h->rows[i].value = (uint8_t *)h->text.ptr + (h->made[i] - 1);
    }
    return AB_ERR_OK;
}
