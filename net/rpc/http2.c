/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 by nghttp2, which checks frames, does flow control and header compression, and
 * acknowledges settings and pings. Its callbacks find the calls, and count what may come too often.
 */
#include "net/rpc/rpc_priv.h"

#include <assert.h>
#include <stdlib.h>

#define CONNECTION_WINDOW_MIN (1024 * 1024)
#define REASON_MAX            200
#define HEAD_LEN              9u           /* of a frame */
#define FRAME_MAX             (17u * 1024) /* nghttp2 sends 16 KiB and a head at most */
#define RECORD_MAX            (16u * 1024) /* of TLS */
#define WRITES_MAX            8 /* of AB_RPC_SCRATCH bytes at most, before others have their turn */

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
    const char *status = ab_rpc_heads_refuse(head);
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
    if (!is_ack &&
        !ab_rpc_count_add(&conn->settings, &conn->endpoint->limits.settings, conn->heard_ms))
        ab_rpc_conn_refuse(conn, "settings", NGHTTP2_ENHANCE_YOUR_CALM);
    if (is_ack || conn->state == AB_RPC_CONN_READY)
        return;
    conn->state = AB_RPC_CONN_READY;
    conn->endpoint->ops->on_ready(conn);
}

static void on_ping(ab_rpc_conn *conn, bool is_ack)
{
    if (!is_ack && !ab_rpc_count_add(&conn->pings, &conn->endpoint->limits.pings, conn->heard_ms))
        ab_rpc_conn_refuse(conn, "pings", NGHTTP2_ENHANCE_YOUR_CALM);
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
    conn->endpoint->ops->on_leaving(conn);
}

static void count_reset(ab_rpc_conn *conn)
{
    if (!ab_rpc_count_add(&conn->resets, &conn->endpoint->limits.resets, conn->heard_ms))
        ab_rpc_conn_refuse(conn, "resets", NGHTTP2_ENHANCE_YOUR_CALM);
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
        on_ping(conn, is_ack);
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

/* How many bytes the next DATA frame has; on_frame_data puts them where they go. */
static ssize_t on_measure(nghttp2_session *h2, int32_t stream, uint8_t *into, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    (void)into;
    (void)source;
    (void)arg;
    ab_rpc_call *call = call_of(h2, stream);
    if (call == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (call->queued > room)
        return (ssize_t)room;
    if (call->finishing && !call->finished) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        ab_rpc_call_trail(call);
    } else if (call->half_closed) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (call->queued == 0) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)call->queued;
}

/* fill_out has seen to it that there is room. PAUSE lets it look again. */
static int on_frame_data(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head, size_t len,
                         nghttp2_data_source *source, void *arg)
{
    (void)source;
    const ab_rpc_conn *conn = arg;
    ab_rpc_endpoint *endpoint = conn->endpoint;
    ab_rpc_call *call = call_of(h2, frame->hd.stream_id);
    assert(frame->data.padlen == 0 && HEAD_LEN + len <= AB_RPC_SCRATCH - endpoint->out_filled);
    memcpy(endpoint->out + endpoint->out_filled, head, HEAD_LEN);
    if (call == NULL ||
        ab_rpc_call_pull(call, endpoint->out + endpoint->out_filled + HEAD_LEN, len) != len)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    endpoint->out_filled += HEAD_LEN + len;
    return NGHTTP2_ERR_PAUSE;
}

static const nghttp2_data_provider source = {.read_callback = on_measure};

ab_err ab_rpc_http2_init(ab_rpc_endpoint *endpoint)
{
    if (nghttp2_session_callbacks_new(&endpoint->callbacks) != 0 ||
        nghttp2_option_new(&endpoint->option) != 0)
        return AB_ERR_NOMEM;
    nghttp2_session_callbacks *c = endpoint->callbacks;
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_sent);
    nghttp2_session_callbacks_set_send_data_callback(c, on_frame_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    nghttp2_option_set_no_auto_window_update(endpoint->option, 1);
    nghttp2_option_set_no_closed_streams(endpoint->option, 1);
    nghttp2_option_set_max_reserved_remote_streams(endpoint->option, 0);
    return AB_ERR_OK;
}

static int submit_settings(ab_rpc_conn *conn)
{
    const ab_rpc_limits *l = &conn->endpoint->limits;
    nghttp2_settings_entry server[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, l->window_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)l->header_bytes},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, l->streams},
    };
    nghttp2_settings_entry client[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, l->window_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)l->header_bytes},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    int rc = nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE,
                                     conn->endpoint->server ? server : client, 3);
    int32_t window = (int32_t)l->window_bytes * 2;
    if (window < CONNECTION_WINDOW_MIN)
        window = CONNECTION_WINDOW_MIN;
    if (rc == 0)
        rc = nghttp2_session_set_local_window_size(conn->h2, NGHTTP2_FLAG_NONE, 0, window);
    return rc;
}

static ab_err http2_open(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    int rc =
        endpoint->server
            ? nghttp2_session_server_new2(&conn->h2, endpoint->callbacks, conn, endpoint->option)
            : nghttp2_session_client_new2(&conn->h2, endpoint->callbacks, conn, endpoint->option);
    if (rc != 0)
        conn->h2 = NULL;
    return rc == 0 && submit_settings(conn) == 0 ? AB_ERR_OK : AB_ERR_NOMEM;
}

static void http2_close(ab_rpc_conn *conn)
{
    ab_rpc_head_in_free(conn->head);
    nghttp2_session_del(conn->h2);
}

static bool takes(const ab_rpc_conn *conn)
{
    (void)conn; /* the windows say how much the peer may send */
    return true;
}

static void http2_receive(ab_rpc_conn *conn, uint8_t *bytes, size_t len)
{
    if (conn->closing)
        return;
    ssize_t n = nghttp2_session_mem_recv(conn->h2, bytes, len);
    if (n >= 0 || conn->doomed)
        return;
    if (n == NGHTTP2_ERR_FLOODED)
        ab_rpc_conn_refuse(conn, "flood", NGHTTP2_ENHANCE_YOUR_CALM);
    else if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
        ab_rpc_conn_refuse(conn, "preface", NGHTTP2_PROTOCOL_ERROR);
    else
        ab_rpc_conn_refuse(conn, "protocol", NGHTTP2_PROTOCOL_ERROR);
}

/* Calls whose queue has room again. */
static void tell_writable(ab_rpc_conn *conn)
{
    ab_rpc_call *next;
    for (ab_rpc_call *c = TAILQ_FIRST(&conn->calls); c != NULL; c = next) {
        next = TAILQ_NEXT(c, at);
        ab_rpc_call_drained(c);
    }
}

/* The next frame. @return false: there is none for now */
static bool add_frame(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    size_t before = endpoint->out_filled;
    const uint8_t *frame = NULL;
    ssize_t len = nghttp2_session_mem_send(conn->h2, &frame);
    if (len > 0) {
        assert((size_t)len <= AB_RPC_SCRATCH - endpoint->out_filled);
        memcpy(endpoint->out + endpoint->out_filled, frame, (size_t)len);
        endpoint->out_filled += (size_t)len;
    }
    return endpoint->out_filled > before;
}

/* Frames are put together, as far as there is room for the largest. */
static void fill_out(ab_rpc_conn *conn)
{
    conn->send_on = true;
    while (conn->send_on && AB_RPC_SCRATCH - conn->endpoint->out_filled >= FRAME_MAX)
        conn->send_on = !conn->doomed && add_frame(conn);
}

/* As long as more follows, only whole records of TLS are written: a short one at the end of each
 * write would cost about as much as a long one. */
static ab_rpc_wire send_frames(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    ab_rpc_wire w = AB_RPC_WIRE_DONE;
    bool corked = false;
    endpoint->out_filled = 0;
    for (int i = 1; i <= WRITES_MAX && w == AB_RPC_WIRE_DONE && !conn->doomed; i++) {
        fill_out(conn);
        size_t rest = conn->send_on && i < WRITES_MAX ? endpoint->out_filled % RECORD_MAX : 0;
        size_t whole = endpoint->out_filled - rest;
        if (whole > RECORD_MAX && !corked) {
            corked = true;
            ab_rpc_wire_cork(conn, true);
        }
        if (whole > 0)
            w = ab_rpc_wire_write(conn, endpoint->out, whole, rest);
        if (!conn->send_on)
            break;
        memmove(endpoint->out, endpoint->out + whole, rest);
        endpoint->out_filled = rest;
    }
    if (corked)
        ab_rpc_wire_cork(conn, false);
    return w;
}

static void http2_send(ab_rpc_conn *conn)
{
    ab_rpc_wire w = ab_rpc_wire_flush(conn);
    if (w == AB_RPC_WIRE_DONE && !conn->doomed)
        w = send_frames(conn);
    if (w != AB_RPC_WIRE_FAILED && !conn->doomed)
        tell_writable(conn);
}

static bool wants_send(const ab_rpc_conn *conn)
{
    return nghttp2_session_want_write(conn->h2) != 0;
}

static bool is_ended(const ab_rpc_conn *conn)
{
    return nghttp2_session_want_read(conn->h2) == 0;
}

static void refuse(ab_rpc_conn *conn, uint32_t code)
{
    (void)nghttp2_session_terminate_session(conn->h2, code);
}

static void leave(ab_rpc_conn *conn)
{
    (void)nghttp2_submit_goaway(conn->h2, NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(conn->h2), NGHTTP2_NO_ERROR,
                                NULL, 0);
}

static bool ping(ab_rpc_conn *conn)
{
    return nghttp2_submit_ping(conn->h2, NGHTTP2_FLAG_NONE, NULL) == 0;
}

/* ---- one stream ---- */

static ab_err request(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    int32_t stream =
        nghttp2_submit_request(call->conn->h2, NULL, head->rows, head->count, &source, call);
    if (stream == NGHTTP2_ERR_NOMEM)
        return AB_ERR_NOMEM;
    /* Other failures: the numbers of streams are used up, and another connection is needed. */
    if (stream < 0)
        return AB_ERR_UNAVAILABLE;
    call->stream = stream;
    return AB_ERR_OK;
}

static ab_err respond(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    int rc =
        nghttp2_submit_response(call->conn->h2, call->stream, head->rows, head->count, &source);
    return rc == 0 ? AB_ERR_OK : AB_ERR_NOMEM;
}

static ab_err trail(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    nghttp2_session *h2 = call->conn->h2;
    int rc = call->head_sent
                 ? nghttp2_submit_trailer(h2, call->stream, head->rows, head->count)
                 : nghttp2_submit_response(h2, call->stream, head->rows, head->count, NULL);
    return rc == 0 ? AB_ERR_OK : AB_ERR_NOMEM;
}

static void consume(ab_rpc_call *call, size_t len)
{
    (void)nghttp2_session_consume_stream(call->conn->h2, call->stream, len);
}

static void push(ab_rpc_call *call)
{
    if (!call->deferred)
        return;
    call->deferred = false;
    (void)nghttp2_session_resume_data(call->conn->h2, call->stream);
}

static void reset(ab_rpc_call *call, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(call->conn->h2, 0, call->stream, code);
}

static void forget(ab_rpc_call *call)
{
    (void)nghttp2_session_set_stream_user_data(call->conn->h2, call->stream, NULL);
}

bool ab_rpc_http2_is_full(const ab_rpc_conn *conn)
{
    return conn->call_count >=
           nghttp2_session_get_remote_settings(conn->h2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

const ab_rpc_carrier ab_rpc_http2 = {
    .blocks = false,
    .open = http2_open,
    .close = http2_close,
    .takes = takes,
    .receive = http2_receive,
    .send = http2_send,
    .wants_send = wants_send,
    .is_ended = is_ended,
    .refuse = refuse,
    .leave = leave,
    .ping = ping,
    .request = request,
    .respond = respond,
    .trail = trail,
    .consume = consume,
    .push = push,
    .reset = reset,
    .forget = forget,
};
