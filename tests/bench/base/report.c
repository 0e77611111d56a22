/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/report.h"

#include "base/json/document.h"

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

static bool add_number(cJSON *doc, const char *name, double value)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%.3f", value);
    return cJSON_AddRawToObject(doc, name, isnan(value) ? "null" : text) != NULL;
}

static void print_json(const ab_bench_row *row)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    cJSON *doc = cJSON_CreateObject();
    bool complete =
        ab_doc_add_str(doc, "case", ab_str_of(row->name)) &&
        (row->unit == NULL ? cJSON_AddNullToObject(doc, "unit") != NULL
                           : ab_doc_add_str(doc, "unit", ab_str_of(row->unit))) &&
        add_number(doc, "value", row->value) && add_number(doc, "limit", row->limit) &&
        add_number(doc, "ratio", row->value / row->limit) &&
        add_number(doc, "p50_ms", row->p50_ms) && add_number(doc, "p99_ms", row->p99_ms) &&
        add_number(doc, "cpu_s", row->cpu_s) && add_number(doc, "rss_kib", row->rss_kib);
    if (ab_doc_finish(doc, complete, &out) == AB_ERR_OK)
        puts(out.ptr);
    ab_buf_fini(&out);
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
