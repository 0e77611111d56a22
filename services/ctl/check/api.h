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
} ab_check_api;

typedef struct {
    int status;
    int64_t date_s; /* the server's clock, seconds since 1970; 0: it does not say */
    ab_buf body;
    bool over;
    ab_err code;
    ab_error err;
} ab_check_answer;

/** @param api  fini also after a failure @return CONFIG: says which credentials; NOMEM */
AB_MUST_USE ab_err ab_check_api_init(ab_check_api *api, const ab_config *config, ab_error *err);
void ab_check_api_fini(ab_check_api *api);
/**
 * Ask, and wait for the answer.
 * @param body  JSON; absent: none
 * @param out   `body` is owned by the caller: ab_check_answer_fini, also after a failure
 * @return as ab_kube_raw_request.on_over; TOOBIG; a status that is not a success is OK
 */
AB_MUST_USE ab_err ab_check_api_ask(ab_check_api *api, const char *method, const char *path,
                                    ab_str body, ab_check_answer *out);
void ab_check_answer_fini(ab_check_answer *a);
