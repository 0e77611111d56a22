/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 (RFC 9113) between the principal, which asks, and an agent, which answers, over bytes that
 * somebody else carries. nghttp2 keeps the protocol. What is particular: the authority of a request
 * is the service, the field argobus-timeout is its deadline in milliseconds, and nothing is pushed.
 *
 * The credits of the connection are given back at once and those of a stream when its bytes were
 * consumed: whoever does not read holds up nobody else. Loop thread; upcalls come from inside
 * receive, flush, tick and end only.
 */
#pragma once

#include "live/lane/stream.h"

typedef struct ab_live_http2 ab_live_http2;

#define AB_LIVE_STREAMS_MAX 256 /* of one connection at a time */

typedef struct {
    bool client; /* the principal's end */
    /** Take bytes that are to be sent; from inside flush. @return whatever flush is to return */
    ab_err (*write)(void *arg, ab_str bytes);
    /** Whether write may be called: a flush ends when there is none. */
    bool (*has_room)(void *arg);
    /** There is something to send: flush soon, but not from inside this. */
    void (*on_work)(void *arg);
    /** The same for what is in no hurry. */
    void (*on_patient_work)(void *arg);
    /** AGENT: a request has come. ab_live_stream_serve it; what is not served is reset. */
    void (*on_request)(void *arg, ab_live_stream *s, const ab_live_request *request);
    void *arg;
} ab_live_http2_env;

/** @param out  owned by the caller; ab_live_http2_end. @return NOMEM */
AB_MUST_USE ab_err ab_live_http2_new(const ab_live_http2_env *env, ab_live_http2 **out);
/** Free it, after every stream was told on_over with this; not from an upcall. NULL is allowed. */
void ab_live_http2_end(ab_live_http2 *h, ab_err code, const ab_error *err);
/** Bytes came. @param now_ms  monotonic
 *  @return INVALID: the other end does not keep to HTTP/2: end it; NOMEM */
AB_MUST_USE ab_err ab_live_http2_receive(ab_live_http2 *h, ab_str bytes, int64_t now_ms,
                                         ab_error *err);
/** Send as much as there is room for. @return what write has returned; NOMEM; INVALID: all was
 * said, and the other end does not keep to HTTP/2, or has ended it: end it */
AB_MUST_USE ab_err ab_live_http2_flush(ab_live_http2 *h, ab_error *err);
/** A few times a second: deadlines, and pings to an end that is silent while streams are open.
 *  @return UNAVAILABLE: the other end has been silent for too long: end it */
AB_MUST_USE ab_err ab_live_http2_tick(ab_live_http2 *h, int64_t now_ms, ab_error *err);
/**
 * PRINCIPAL: ask.
 * @param handler  borrowed; must outlive the stream
 * @param out      borrowed until its on_over
 * @return FULL: as many are open as may be; UNAVAILABLE: it is ending; INVALID: no such request can
 * be sent; NOMEM
 */
AB_MUST_USE ab_err ab_live_http2_begin(ab_live_http2 *h, const ab_live_request *request,
                                       int64_t now_ms, const ab_live_handler *handler, void *arg,
                                       ab_live_stream **out);
/** How many streams are open. */
size_t ab_live_http2_streams(const ab_live_http2 *h);
