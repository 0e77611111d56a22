/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends spans to a collector (OTLP/HTTP 1.x, binary protobuf), in batches, one request at a time.
 * Spans wait in a queue of a fixed length: when the collector is away or slow, the newest are
 * dropped and counted, and nothing waits for it. Loop thread; nothing blocks.
 */
#pragma once

#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "tracing/otlp.h"

#include <uv.h>

/* Spans that wait: at most 6 MiB. */
#define AB_EXPORTER_QUEUE_MAX 2048

typedef struct ab_exporter ab_exporter;

typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    const char *url; /* http or https; copied */
    ab_str ca;       /* PEM text; absent: the system's CAs. Copied */
    ab_str headers;  /* lines "Name: value", each sent with every request; absent: none. Copied */
    ab_otlp_resource resource; /* texts are borrowed */
} ab_exporter_env;

/** @return CONFIG: a line of headers is none: says which; more than 16 of them */
AB_MUST_USE ab_err ab_exporter_check_headers(ab_str headers, ab_error *err);
/** @return CONFIG: ca; or a line of headers that is none (says which); NOMEM */
AB_MUST_USE ab_err ab_exporter_new(const ab_exporter_env *env, ab_exporter **out, ab_error *err);
/** What waits is dropped. NULL is allowed. */
void ab_exporter_free(ab_exporter *x);
/** Queue a copy of a span, or count that it was dropped. */
void ab_exporter_put(ab_exporter *x, const ab_trace_span *span);
/** Time has passed: send what waits, unless a request is under way or it is too soon to try again.
 * To be called some times a second. */
void ab_exporter_tick(ab_exporter *x);
