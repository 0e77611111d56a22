/* SPDX-License-Identifier: Apache-2.0
 *
 * What peers write into headers: timeouts, texts, statuses, binary metadata. The input is taken for
 * each of them.
 */
#include "net/rpc/codec/fields.h"
#include "net/rpc/codec/head.h"

#include <assert.h>
#include <stdlib.h>

#define CAP (1u << 20)

static void try_timeout(ab_str text)
{
    int64_t ms = 0;
    char again[AB_RPC_TIMEOUT_TEXT];
    if (!ab_rpc_timeout_parse(text, &ms))
        return;
    assert(ms >= 0);
    if (ms == 0)
        return;
    int64_t second_ms = 0;
    ab_rpc_timeout_format(ms, again);
    assert(ab_rpc_timeout_parse(ab_str_of(again), &second_ms));
    assert(second_ms <= ms && second_ms > 0);
}

/* What was decoded is UTF-8, and survives the way over the wire. */
static void try_text(ab_str text)
{
    ab_buf decoded;
    ab_buf encoded;
    ab_buf again;
    ab_buf_init(&decoded, CAP);
    ab_buf_init(&encoded, CAP);
    ab_buf_init(&again, CAP);
    ab_rpc_text_decode(text, &decoded);
    assert(decoded.len <= text.len);
    assert(ab_str_is_utf8(ab_buf_str(&decoded)));
    ab_rpc_text_encode(ab_buf_str(&decoded), &encoded);
    assert(ab_str_is_printable(ab_buf_str(&encoded)) || encoded.len == 0);
    ab_rpc_text_decode(ab_buf_str(&encoded), &again);
    assert(ab_str_eq(ab_buf_str(&decoded), ab_buf_str(&again)));
    ab_buf_fini(&decoded);
    ab_buf_fini(&encoded);
    ab_buf_fini(&again);
}

static void try_binary(ab_str text)
{
    ab_buf bytes;
    ab_buf encoded;
    ab_buf again;
    ab_buf_init(&bytes, CAP);
    ab_buf_init(&encoded, CAP);
    ab_buf_init(&again, CAP);
    ab_rpc_binary_encode(text, &encoded);
    assert(ab_rpc_binary_decode(ab_buf_str(&encoded), &bytes));
    assert(bytes.len == text.len && (text.len == 0 || memcmp(bytes.ptr, text.ptr, text.len) == 0));
    (void)ab_rpc_binary_decode(text, &again);
    ab_buf_fini(&bytes);
    ab_buf_fini(&encoded);
    ab_buf_fini(&again);
}

/* Lines "name:value" as a block of headers. */
static void try_head(ab_str text)
{
    static ab_rpc_field fields[AB_RPC_HEAD_FIELDS];
    ab_rpc_head_in *head = ab_rpc_head_in_new(4096);
    assert(head != NULL);
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        ab_str line = {text.ptr, end == NULL ? text.len : (size_t)(end - text.ptr)};
        const char *colon = memchr(line.ptr, ':', line.len);
        ab_str name = {line.ptr, colon == NULL ? line.len : (size_t)(colon - line.ptr)};
        ab_rpc_head_in_add(head, name, (ab_str){line.ptr + name.len, line.len - name.len});
        text.ptr += line.len + (end != NULL);
        text.len -= line.len + (end != NULL);
    }
    size_t count = ab_rpc_head_in_metadata(head, fields);
    assert(count <= AB_RPC_HEAD_FIELDS);
    for (size_t i = 0; i < count; i++)
        assert(!ab_rpc_name_is_reserved(fields[i].name));
    (void)ab_rpc_field_find(fields, count, "x-bin");
    ab_rpc_head_in_free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 40000)
        return 0;
    /* Never NULL, as nghttp2 gives no NULL either. */
    ab_str text = {size == 0 ? "" : (const char *)data, size};
    try_timeout(text);
    try_text(text);
    try_binary(text);
    try_head(text);
    (void)ab_rpc_status_parse(text);
    (void)ab_rpc_status_of_http(text);
    (void)ab_rpc_name_is_valid(text);
    return 0;
}
