/* SPDX-License-Identifier: Apache-2.0
 *
 * Is an object one that Argo CD manages? It is when it has the annotation
 * argocd.argoproj.io/tracking-id or the label app.kubernetes.io/instance, or when an object that
 * owns it has, five owners up at most. Answered by reading the object and its owners at the API
 * server. Loop thread.
 */
#pragma once

#include "live/resource/api.h"
#include "live/resource/map.h"

#define AB_RESOURCE_OWNERS_MAX 5

typedef struct ab_resource_question ab_resource_question;

/* What came of it. */
typedef struct {
    bool managed;
    int status;      /* not managed, and there is an answer to pass on: 404, 403, ... of the API
                        server, or of ours; else 0 */
    ab_str body;     /* what came with that status: a Status; borrowed */
    const char *why; /* not managed: for people */
} ab_resource_verdict;

/**
 * Ask.
 *
 * @param m     the request; its object is read, whatever the subresource
 * @param body  the object itself, for one that is to be created; absent: it is read
 * @param done  called once, later or from inside; the question is freed after it
 * @param out   set before `done` is called; borrowed until then
 * @return NOMEM: `done` is not called
 */
AB_MUST_USE ab_err ab_resource_managed_ask(const ab_resource_api *api, const ab_resource_map *m,
                                           ab_str body,
                                           void (*done)(void *arg, const ab_resource_verdict *v),
                                           void *arg, ab_resource_question **out);
/** End it without done; NULL is allowed. */
void ab_resource_managed_cancel(ab_resource_question *q);
