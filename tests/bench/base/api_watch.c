/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/api_watch.h"

#include "tests/bench/base/process.h"
#include "tests/bench/base/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_MAX (4u * 1024 * 1024)
#define LIST_MS   60000
#define PATH_ROOM 256

static bool say(const ab_bench_view *v, const char *text)
{
    fprintf(stderr, "argobus-bench: watch at %s: %s\n", v->api->name, text);
    return false;
}

/* The number that follows `before` in a string; 0 when it is another string. */
static unsigned number_of(ab_spanv text, const char *before, int base)
{
    char copy[64];
    ab_str s = ab_span_plain(text);
    size_t skip = strlen(before);
    if (s.ptr == NULL || s.len >= sizeof(copy) || !ab_str_starts(s, before))
        return 0;
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return (unsigned)strtoul(copy + skip, NULL, base);
}

static ab_err take_application(ab_bench_view *v, ab_spanv object, bool exists)
{
    int64_t now = ab_bench_now_ns();
    ab_str name = ab_span_plain(ab_span_path(object, "metadata", "name", NULL));
    uint64_t i = 0;
    if (!ab_str_starts(name, "app-") ||
        ab_str_to_u64((ab_str){name.ptr + 4, name.len - 4}, &i) != AB_ERR_OK || i >= v->count)
        return AB_ERR_INVALID;
    ab_bench_app *app = &v->apps[i];
    ab_bench_app seen = {
        .exists = exists,
        .revision =
            number_of(ab_span_path(object, "spec", "source", "targetRevision", NULL), "v1.0.", 10),
        .status = number_of(ab_span_path(object, "status", "sync", "revision", NULL), "", 16),
        .at_ns = now};
    if (app->exists != seen.exists || app->revision != seen.revision || app->status != seen.status)
        *app = seen;
    return AB_ERR_OK;
}

static ab_err take_event(ab_bench_view *v, ab_spanv event)
{
    ab_spanv type = ab_span_get(event, "type");
    ab_spanv object = ab_span_get(event, "object");
    if (ab_span_is(type, "ERROR"))
        return AB_ERR_INVALID;
    (void)snprintf(
        v->version, sizeof(v->version), "%.*s",
        AB_STR_ARG(ab_span_plain(ab_span_path(object, "metadata", "resourceVersion", NULL))));
    /* Others than the one that ends the list come later; they mean nothing here. */
    if (!ab_span_is(type, "BOOKMARK"))
        return take_application(v, object, !ab_span_is(type, "DELETED"));
    v->listed = v->listed || ab_span_present(ab_span_path(object, "metadata", "annotations",
                                                          "k8s.io/initial-events-end", NULL));
    return AB_ERR_OK;
}

static ab_err on_event(void *arg, ab_str text)
{
    ab_bench_view *v = arg;
    ab_span *doc = NULL;
    ab_error err = {0};
    ab_err code = ab_span_parse(text, &doc, &err);
    if (code == AB_ERR_OK)
        code = take_event(v, ab_span_root(doc));
    if (code != AB_ERR_OK)
        fprintf(stderr, "argobus-bench: an event that cannot be used: %.*s\n",
                text.len > 300 ? 300 : (int)text.len, text.ptr);
    ab_span_free(doc);
    return code;
}

/* From the beginning when nothing was seen yet. */
static void put_path(const ab_bench_view *v, char out[PATH_ROOM])
{
    static const char whole[] = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    (void)snprintf(out, PATH_ROOM,
                   "/apis/argoproj.io/v1alpha1/namespaces/%s/applications?watch=1"
                   "&allowWatchBookmarks=true&timeoutSeconds=3600%s%s",
                   v->namespace, v->listed ? "&resourceVersion=" : whole,
                   v->listed ? v->version : "");
}

static void on_end(void *arg, const ab_kube_answer *answer);

static bool begin(ab_bench_view *v)
{
    char path[PATH_ROOM];
    const ab_kube_stream_env env = {
        .shape = AB_KUBE_WATCH, .object_max = EVENT_MAX, .on_value = on_event, .arg = v};
    ab_kube_stream_free(v->stream);
    v->stream = ab_kube_stream_new(&env);
    if (v->stream == NULL)
        return say(v, "out of memory");
    put_path(v, path);
    const ab_kube_request request = {.what = "Applications",
                                     .method = "GET",
                                     .path = path,
                                     .stream = v->stream,
                                     .done = on_end,
                                     .arg = v};
    v->call = ab_kube_send(v->api->client, &request);
    return v->call != NULL ? true : say(v, "out of memory");
}

static void on_end(void *arg, const ab_kube_answer *answer)
{
    ab_bench_view *v = arg;
    v->call = NULL;
    v->failed = answer->code != AB_ERR_OK || !v->listed || !begin(v);
    if (answer->code != AB_ERR_OK)
        (void)say(v, answer->err->text);
}

static bool is_listed(const void *arg)
{
    const ab_bench_view *v = arg;
    return v->listed || v->failed;
}

bool ab_bench_view_open(ab_bench_view *v, ab_bench_api *api, const char *namespace, size_t count)
{
    *v = (ab_bench_view){.api = api, .count = count, .namespace = namespace};
    v->apps = calloc(count, sizeof(*v->apps));
    if (v->apps == NULL)
        return say(v, "out of memory");
    return begin(v) && ab_bench_until(api->loop, is_listed, v, LIST_MS) && !v->failed
               ? true
               : say(v, "it does not begin");
}

void ab_bench_view_close(ab_bench_view *v)
{
    if (v->call != NULL)
        ab_kube_cancel(v->call);
    ab_kube_stream_free(v->stream);
    free(v->apps);
    *v = (ab_bench_view){0};
}

static bool is_so(const ab_bench_app *app, const ab_bench_want *want)
{
    if (want->gone || !app->exists)
        return want->gone && !app->exists;
    return (want->revision == 0 || want->revision == app->revision) &&
           (want->status == 0 || want->status == app->status);
}

size_t ab_bench_view_count(const ab_bench_view *v, const ab_bench_want *want)
{
    size_t found = 0;
    for (size_t i = want->first; i < want->first + want->count; i++)
        found += is_so(&v->apps[i], want);
    return found;
}

ab_bench_times ab_bench_view_times(const ab_bench_view *v, size_t count, int64_t begun_ns)
{
    double *ms = calloc(count, sizeof(*ms));
    ab_bench_times out = {NAN, NAN, NAN};
    if (ms == NULL)
        return out;
    for (size_t i = 0; i < count; i++)
        ms[i] = (double)(v->apps[i].at_ns - begun_ns) / 1e6;
    out.seconds = ab_bench_quantile(ms, count, 1) / 1e3;
    out.p50_ms = ab_bench_quantile(ms, count, 0.5);
    out.p99_ms = ab_bench_quantile(ms, count, 0.99);
    free(ms);
    return out;
}

typedef struct {
    const ab_bench_view *view;
    const ab_bench_want *want;
} waited;

static bool has_come(const void *arg)
{
    const waited *w = arg;
    return w->view->failed || ab_bench_view_count(w->view, w->want) == w->want->count;
}

bool ab_bench_view_wait(const ab_bench_view *v, const ab_bench_want *want, int timeout_ms)
{
    const waited w = {v, want};
    if (ab_bench_until(v->api->loop, has_come, &w, timeout_ms) && !v->failed)
        return true;
    fprintf(stderr, "argobus-bench: at %s %zu of %zu Applications are as they should be\n",
            v->api->name, ab_bench_view_count(v, want), want->count);
    return false;
}
