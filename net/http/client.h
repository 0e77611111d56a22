/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP client on the loop (libcurl's multi interface): HTTP/2 over TLS with all calls to one host
 * multiplexed on one connection, HTTP/1.1 where the server offers no more or the options say so.
 * Answers come in pieces, so that none has to fit into memory. Loop thread; no call blocks, no
 * upcall is made from inside a call.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/observe/log.h"
#include "net/http/head.h"

#include <uv.h>

typedef struct ab_http ab_http;
typedef struct ab_http_call ab_http_call;

/* How connections are made; every string is copied. Servers are always verified. */
typedef struct {
    ab_str ca;          /* PEM text of the CAs to trust; absent: those of the system */
    ab_str cert;        /* PEM text of a client certificate chain; absent: none */
    ab_str key;         /* PEM text of its key */
    const char *proxy;  /* URL; NULL: the environment's https_proxy and no_proxy */
    const char *sni;    /* name to verify instead of the URL's host; NULL: the URL's */
    int64_t connect_ms; /* 0: 10 s */
    const char *agent;  /* User-Agent */
    bool http1; /* HTTP/1.1 only: each call has a connection while it lasts, so that one that
                   is paused holds up its own server side and no other call. libcurl 7.88 stops
                   all of an HTTP/2 connection for one paused stream that has more to say */
} ab_http_options;

/* How an answer ended. */
typedef struct {
    ab_err code;            /* OK when it came in full, whatever its status; UNAVAILABLE, TIMEOUT,
                               DENIED (TLS: one side does not trust the other), INVALID (the URL),
                               NOMEM, or what on_data returned */
    int status;             /* HTTP status; 0 when none came */
    int64_t retry_after_ms; /* header Retry-After (RFC 9110 10.2.3), -1 when there was none */
    const ab_error *err;    /* text for people when code is not OK; borrowed for the upcall */
} ab_http_result;

typedef struct {
    const char *method; /* "GET", ... */
    const char *url;    /* copied */
    const char *const
        *headers;       /* "Name: value", NULL-terminated, copied; NULL: none. Never logged */
    ab_str body;        /* copied; absent: none */
    bool once;          /* use a new connection: when a kept one ends without an answer, libcurl
                           sends the request again, whatever its method */
    int64_t timeout_ms; /* for all of it; 0: none */
    int64_t idle_ms;    /* ends with TIMEOUT when nothing comes for so long; 0: never */
    /** The status and the fields of the answer are in, names in lower case; before anything of its
     * body. Borrowed for the upcall. NULL: not wanted. */
    void (*on_head)(void *arg, int status, const ab_http_field *fields, size_t count);
    /** A piece of the body; `status` is known. Anything but OK ends the call with that code. NULL:
     * the body is dropped. */
    ab_err (*on_data)(void *arg, int status, ab_str piece);
    /** Once, at the end; the call is freed after it. */
    void (*on_done)(void *arg, const ab_http_result *result);
    void *arg;
} ab_http_request;

/** @param out  owned by the caller; ab_http_free
 *  @return NOMEM; CONFIG when a certificate, key or CA is not usable (says which) */
AB_MUST_USE ab_err ab_http_new(uv_loop_t *loop, const ab_http_options *options, ab_http **out,
                               ab_error *err);
/** Cancel all calls without upcalls and release everything once the loop has closed the handles.
 * Allowed from inside any upcall; NULL is allowed. */
void ab_http_free(ab_http *h);
/** Begin a call. @return the call, borrowed until on_done; NULL when out of memory (no upcall) */
ab_http_call *ab_http_start(ab_http *h, const ab_http_request *request);
/** End a call without on_done. Allowed from inside any upcall; does nothing from inside its own
 * on_done. */
void ab_http_cancel(ab_http_call *call);
/** New connections use these from now on; calls under way go on with the old ones (rotated
 * certificates). */
AB_MUST_USE ab_err ab_http_reconfigure(ab_http *h, const ab_http_options *options, ab_error *err);
/** Tell no more of the answer until it is resumed. The server is held up when the options say
 * http1: what curl has read is kept, some 16 KiB, and no more is read. Allowed from inside any
 * upcall of the call; time limits for silence do not count meanwhile. */
void ab_http_pause(ab_http_call *call);
void ab_http_resume(ab_http_call *call);
/** Take the URL of a proxy, which may hold a password, out of what curl has said (its
 * CURLOPT_ERRORBUFFER). Any thread. */
void ab_http_hide_proxy(char *said);
