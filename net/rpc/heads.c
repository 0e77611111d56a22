/* SPDX-License-Identifier: Apache-2.0
 *
 * What the headers of a call say, whatever carried them.
 */
#include "net/rpc/rpc_priv.h"

#include "net/rpc/codec/fields.h"

#include <stdio.h>

#define HTTP_TEXT   48
#define STATUS_TEXT 16

static bool takes_gzip(ab_str accepted)
{
    return accepted.ptr != NULL && memmem(accepted.ptr, accepted.len, "gzip", 4) != NULL;
}

/* @return false: an encoding that we do not know */
static bool set_encodings(ab_rpc_call *call, const ab_rpc_head_in *head)
{
    ab_str encoding = ab_rpc_head_in_find(head, "grpc-encoding");
    call->in.gzip = ab_str_is(encoding, "gzip");
    if (call->conn->endpoint->server)
        call->peer_gzip = takes_gzip(ab_rpc_head_in_find(head, "grpc-accept-encoding"));
    return encoding.ptr == NULL || call->in.gzip || ab_str_is(encoding, "identity");
}

/* What keeps a call from reaching the layer above. */
static bool refuse_call(ab_rpc_call *call, const ab_rpc_head_in *head, int64_t *timeout_ms)
{
    ab_str timeout = ab_rpc_head_in_find(head, "grpc-timeout");
    if (head->too_large) {
        ab_rpc_endpoint_log_refusal(call->conn->endpoint, call->conn, "headers");
        ab_rpc_finish(call, AB_RPC_RESOURCE_EXHAUSTED, "the headers are larger than the limit");
    } else if (!set_encodings(call, head)) {
        ab_rpc_finish(call, AB_RPC_UNIMPLEMENTED, "grpc-encoding: only gzip and identity");
    } else if (timeout.ptr != NULL && !ab_rpc_timeout_parse(timeout, timeout_ms)) {
        ab_rpc_finish(call, AB_RPC_INTERNAL, "grpc-timeout is invalid");
    }
    return call->finishing;
}

static void hand_over(ab_rpc_call *call, ab_rpc_head_in *head, int64_t timeout_ms)
{
    ab_rpc_endpoint *endpoint = call->conn->endpoint;
    ab_rpc_field fields[AB_RPC_HEAD_FIELDS];
    ab_rpc_request request = {
        .path = ab_rpc_head_in_find(head, ":path"),
        .metadata = fields,
        .metadata_count = ab_rpc_head_in_metadata(head, fields),
        .peer = &call->conn->peer,
    };
    if (timeout_ms > 0)
        ab_rpc_call_set_deadline(call, ab_rpc_endpoint_now_ms(endpoint) + timeout_ms);
    endpoint->ops->on_call(endpoint, call, &request);
    if (call->handler == NULL && !call->finishing && !call->over)
        ab_rpc_finish(call, AB_RPC_UNIMPLEMENTED, "unknown method");
}

void ab_rpc_heads_request(ab_rpc_call *call, ab_rpc_head_in *head)
{
    int64_t timeout_ms = 0;
    if (!ab_rpc_call_charge(call, head->text.len))
        return;
    if (!refuse_call(call, head, &timeout_ms))
        hand_over(call, head, timeout_ms);
}

/* A proxy has answered, and not the server: which status of HTTP says why. */
static void set_text(ab_str http, char text[HTTP_TEXT])
{
    snprintf(text, HTTP_TEXT, "the response is not gRPC: HTTP %.*s", AB_STR_ARG(http));
}

/* Of a number that we do not know, as of a later gRPC, nothing else would be left. */
static void put_status(ab_str status, ab_buf *text)
{
    if (ab_rpc_status_parse(status) == AB_RPC_UNKNOWN && !ab_str_is(status, "2"))
        ab_buf_printf(text, "%sgrpc-status %.*s", text->len > 0 ? ": " : "",
                      status.len > STATUS_TEXT ? STATUS_TEXT : (int)status.len, status.ptr);
}

/* The end of a call as the server tells it: trailers, or headers that are all there is. */
static void on_trailers(ab_rpc_call *call, const ab_rpc_head_in *head)
{
    ab_str status = ab_rpc_head_in_find(head, "grpc-status");
    ab_str http = ab_rpc_head_in_find(head, ":status");
    char plain[HTTP_TEXT];
    ab_buf text = ab_buf_up_to(AB_ERROR_TEXT_MAX * 8);
    set_text(http, plain);
    ab_rpc_text_decode(ab_rpc_head_in_find(head, "grpc-message"), &text);
    if (status.ptr != NULL)
        put_status(status, &text);
    if (ab_rpc_reader_is_amid(&call->in) && call->held.len == 0)
        ab_rpc_call_set_fate(call, AB_RPC_INTERNAL, AB_STR("the last message is truncated"));
    else if (status.ptr != NULL)
        ab_rpc_call_set_fate(call, ab_rpc_status_parse(status), ab_buf_str(&text));
    else if (http.ptr != NULL && !ab_str_is(http, "200"))
        ab_rpc_call_set_fate(call, ab_rpc_status_of_http(http), ab_str_of(plain));
    else
        ab_rpc_call_set_fate(call, AB_RPC_UNKNOWN, AB_STR("grpc-status is missing"));
    ab_buf_fini(&text);
    ab_rpc_call_peer_closed(call);
}

static void on_answer(ab_rpc_call *call, ab_rpc_head_in *head)
{
    ab_str http = ab_rpc_head_in_find(head, ":status");
    ab_rpc_field fields[AB_RPC_HEAD_FIELDS];
    if (ab_str_starts(http, "1"))
        return;
    if (!ab_str_is(http, "200") || !ab_rpc_head_in_is_grpc(head)) {
        char plain[HTTP_TEXT];
        set_text(http, plain);
        ab_rpc_call_cut(call, ab_str_is(http, "200") ? AB_RPC_UNKNOWN : ab_rpc_status_of_http(http),
                        plain);
        return;
    }
    if (!set_encodings(call, head)) {
        ab_rpc_call_cut(call, AB_RPC_INTERNAL, "grpc-encoding: only gzip and identity");
        return;
    }
    call->answered = true;
    if (call->handler->on_headers != NULL)
        call->handler->on_headers(call->arg, fields, ab_rpc_head_in_metadata(head, fields));
}

void ab_rpc_heads_response(ab_rpc_call *call, ab_rpc_head_in *head, bool last)
{
    if (call->over)
        return;
    if (head->too_large) {
        ab_rpc_endpoint_log_refusal(call->conn->endpoint, call->conn, "headers");
        ab_rpc_call_cut(call, AB_RPC_RESOURCE_EXHAUSTED, "the headers are larger than the limit");
    } else if (last) {
        on_trailers(call, head);
    } else if (!call->answered) {
        on_answer(call, head);
    }
}
