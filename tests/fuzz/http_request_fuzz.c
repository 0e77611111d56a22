/* SPDX-License-Identifier: Apache-2.0
 *
 * A request of HTTP/1.1: its head, and a body in chunks. What is accepted must read the same when
 * it is written again, and chunks in pieces of any size must be the same as at once.
 */
#include "net/http/chunked.h"
#include "net/http/head.h"

#include <assert.h>
#include <stdlib.h>

/* As a program that passes it on would write it. */
static void write_head(ab_buf *out, const ab_http_head *head)
{
    ab_buf_put(out, head->method);
    ab_buf_putc(out, ' ');
    ab_buf_put(out, head->path);
    if (head->query.ptr != NULL)
        ab_buf_putc(out, '?');
    ab_buf_put(out, head->query);
    ab_buf_puts(out, head->old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    for (size_t i = 0; i < head->field_count; i++) {
        ab_buf_put(out, head->fields[i].name);
        ab_buf_puts(out, ": ");
        ab_buf_put(out, head->fields[i].value);
        ab_buf_puts(out, "\r\n");
    }
    ab_buf_puts(out, "\r\n");
}

static void check_same(const ab_http_head *a, const ab_http_head *b)
{
    assert(ab_str_eq(a->method, b->method) && ab_str_eq(a->path, b->path));
    assert(ab_str_eq(a->query, b->query) && a->field_count == b->field_count);
    assert(a->length_bytes == b->length_bytes && a->chunked == b->chunked && a->close == b->close);
    assert(a->old == b->old);
    for (size_t i = 0; i < a->field_count; i++)
        assert(ab_str_eq(a->fields[i].name, b->fields[i].name) &&
               ab_str_eq(a->fields[i].value, b->fields[i].value));
}

static void check_accepted(const ab_http_head *head)
{
    ab_buf text;
    ab_http_head again;
    const char *why = NULL;
    ab_buf_init(&text, SIZE_MAX);
    write_head(&text, head);
    size_t len = ab_http_head_len(ab_buf_str(&text), 0);
    assert(len == text.len);
    int status = ab_http_head_read_request(text.ptr, len, &again, &why);
    assert(status == 0);
    check_same(head, &again);
    assert(!(head->chunked && (head->old || head->length_bytes >= 0)));
    assert(memmem(head->path.ptr, head->path.len, "/../", 4) == NULL);
    ab_buf_fini(&text);
}

static void read_head(ab_str bytes)
{
    ab_http_head head;
    const char *why = NULL;
    size_t len = ab_http_head_len(bytes, 0);
    char *copy = len == 0 ? NULL : ab_str_dup((ab_str){bytes.ptr, len});
    if (copy != NULL && ab_http_head_read_request(copy, len, &head, &why) == 0)
        check_accepted(&head);
    free(copy);
    copy = len == 0 ? NULL : ab_str_dup((ab_str){bytes.ptr, len});
    if (copy != NULL)
        (void)ab_http_head_read_answer(copy, len, &head);
    free(copy);
}

/* @param step  bytes that come at once; what is not read of them stays for the next */
static ab_err read_chunks(ab_str bytes, size_t step, ab_buf *body, bool *ended)
{
    ab_http_chunked c = {0};
    size_t at = 0;
    ab_err e = AB_ERR_OK;
    *ended = false;
    for (size_t end = 0; end < bytes.len && e == AB_ERR_OK && !*ended;) {
        end = bytes.len - end < step ? bytes.len : end + step;
        ab_str in = {bytes.ptr + at, end - at};
        ab_str piece = AB_STR("");
        while (e == AB_ERR_OK && piece.ptr != NULL && !*ended) {
            e = ab_http_chunked_next(&c, &in, &piece, ended);
            if (e == AB_ERR_OK && piece.ptr != NULL)
                ab_buf_put(body, piece);
        }
        at = end - in.len;
    }
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    ab_str bytes = {(const char *)data + 1, size - 1};
    ab_buf whole;
    ab_buf pieces;
    bool ended[2];
    ab_buf_init(&whole, SIZE_MAX);
    ab_buf_init(&pieces, SIZE_MAX);
    read_head(bytes);
    ab_err a = read_chunks(bytes, size, &whole, &ended[0]);
    ab_err b = read_chunks(bytes, data[0] + 1u, &pieces, &ended[1]);
    assert(a == b && ended[0] == ended[1]);
    assert(a != AB_ERR_OK || ab_str_eq(ab_buf_str(&whole), ab_buf_str(&pieces)));
    ab_buf_fini(&whole);
    ab_buf_fini(&pieces);
    return 0;
}
