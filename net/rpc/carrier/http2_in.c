/* SPDX-License-Identifier: Apache-2.0
 *
 * The callbacks of nghttp2 for what comes: they find the calls, and count what may come too often.
 */
#include "net/rpc/carrier/http2_priv.h"

#define REASON_MAX 200

static ab_str str_of(nghttp2_rcbuf *buf)
{
    nghttp2_vec v = nghttp2_rcbuf_get_buf(buf);
    return (ab_str){(const char *)v.base, v.len};
}

static ab_rpc_call *call_of(nghttp2_session *h2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2, stream);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
    (void)h2;
    (void)frame;
    ab_rpc_conn *conn = arg;
    ab_rpc_head_in_free(conn->head);
    conn->head = ab_rpc_head_in_new(conn->endpoint->limits.header_bytes);
    return conn->head == NULL ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
    (void)h2;
    (void)frame;
    (void)flags;
    ab_rpc_conn *conn = arg;
    if (conn->head != NULL)
        ab_rpc_head_in_add(conn->head, str_of(name), str_of(value));
    return 0;
}

/* A request that is not a call at all is answered in plain HTTP. */
static bool answer_http(ab_rpc_conn *conn, int32_t stream, const ab_rpc_head_in *head)
{
    const char *status = ab_rpc_head_in_refusal(head);
    if (status == NULL)
        return false;
    ab_rpc_head_out out;
    ab_rpc_head_out_init(&out);
    ab_rpc_head_out_add(&out, ":status", ab_str_of(status));
    if (ab_rpc_head_out_seal(&out) == AB_ERR_OK)
        (void)nghttp2_submit_response(conn->h2, stream, out.rows, out.count, NULL);
    ab_rpc_head_out_fini(&out);
    return true;
}

static void on_request(ab_rpc_conn *conn, int32_t stream)
{
    ab_rpc_head_in *head = conn->head;
    if (!head->too_large && answer_http(conn, stream, head))
        return;
    ab_rpc_call *call = ab_rpc_call_new(conn, stream);
    if (call == NULL) {
        (void)nghttp2_submit_rst_stream(conn->h2, 0, stream, NGHTTP2_REFUSED_STREAM);
        return;
    }
    (void)nghttp2_session_set_stream_user_data(conn->h2, stream, call);
    ab_rpc_heads_request(call, head);
}

static void on_headers(ab_rpc_conn *conn, const nghttp2_frame *frame)
{
    int32_t stream = frame->hd.stream_id;
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (conn->head == NULL || conn->doomed)
        return;
    if (conn->endpoint->server && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        on_request(conn, stream);
    ab_rpc_call *call = call_of(conn->h2, stream);
    if (call != NULL && !conn->endpoint->server)
        ab_rpc_heads_response(call, conn->head, last);
    else if (call != NULL && last)
        ab_rpc_call_peer_closed(call);
    ab_rpc_head_in_free(conn->head);
    conn->head = NULL;
}

static void on_settings(ab_rpc_conn *conn, bool is_ack)
{
    if (!is_ack)
        (void)ab_rpc_conn_allows(conn, &conn->settings, &conn->endpoint->limits.settings,
                                 "settings");
    if (is_ack || conn->state == AB_RPC_CONN_READY)
        return;
    conn->state = AB_RPC_CONN_READY;
    if (conn->endpoint->ops->on_ready != NULL)
        conn->endpoint->ops->on_ready(conn);
}

static void count_reset(ab_rpc_conn *conn)
{
    (void)ab_rpc_conn_allows(conn, &conn->resets, &conn->endpoint->limits.resets, "resets");
}

/* A server that is told too often that we are there is told less often from now on. */
static void on_goaway(ab_rpc_conn *conn, const nghttp2_goaway *goaway)
{
    ab_str text = {(const char *)goaway->opaque_data, goaway->opaque_data_len};
    if (conn->leaving)
        return;
    conn->leaving = true;
    text.len = text.len > REASON_MAX ? REASON_MAX : text.len;
    if (text.len > 0 && !ab_str_is_printable(text))
        text.len = 0;
    ab_fail(&conn->why, AB_ERR_CLOSED, "the peer accepts no more calls: %s%s%.*s",
            nghttp2_http2_strerror(goaway->error_code), text.len > 0 ? ", " : "", AB_STR_ARG(text));
    if (ab_str_is(text, "too_many_pings"))
        conn->endpoint->limits.ping_ms *= 2;
    if (conn->endpoint->ops->on_leaving != NULL)
        conn->endpoint->ops->on_leaving(conn);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
    ab_rpc_conn *conn = arg;
    bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    ab_rpc_call *call = NULL;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        on_headers(conn, frame);
        break;
    case NGHTTP2_DATA:
        call = call_of(h2, frame->hd.stream_id);
        if (call != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            ab_rpc_call_peer_closed(call);
        break;
    case NGHTTP2_RST_STREAM:
        count_reset(conn);
        break;
    case NGHTTP2_SETTINGS:
        on_settings(conn, is_ack);
        break;
    case NGHTTP2_PING:
        if (!is_ack)
            (void)ab_rpc_conn_allows(conn, &conn->pings, &conn->endpoint->limits.pings, "pings");
        break;
    case NGHTTP2_GOAWAY:
        on_goaway(conn, &frame->goaway);
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t len, void *arg)
{
    (void)flags;
    ab_rpc_conn *conn = arg;
    ab_rpc_call *call = call_of(h2, stream);
    /* One call that does not read on must not hold up the others. */
    (void)nghttp2_session_consume_connection(h2, len);
    if (call != NULL && !conn->doomed)
        ab_rpc_call_receive(call, (ab_str){(const char *)data, len});
    else
        (void)nghttp2_session_consume_stream(h2, stream, len);
    return 0;
}

/* A server that has answered in full does not wait for the rest of the request. And what a peer
 * hears from us excuses the pings by which it measures the line. */
static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
    ab_rpc_conn *conn = arg;
    if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)
        conn->pings.count = 0;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR &&
        !conn->closing)
        ab_rpc_conn_refuse(conn, "protocol", frame->goaway.error_code);
    /* Resets that the peer provokes cost as much as those that it sends. */
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        frame->rst_stream.error_code != NGHTTP2_CANCEL)
        count_reset(conn);
    if (conn->endpoint->server && frame->hd.type == NGHTTP2_HEADERS &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        nghttp2_session_get_stream_remote_close(h2, frame->hd.stream_id) == 0)
        (void)nghttp2_submit_rst_stream(h2, 0, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t stream, uint32_t code, void *arg)
{
    (void)arg;
    ab_rpc_call *call = call_of(h2, stream);
    if (call != NULL)
        ab_rpc_call_stream_closed(call, code);
    return 0;
}

void ab_rpc_http2_listen(nghttp2_session_callbacks *c)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
}
