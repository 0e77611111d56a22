/* SPDX-License-Identifier: Apache-2.0
 *
 * One authenticated request to the API server: fetches the token, asks again once with a new one
 * after 401, and turns what the server answers into an ab_err with a text for people.
 */
#pragma once

#include "base/observe/metrics.h"
#include "store/kubernetes/access/access.h"
#include "store/kubernetes/status.h"
#include "store/kubernetes/stream.h"

typedef struct ab_kube_client ab_kube_client;
typedef struct ab_kube_call ab_kube_call;

/* What came of it. */
typedef struct {
    /* OK (2xx); from the answer's Status: CONFLICT (409, 412; 422 of a failed JSON patch "test"),
     * EXISTS (409 AlreadyExists), NOTFOUND (404; 410 for Expired and Gone), DENIED (403),
     * INVALID (400, 415, 422, a webhook's refusal), TOOBIG (413), NOSPACE (403 by quota),
     * UNAVAILABLE (401, 429, 5xx, terminating namespace), TIMEOUT (504 and our own); with a stream
     * PARSE when the answer is broken or cut off, TOOBIG, or what on_value returned; else what the
     * connection said */
    ab_err code;
    ab_kube_why why;        /* of a refusal */
    int status;             /* HTTP; 0 when none came */
    ab_str body;            /* 2xx without a stream; borrowed */
    int64_t retry_after_ms; /* -1: the server does not say */
    const ab_error *err;    /* "PATCH Application/argocd/guestbook: 403 ...", borrowed */
} ab_kube_answer;

typedef struct {
    const char *what;       /* for texts: key or kind; copied */
    const char *method;     /* "GET", ...; a literal */
    const char *path;       /* "/apis/...?limit=500"; copied */
    const char *type;       /* Content-Type of `body`, a literal; NULL without one */
    ab_str body;            /* copied */
    int64_t timeout_ms;     /* 0: none */
    int64_t idle_ms;        /* 0: never */
    ab_kube_stream *stream; /* takes the body of a 2xx; borrowed; NULL: collected in `body` */
    void (*done)(void *arg, const ab_kube_answer *answer);
    void *arg;
} ab_kube_request;

typedef struct {
    uv_loop_t *loop;
    ab_kube_access *access; /* borrowed; freed before the client */
    ab_log *log;
    ab_metrics *metrics; /* argobus_kubernetes_requests_total{method,code}, ..._request_seconds */
    size_t body_max;     /* bytes that are collected of one answer */
} ab_kube_client_env;

/** @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kube_client_new(const ab_kube_client_env *env, ab_kube_client **out,
                                      ab_error *err);
/** Cancels what is under way, without upcalls, after the access has been freed; NULL is allowed. */
void ab_kube_client_free(ab_kube_client *c);
/** Begin a request; `done` runs once, later. @return borrowed until done; NULL when out of memory
 * (no upcall) */
ab_kube_call *ab_kube_send(ab_kube_client *c, const ab_kube_request *request);
/** End it without its upcall; from inside an upcall of its stream too, which must live on until
 * that has returned. NULL is allowed. */
void ab_kube_cancel(ab_kube_call *call);
