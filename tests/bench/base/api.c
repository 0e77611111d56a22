/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/api.h"

#include "tests/bench/base/payload.h"
#include "tests/bench/base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX  (64u * 1024 * 1024)
#define BODY_MAX    (256u * 1024)
#define REQUEST_MS  60000
#define LOAD_MS     300000
#define EMPTY_MS    120000
#define TICK_MS     100
#define PATH_ROOM   256
#define MERGE_PATCH "application/merge-patch+json"

static bool say(const ab_bench_api *a, const char *text)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", a->name, text);
    return false;
}

/* --- open and close --- */

static ab_err load_config(ab_bench_api *a, const char *kubeconfig, ab_error *err)
{
    ab_buf set;
    ab_buf_init(&set, BODY_MAX);
    ab_buf_printf(&set, "store.kubernetes.kubeconfig=%s", kubeconfig);
    if (ab_buf_status(&set) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    const char *const sets[] = {set.ptr};
    const ab_config_sources sources = {.set = sets, .set_count = 1};
    ab_err code = ab_config_load(&ab_kube_access_options, 1, &sources, &a->config, err);
    ab_buf_fini(&set);
    return code;
}

static ab_err connect_to(ab_bench_api *a, ab_error *err)
{
    a->metrics = ab_metrics_new();
    if (a->metrics == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err code = ab_log_new(STDERR_FILENO, "error", AB_LOG_TEXT, &ab_clock_real, &a->log, err);
    if (code == AB_ERR_OK)
        code = ab_kube_access_new(a->loop, a->config, a->log, &ab_clock_real, &a->access, err);
    if (code != AB_ERR_OK)
        return code;
    const ab_kube_client_env env = {.loop = a->loop,
                                    .access = a->access,
                                    .log = a->log,
                                    .metrics = a->metrics,
                                    .body_max = ANSWER_MAX};
    return ab_kube_client_new(&env, &a->client, err);
}

bool ab_bench_api_open(ab_bench_api *a, uv_loop_t *loop, const char *name, const char *kubeconfig)
{
    ab_error err = {0};
    *a = (ab_bench_api){.name = name, .loop = loop};
    if (load_config(a, kubeconfig, &err) != AB_ERR_OK || connect_to(a, &err) != AB_ERR_OK)
        return say(a, err.text);
    return true;
}

void ab_bench_api_close(ab_bench_api *a)
{
    ab_kube_client_free(a->client);
    ab_kube_access_free(a->access);
    ab_log_free(a->log);
    ab_metrics_free(a->metrics);
    ab_config_free(a->config);
    *a = (ab_bench_api){0};
}

/* --- waiting --- */

/* It only wakes the loop. */
static void on_tick(uv_timer_t *tick)
{
    (void)tick;
}

bool ab_bench_until(uv_loop_t *loop, bool (*done)(const void *arg), const void *arg, int timeout_ms)
{
    uv_timer_t tick;
    int64_t end = ab_bench_now_ns() + timeout_ms * 1000000LL;
    (void)uv_timer_init(loop, &tick);
    (void)uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS);
    while (!done(arg) && ab_bench_now_ns() < end)
        (void)uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&tick, NULL);
    (void)uv_run(loop, UV_RUN_NOWAIT); /* which closes it */
    return done(arg);
}

/* --- one request --- */

typedef struct {
    ab_bench_api *api;
    ab_buf *out;
    ab_err code;
    bool done;
} single;

static void on_single(void *arg, const ab_kube_answer *answer)
{
    single *s = arg;
    s->done = true;
    s->code = answer->code;
    if (s->code == AB_ERR_OK && s->out != NULL)
        ab_buf_put(s->out, answer->body);
    else if (s->code != AB_ERR_OK && s->code != AB_ERR_NOTFOUND && s->code != AB_ERR_EXISTS)
        (void)say(s->api, answer->err->text);
}

static bool single_done(const void *arg)
{
    const single *s = arg;
    return s->done;
}

ab_err ab_bench_api_call(ab_bench_api *a, const char *method, const char *path, ab_str body,
                         ab_buf *out)
{
    single s = {.api = a, .out = out, .code = AB_ERR_NOMEM};
    const ab_kube_request request = {.what = path,
                                     .method = method,
                                     .path = path,
                                     .type = body.ptr == NULL ? NULL : "application/json",
                                     .body = body,
                                     .timeout_ms = REQUEST_MS,
                                     .done = on_single,
                                     .arg = &s};
    ab_kube_call *call = ab_kube_send(a->client, &request);
    if (call == NULL || !ab_bench_until(a->loop, single_done, &s, REQUEST_MS + 1000)) {
        (void)say(a, "a request could not be sent, or did not end");
        if (call != NULL)
            ab_kube_cancel(call);
        return AB_ERR_TIMEOUT;
    }
    return out != NULL && s.code == AB_ERR_OK ? ab_buf_status(out) : s.code;
}

/* --- a namespace --- */

static bool have_namespace(ab_bench_api *a, const char *namespace)
{
    char body[PATH_ROOM];
    (void)snprintf(body, sizeof(body),
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                   namespace);
    ab_err code = ab_bench_api_call(a, "POST", "/api/v1/namespaces", ab_str_of(body), NULL);
    return code == AB_ERR_OK || code == AB_ERR_EXISTS;
}

static bool is_empty(ab_bench_api *a, const char *path, bool *empty)
{
    static const char none[] = "\"items\":[]";
    char first[PATH_ROOM];
    ab_buf out;
    ab_buf_init(&out, ANSWER_MAX);
    (void)snprintf(first, sizeof(first), "%s?limit=1", path);
    bool ok = ab_bench_api_call(a, "GET", first, AB_STR_NONE, &out) == AB_ERR_OK;
    *empty = ok && strstr(out.ptr, none) != NULL;
    ab_buf_fini(&out);
    return ok;
}

bool ab_bench_api_empty(ab_bench_api *a, const char *namespace)
{
    char path[PATH_ROOM];
    bool empty = false;
    int64_t end = ab_bench_now_ns() + EMPTY_MS * 1000000LL;
    (void)snprintf(path, sizeof(path), "/apis/argoproj.io/v1alpha1/namespaces/%s/applications",
                   namespace);
    if (!have_namespace(a, namespace))
        return say(a, "cannot make a namespace");
    while (is_empty(a, path, &empty) && !empty && ab_bench_now_ns() < end) {
        if (ab_bench_api_call(a, "DELETE", path, AB_STR_NONE, NULL) != AB_ERR_OK)
            break;
        ab_bench_pause(TICK_MS);
    }
    return empty ? true : say(a, "the Applications of an earlier case do not go");
}

/* --- what the server counts --- */

static bool has(const char *line, size_t len, const char *text)
{
    return memmem(line, len, text, strlen(text)) != NULL;
}

static void take_line(const char *line, size_t len, ab_bench_api_count *out)
{
    static const char requests[] = "apiserver_request_total{";
    static const char cpu[] = "process_cpu_seconds_total ";
    const char *space = memrchr(line, ' ', len);
    double value = space == NULL ? 0 : strtod(space, NULL);
    if (len > sizeof(cpu) && memcmp(line, cpu, sizeof(cpu) - 1) == 0)
        out->cpu_s = value;
    if (len < sizeof(requests) || memcmp(line, requests, sizeof(requests) - 1) != 0 ||
        !has(line, len, "resource=\"applications\""))
        return;
    if (has(line, len, "verb=\"GET\""))
        out->reads += value;
    else if (has(line, len, "verb=\"LIST\""))
        out->lists += value;
    else if (!has(line, len, "verb=\"WATCH\""))
        out->writes += value;
}

bool ab_bench_api_counts(ab_bench_api *a, ab_bench_api_count *out)
{
    ab_buf text;
    ab_buf_init(&text, ANSWER_MAX);
    *out = (ab_bench_api_count){0};
    bool ok = ab_bench_api_call(a, "GET", "/metrics", AB_STR_NONE, &text) == AB_ERR_OK;
    const char *end = text.ptr + text.len;
    for (const char *line = text.ptr; ok && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop == NULL ? end : stop;
        take_line(line, (size_t)(stop - line), out);
        line = stop + 1;
    }
    ab_buf_fini(&text);
    return ok;
}

/* --- many requests --- */

/* About what Argo CD says of a small Application that is synced and healthy. */
static void put_status(ab_buf *out, unsigned number)
{
    static const char *const kinds[] = {"ConfigMap", "Service", "ServiceAccount", "Deployment"};
    ab_buf_printf(out,
                  "{\"status\":{\"health\":{\"status\":\"Healthy\"},\"reconciledAt\":"
                  "\"2026-01-01T00:00:00Z\",\"sourceType\":\"Helm\",\"summary\":{\"images\":"
                  "[\"registry.example.com/app:%u\"]},\"sync\":{\"revision\":\"%040x\","
                  "\"status\":\"Synced\"},\"resources\":[",
                  number, number);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        ab_buf_printf(out,
                      "%s{\"kind\":\"%s\",\"name\":\"app\",\"namespace\":\"team\",\"status\":"
                      "\"Synced\",\"version\":\"v1\",\"health\":{\"status\":\"Healthy\"}}",
                      i == 0 ? "" : ",", kinds[i]);
    ab_buf_puts(out, "]}}");
}

static void put_body(const ab_bench_load *l, size_t i, ab_buf *out)
{
    if (l->verb == AB_BENCH_CREATE)
        ab_bench_application(out, i, l->number, l->bytes);
    else if (l->verb == AB_BENCH_CHANGE)
        ab_buf_printf(out, "{\"spec\":{\"source\":{\"targetRevision\":\"v1.0.%u\"}}}", l->number);
    else if (l->verb == AB_BENCH_STATUS)
        put_status(out, l->number);
}

static void begin_next(ab_bench_load *l);

static void on_answer(void *arg, const ab_kube_answer *answer)
{
    ab_bench_load *l = arg;
    if (answer->code != AB_ERR_OK && l->failed++ == 0)
        (void)say(l->api, answer->err->text);
    l->ended++;
    begin_next(l);
}

static ab_kube_call *send_one(ab_bench_load *l, size_t i, ab_str body)
{
    static const char *const methods[] = {"POST", "PATCH", "PATCH", "DELETE"};
    static const char *const types[] = {"application/json", MERGE_PATCH, MERGE_PATCH, NULL};
    char path[PATH_ROOM];
    char name[32] = "";
    if (l->verb != AB_BENCH_CREATE)
        (void)snprintf(name, sizeof(name), "/app-%zu", i);
    (void)snprintf(path, sizeof(path), "/apis/argoproj.io/v1alpha1/namespaces/%s/applications%s",
                   l->namespace, name);
    const ab_kube_request request = {.what = path,
                                     .method = methods[l->verb],
                                     .path = path,
                                     .type = types[l->verb],
                                     .body = body,
                                     .timeout_ms = REQUEST_MS,
                                     .done = on_answer,
                                     .arg = l};
    return ab_kube_send(l->api->client, &request);
}

static void begin_next(ab_bench_load *l)
{
    ab_buf body;
    if (l->begun == l->count)
        return;
    size_t i = l->first + l->begun++;
    ab_buf_init(&body, BODY_MAX);
    put_body(l, i, &body);
    bool ok = ab_buf_status(&body) == AB_ERR_OK &&
              send_one(l, i, body.len == 0 ? AB_STR_NONE : ab_buf_str(&body)) != NULL;
    ab_buf_fini(&body);
    if (ok)
        return;
    l->failed++;
    l->ended++;
}

typedef struct {
    const ab_bench_load *loads;
    size_t count;
} all_loads;

static bool loads_done(const void *arg)
{
    const all_loads *a = arg;
    for (size_t i = 0; i < a->count; i++)
        if (a->loads[i].ended < a->loads[i].count)
            return false;
    return true;
}

bool ab_bench_load_run(ab_bench_load *loads, size_t count)
{
    const all_loads all = {loads, count};
    size_t failed = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < loads[i].at_once; k++)
            begin_next(&loads[i]);
    if (!ab_bench_until(loads[0].api->loop, loads_done, &all, LOAD_MS))
        return say(loads[0].api, "requests do not end");
    for (size_t i = 0; i < count; i++)
        failed += loads[i].failed;
    return failed == 0;
}
