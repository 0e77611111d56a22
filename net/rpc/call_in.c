/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes in of a call is given to the reader at once, unless the call is paused: then it is
 * held, and the peer's window is not opened.
 */
#include "net/rpc/rpc_priv.h"

static void consume(ab_rpc_call *call, size_t len)
{
    if (call->stream > 0 && len > 0 && call->conn->carrier->consume != NULL)
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
    if (!ab_rpc_budget_take(&call->conn->budget, bytes)) {
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
    if (!ab_rpc_budget_take(&call->conn->budget, bytes.len)) {
        fail_receiving(call, AB_ERR_FULL, "too many bytes are being received");
        return;
    }
    size_t before = call->held.len;
    ab_buf_put(&call->held, bytes);
    if (ab_buf_status(&call->held) == AB_ERR_OK)
        return;
    ab_rpc_budget_give(&call->conn->budget, bytes.len);
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
    call->heard_ms = ab_rpc_endpoint_now_ms(call->conn->endpoint);
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
        ab_rpc_call_drop_queue(call);
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
        ab_buf_init(&call->held, AB_RPC_HELD_MAX);
        ab_str left = deliver(call, ab_buf_str(&held));
        size_t taken = held.len - left.len;
        bool more = left.len > 0 && listens(call);
        ab_rpc_budget_give(&call->conn->budget, more ? taken : held.len);
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

int64_t ab_rpc_silent_ms(const ab_rpc_call *call)
{
    return ab_rpc_endpoint_now_ms(call->conn->endpoint) - call->conn->heard_ms;
}

int64_t ab_rpc_quiet_ms(const ab_rpc_call *call)
{
    return call->paused ? 0 : ab_rpc_endpoint_now_ms(call->conn->endpoint) - call->heard_ms;
}

void ab_rpc_pause(ab_rpc_call *call)
{
    call->paused = true;
}

void ab_rpc_resume(ab_rpc_call *call)
{
    if (call->paused) /* its window was closed */
        call->heard_ms = ab_rpc_endpoint_now_ms(call->conn->endpoint);
    call->paused = false;
    if (call->held.len == 0 && (!call->peer_closed || call->close_reported))
        return;
    call->conn->resumed = true;
    ab_rpc_endpoint_wake(call->conn);
}
