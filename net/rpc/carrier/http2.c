/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 by nghttp2, which checks frames, does flow control and header compression, and
 * acknowledges settings and pings. This is the carrier, and what it sends; http2_in.c hears.
 */
#include "net/rpc/carrier/http2_priv.h"

#include "net/rpc/wire.h"

#include <assert.h>

#define CONNECTION_WINDOW_MIN (1024 * 1024)
#define HEAD_LEN              9u           /* of a frame */
#define FRAME_MAX             (17u * 1024) /* nghttp2 sends 16 KiB and a head at most */
#define RECORD_MAX            (16u * 1024) /* of TLS */
#define WRITES_MAX            8 /* of AB_RPC_SCRATCH bytes at most, before others have their turn */

static ab_rpc_call *call_of(nghttp2_session *h2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2, stream);
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
    ab_rpc_http2_listen(endpoint->callbacks);
    nghttp2_session_callbacks_set_send_data_callback(endpoint->callbacks, on_frame_data);
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
