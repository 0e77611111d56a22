/* SPDX-License-Identifier: Apache-2.0
 *
 * One call. What is queued stays here until the carrier asks for it, and what comes in is given to
 * the reader at once, unless the call is paused: then it is held, and the peer's window is not
 * opened.
 */
#include "net/rpc/rpc_priv.h"

#include "net/rpc/fields.h"

#include <assert.h>
#include <stdlib.h>

#define HELD_CAP     (INT32_MAX) /* the window is smaller */
#define COMPRESS_MIN 256u
#define COMPRESS_MAX (1024u * 1024) /* some 10 ms of work */

ab_rpc_call *ab_rpc_call_new(ab_rpc_conn *conn, int32_t stream)
{
    ab_rpc_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    call->conn = conn;
    call->stream = stream;
    ab_rpc_reader_init(&call->in, &conn->budget, &conn->may_inflate,
                       ab_rpc_account_message_max(conn));
    ab_buf_init(&call->held, HELD_CAP);
    STAILQ_INIT(&call->out);
    TAILQ_INSERT_TAIL(&conn->calls, call, at);
    conn->call_count++;
    return call;
}

static ab_rpc_budget *budget_of(const ab_rpc_call *call)
{
    return &call->conn->budget;
}

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
    ab_rpc_budget_give(budget_of(call), chunk_len(chunk));
    release(&chunk->loan);
    free(chunk);
}

static void drop_queue(ab_rpc_call *call)
{
    ab_rpc_chunk *chunk;
    while ((chunk = STAILQ_FIRST(&call->out)) != NULL)
        drop_chunk(call, chunk);
    call->queued = 0;
}

static void drop_held(ab_rpc_call *call)
{
    ab_rpc_budget_give(budget_of(call), call->held.len);
    ab_buf_fini(&call->held);
}

void ab_rpc_call_free(ab_rpc_call *call, bool silent)
{
    ab_rpc_endpoint *endpoint = call->conn->endpoint;
    TAILQ_REMOVE(&call->conn->calls, call, at);
    call->conn->call_count--;
    ab_rpc_endpoint_time(call, 0);
    if (call->is_starved)
        TAILQ_REMOVE(&endpoint->starved, call, starved);
    drop_queue(call);
    ab_rpc_reader_fini(&call->in);
    drop_held(call);
    ab_rpc_budget_give(budget_of(call), call->charged);
    if (call->handler != NULL && !silent)
        call->handler->on_end(call->arg, call->fate, ab_str_of(call->fate_text));
    free(call->fate_text);
    free(call->answer_text);
    free(call);
}

void ab_rpc_call_set_fate(ab_rpc_call *call, ab_rpc_status status, ab_str text)
{
    /* What goes wrong after the server said OK, but before its messages are delivered, counts. */
    if (call->has_fate && (call->fate != AB_RPC_OK || status == AB_RPC_OK))
        return;
    free(call->fate_text);
    call->has_fate = true;
    call->fate = status;
    call->fate_text = ab_str_dup(text);
}

/* ---- receiving ---- */

static void consume(ab_rpc_call *call, size_t len)
{
    if (call->stream > 0 && len > 0)
        call->conn->carrier->consume(call, len);
    ab_rpc_endpoint_wake(call->conn);
}

static void fail_receiving(ab_rpc_call *call, ab_err e, const char *why)
{
    ab_rpc_status status = AB_RPC_INTERNAL;
    if (e == AB_ERR_TOOBIG || e == AB_ERR_FULL || e == AB_ERR_NOMEM) {
        ab_rpc_endpoint_log_refusal(call->conn->endpoint, call->conn,
                                    e == AB_ERR_TOOBIG ? "message" : "memory");
        status = AB_RPC_RESOURCE_EXHAUSTED;
    }
    ab_rpc_call_cut(call, status, why);
}

/* A server that has finished a call has no interest in what else is said in it. */
static bool listens(const ab_rpc_call *call)
{
    return !call->over && !call->finishing;
}

bool ab_rpc_call_charge(ab_rpc_call *call, size_t bytes)
{
    bytes += sizeof(*call);
    if (!ab_rpc_budget_take(budget_of(call), bytes)) {
        fail_receiving(call, AB_ERR_FULL, "too many calls in progress");
        return false;
    }
    call->charged = bytes;
    return true;
}

/* Deliver messages, until the bytes end, the call is paused or others have their turn. @return the
 * bytes that are left */
static ab_str deliver(ab_rpc_call *call, ab_str bytes)
{
    while (bytes.len > 0 && listens(call) && !call->paused) {
        ab_str message;
        const char *why = NULL;
        ab_err e = ab_rpc_reader_feed(&call->in, &bytes, &message, &why);
        if (e != AB_ERR_OK) {
            fail_receiving(call, e, why);
            break;
        }
        if (message.ptr == NULL) {
            call->conn->resumed = call->conn->resumed || bytes.len > 0;
            break;
        }
        if (call->handler != NULL && call->handler->on_message != NULL)
            call->handler->on_message(call->arg, message);
        ab_rpc_reader_next(&call->in);
    }
    return bytes;
}

static void hold(ab_rpc_call *call, ab_str bytes)
{
    if (!ab_rpc_budget_take(budget_of(call), bytes.len)) {
        fail_receiving(call, AB_ERR_FULL, "too many bytes are being received");
        return;
    }
    size_t before = call->held.len;
    ab_buf_put(&call->held, bytes);
    if (ab_buf_status(&call->held) == AB_ERR_OK)
        return;
    ab_rpc_budget_give(budget_of(call), bytes.len);
    call->held.len = before;
    fail_receiving(call, AB_ERR_NOMEM, "out of memory");
}

/* Hold what is left of what was held. */
static void hold_on(ab_rpc_call *call, ab_buf *held, ab_str left)
{
    memmove(held->ptr, left.ptr, left.len);
    held->len = left.len;
    call->held = *held;
}

void ab_rpc_call_receive(ab_rpc_call *call, ab_str bytes)
{
    if (call->held.len > 0 && listens(call)) {
        hold(call, bytes);
        return;
    }
    ab_str left = deliver(call, bytes);
    consume(call, bytes.len - left.len);
    if (left.len > 0 && listens(call))
        hold(call, left);
}

static void report_closed(ab_rpc_call *call)
{
    if (!call->peer_closed || call->close_reported || !listens(call) || call->held.len > 0)
        return;
    call->close_reported = true;
    if (ab_rpc_reader_is_amid(&call->in)) {
        ab_rpc_call_cut(call, AB_RPC_INTERNAL, "the last message is truncated");
        return;
    }
    if (call->handler != NULL && call->handler->on_half_close != NULL)
        call->handler->on_half_close(call->arg);
}

void ab_rpc_call_peer_closed(ab_rpc_call *call)
{
    call->peer_closed = true;
    if (call->conn->endpoint->server) {
        report_closed(call);
        return;
    }
    if (call->has_fate) {
        /* The server has said its last word: what we still had to say interests nobody. */
        drop_queue(call);
        if (!call->half_closed && call->stream > 0)
            call->conn->carrier->reset(call, NGHTTP2_NO_ERROR);
        call->half_closed = true;
    }
}

void ab_rpc_call_go_on(ab_rpc_call *call)
{
    if (call->paused)
        return;
    if (call->held.len > 0) {
        ab_buf held = call->held;
        ab_buf_init(&call->held, HELD_CAP);
        ab_str left = deliver(call, ab_buf_str(&held));
        size_t taken = held.len - left.len;
        bool more = left.len > 0 && listens(call);
        ab_rpc_budget_give(budget_of(call), more ? taken : held.len);
        consume(call, taken);
        if (more)
            hold_on(call, &held, left);
        else
            ab_buf_fini(&held);
    }
    report_closed(call);
    if (call->stream > 0 || call->held.len > 0)
        return;
    if (ab_rpc_reader_is_amid(&call->in))
        ab_rpc_call_set_fate(call, AB_RPC_INTERNAL, AB_STR("the last message is truncated"));
    ab_rpc_call_free(call, false);
}

/* What it means that the stream ended with `code`, when nothing else has said why. */
static void set_fate_of_stream(ab_rpc_call *call, uint32_t code)
{
    int64_t now_ms = ab_rpc_endpoint_now_ms(call->conn->endpoint);
    if (call->conn->endpoint->server && code == NGHTTP2_NO_ERROR)
        ab_rpc_call_set_fate(call, call->finished ? AB_RPC_OK : AB_RPC_CANCELLED, AB_STR_NONE);
    else if (code == NGHTTP2_CANCEL && call->deadline_ms > 0 && now_ms >= call->deadline_ms)
        ab_rpc_call_set_fate(call, AB_RPC_DEADLINE_EXCEEDED, AB_STR("deadline exceeded"));
    else
        ab_rpc_call_set_fate(call, ab_rpc_status_of_reset(code),
                             ab_str_of(nghttp2_http2_strerror(code)));
}

void ab_rpc_call_stream_closed(ab_rpc_call *call, uint32_t code)
{
    bool orderly = call->has_fate && !call->over;
    call->stream = 0;
    if (!call->has_fate)
        set_fate_of_stream(call, code);
    /* Messages that came before the end are delivered before it is told. */
    if (orderly && call->held.len > 0)
        return;
    call->over = true;
    ab_rpc_call_free(call, false);
}

void ab_rpc_pause(ab_rpc_call *call)
{
    call->paused = true;
}

void ab_rpc_resume(ab_rpc_call *call)
{
    call->paused = false;
    if (call->held.len == 0 && (!call->peer_closed || call->close_reported))
        return;
    call->conn->resumed = true;
    ab_rpc_endpoint_wake(call->conn);
}

/* ---- sending ---- */

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

void ab_rpc_call_trail(ab_rpc_call *call)
{
    char number[4];
    ab_rpc_head_out head;
    snprintf(number, sizeof(number), "%d", call->answer);
    ab_rpc_head_out_init(&head);
    if (!call->head_sent) {
        ab_rpc_head_out_add(&head, ":status", AB_STR("200"));
        ab_rpc_head_out_add(&head, "content-type", AB_STR("application/grpc"));
        ab_rpc_head_out_add(&head, "grpc-accept-encoding", AB_STR("gzip,identity"));
    }
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
    if (!ab_rpc_budget_take(budget_of(call), AB_RPC_PREFIX + len))
        return starve(call);
    ab_rpc_chunk *chunk = malloc(sizeof(*chunk) + AB_RPC_PREFIX + (of_use ? len : head.len));
    if (chunk == NULL) {
        ab_rpc_budget_give(budget_of(call), AB_RPC_PREFIX + len);
        return AB_ERR_NOMEM;
    }
    chunk->loan = *loan;
    chunk->sent = 0;
    fill_chunk(call, chunk, head, of_use);
    ab_rpc_budget_give(budget_of(call), AB_RPC_PREFIX + len - chunk_len(chunk));
    call->queued += chunk_len(chunk);
    STAILQ_INSERT_TAIL(&call->out, chunk, at);
    return AB_ERR_OK;
}

/* Server: the response headers. */
static ab_err answer(ab_rpc_call *call, const ab_rpc_field *metadata, size_t count)
{
    ab_rpc_head_out head;
    ab_rpc_head_out_init(&head);
    ab_rpc_head_out_add(&head, ":status", AB_STR("200"));
    ab_rpc_head_out_add(&head, "content-type", AB_STR("application/grpc"));
    ab_rpc_head_out_add(&head, "grpc-accept-encoding", AB_STR("gzip,identity"));
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

/* ---- ending ---- */

static void reset(ab_rpc_call *call, uint32_t code)
{
    if (call->stream > 0)
        call->conn->carrier->reset(call, code);
    ab_rpc_endpoint_wake(call->conn);
}

/* Trailers amid a message would leave the client with a torso; a reset says that it is one. */
static bool is_torn(const ab_rpc_call *call)
{
    const ab_rpc_chunk *first = STAILQ_FIRST(&call->out);
    return first != NULL && first->sent > 0;
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

/* Its stream is gone, and only what was held has kept it: it is freed when the loop comes by. */
static void end_detached(ab_rpc_call *call)
{
    drop_held(call);
    call->paused = false;
    call->conn->resumed = true;
    ab_rpc_endpoint_wake(call->conn);
}

void ab_rpc_call_cut(ab_rpc_call *call, ab_rpc_status status, const char *text)
{
    if (call->over)
        return;
    call->over = true;
    ab_rpc_call_set_fate(call, status, ab_str_of(text));
    bool torn = is_torn(call);
    drop_queue(call);
    if (call->stream == 0) {
        end_detached(call);
    } else if (call->conn->endpoint->server && !torn && !call->finishing) {
        finish(call, status, text);
    } else {
        reset(call, NGHTTP2_CANCEL);
    }
}

void ab_rpc_finish(ab_rpc_call *call, ab_rpc_status status, const char *text)
{
    assert(call->conn->endpoint->server);
    if (!call->finishing && !call->over && call->stream > 0)
        finish(call, status, text);
}

void ab_rpc_cancel(ab_rpc_call *call)
{
    if (call->over)
        return;
    call->over = true;
    ab_rpc_call_set_fate(call, AB_RPC_CANCELLED, AB_STR("cancelled"));
    drop_queue(call);
    if (call->stream == 0)
        end_detached(call);
    else
        reset(call, NGHTTP2_CANCEL);
}

void ab_rpc_hang_up(ab_rpc_call *call, const char *why)
{
    ab_rpc_conn *conn = call->conn;
    ab_rpc_call *c;
    TAILQ_FOREACH(c, &conn->calls, at)
    {
        if (c->over)
            continue;
        c->over = true;
        ab_rpc_call_set_fate(c, AB_RPC_CANCELLED, ab_str_of(why));
        drop_queue(c);
    }
    ab_rpc_conn_refuse(conn, why, NGHTTP2_NO_ERROR);
}

const ab_rpc_peer *ab_rpc_call_peer(const ab_rpc_call *call)
{
    return &call->conn->peer;
}

/* ---- server ---- */

void ab_rpc_accept(ab_rpc_call *call, const ab_rpc_handler *handler, void *arg)
{
    assert(call->conn->endpoint->server && call->handler == NULL);
    call->handler = handler;
    call->arg = arg;
}

void ab_rpc_welcome(ab_rpc_call *call, const char *agent)
{
    assert(call->conn->endpoint->server);
    ab_rpc_account_welcome(call->conn, agent);
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
