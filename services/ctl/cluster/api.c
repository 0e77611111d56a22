/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/cluster/api.h"

#include <string.h>
#include <time.h>

#define ANSWER_MAX ((size_t)4 * 1024 * 1024)
#define TIMEOUT_MS 15000

ab_err ab_cluster_api_init(ab_cluster_api *api, const ab_config *config, ab_error *err)
{
    *api = (ab_cluster_api){0};
    if (uv_loop_init(&api->loop) != 0)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an event loop");
    ab_err e = ab_kube_access_new(&api->loop, config, NULL, &ab_clock_real, &api->access, err);
    return e == AB_ERR_OK ? ab_kube_raw_new(&api->loop, api->access, &api->raw, err) : e;
}

void ab_cluster_api_fini(ab_cluster_api *api)
{
    ab_kube_access_free(api->access);
    ab_kube_raw_free(api->raw);
    uv_run(&api->loop, UV_RUN_DEFAULT); /* handles close */
    uv_loop_close(&api->loop);
}

static int64_t read_date(ab_str text)
{
    struct tm parts = {0};
    char copy[64];
    if (text.len >= sizeof(copy))
        return 0;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &parts) == NULL ? 0
                                                                       : (int64_t)timegm(&parts);
}

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_cluster_answer *a = arg;
    a->status = status;
    for (size_t i = 0; i < count; i++)
        if (ab_str_is(fields[i].name, "date"))
            a->date_s = read_date(fields[i].value);
}

static void on_data(void *arg, ab_str piece)
{
    ab_cluster_answer *a = arg;
    ab_buf_put(&a->body, piece);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_cluster_answer *a = arg;
    a->over = true;
    a->code = code == AB_ERR_OK ? ab_buf_status(&a->body) : code;
    if (code != AB_ERR_OK && err != NULL)
        a->err = *err;
}

ab_err ab_cluster_api_ask(ab_cluster_api *api, const char *method, const char *path, ab_str body,
                          ab_cluster_answer *out)
{
    static const ab_http_field json = {{"content-type", 12}, {"application/json", 16}};
    static const ab_http_field merge = {{"content-type", 12}, {"application/merge-patch+json", 28}};
    *out = (ab_cluster_answer){0};
    ab_buf_init(&out->body, ANSWER_MAX);
    ab_kube_raw_request request = {.method = method,
                                   .path = path,
                                   .fields = strcmp(method, "PATCH") == 0 ? &merge : &json,
                                   .count = body.ptr == NULL ? 0 : 1,
                                   .body = body,
                                   .timeout_ms = TIMEOUT_MS,
                                   .on_head = on_head,
                                   .on_data = on_data,
                                   .on_over = on_over,
                                   .arg = out};
    if (ab_kube_raw_begin(api->raw, &request) == NULL)
        return ab_fail(&out->err, AB_ERR_NOMEM, "out of memory for a request");
    while (!out->over)
        uv_run(&api->loop, UV_RUN_ONCE);
    return out->code;
}

void ab_cluster_answer_fini(ab_cluster_answer *a)
{
    ab_buf_fini(&a->body);
}
