/* SPDX-License-Identifier: Apache-2.0
 *
 * Live access, as everything above the lane sees it: a request of the principal to one agent, and
 * the two streams of bytes that belong to it. Requests of one agent run at the same time, each with
 * credits of its own (flow control windows of HTTP/2, RFC 9113 section 5.2): who does not consume
 * what came gets no more, and holds nobody else up.
 *
 * Nothing is sent twice. When the way to the other end is lost, every stream on it is over with
 * UNAVAILABLE, and so is the answer: what was done with the request is not known then.
 *
 * Loop thread; no call blocks, and no upcall is made from inside a call.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "net/http/head.h"

typedef struct ab_live_stream ab_live_stream;

#define AB_LIVE_FIELDS_MAX 32

/* What is asked. Borrowed for the call or upcall that it is given to. */
typedef struct {
    ab_str service; /* who at the agent answers: "kubernetes", "exec", "redis" */
    ab_str method;
    ab_str path;                 /* with its query; begins with a slash */
    const ab_http_field *fields; /* values of printable ASCII (RFC 9110 section 5.5) */
    size_t count;
    int64_t deadline_ms; /* for all of it, from now; 0: none */
} ab_live_request;

/* What happens on a stream. Any but on_over may be NULL. Functions of this header may be called
 * from all of them, but from on_over. */
typedef struct {
    /** PRINCIPAL: the agent has answered; 100 to 599. Borrowed. */
    void (*on_answer)(void *arg, int status, const ab_http_field *fields, size_t count);
    /** Bytes came, borrowed; 16 KiB at most. Credits for them are given by ab_live_stream_consumed,
     * when they have been passed on. */
    void (*on_data)(void *arg, ab_str bytes);
    /** The other end sends nothing more. */
    void (*on_end)(void *arg);
    /** After FULL: room again. */
    void (*on_room)(void *arg);
    /**
     * The stream is over, once, as the last; it must not be used any more.
     * OK: both ends have ended it. UNAVAILABLE: the other end, or the way to it, broke it off, and
     * the agent may have done what was asked; FULL: the other end serves too many already, and did
     * nothing; TIMEOUT: the deadline has passed
     * @param err  text for people when code is not OK; borrowed
     */
    void (*on_over)(void *arg, ab_err code, const ab_error *err);
} ab_live_handler;

/** AGENT: who is told of this stream; from inside the upcall that brought it. `handler` is
 * borrowed. */
void ab_live_stream_serve(ab_live_stream *s, const ab_live_handler *handler, void *arg);
/** AGENT: the head of the answer; before any data.
 *  @return CLOSED: it was given, or the stream is ending; INVALID: no status or no fields; NOMEM */
AB_MUST_USE ab_err ab_live_stream_answer(ab_live_stream *s, int status, const ab_http_field *fields,
                                         size_t count);
/** AGENT: what is sent on it from now on may wait a moment for more to go with it. What comes after
 * a pause goes at once, and so does a lot. */
void ab_live_stream_be_patient(ab_live_stream *s);
/** Send bytes; copied. @return FULL: none were taken, on_room follows; CLOSED: it was ended; NOMEM
 */
AB_MUST_USE ab_err ab_live_stream_send(ab_live_stream *s, ab_str bytes);
/** Send what stands behind the first `*sent` of these bytes, in pieces, and count in `*sent` what
 * was taken. @return OK: all of it was; FULL: on_room follows; else as ab_live_stream_send */
AB_MUST_USE ab_err ab_live_stream_send_rest(ab_live_stream *s, ab_str bytes, size_t *sent);
/** Nothing more is sent. */
void ab_live_stream_end(ab_live_stream *s);
/** So many bytes of on_data have been passed on: the other end may send as many again. */
void ab_live_stream_consumed(ab_live_stream *s, size_t bytes);
/** Break it off. No upcall follows, and the stream must not be used any more. */
void ab_live_stream_cancel(ab_live_stream *s);
