/* SPDX-License-Identifier: Apache-2.0
 *
 * A family holds its series in a map by the text of their labels as it will be printed: finding a
 * series is one look-up, and printing one is a copy. The series of an agent are in a list of its
 * own, so that dropping them passes over no others. A rendering remembers the series that is next,
 * and is moved on when that one is dropped.
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

typedef struct family {
    const char *name;
    const char *help;
    ab_metric_kind kind;
    ab_map *series; /* by label text; holds the values itself */
    struct family *next;
} family;

struct ab_metric {
    const family *family;
    ab_link of_agent;  /* in the list of its agent, if it has one */
    double value;      /* counter, gauge; histogram: the sum */
    uint64_t count;    /* histogram: observations */
    uint64_t bucket[]; /* histogram: observations per bucket, not cumulated */
};

struct ab_metrics {
    ab_map *families; /* by name */
    ab_map *agents;   /* by name: ab_link, the list of its series */
    ab_link renderings;
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

static void free_family(void *p)
{
    family *f = p;
    ab_map_free(f->series, NULL);
    free(f);
}

ab_metrics *ab_metrics_new(void)
{
    ab_metrics *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->last = &m->first;
    ab_buf_init(&m->key, LABELS_BYTES);
    ab_link_init(&m->renderings);
    m->families = ab_map_new();
    m->agents = ab_map_new();
    if (m->families != NULL && m->agents != NULL)
        return m;
    ab_metrics_free(m);
    return NULL;
}

void ab_metrics_free(ab_metrics *m)
{
    if (m == NULL)
        return;
    while (ab_list_pop(&m->renderings) != NULL)
        ;
    ab_map_free(m->families, free_family);
    ab_map_free(m->agents, NULL);
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
    size_t buckets = f->kind == AB_METRIC_HISTOGRAM ? BUCKET_COUNT * sizeof(uint64_t) : 0;
    ab_metric *s = ab_map_make(f->series, key, sizeof(*s) + buckets);
    if (s == NULL)
        return NULL;
    s->family = f;
    ab_link_init(&s->of_agent);
    m->series_count++;
    return s;
}

static void move_on(ab_rendering *r)
{
    ab_map_iter i = ab_map_at(r->series);
    ab_map_next(&i);
    r->series = i.value;
    if (r->series == NULL)
        r->family = r->family->next;
}

static void drop_series(ab_metrics *m, ab_metric *s)
{
    for (ab_list_iter i = ab_list_first(&m->renderings); i.link != NULL; ab_list_next(&i)) {
        ab_rendering *r = AB_LINK_OF(i.link, ab_rendering, link);
        if (r->series == s)
            move_on(r);
    }
    ab_link_remove(&s->of_agent);
    ab_map_drop(s->family->series, s);
    m->series_count--;
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

static ab_metric *add_to_agent(ab_metrics *m, ab_metric *s, ab_str agent)
{
    ab_link *list = ab_map_make(m->agents, agent, sizeof(*list));
    if (list == NULL) {
        drop_series(m, s);
        return NULL;
    }
    if (list->next == NULL)
        ab_link_init(list);
    ab_list_append(list, &s->of_agent);
    return s;
}

static ab_metric *add_series(ab_metrics *m, family *f, const ab_label *labels, size_t count)
{
    if (m->series_count >= AB_METRICS_SERIES_MAX) {
        count_dropped(m);
        return NULL;
    }
    ab_metric *s = make_series(m, f, ab_buf_str(&m->key));
    for (size_t i = 0; i < count && s != NULL; i++)
        if (strcmp(labels[i].name, AB_LABEL_AGENT) == 0)
            s = add_to_agent(m, s, labels[i].value);
    return s;
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
    return s != NULL ? s : add_series(m, f, labels, count);
}

void ab_metric_add(ab_metric *s, double by)
{
    if (s == NULL)
        return;
    assert(s->family->kind == AB_METRIC_GAUGE || (s->family->kind == AB_METRIC_COUNTER && by >= 0));
    s->value += by;
}

void ab_metric_set(ab_metric *s, double to)
{
    if (s == NULL)
        return;
    assert(s->family->kind == AB_METRIC_GAUGE);
    s->value = to;
}

void ab_metric_observe(ab_metric *s, double seconds)
{
    if (s == NULL)
        return;
    assert(s->family->kind == AB_METRIC_HISTOGRAM);
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

void ab_metrics_drop_agent(ab_metrics *m, ab_str agent)
{
    ab_link *list = ab_map_find(m->agents, agent);
    if (list == NULL)
        return;
    for (ab_list_iter i = ab_list_first(list); i.link != NULL; ab_list_next(&i))
        drop_series(m, AB_LINK_OF(i.link, ab_metric, of_agent));
    ab_map_drop(m->agents, list);
    m->full = m->full && m->series_count >= AB_METRICS_SERIES_MAX;
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
    ab_buf_puts(b, name);
    ab_buf_puts(b, suffix);
    if (labels.len > 0) {
        ab_buf_putc(b, '{');
        ab_buf_put(b, labels);
        ab_buf_putc(b, '}');
    }
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

static void put_head(ab_buf *b, const family *f)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    ab_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, kinds[f->kind]);
}

static void put_series(ab_buf *b, ab_str labels, const ab_metric *s)
{
    if (s->family->kind == AB_METRIC_HISTOGRAM)
        put_histogram(b, s->family->name, labels, s);
    else
        put_sample(b, s->family->name, "", labels, s->value);
}

static void begin(ab_metrics *m, ab_rendering *r)
{
    for (size_t i = 0; i < m->on_render_count; i++)
        m->on_render[i].fn(m->on_render[i].arg);
    ab_link_init(&r->link);
    ab_list_append(&m->renderings, &r->link);
    r->family = m->first;
}

bool ab_metrics_render(ab_metrics *m, ab_rendering *r, ab_buf *out, size_t bytes)
{
    size_t end = bytes > SIZE_MAX - out->len ? SIZE_MAX : out->len + bytes;
    if (r->link.next == NULL)
        begin(m, r);
    while (r->family != NULL && out->len < end && ab_buf_status(out) == AB_ERR_OK) {
        if (r->series == NULL && ab_map_count(r->family->series) == 0) {
            r->family = r->family->next;
            continue;
        }
        if (r->series == NULL) {
            put_head(out, r->family);
            r->series = ab_map_first(r->family->series).value;
        }
        put_series(out, ab_map_at(r->series).key, r->series);
        move_on(r);
    }
    bool more = r->family != NULL && ab_buf_status(out) == AB_ERR_OK;
    if (!more)
        ab_rendering_fini(r);
    return more;
}

void ab_rendering_fini(ab_rendering *r)
{
    if (r->link.next != NULL)
        ab_link_remove(&r->link);
    *r = (ab_rendering){0};
}
