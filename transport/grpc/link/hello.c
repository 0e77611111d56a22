/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link/hello.h"

/* Beyond them a peer means harm, or nothing. */
#define INFLIGHT_MAX  65536
#define HEARTBEAT_MAX (24 * 3600000LL)

static void write_json(const ab_grpc_hello *h, ab_buf *out)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete =
        ab_hello_write(&h->base, doc) && ab_doc_add_i64(doc, "seen", (int64_t)h->seen) &&
        ab_doc_add_i64(doc, "inflight", h->inflight) &&
        ab_doc_add_i64(doc, "message_max", h->message_max) &&
        ab_doc_add_i64(doc, "backlog", h->backlog) &&
        ab_doc_add_i64(doc, "heartbeat_ms", h->heartbeat_ms) &&
        ab_doc_add_bool(doc, "ack_lists", h->ack_lists) &&
        ab_doc_add_bool(doc, "live_call", h->live_call) &&
        ab_doc_add_bool(doc, "open_live", h->open_live) && ab_doc_add_bool(doc, "fresh", h->fresh);
    ab_doc_finish(doc, complete, out);
}

ab_err ab_grpc_hello_make(const ab_grpc_hello *hello, const char *source, ab_event **out)
{
    ab_buf data = ab_buf_up_to(AB_HELLO_MAX);
    write_json(hello, &data);
    ab_event_draft draft = {.data = ab_buf_str(&data)};
    ab_err e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_hello_event(&hello->base, source, &draft, out);
    ab_buf_fini(&data);
    return e;
}

static bool read_number(const cJSON *from, const char *name, int64_t min, int64_t max, int64_t *out)
{
    return ab_doc_i64(from, name, out) == AB_ERR_OK && *out >= min && *out <= max;
}

static bool read_bool(const cJSON *from, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, name));
}

static ab_err read_members(const cJSON *v, ab_grpc_hello *out, ab_error *err)
{
    int64_t seen = 0;
    ab_err e = ab_hello_read(v, &out->base, err);
    if (e != AB_ERR_OK)
        return e;
    out->ack_lists = read_bool(v, "ack_lists");
    out->live_call = read_bool(v, "live_call");
    out->open_live = read_bool(v, "open_live");
    out->fresh = read_bool(v, "fresh");
    bool beats = cJSON_HasObjectItem(v, "heartbeat_ms");
    if (beats && !read_number(v, "heartbeat_ms", 0, HEARTBEAT_MAX, &out->heartbeat_ms))
        return ab_fail(err, AB_ERR_INVALID, "a hello with a heartbeat out of range");
    if (!read_number(v, "seen", 0, INT64_MAX, &seen) ||
        !read_number(v, "inflight", 1, INFLIGHT_MAX, &out->inflight) ||
        !read_number(v, "message_max", 1, INT64_MAX, &out->message_max) ||
        !read_number(v, "backlog", 0, INT64_MAX, &out->backlog))
        return ab_fail(err, AB_ERR_INVALID, "a hello with numbers out of range");
    out->seen = (uint64_t)seen;
    return AB_ERR_OK;
}

ab_err ab_grpc_hello_read(const ab_event *event, ab_grpc_hello *out, ab_error *err)
{
    cJSON *doc = NULL;
    *out = (ab_grpc_hello){0};
    ab_err e = ab_hello_parse(event, &doc, err);
    if (e == AB_ERR_OK)
        e = read_members(doc, out, err);
    cJSON_Delete(doc);
    return e;
}

void ab_grpc_hello_fini(ab_grpc_hello *hello)
{
    ab_hello_fini(&hello->base);
}
