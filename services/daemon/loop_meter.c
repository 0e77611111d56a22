/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/loop_meter.h"

#include <time.h>

static uint64_t cpu_ns(void)
{
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); /* fails for no thread that runs */
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* Before each wait of the loop. */
static void on_prepare(uv_prepare_t *prepare)
{
    ab_loop_meter *m = prepare->data;
    uint64_t now_ns = uv_hrtime();
    uint64_t idle_ns = uv_metrics_idle_time(prepare->loop);
    /* The first turn begins here: until then nobody waits for the loop. */
    uint64_t used_ns = cpu_ns();
    if (m->begun_ns != 0) {
        raise_to(&m->longest_ns, now_ns - m->begun_ns - (idle_ns - m->idle_ns));
        raise_to(&m->dearest_ns, used_ns - m->used_ns);
    }
    m->begun_ns = now_ns;
    m->idle_ns = idle_ns;
    m->used_ns = used_ns;
}

static void on_render(void *arg)
{
    ab_loop_meter *m = arg;
    ab_metric_set(m->longest, (double)m->longest_ns / 1e9);
    ab_metric_set(m->dearest, (double)m->dearest_ns / 1e9);
    m->longest_ns = 0;
    m->dearest_ns = 0;
}

void ab_loop_meter_start(ab_loop_meter *m, uv_loop_t *loop, ab_metrics *metrics)
{
    (void)uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    *m = (ab_loop_meter){0};
    m->longest =
        ab_metric_get(metrics, AB_METRIC_GAUGE, "argobus_loop_turn_max_seconds",
                      "Longest turn of the event loop since the metrics were last read.", NULL, 0);
    m->dearest = ab_metric_get(
        metrics, AB_METRIC_GAUGE, "argobus_loop_turn_cpu_max_seconds",
        "Most CPU time that one turn of the event loop took since the metrics were last read.",
        NULL, 0);
    uv_prepare_init(loop, &m->prepare);
    m->prepare.data = m;
    uv_prepare_start(&m->prepare, on_prepare);
    uv_unref((uv_handle_t *)&m->prepare);
    ab_metrics_on_render(metrics, on_render, m);
}

void ab_loop_meter_close(ab_loop_meter *m)
{
    uv_close((uv_handle_t *)&m->prepare, NULL);
}
