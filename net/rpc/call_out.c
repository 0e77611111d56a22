/* SPDX-License-Identifier: Apache-2.0
 *
 * What is queued of a call: it stays here until the carrier asks for it.
 */
#include "net/rpc/rpc_priv.h"

#include <assert.h>
#include <stdlib.h>

#define COMPRESS_MIN 256u
#define COMPRESS_MAX (1024u * 1024) /* some 10 ms of work */
#define FEEDS_MAX    16             /* before others have their turn */

static size_t chunk_len(const ab_rpc_chunk *chunk)
{
    return chunk->own + chunk->loan.bytes.len;
}

static void release(ab_rpc_loan *loan)
{
    if (loan->release != NULL)
        loan->release(loan->owner);
    *loan = (ab_rpc_loan){0};
}

static void drop_chunk(ab_rpc_call *call, ab_rpc_chunk *chunk)
{
    STAILQ_REMOVE_HEAD(&call->out, at);
    ab_rpc_budget_give(&call->conn->budget, chunk_len(chunk));
    release(&chunk->loan);
    free(chunk);
}

void ab_rpc_call_drop_queue(ab_rpc_call *call)
{
    ab_rpc_chunk *chunk;
    while ((chunk = STAILQ_FIRST(&call->out)) != NULL)
        drop_chunk(call, chunk);
    call->queued = 0;
}

/* What is next of a chunk, as far as it lies together. */
static ab_str rest_of(const ab_rpc_chunk *chunk)
{
    if (chunk->sent < chunk->own)
        return (ab_str){(const char *)chunk->bytes + chunk->sent, chunk->own - chunk->sent};
    size_t at = chunk->sent - chunk->own;
    return (ab_str){chunk->loan.bytes.ptr + at, chunk->loan.bytes.len - at};
}

size_t ab_rpc_call_next(const ab_rpc_call *call)
{
    const ab_rpc_chunk *first = STAILQ_FIRST(&call->out);
    return first == NULL ? 0 : chunk_len(first);
}

size_t ab_rpc_call_pull(ab_rpc_call *call, uint8_t *into, size_t room)
{
    size_t filled = 0;
    ab_rpc_chunk *chunk;
    while (filled < room && (chunk = STAILQ_FIRST(&call->out)) != NULL) {
        ab_str rest = rest_of(chunk);
        size_t n = rest.len < room - filled ? rest.len : room - filled;
        memcpy(into + filled, rest.ptr, n);
        chunk->sent += n;
        filled += n;
        if (chunk->sent == chunk_len(chunk))
            drop_chunk(call, chunk);
    }
    call->queued -= filled;
    return filled;
}

static void add_response(ab_rpc_head_out *head)
{
    ab_rpc_head_out_add(head, ":status", AB_STR("200"));
    ab_rpc_head_out_add(head, "content-type", AB_STR("application/grpc"));
    ab_rpc_head_out_add(head, "grpc-accept-encoding", AB_STR("gzip,identity"));
}

void ab_rpc_call_trail(ab_rpc_call *call)
{
    char number[4];
    ab_rpc_head_out head;
    snprintf(number, sizeof(number), "%d", call->answer);
    ab_rpc_head_out_init(&head);
    if (!call->head_sent)
        add_response(&head);
    ab_rpc_head_out_add(&head, "grpc-status", ab_str_of(number));
    ab_rpc_head_out_add_text(&head, ab_str_of(call->answer_text));
    ab_err e = ab_rpc_head_out_seal(&head);
    if (e == AB_ERR_OK)
        e = call->conn->carrier->trail(call, &head);
    ab_rpc_head_out_fini(&head);
    call->finished = e == AB_ERR_OK;
    if (e != AB_ERR_OK)
        call->conn->carrier->reset(call, NGHTTP2_INTERNAL_ERROR);
}

/* There is something to pull. */
static void push(ab_rpc_call *call)
{
    if (call->conn->carrier->push != NULL)
        call->conn->carrier->push(call);
    ab_rpc_endpoint_wake(call->conn);
}

void ab_rpc_call_drained(ab_rpc_call *call)
{
    if (!call->full || call->over || call->is_starved ||
        call->queued > call->conn->endpoint->limits.send_high_bytes / 2)
        return;
    call->full = false;
    if (call->handler != NULL && call->handler->on_writable != NULL)
        call->handler->on_writable(call->arg);
}

static bool takes_messages(const ab_rpc_call *call)
{
    return !call->over && !call->finishing && !call->half_closed && call->stream > 0 &&
           !call->conn->doomed;
}

static ab_err starve(ab_rpc_call *call)
{
    call->full = true;
    if (!call->is_starved)
        TAILQ_INSERT_TAIL(&call->conn->endpoint->starved, call, starved);
    call->is_starved = true;
    return AB_ERR_FULL;
}

/* @return bytes that it has come to, and then the loan is of no use any more; 0: it would be no
 * smaller */
static size_t fill_compressed(ab_rpc_call *call, ab_rpc_chunk *chunk, ab_str head, size_t len)
{
    const ab_str parts[] = {head, chunk->loan.bytes};
    size_t compressed =
        ab_rpc_compress(&call->conn->endpoint->deflater, parts, chunk->bytes + AB_RPC_PREFIX, len);
    if (compressed > 0)
        release(&chunk->loan);
    return compressed;
}

static void fill_chunk(ab_rpc_call *call, ab_rpc_chunk *chunk, ab_str head, bool compress)
{
    size_t len = head.len + chunk->loan.bytes.len;
    size_t compressed = compress ? fill_compressed(call, chunk, head, len) : 0;
    if (compressed == 0 && head.len > 0)
        memcpy(chunk->bytes + AB_RPC_PREFIX, head.ptr, head.len);
    ab_rpc_prefix_put(chunk->bytes, compressed > 0, compressed > 0 ? compressed : len);
    chunk->own = AB_RPC_PREFIX + (compressed > 0 ? compressed : head.len);
}

static ab_err queue(ab_rpc_call *call, ab_str head, const ab_rpc_loan *loan, bool compress)
{
    size_t len = head.len + loan->bytes.len;
    bool of_use = compress && call->peer_gzip && len >= COMPRESS_MIN && len <= COMPRESS_MAX;
    if (!ab_rpc_budget_take(&call->conn->budget, AB_RPC_PREFIX + len))
        return starve(call);
    ab_rpc_chunk *chunk = malloc(sizeof(*chunk) + AB_RPC_PREFIX + (of_use ? len : head.len));
    if (chunk == NULL) {
        ab_rpc_budget_give(&call->conn->budget, AB_RPC_PREFIX + len);
        return AB_ERR_NOMEM;
    }
    chunk->loan = *loan;
    chunk->sent = 0;
    fill_chunk(call, chunk, head, of_use);
    ab_rpc_budget_give(&call->conn->budget, AB_RPC_PREFIX + len - chunk_len(chunk));
    call->queued += chunk_len(chunk);
    STAILQ_INSERT_TAIL(&call->out, chunk, at);
    return AB_ERR_OK;
}

/* Server: the response headers. */
static ab_err answer(ab_rpc_call *call, const ab_rpc_field *metadata, size_t count)
{
    ab_rpc_head_out head;
    ab_rpc_head_out_init(&head);
    add_response(&head);
    if (call->peer_gzip)
        ab_rpc_head_out_add(&head, "grpc-encoding", AB_STR("gzip"));
    ab_rpc_head_out_add_metadata(&head, metadata, count);
    ab_err e = ab_rpc_head_out_seal(&head);
    if (e == AB_ERR_OK)
        e = call->conn->carrier->respond(call, &head);
    ab_rpc_head_out_fini(&head);
    call->head_sent = e == AB_ERR_OK;
    ab_rpc_endpoint_wake(call->conn);
    return e;
}

ab_err ab_rpc_send(ab_rpc_call *call, ab_str bytes, bool compress)
{
    const ab_rpc_loan none = {0};
    return ab_rpc_send_lent(call, bytes, &none, compress);
}

ab_err ab_rpc_send_lent(ab_rpc_call *call, ab_str head, const ab_rpc_loan *loan, bool compress)
{
    const ab_rpc_endpoint *endpoint = call->conn->endpoint;
    size_t len = head.len + loan->bytes.len;
    if (!takes_messages(call))
        return AB_ERR_CLOSED;
    if (len > endpoint->limits.message_bytes || len > ab_rpc_budget_most(&endpoint->budget) ||
        len > endpoint->limits.buffered_bytes / 2)
        return AB_ERR_TOOBIG;
    if (call->queued >= endpoint->limits.send_high_bytes) {
        call->full = true;
        return AB_ERR_FULL;
    }
    if (endpoint->server && !call->head_sent) {
        ab_err e = answer(call, NULL, 0);
        if (e != AB_ERR_OK)
            return e;
    }
    ab_err e = queue(call, head, loan, compress);
    if (e == AB_ERR_OK)
        push(call);
    return e;
}

void ab_rpc_half_close(ab_rpc_call *call)
{
    if (!takes_messages(call))
        return;
    call->half_closed = true;
    push(call);
}

/* So much room that a call which is told of it can do something with it. */
static bool has_room(const ab_rpc_call *c)
{
    return ab_rpc_budget_room(&c->conn->budget) >= c->conn->endpoint->limits.send_high_bytes;
}

void ab_rpc_call_feed(ab_rpc_endpoint *endpoint)
{
    ab_rpc_call *c;
    /* Those that are refused once more go to the end of the list. */
    for (int i = 0; i < FEEDS_MAX && (c = TAILQ_FIRST(&endpoint->starved)) != NULL; i++) {
        TAILQ_REMOVE(&endpoint->starved, c, starved);
        c->is_starved = !has_room(c);
        if (c->is_starved)
            TAILQ_INSERT_TAIL(&endpoint->starved, c, starved);
        else
            ab_rpc_call_drained(c);
    }
}

static void finish(ab_rpc_call *call, ab_rpc_status status, const char *text)
{
    call->finishing = true;
    call->answer = status;
    call->answer_text = ab_str_dup(ab_str_of(text));
    if (!call->head_sent)
        ab_rpc_call_trail(call);
    push(call);
}

void ab_rpc_finish(ab_rpc_call *call, ab_rpc_status status, const char *text)
{
    assert(call->conn->endpoint->server);
    if (!call->finishing && !call->over && call->stream > 0)
        finish(call, status, text);
}

ab_err ab_rpc_respond(ab_rpc_call *call, const ab_rpc_field *metadata, size_t count)
{
    if (!takes_messages(call) || call->head_sent)
        return AB_ERR_CLOSED;
    return answer(call, metadata, count);
}

void ab_rpc_reply(ab_rpc_call *call, ab_str bytes, bool compress)
{
    ab_err e = ab_rpc_send(call, bytes, compress);
    if (e == AB_ERR_OK)
        ab_rpc_finish(call, AB_RPC_OK, NULL);
    else
        ab_rpc_finish(call, AB_RPC_RESOURCE_EXHAUSTED, "cannot send the response");
}
