/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters, gauges and histograms, and their Prometheus text (exposition format 0.0.4). A family is
 * declared once with its help text; a series is one combination of label values. Loop thread only.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/list.h"

typedef struct ab_metrics ab_metrics;
typedef struct ab_metric ab_metric; /* one series */

typedef enum { AB_METRIC_COUNTER, AB_METRIC_GAUGE, AB_METRIC_HISTOGRAM } ab_metric_kind;

/** @return NULL when out of memory */
ab_metrics *ab_metrics_new(void);
void ab_metrics_free(ab_metrics *m);

/* A label pair; values are escaped when written. */
typedef struct {
    const char *name;
    ab_str value;
} ab_label;
#define AB_LABELS_MAX  4
#define AB_LABEL_AGENT "agent" /* the label that ab_metrics_drop_agent goes by */

/* Room for 10,000 agents with 30 series each. */
#define AB_METRICS_SERIES_MAX 300000u

/**
 * The series of family `name` with these labels, made at first use (counters start at 0 and show at
 * once). Keep the pointer: it stays valid until the series is dropped. Histograms have fixed
 * buckets for seconds, 0.001 to 60. Same name with another kind is a bug (asserted).
 *
 * @param name, help  string literals
 * @return NULL when out of memory or past AB_METRICS_SERIES_MAX series, which is counted
 * (argobus_metrics_dropped_total) and told (ab_metrics_on_full); all functions below accept NULL
 */
ab_metric *ab_metric_get(ab_metrics *m, ab_metric_kind kind, const char *name, const char *help,
                         const ab_label *labels, size_t count);
/** Counter or gauge. */
void ab_metric_add(ab_metric *s, double by);
/** Gauge. */
void ab_metric_set(ab_metric *s, double to);
/** Histogram. */
void ab_metric_observe(ab_metric *s, double seconds);
double ab_metric_value(const ab_metric *s);
/** Drop every series, in all families, with this value of the label "agent": the agent is gone. */
void ab_metrics_drop_agent(ab_metrics *m, ab_str agent);
#define AB_METRICS_RENDER_MAX 4
/** Called before each rendering, so that gauges can be brought up to date; for as long as `m`
 * lives, AB_METRICS_RENDER_MAX of them at most. */
void ab_metrics_on_render(ab_metrics *m, void (*fn)(void *arg), void *arg);
/** Called when a series is not made because there are as many as there may be; once, until some
 * were dropped. One at most is kept. */
void ab_metrics_on_full(ab_metrics *m, void (*fn)(void *arg), void *arg);
/* A rendering of everything, in portions; zero-initialised: not begun. */
typedef struct {
    ab_link link;                /* in the list of those begun */
    const struct family *family; /* the next to print, or that is being printed */
    ab_metric *series;           /* the next of that; NULL: it is not begun */
} ab_rendering;
/**
 * Append a portion of the Prometheus text, families in order of declaration. Between two portions
 * series may come and go: each shows the value that it has when it is printed, one that is dropped
 * does not show.
 *
 * @param bytes  the portion ends with the series that reaches this
 * @return whether there is more: call again, or end it with ab_rendering_fini. When `out` has
 * failed there is not
 */
bool ab_metrics_render(ab_metrics *m, ab_rendering *r, ab_buf *out, size_t bytes);
/** End a rendering before its end; also one that is not begun, or has ended. */
void ab_rendering_fini(ab_rendering *r);
