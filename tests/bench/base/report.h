/* SPDX-License-Identifier: Apache-2.0
 *
 * What is measured, as lines for people or as JSON objects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One line. NAN where a figure does not apply; docs/benchmark.md says what each means. */
typedef struct {
    char name[64];
    const char *unit; /* of value and limit; NULL when there is no value */
    double value;
    double limit;
    double p50_ms;
    double p99_ms;
    double cpu_s;
    double rss_kib;
} ab_bench_row;

/** A row without figures. @param name  printf-like, at most 63 characters */
ab_bench_row ab_bench_row_new(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

typedef enum { AB_BENCH_TEXT, AB_BENCH_JSON } ab_bench_format;

/** The heading of the text form. */
void ab_bench_report_begin(ab_bench_format format);
/** Print one row on stdout at once. */
void ab_bench_report(ab_bench_format format, const ab_bench_row *row);

/** The share-th smallest of `values`, which are sorted by this; share 0.5 is the median. */
double ab_bench_quantile(double *values, size_t count, double share);
