/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream as its connection sees it.
 */
#pragma once

#include "live/lane/http2.h"

#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#define AB_LIVE_TIMEOUT "argobus-timeout"

/* A head that is coming in, field by field. */
typedef struct {
    ab_buf text;
    struct {
        size_t name, name_len, value, value_len; /* in the text */
    } fields[AB_LIVE_FIELDS_MAX + 4];
    size_t count;
} ab_live_head;

struct ab_live_stream {
    ab_live_http2 *h2;
    LIST_ENTRY(ab_live_stream) at;
    TAILQ_ENTRY(ab_live_stream) starved_at;
    int32_t id;
    const ab_live_handler *handler; /* NULL: nobody is told any more */
    void *arg;
    ab_live_head *head; /* while it comes */
    ab_buf out;
    size_t out_sent;     /* of out */
    bool out_ended;      /* nothing follows what is in out */
    bool has_answered;   /* AGENT: with a head. PRINCIPAL: it came */
    bool patient;        /* what is in out is in no hurry */
    bool deferred;       /* nghttp2 waits for something to be in out */
    bool starved;        /* FULL was returned; on the list of those */
    bool in_ended;       /* on_end was told */
    int64_t deadline_ms; /* monotonic; INT64_MAX: none */
    ab_err why;          /* of our own reset; OK: there was none */
};

struct ab_live_http2 {
    nghttp2_session *ng;
    ab_live_http2_env env;
    LIST_HEAD(, ab_live_stream) streams;
    TAILQ_HEAD(, ab_live_stream) starved;
    size_t count;
    int64_t now_ms;   /* when something was called last */
    int64_t heard_ms; /* when bytes came last */
    bool pinged;      /* since then */
    bool out_of_memory;
    bool ending;
};

/** A stream of this connection, without an id. NULL: no memory. */
ab_live_stream *ab_live_stream_new(ab_live_http2 *h);
/** Out of all lists, and freed. */
void ab_live_stream_free(ab_live_stream *s);
/** nghttp2's name for what a stream has to send. */
nghttp2_data_provider ab_live_stream_source(ab_live_stream *s);
/** Tell everyone who waits and has room now. */
void ab_live_stream_feed(ab_live_http2 *h);
/** Add a field of a head that comes. @return false: it is too large, or no memory */
bool ab_live_head_add(ab_live_stream *s, ab_str name, ab_str value);
/** The head's fields that are the application's, and its pseudo-fields.
 *  @param fields  AB_LIVE_FIELDS_MAX. @return how many */
size_t ab_live_head_read(const ab_live_stream *s, ab_http_field *fields, ab_live_request *request,
                         int *status);
/** Fields for nghttp2, after the first `at`. @return how many there are; 0: one is not valid */
size_t ab_live_head_write(nghttp2_nv *nv, size_t at, const ab_http_field *fields, size_t count);
