/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a call. What it says is in call_out.c, what it hears in call_in.c.
 */
#include "net/rpc/rpc_priv.h"

#include "net/rpc/codec/fields.h"

#include <assert.h>
#include <stdlib.h>

static void on_deadline(uv_timer_t *timer);

/* Few calls have a deadline and they are short, so that the next one is looked for among all. */
static void arm(ab_rpc_endpoint *endpoint, int64_t deadline_ms)
{
    if (endpoint->deadline_ms > 0 && endpoint->deadline_ms <= deadline_ms)
        return;
    int64_t wait_ms = deadline_ms - ab_rpc_endpoint_now_ms(endpoint);
    endpoint->deadline_ms = deadline_ms;
    uv_timer_start(&endpoint->deadline, on_deadline, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

void ab_rpc_call_set_deadline(ab_rpc_call *call, int64_t deadline_ms)
{
    ab_rpc_endpoint *endpoint = call->conn->endpoint;
    if (call->deadline_ms > 0)
        TAILQ_REMOVE(&endpoint->timed, call, timed);
    call->deadline_ms = deadline_ms;
    if (deadline_ms == 0)
        return;
    TAILQ_INSERT_TAIL(&endpoint->timed, call, timed);
    arm(endpoint, deadline_ms);
}

ab_rpc_call *ab_rpc_call_new(ab_rpc_conn *conn, int32_t stream)
{
    ab_rpc_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    call->conn = conn;
    call->stream = stream;
    call->heard_ms = ab_rpc_endpoint_now_ms(conn->endpoint);
    ab_rpc_reader_init(&call->in, &conn->budget, &conn->may_inflate,
                       ab_rpc_account_message_max(conn));
    ab_buf_init(&call->held, AB_RPC_HELD_MAX);
    STAILQ_INIT(&call->out);
    TAILQ_INSERT_TAIL(&conn->calls, call, at);
    conn->call_count++;
    return call;
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

static void drop_held(ab_rpc_call *call)
{
    ab_rpc_budget_give(&call->conn->budget, call->held.len);
    ab_buf_fini(&call->held);
}

void ab_rpc_call_free(ab_rpc_call *call, bool silent)
{
    ab_rpc_endpoint *endpoint = call->conn->endpoint;
    TAILQ_REMOVE(&call->conn->calls, call, at);
    call->conn->call_count--;
    ab_rpc_call_set_deadline(call, 0);
    if (call->is_starved)
        TAILQ_REMOVE(&endpoint->starved, call, starved);
    ab_rpc_call_drop_queue(call);
    ab_rpc_reader_fini(&call->in);
    drop_held(call);
    ab_rpc_budget_give(&call->conn->budget, call->charged);
    if (call->handler != NULL && !silent)
        call->handler->on_end(call->arg, call->fate, ab_str_of(call->fate_text));
    free(call->fate_text);
    free(call->answer_text);
    free(call);
}

/* Trailers amid a message would leave the client with a torso; a reset says that it is one. */
static bool is_torn(const ab_rpc_call *call)
{
    const ab_rpc_chunk *first = STAILQ_FIRST(&call->out);
    return first != NULL && first->sent > 0;
}

/* Its stream is gone, and only what was held has kept it: it is freed when the loop comes by. */
static void end_detached(ab_rpc_call *call)
{
    drop_held(call);
    call->paused = false;
    call->conn->resumed = true;
    ab_rpc_endpoint_wake(call->conn);
}

/* @param tell  the server's answer says so, instead of a reset */
static void end(ab_rpc_call *call, ab_rpc_status status, const char *text, bool tell)
{
    if (call->over)
        return;
    ab_rpc_call_set_fate(call, status, ab_str_of(text));
    ab_rpc_call_drop_queue(call);
    if (call->stream == 0) {
        end_detached(call);
    } else if (tell) {
        ab_rpc_finish(call, status, text);
    } else {
        call->conn->carrier->reset(call, NGHTTP2_CANCEL);
        ab_rpc_endpoint_wake(call->conn);
    }
    call->over = true;
}

void ab_rpc_call_cut(ab_rpc_call *call, ab_rpc_status status, const char *text)
{
    bool tell = call->conn->endpoint->server && !call->finishing && !is_torn(call);
    end(call, status, text, tell);
}

void ab_rpc_cancel(ab_rpc_call *call)
{
    end(call, AB_RPC_CANCELLED, "cancelled", false);
}

static void on_deadline(uv_timer_t *timer)
{
    ab_rpc_endpoint *endpoint = timer->data;
    int64_t now_ms = ab_rpc_endpoint_now_ms(endpoint);
    ab_rpc_call *next;
    endpoint->deadline_ms = 0;
    for (ab_rpc_call *c = TAILQ_FIRST(&endpoint->timed); c != NULL; c = next) {
        next = TAILQ_NEXT(c, timed);
        if (c->deadline_ms > now_ms) {
            arm(endpoint, c->deadline_ms);
            continue;
        }
        ab_rpc_call_set_deadline(c, 0);
        ab_rpc_call_cut(c, AB_RPC_DEADLINE_EXCEEDED, "deadline exceeded");
    }
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

void ab_rpc_accept(ab_rpc_call *call, const ab_rpc_handler *handler, void *arg)
{
    assert(call->conn->endpoint->server && call->handler == NULL);
    call->handler = handler;
    call->arg = arg;
}
