/* SPDX-License-Identifier: Apache-2.0
 *
 * What an API server says when it refuses: an ab_err and a text for people, from the HTTP status
 * and the Status object (or whatever stands in its place).
 */
#pragma once

#include "base/core/buf.h"

/* Refusals that are answered by more than their ab_err. */
typedef enum {
    AB_KUBE_WHY_OTHER,
    AB_KUBE_WHY_EXPIRED,   /* the resourceVersion or continue token is too old */
    AB_KUBE_WHY_PATCH,     /* a "test" of a JSON patch failed, or a path is not there */
    AB_KUBE_WHY_NAMESPACE, /* there is no such namespace */
} ab_kube_why;

/**
 * Read a refusal.
 *
 * @param http     HTTP status; 0: the Status's own code (an ERROR event of a watch)
 * @param body     what came with it; need not be JSON
 * @param request  "PATCH Application/argocd/guestbook", begins the text
 * @return as ab_kube_answer.code, never OK
 */
ab_err ab_kube_status_explain(int http, ab_str body, const char *request, ab_kube_why *why,
                              ab_error *err);
