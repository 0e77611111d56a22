/* SPDX-License-Identifier: Apache-2.0
 *
 * A family holds its series in a map by the text of their labels as it will be printed: finding a
 * series is one look-up, and printing one is a copy.
 */
#include "base/observe/metrics.h"

#include "base/core/map.h"
#include "base/core/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_BYTES (16u * 1024)

static const double bucket_bounds[] = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                       0.5,   1,     2.5,  5,     10,   30,  60};
#define BUCKET_COUNT (sizeof(bucket_bounds) / sizeof(bucket_bounds[0]))

struct ab_metric {
    ab_metric_kind kind;
    double value;     /* counter, gauge; histogram: the sum */
    uint64_t count;   /* histogram: observations */
    uint64_t *bucket; /* histogram: observations per bucket, not cumulated */
};

typedef struct family {
    const char *name;
    const char *help;
    ab_metric_kind kind;
    ab_map *series; /* by label text */
    struct family *next;
} family;

struct ab_metrics {
    ab_map *families; /* by name */
    family *first;
    family **last;
    size_t series_count;
    bool full; /* and it was told */
    void (*on_full)(void *arg);
    void *on_full_arg;
    ab_buf key; /* label text of the series being looked up */
    struct {
        void (*fn)(void *arg);
        void *arg;
    } on_render[AB_METRICS_RENDER_MAX];
    size_t on_render_count;
};

static void free_series(void *p)
{
    ab_metric *s = p;
    free(s->bucket);
    free(s);
}

static void free_family(void *p)
{
    family *f = p;
    ab_map_free(f->series, free_series);
    free(f);
}

ab_metrics *ab_metrics_new(void)
{
    ab_metrics *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->last = &m->first;
    ab_buf_init(&m->key, LABELS_BYTES);
    m->families = ab_map_new();
    if (m->families == NULL) {
        free(m);
        return NULL;
    }
    return m;
}

void ab_metrics_free(ab_metrics *m)
{
    if (m == NULL)
        return;
    ab_map_free(m->families, free_family);
    ab_buf_fini(&m->key);
    free(m);
}

static void put_label_value(ab_buf *b, ab_str v)
{
    for (size_t i = 0; i < v.len;) {
        size_t len = ab_utf8_length((ab_str){v.ptr + i, v.len - i});
        if (len == 0)
            ab_buf_puts(b, "\xef\xbf\xbd"); /* one bad byte would void the whole scrape */
        else if (v.ptr[i] == '\\' || v.ptr[i] == '"')
            ab_buf_printf(b, "\\%c", v.ptr[i]);
        else if (v.ptr[i] == '\n')
            ab_buf_puts(b, "\\n");
        else
            ab_buf_put(b, (ab_str){v.ptr + i, len});
        i += len == 0 ? 1 : len;
    }
}

static void put_label(ab_buf *b, const char *name, ab_str value)
{
    ab_buf_printf(b, "%s=\"", name);
    put_label_value(b, value);
    ab_buf_putc(b, '"');
}

static family *add_family(ab_metrics *m, ab_metric_kind kind, const char *name, const char *help)
{
    family *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    *f = (family){.name = name, .help = help, .kind = kind, .series = ab_map_new()};
    if (f->series == NULL || ab_map_put(m->families, ab_str_of(name), f, NULL) != AB_ERR_OK) {
        free_family(f);
        return NULL;
    }
    *m->last = f;
    m->last = &f->next;
    return f;
}

static ab_metric *make_series(ab_metrics *m, family *f, ab_str key)
{
    ab_metric *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->kind = f->kind;
    if (f->kind == AB_METRIC_HISTOGRAM)
        s->bucket = calloc(BUCKET_COUNT, sizeof(*s->bucket));
    bool whole = f->kind != AB_METRIC_HISTOGRAM || s->bucket != NULL;
    if (!whole || ab_map_put(f->series, key, s, NULL) != AB_ERR_OK) {
        free_series(s);
        return NULL;
    }
    m->series_count++;
    return s;
}

/* The one series that is made beyond the limit. */
static void count_dropped(ab_metrics *m)
{
    family *f = ab_map_find(m->families, AB_STR("argobus_metrics_dropped_total"));
    if (f == NULL)
        f = add_family(m, AB_METRIC_COUNTER, "argobus_metrics_dropped_total",
                       "Series that are not exported, because there are too many.");
    ab_metric *s = f == NULL ? NULL : ab_map_find(f->series, AB_STR(""));
    if (s == NULL && f != NULL && (s = make_series(m, f, AB_STR(""))) != NULL)
        m->series_count--; /* it takes the place of none */
    ab_metric_add(s, 1);
    if (!m->full && m->on_full != NULL)
        m->on_full(m->on_full_arg);
    m->full = true;
}

static ab_metric *add_series(ab_metrics *m, family *f, ab_str key)
{
    if (m->series_count < AB_METRICS_SERIES_MAX)
        return make_series(m, f, key);
    count_dropped(m);
    return NULL;
}

ab_metric *ab_metric_get(ab_metrics *m, ab_metric_kind kind, const char *name, const char *help,
                         const ab_label *labels, size_t count)
{
    if (m == NULL)
        return NULL;
    assert(count <= AB_LABELS_MAX);
    family *f = ab_map_find(m->families, ab_str_of(name));
    if (f == NULL)
        f = add_family(m, kind, name, help);
    if (f == NULL)
        return NULL;
    assert(f->kind == kind);
    ab_buf_clear(&m->key);
    for (size_t i = 0; i < count; i++) {
        ab_buf_puts(&m->key, i == 0 ? "" : ",");
        put_label(&m->key, labels[i].name, labels[i].value);
    }
    if (ab_buf_status(&m->key) != AB_ERR_OK)
        return NULL;
    ab_metric *s = ab_map_find(f->series, ab_buf_str(&m->key));
    return s != NULL ? s : add_series(m, f, ab_buf_str(&m->key));
}

void ab_metric_add(ab_metric *s, double by)
{
    if (s == NULL)
        return;
    assert(s->kind == AB_METRIC_GAUGE || (s->kind == AB_METRIC_COUNTER && by >= 0));
    s->value += by;
}

void ab_metric_set(ab_metric *s, double to)
{
    if (s == NULL)
        return;
    assert(s->kind == AB_METRIC_GAUGE);
    s->value = to;
}

void ab_metric_observe(ab_metric *s, double seconds)
{
    if (s == NULL)
        return;
    assert(s->kind == AB_METRIC_HISTOGRAM);
    s->value += seconds;
    s->count++;
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        if (seconds <= bucket_bounds[i]) {
            s->bucket[i]++;
            return;
        }
    }
}

double ab_metric_value(const ab_metric *s)
{
    return s == NULL ? 0 : s->value;
}

/* Quotes inside values are escaped, so name="value" stands in a label text only as a label. */
static bool has_label(ab_str labels, ab_str pair)
{
    const char *at = labels.ptr;
    const char *end = labels.ptr + labels.len;
    while ((at = memmem(at, (size_t)(end - at), pair.ptr, pair.len)) != NULL) {
        if (at == labels.ptr || at[-1] == ',')
            return true;
        at++;
    }
    return false;
}

static void drop_from_family(ab_metrics *m, family *f, ab_str pair)
{
    for (ab_map_iter i = ab_map_first(f->series); i.entry != NULL; ab_map_next(&i)) {
        if (has_label(i.key, pair)) {
            free_series(ab_map_take(f->series, i.key));
            m->series_count--;
        }
    }
}

void ab_metrics_drop(ab_metrics *m, const char *label, ab_str value)
{
    ab_buf pair;
    ab_buf_init(&pair, LABELS_BYTES);
    put_label(&pair, label, value);
    if (ab_buf_status(&pair) == AB_ERR_OK) {
        for (family *f = m->first; f != NULL; f = f->next)
            drop_from_family(m, f, ab_buf_str(&pair));
    }
    m->full = m->full && m->series_count >= AB_METRICS_SERIES_MAX;
    ab_buf_fini(&pair);
}

void ab_metrics_on_full(ab_metrics *m, void (*fn)(void *arg), void *arg)
{
    m->on_full = fn;
    m->on_full_arg = arg;
}

void ab_metrics_on_render(ab_metrics *m, void (*fn)(void *arg), void *arg)
{
    assert(m->on_render_count < AB_METRICS_RENDER_MAX);
    m->on_render[m->on_render_count].fn = fn;
    m->on_render[m->on_render_count++].arg = arg;
}

static void put_number(ab_buf *b, double v)
{
    if (isnan(v))
        ab_buf_puts(b, "NaN");
    else if (isinf(v))
        ab_buf_puts(b, v > 0 ? "+Inf" : "-Inf");
    else if (fabs(v) < 1e15 && floor(v) >= v) /* whole: no exponent */
        ab_buf_printf(b, "%.0f", v);
    else
        ab_buf_printf(b, "%.15g", v);
}

static void put_sample(ab_buf *b, const char *name, const char *suffix, ab_str labels, double v)
{
    ab_buf_printf(b, "%s%s", name, suffix);
    if (labels.len > 0)
        ab_buf_printf(b, "{%.*s}", AB_STR_ARG(labels));
    ab_buf_putc(b, ' ');
    put_number(b, v);
    ab_buf_putc(b, '\n');
}

static void put_bucket(ab_buf *b, const char *name, ab_str labels, const char *bound, uint64_t n)
{
    ab_buf_printf(b, "%s_bucket{%.*s%sle=\"%s\"} %" PRIu64 "\n", name, AB_STR_ARG(labels),
                  labels.len > 0 ? "," : "", bound, n);
}

static void put_histogram(ab_buf *b, const char *name, ab_str labels, const ab_metric *s)
{
    uint64_t below = 0;
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        char bound[32];
        snprintf(bound, sizeof(bound), "%g", bucket_bounds[i]);
        below += s->bucket[i];
        put_bucket(b, name, labels, bound, below);
    }
    put_bucket(b, name, labels, "+Inf", s->count);
    put_sample(b, name, "_sum", labels, s->value);
    put_sample(b, name, "_count", labels, (double)s->count);
}

static void put_family(ab_buf *b, const family *f)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    if (ab_map_count(f->series) == 0)
        return;
    ab_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, kinds[f->kind]);
    for (ab_map_iter i = ab_map_first(f->series); i.entry != NULL; ab_map_next(&i)) {
        const ab_metric *s = i.value;
        if (f->kind == AB_METRIC_HISTOGRAM)
            put_histogram(b, f->name, i.key, s);
        else
            put_sample(b, f->name, "", i.key, s->value);
    }
}

void ab_metrics_render(ab_metrics *m, ab_buf *out)
{
    for (size_t i = 0; i < m->on_render_count; i++)
        m->on_render[i].fn(m->on_render[i].arg);
    for (const family *f = m->first; f != NULL; f = f->next)
        put_family(out, f);
}
