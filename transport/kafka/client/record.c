/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/record.h"

#include "event/codec_kafka.h"

#include <strings.h>

static ab_str bytes(const void *ptr, size_t len)
{
    return (ab_str){ptr, ptr == NULL ? 0 : len};
}

/* Binary-mode attributes are all in headers; a structured event is all in the value. */
static bool is_structured(const ab_header *h)
{
    static const char name[] = "content-type";
    static const char prefix[] = "application/cloudevents";
    return h->name.len == sizeof(name) - 1 && strcasecmp(h->name.ptr, name) == 0 &&
           h->value.len >= sizeof(prefix) - 1 &&
           strncasecmp(h->value.ptr, prefix, sizeof(prefix) - 1) == 0;
}

static ab_err take_headers(const rd_kafka_message_t *m, ab_record *r, bool *structured)
{
    rd_kafka_headers_t *headers = NULL;
    r->header_count = 0;
    if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return AB_ERR_OK;
    const char *name = NULL;
    const void *value = NULL;
    size_t len = 0;
    size_t i = 0;
    while (rd_kafka_header_get_all(headers, i, &name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (i == sizeof(r->headers) / sizeof(r->headers[0]))
            return AB_ERR_TOOBIG;
        r->headers[i] = (ab_header){ab_str_of(name), bytes(value, len)};
        *structured = *structured || is_structured(&r->headers[i]);
        r->header_count = ++i;
    }
    return AB_ERR_OK;
}

static const char *word_for(ab_err e)
{
    switch ((int)e) {
    case AB_ERR_TOOBIG:
        return "too_big";
    case AB_ERR_UNSUPPORTED:
        return "unsupported";
    case AB_ERR_NOMEM:
        return "no_memory";
    default:
        return "malformed";
    }
}

ab_err ab_kafka_record_decode(const rd_kafka_message_t *m, bool with_data, ab_event **out,
                              const char **reason, ab_error *err)
{
    ab_record r; /* large: only what is used of it is set */
    bool structured = false;
    if (take_headers(m, &r, &structured) != AB_ERR_OK) {
        *reason = "too_big";
        return ab_fail(err, AB_ERR_TOOBIG, "more than %d headers", AB_EVENT_ATTRS_MAX + 1);
    }
    if (r.header_count == 0) {
        *reason = "no_headers";
        return ab_fail(err, AB_ERR_INVALID, "no headers: not written by argobus");
    }
    r.key = bytes(m->key, m->key_len);
    int64_t time_ms = rd_kafka_message_timestamp(m, NULL);
    r.time_ms = time_ms > 0 ? time_ms : 0;
    r.value = with_data || structured ? bytes(m->payload, m->len) : AB_STR_NONE;
    ab_err e = ab_kafka_decode(&r, out, err);
    if (e != AB_ERR_OK)
        *reason = word_for(e);
    return e;
}

static rd_kafka_headers_t *make_headers(const ab_record *r)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(r->header_count);
    for (size_t i = 0; i < r->header_count; i++) {
        const ab_header *h = &r->headers[i];
        if (rd_kafka_header_add(headers, h->name.ptr, (ssize_t)h->name.len, h->value.ptr,
                                (ssize_t)h->value.len) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            rd_kafka_headers_destroy(headers);
            return NULL;
        }
    }
    return headers;
}

/* librdkafka wants pointers that are not const, and only reads. */
static void *unconst(const void *ptr)
{
    union {
        const void *in;
        void *out;
    } u = {.in = ptr};
    return u.out;
}

rd_kafka_resp_err_t ab_kafka_record_produce(rd_kafka_t *rk, rd_kafka_topic_t *topic,
                                            const ab_event *event, void *opaque)
{
    ab_record r; /* set by ab_kafka_encode */
    ab_kafka_encode(event, &r);
    rd_kafka_headers_t *headers = make_headers(&r);
    if (headers == NULL)
        return RD_KAFKA_RESP_ERR__INVALID_ARG;
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = 0},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {unconst(r.key.ptr), r.key.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {unconst(r.value.ptr), r.value.len}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = r.time_ms}, /* 0 = now */
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = opaque},
    };
    rd_kafka_error_t *failed = rd_kafka_produceva(rk, parts, sizeof(parts) / sizeof(parts[0]));
    if (failed == NULL)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t code = rd_kafka_error_code(failed);
    rd_kafka_error_destroy(failed);
    rd_kafka_headers_destroy(headers);
    return code;
}
