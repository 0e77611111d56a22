/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/side.h"

#include "live/resource/query.h"

#include "schema/proto/argocd_agent.pb-c.h"

/* ----- in ----- */

static void take_log(const Argocdagent__LogStreamData *m, ab_gopeer_side_message *out)
{
    out->uuid = ab_pb_str(m->request_uuid);
    out->data = ab_pb_str(m->data);
    out->error = ab_pb_str(m->error);
    out->eof = m->eof;
}

static void take_terminal(const Argocdagent__TerminalStreamData *m, ab_gopeer_side_message *out)
{
    out->uuid = ab_pb_str(m->request_uuid);
    out->data = ab_pb_str(m->data);
    out->error = ab_pb_str(m->error);
    out->eof = m->eof;
    out->stream = ab_pb_str(m->stream_type);
    out->resize = m->resize;
    out->rows = m->rows;
    out->cols = m->cols;
}

ab_err ab_gopeer_wire_read_side(ab_side_kind kind, ab_str bytes, ab_pb_arena *arena,
                                ab_gopeer_side_message *out)
{
    bool logs = kind == AB_SIDE_LOGS;
    const ProtobufCMessage *base = NULL;
    *out = (ab_gopeer_side_message){0};
    ab_pb_arena_init(arena, bytes.len + AB_PB_OVERHEAD);
    if (bytes.len > AB_GOPEER_SIDE_MAX)
        return AB_ERR_TOOBIG;
    ab_err e = ab_pb_unpack(arena,
                            logs ? &argocdagent__log_stream_data__descriptor
                                 : &argocdagent__terminal_stream_data__descriptor,
                            bytes, &base);
    if (e != AB_ERR_OK)
        return e;
    if (logs)
        take_log((const void *)base, out);
    else
        take_terminal((const void *)base, out);
    return AB_ERR_OK;
}

/* ----- out ----- */

static void put_log(const ab_gopeer_side_message *m, ab_buf *out)
{
    Argocdagent__LogStreamData go = ARGOCDAGENT__LOG_STREAM_DATA__INIT;
    go.request_uuid = ab_pb_bytes(m->uuid);
    go.data = ab_pb_bytes(m->data);
    go.eof = m->eof;
    go.error = ab_pb_bytes(m->error);
    ab_pb_pack(&go.base, out);
}

static void put_terminal(const ab_gopeer_side_message *m, ab_buf *out)
{
    Argocdagent__TerminalStreamData go = ARGOCDAGENT__TERMINAL_STREAM_DATA__INIT;
    go.request_uuid = ab_pb_bytes(m->uuid);
    go.data = ab_pb_bytes(m->data);
    go.stream_type = ab_pb_bytes(m->stream);
    go.resize = m->resize;
    go.rows = m->rows;
    go.cols = m->cols;
    go.eof = m->eof;
    go.error = ab_pb_bytes(m->error);
    ab_pb_pack(&go.base, out);
}

void ab_gopeer_wire_put_side(ab_side_kind kind, const ab_gopeer_side_message *m, ab_buf *out)
{
    if (kind == AB_SIDE_LOGS)
        put_log(m, out);
    else
        put_terminal(m, out);
}

void ab_gopeer_wire_put_logs_end(ab_str uuid, ab_buf *out)
{
    Argocdagent__LogStreamResponse go = ARGOCDAGENT__LOG_STREAM_RESPONSE__INIT;
    go.request_uuid = ab_pb_bytes(uuid);
    go.status = 200;
    ab_pb_pack(&go.base, out);
}

/* ----- their requests ----- */

static ab_err put_part(ab_spanv root, const char *name, ab_buf *out)
{
    ab_buf text = ab_buf_up_to(AB_RESOURCE_PATH_MAX);
    ab_err e = ab_span_copy(ab_span_get(root, name), &text);
    if (e == AB_ERR_OK && text.len == 0)
        e = AB_ERR_INVALID;
    if (e == AB_ERR_OK)
        ab_resource_query_encode(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}

ab_err ab_gopeer_wire_read_pod(ab_spanv root, const char *subresource, ab_buf *out)
{
    ab_buf_puts(out, "/api/v1/namespaces/");
    ab_err e = put_part(root, "namespace", out);
    ab_buf_puts(out, "/pods/");
    if (e == AB_ERR_OK)
        e = put_part(root, "podName", out);
    ab_buf_puts(out, subresource);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}
