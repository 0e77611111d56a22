/* SPDX-License-Identifier: Apache-2.0
 *
 * The API server, asked one thing after the other, as the program would ask it.
 */
#pragma once

#include "base/config/config.h"
#include "store/kubernetes/raw.h"

typedef struct {
    uv_loop_t loop;
    ab_kube_access *access;
    ab_kube_raw *raw;
} ab_cluster_api;

typedef struct {
    int status;
    int64_t date_s; /* the server's clock, seconds since 1970; 0: it does not say */
    ab_buf body;
    bool over;
    ab_err code;
    ab_error err;
} ab_cluster_answer;

/** @param api  fini also after a failure @return CONFIG: says which credentials; NOMEM */
AB_MUST_USE ab_err ab_cluster_api_init(ab_cluster_api *api, const ab_config *config, ab_error *err);
void ab_cluster_api_fini(ab_cluster_api *api);
/**
 * Ask, and wait for the answer.
 * @param method  with PATCH the body is a merge patch
 * @param body    JSON; absent: none
 * @param out     `body` is owned by the caller: ab_cluster_answer_fini, also after a failure
 * @return as ab_kube_raw_request.on_over; TOOBIG; a status that is not a success is OK
 */
AB_MUST_USE ab_err ab_cluster_api_ask(ab_cluster_api *api, const char *method, const char *path,
                                      ab_str body, ab_cluster_answer *out);
void ab_cluster_answer_fini(ab_cluster_answer *a);
