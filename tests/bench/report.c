/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

ab_bench_row ab_bench_row_new(const char *fmt, ...)
{
    ab_bench_row row = {
        .value = NAN, .limit = NAN, .p50_ms = NAN, .p99_ms = NAN, .cpu_s = NAN, .rss_kib = NAN};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(row.name, sizeof(row.name), fmt, args);
    va_end(args);
    return row;
}

static void json_number(const char *name, double value)
{
    if (isnan(value))
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%.3f", name, value);
}

static void print_json(const ab_bench_row *row)
{
    printf("{\"case\":\"%s\",\"unit\":", row->name);
    if (row->unit == NULL)
        printf("null");
    else
        printf("\"%s\"", row->unit);
    json_number("value", row->value);
    json_number("limit", row->limit);
    json_number("ratio", row->value / row->limit);
    json_number("p50_ms", row->p50_ms);
    json_number("p99_ms", row->p99_ms);
    json_number("cpu_s", row->cpu_s);
    json_number("rss_kib", row->rss_kib);
    printf("}\n");
}

static void text_number(int width, int digits, double value)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, digits, value);
}

static void print_text(const ab_bench_row *row)
{
    printf("%-32s %-10s", row->name, row->unit == NULL ? "-" : row->unit);
    text_number(10, 1, row->value);
    text_number(10, 1, row->limit);
    text_number(6, 2, row->value / row->limit);
    text_number(9, 2, row->p50_ms);
    text_number(9, 2, row->p99_ms);
    text_number(8, 2, row->cpu_s);
    text_number(9, 0, row->rss_kib);
    printf("\n");
}

void ab_bench_report_begin(ab_bench_format format)
{
    if (format == AB_BENCH_TEXT)
        printf("%-32s %-10s %10s %10s %6s %9s %9s %8s %9s\n", "case", "unit", "value", "limit",
               "ratio", "p50 ms", "p99 ms", "cpu s", "rss KiB");
    (void)fflush(stdout);
}

void ab_bench_report(ab_bench_format format, const ab_bench_row *row)
{
    if (format == AB_BENCH_JSON)
        print_json(row);
    else
        print_text(row);
    (void)fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

double ab_bench_quantile(double *values, size_t count, double share)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof(*values), by_value);
    size_t i = (size_t)(share * (double)count);
    return values[i < count ? i : count - 1];
}
