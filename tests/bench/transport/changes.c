/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/changes.h"

#include "schema/attributes.h"
#include "services/principal/changes.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/member.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AGENTS_MAX 3000
#define CHANGES    100 /* of each agent */
#define SCRAPES    40
#define MS_PER_NS  1e-6
#define PAGE_MAX   (16u * 1024 * 1024)

typedef struct {
    const ab_bench_options *options;
    size_t agents;
    ab_bench_host host;
    ab_transport *transport;
    ab_changes *changes;
    ab_outbox *outboxes[AGENTS_MAX];
    ab_pending *down[AGENTS_MAX];
    ab_event *events[CHANGES];
} account;

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return ((double)t.tv_sec * 1e9 + (double)t.tv_nsec) * MS_PER_NS;
}

static void configure(void *arg, ab_bench_settings *out)
{
    (void)arg;
    ab_bench_set(out, "kafka.brokers=127.0.0.1:9"); /* it is never started */
    ab_bench_set(out, "kafka.insecure=true");
}

static void serve(account *a, size_t i)
{
    char name[16];
    ab_error err = {0};
    (void)snprintf(name, sizeof(name), "w%zu", i);
    a->outboxes[i] = ab_outbox_new(NULL, NULL);
    ab_bench_must(a->outboxes[i] == NULL ? AB_ERR_NOMEM : AB_ERR_OK, name, NULL);
    ab_bench_must(ab_transport_add_agent(a->transport, name, &err), name, &err);
    ab_bench_must(ab_changes_add(a->changes, name, a->transport, a->outboxes[i]), name, NULL);
    a->down[i] = ab_transport_pending(a->transport, name, AB_DOWN);
    ab_pending_pass(a->down[i], 0); /* the position is known */
}

static void begin(account *a)
{
    static ab_bench_pool pool;
    ab_error err = {0};
    a->host.configure = configure;
    ab_bench_host_init(&a->host);
    a->transport = ab_bench_member(&a->host, NULL, &(ab_transport_events){0});
    a->changes = ab_changes_new(a->host.metrics, NULL);
    if (a->changes == NULL || !ab_bench_pool_init(&pool, 1024))
        ab_bench_die("cannot start", "out of memory");
    for (size_t i = 0; i < a->agents; i++)
        serve(a, i);
    for (size_t i = 0; i < CHANGES; i++)
        ab_bench_must(ab_bench_event(&pool, i, AB_SOURCE_PRINCIPAL, 1, &a->events[i], &err),
                      "no event", &err);
}

/* Every change is written to the log of every agent. */
static void write_all(const account *a)
{
    for (size_t i = 0; i < a->agents; i++)
        for (size_t c = 0; c < CHANGES; c++)
            ab_pending_write(a->down[i], a->events[c], false, (int64_t)c, 0);
}

/* They come into effect. */
static void pass_all(const account *a)
{
    for (size_t i = 0; i < a->agents; i++)
        ab_pending_pass(a->down[i], CHANGES);
}

typedef struct {
    double p50_ms[2]; /* of bringing the gauges up to date, and of that with the page */
    double p99_ms[2];
} cost;

static cost scrape(account *a)
{
    double ms[2][SCRAPES];
    cost c;
    ab_buf page;
    ab_buf_init(&page, PAGE_MAX);
    for (size_t i = 0; i < SCRAPES; i++) {
        double begun_ms = cpu_ms();
        ab_buf_clear(&page);
        ab_changes_measure(a->changes);
        ms[0][i] = cpu_ms() - begun_ms;
        (void)ab_metrics_render(a->host.metrics, &(ab_rendering){0}, &page, SIZE_MAX);
        ms[1][i] = cpu_ms() - begun_ms;
    }
    ab_bench_must(ab_buf_status(&page), "the page", NULL);
    for (size_t i = 0; i < 2; i++) {
        c.p50_ms[i] = ab_bench_quantile(ms[i], SCRAPES, 0.5);
        c.p99_ms[i] = ab_bench_quantile(ms[i], SCRAPES, 0.99);
    }
    ab_buf_fini(&page);
    return c;
}

/* Beside the same of a fleet that is up to date. */
static void report_scrapes(const account *a, const cost *pending, const cost *up_to_date)
{
    static const char *const whats[] = {"measure", "scrape"};
    for (size_t i = 0; i < 2; i++) {
        ab_bench_row row = ab_bench_row_new("changes.%s.%zu", whats[i], a->agents);
        row.unit = "ms";
        row.value = row.p50_ms = pending->p50_ms[i];
        row.p99_ms = pending->p99_ms[i];
        row.limit = up_to_date->p50_ms[i];
        ab_bench_report(a->options->format, &row);
    }
}

static void report_bytes(const account *a, const char *what, size_t from, size_t to, size_t count)
{
    ab_bench_row row = ab_bench_row_new("changes.%s.%zu", what, a->agents);
    row.unit = "bytes";
    row.value = ((double)to - (double)from) / (double)count;
    ab_bench_report(a->options->format, &row);
}

static size_t used_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static int measure(const void *arg)
{
    static account a;
    a = *(const account *)arg;
    begin(&a);
    cost up_to_date = scrape(&a);
    size_t before = used_bytes();
    double begun_ms = cpu_ms();
    write_all(&a);
    double wrote_ms = cpu_ms() - begun_ms;
    size_t pending = used_bytes();
    cost changed = scrape(&a);
    report_scrapes(&a, &changed, &up_to_date);
    begun_ms = cpu_ms();
    pass_all(&a);
    ab_bench_row row = ab_bench_row_new("changes.account.%zu", a.agents);
    row.unit = "us";
    row.value = (wrote_ms + cpu_ms() - begun_ms) * 1000 / (double)(a.agents * CHANGES);
    ab_bench_report(a.options->format, &row);
    report_bytes(&a, "memory.pending", before, pending, a.agents * CHANGES);
    report_bytes(&a, "memory.up-to-date", before, used_bytes(), a.agents);
    return 0;
}

bool ab_bench_changes(const ab_bench_options *o)
{
    static const size_t sizes[] = {100, 300, 1000, AGENTS_MAX};
    static account a;
    bool ok = true;
    a.options = o;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && ok; i++) {
        a.agents = sizes[i];
        ok = ab_bench_wait(ab_bench_fork(measure, &a));
    }
    return ok;
}
