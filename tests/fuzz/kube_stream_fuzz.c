/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an answer of an API server, whole and in pieces: the same values come of both, in
 * the same order, and the same end. The first byte says which shape is read and where it is cut.
 */
#include "store/kubernetes/stream.h"

#include <assert.h>
#include <string.h>

#define OBJECT_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ab_err on_value(void *arg, ab_str json)
{
    ab_buf *seen = arg;
    assert(json.len >= 2 && json.len <= OBJECT_MAX && json.ptr[0] == '{');
    ab_buf_put(seen, json);
    ab_buf_putc(seen, '\n');
    return AB_ERR_OK;
}

static ab_err on_rest(void *arg, ab_str json)
{
    ab_buf *seen = arg;
    assert(json.len >= 2 && json.len <= OBJECT_MAX);
    ab_buf_puts(seen, "rest ");
    ab_buf_put(seen, json);
    return AB_ERR_OK;
}

static ab_err read_pieces(ab_kube_shape shape, ab_str text, size_t step, ab_buf *seen)
{
    const ab_kube_stream_env env = {shape, OBJECT_MAX, on_value, on_rest, seen};
    ab_kube_stream *s = ab_kube_stream_new(&env);
    ab_err e = AB_ERR_OK;
    assert(s != NULL);
    for (size_t at = 0; at < text.len && e == AB_ERR_OK; at += step) {
        size_t len = step < text.len - at ? step : text.len - at;
        e = ab_kube_stream_feed(s, (ab_str){text.ptr + at, len}, NULL);
    }
    if (e == AB_ERR_OK)
        e = ab_kube_stream_end(s, NULL);
    ab_kube_stream_free(s);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    ab_str text = {(const char *)data + 1, size - 1};
    ab_kube_shape shape = (ab_kube_shape)(data[0] % 3);
    size_t step = 1 + data[0] / 3;
    ab_buf whole;
    ab_buf pieces;
    ab_buf_init(&whole, 1 << 24);
    ab_buf_init(&pieces, 1 << 24);
    ab_err first = read_pieces(shape, text, text.len, &whole);
    ab_err second = read_pieces(shape, text, step, &pieces);
    assert(first == second);
    assert(ab_buf_status(&whole) == AB_ERR_OK && ab_buf_status(&pieces) == AB_ERR_OK);
    assert(ab_str_eq(ab_buf_str(&whole), ab_buf_str(&pieces)));
    ab_buf_fini(&whole);
    ab_buf_fini(&pieces);
    return 0;
}
