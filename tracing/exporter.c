/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/exporter.h"

#include "base/core/clock.h"
#include "base/core/text_lines.h"
#include "net/http/client.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX      512
#define BODY_MAX       (4u * 1024 * 1024)
#define TIMEOUT_MS     10000
#define FIRST_RETRY_MS 1000
#define MAX_RETRY_MS   30000
#define HEADERS_MAX    16

struct ab_exporter {
    ab_exporter_env env;
    char *url;
    char *headers[HEADERS_MAX];         /* the operator's; NULL behind the last */
    const char *lines[HEADERS_MAX + 2]; /* these, the content type, and NULL */
    ab_http *http;
    ab_http_call *call; /* NULL: none is under way */
    ab_link queue;      /* of ab_trace_span, the oldest first */
    size_t count;
    size_t sending; /* the first so many are on their way */
    ab_backoff backoff;
    int64_t retry_at; /* mono_ms; 0: at once */
    bool failing;     /* the last request failed */
    ab_metric *exported, *dropped;
};

/* --- making --- */

ab_err ab_exporter_check_headers(ab_str headers, ab_error *err)
{
    ab_text_lines lines = {headers, 0};
    ab_str line;
    size_t count = 0;
    while (ab_text_lines_next(&lines, &line)) {
        const char *colon = line.len == 0 ? NULL : memchr(line.ptr, ':', line.len);
        if (line.len > 0 && (colon == NULL || colon == line.ptr))
            return ab_fail(err, AB_ERR_CONFIG, "line %zu is not of the form Name: value",
                           lines.number);
        count += line.len > 0;
    }
    if (count > HEADERS_MAX)
        return ab_fail(err, AB_ERR_CONFIG, "%zu headers: at most %d are allowed", count,
                       HEADERS_MAX);
    return AB_ERR_OK;
}

static ab_err take_headers(ab_exporter *x, ab_error *err)
{
    ab_text_lines lines = {x->env.headers, 0};
    ab_str line;
    size_t count = 0;
    ab_err e = ab_exporter_check_headers(x->env.headers, err);
    while (e == AB_ERR_OK && ab_text_lines_next(&lines, &line)) {
        if (line.len == 0)
            continue;
        x->headers[count] = ab_str_dup(line);
        if (x->headers[count++] == NULL)
            e = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++)
        x->lines[i] = x->headers[i];
    x->lines[count] = "Content-Type: application/x-protobuf";
    return e;
}

static ab_err make(ab_exporter *x, ab_error *err)
{
    ab_http_options options = {.ca = x->env.ca, .agent = "argobus/" AB_VERSION};
    x->url = ab_str_dup(ab_str_of(x->env.url));
    if (x->url == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = take_headers(x, err);
    if (e != AB_ERR_OK)
        return e;
    x->exported =
        ab_metric_get(x->env.metrics, AB_METRIC_COUNTER, "argobus_trace_spans_exported_total",
                      "Spans of traces that the collector has taken.", NULL, 0);
    x->dropped =
        ab_metric_get(x->env.metrics, AB_METRIC_COUNTER, "argobus_trace_spans_dropped_total",
                      "Spans of traces that were lost: the collector was away or too slow, "
                      "or has refused them.",
                      NULL, 0);
    return ab_http_new(x->env.loop, &options, &x->http, err);
}

ab_err ab_exporter_new(const ab_exporter_env *env, ab_exporter **out, ab_error *err)
{
    ab_exporter *x = calloc(1, sizeof(*x));
    if (x == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    x->env = *env;
    ab_link_init(&x->queue);
    ab_backoff_init(&x->backoff, FIRST_RETRY_MS, MAX_RETRY_MS);
    ab_err e = make(x, err);
    if (e != AB_ERR_OK) {
        ab_exporter_free(x);
        return e;
    }
    *out = x;
    return AB_ERR_OK;
}

/* The first of the queue are over. */
static void discard(ab_exporter *x, size_t count, ab_metric *counted)
{
    for (size_t i = 0; i < count; i++)
        free(AB_LINK_OF(ab_list_pop(&x->queue), ab_trace_span, link));
    x->count -= count;
    ab_metric_add(counted, (double)count);
}

static void wipe(char *text)
{
    if (text != NULL)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

void ab_exporter_free(ab_exporter *x)
{
    if (x == NULL)
        return;
    ab_http_free(x->http);
    discard(x, x->count, x->dropped);
    for (size_t i = 0; i < HEADERS_MAX; i++)
        wipe(x->headers[i]);
    free(x->url);
    free(x);
}

/* --- sending --- */

static bool is_worth_retrying(const ab_http_result *result)
{
    if (result->code != AB_ERR_OK)
        return true;
    return result->status == 429 || result->status == 502 || result->status == 503 ||
           result->status == 504;
}

static void tell_failure(ab_exporter *x, const ab_http_result *result, bool retry)
{
    const char *why = result->code == AB_ERR_OK || result->err == NULL
                          ? "the collector refuses them"
                          : result->err->text;
    if (!x->failing)
        AB_WARN(x->env.log, MAIN, "traces cannot be exported", AB_KV("endpoint", x->url),
                AB_KV("status", (int64_t)result->status), AB_KV("why", why),
                AB_KV("next", retry ? "tried again" : "dropped"));
    x->failing = true;
}

static void tell_success(ab_exporter *x)
{
    if (x->failing)
        AB_INFO(x->env.log, MAIN, "traces are exported again", AB_KV("endpoint", x->url));
    x->failing = false;
}

static void on_done(void *arg, const ab_http_result *result)
{
    ab_exporter *x = arg;
    bool taken = result->code == AB_ERR_OK && result->status / 100 == 2;
    bool retry = !taken && is_worth_retrying(result);
    size_t count = x->sending;
    x->call = NULL;
    x->sending = 0;
    if (taken)
        tell_success(x);
    else
        tell_failure(x, result, retry);
    if (retry) {
        int64_t wait = ab_backoff_next(&x->backoff);
        if (result->retry_after_ms > wait)
            wait = result->retry_after_ms;
        x->retry_at = ab_clock_mono_ms(x->env.clock) + wait;
        return;
    }
    ab_backoff_reset(&x->backoff);
    discard(x, count, taken ? x->exported : x->dropped);
    if (x->count >= BATCH_MAX)
        ab_exporter_tick(x);
}

static void send_batch(ab_exporter *x)
{
    size_t count = x->count < BATCH_MAX ? x->count : BATCH_MAX;
    ab_buf body = ab_buf_up_to(BODY_MAX);
    if (ab_otlp_write(&x->env.resource, &x->queue, count, &body) == AB_ERR_OK)
        x->call = ab_http_start(x->http, &(ab_http_request){.method = "POST",
                                                            .url = x->url,
                                                            .headers = x->lines,
                                                            .body = ab_buf_str(&body),
                                                            .timeout_ms = TIMEOUT_MS,
                                                            .on_done = on_done,
                                                            .arg = x});
    ab_buf_fini(&body);
    if (x->call != NULL)
        x->sending = count;
}

void ab_exporter_tick(ab_exporter *x)
{
    if (x->count > 0 && x->call == NULL && ab_clock_mono_ms(x->env.clock) >= x->retry_at)
        send_batch(x);
}

void ab_exporter_put(ab_exporter *x, const ab_trace_span *span)
{
    ab_trace_span *copy = x->count < AB_EXPORTER_QUEUE_MAX ? ab_trace_span_copy(span) : NULL;
    if (copy == NULL) {
        ab_metric_add(x->dropped, 1);
        return;
    }
    ab_list_append(&x->queue, &copy->link);
    x->count++;
}
