/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the API server whose answers are passed on as they come: status, fields and body are
 * the server's, in pieces and with back-pressure. What argobus adds is who it is: a client
 * certificate, or a token, which is fetched again once after 401. Each request under way has a
 * connection of its own, because a viewer that does not read must hold up nobody else. Loop thread.
 */
#pragma once

#include "base/observe/metrics.h"
#include "store/kubernetes/access/access.h"

typedef struct ab_kube_raw ab_kube_raw;
typedef struct ab_kube_raw_call ab_kube_raw_call;

typedef struct {
    const char *method;          /* a literal, or borrowed until on_over */
    const char *path;            /* with its query; copied */
    const ab_http_field *fields; /* beside authorization; copied */
    size_t count;                /* AB_KUBE_FIELDS_MAX at most */
    ab_str body;                 /* copied; absent: none */
    int64_t timeout_ms;          /* for all of it; 0: none */
    /** The head of the answer, names in lower case; borrowed. */
    void (*on_head)(void *arg, int status, const ab_http_field *fields, size_t count);
    /** A piece of the body; borrowed. None comes while it is paused. */
    void (*on_data)(void *arg, ab_str piece);
    /** Once, as the last. OK: the answer came in full, whatever its status; else as
     * ab_http_result, and what the access says. @param err  when code is not OK; borrowed */
    void (*on_over)(void *arg, ab_err code, const ab_error *err);
    void *arg;
} ab_kube_raw_request;

/** @param access  borrowed; freed before this
 *  @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kube_raw_new(uv_loop_t *loop, ab_kube_access *access, ab_kube_raw **out,
                                   ab_error *err);
/** Cancels what is under way, without upcalls, after the access has been freed; NULL is allowed. */
void ab_kube_raw_free(ab_kube_raw *raw);
/** Begin. @return borrowed until on_over; NULL when out of memory (no upcall) */
ab_kube_raw_call *ab_kube_raw_begin(ab_kube_raw *raw, const ab_kube_raw_request *request);
/** No on_data until it is resumed; from inside its upcalls too. */
void ab_kube_raw_pause(ab_kube_raw_call *call);
void ab_kube_raw_resume(ab_kube_raw_call *call);
/** End it without on_over; from inside its upcalls too. */
void ab_kube_raw_cancel(ab_kube_raw_call *call);
