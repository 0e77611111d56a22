/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics are by kind of request and not by agent: 3,000 agents would be 3,000 series each. Who did
 * what is in the log.
 */
#include "live/resource/front/front_priv.h"

#include <stdio.h>

static const char *const KINDS[AB_RESOURCE_FRONT_KINDS] = {"request", "watch", "log", "terminal"};

void ab_resource_front_audit_init(ab_resource_front *front)
{
    ab_metrics *m = front->env.metrics;
    for (int kind = 0; kind < AB_RESOURCE_FRONT_KINDS; kind++) {
        const ab_label labels[] = {{"kind", ab_str_of(KINDS[kind])}};
        front->open[kind] =
            ab_metric_get(m, AB_METRIC_GAUGE, "argobus_live_open",
                          "Requests of live access that are under way, by kind.", labels, 1);
        front->bytes[kind] =
            ab_metric_get(m, AB_METRIC_COUNTER, "argobus_live_bytes_total",
                          "Bytes that live access has given to clients, by kind.", labels, 1);
    }
    front->seconds = ab_metric_get(m, AB_METRIC_HISTOGRAM, "argobus_live_request_seconds",
                                   "Time that requests of live access took, watches, followed logs "
                                   "and terminals apart.",
                                   NULL, 0);
}

void ab_resource_front_audit_begin(ab_resource_front_request *r)
{
    ab_metric_add(r->front->open[r->kind], 1);
}

static void count(const ab_resource_front_request *r)
{
    char code[16];
    (void)snprintf(code, sizeof(code), "%d", r->status);
    const ab_label labels[] = {{"kind", ab_str_of(KINDS[r->kind])}, {"code", ab_str_of(code)}};
    ab_metric_add(ab_metric_get(r->front->env.metrics, AB_METRIC_COUNTER,
                                "argobus_live_requests_total",
                                "Requests of live access, by kind and HTTP status (0: the client "
                                "left before one was known).",
                                labels, 2),
                  1);
    ab_metric_add(r->front->open[r->kind], -1);
    ab_metric_add(r->front->bytes[r->kind], (double)r->bytes);
}

/* Whoever reaches the port asks as often as it likes. */
static void log_stranger(const ab_resource_front_request *r)
{
    ab_resource_front *front = r->front;
    if (ab_log_quota_pass(&front->strangers, ab_clock_mono_ms(front->env.clock)))
        AB_INFO(front->env.log, LIVE, "live request", AB_KV("by", r->who), AB_KV("code", r->status),
                AB_KV("held_back", front->strangers.held_back));
}

static void log_known(const ab_resource_front_request *r, uint64_t ns, ab_err why)
{
    ab_buf object = ab_buf_up_to(4096);
    if (r->mapped)
        ab_resource_map_put_object(&r->map, &object);
    AB_INFO(r->front->env.log, LIVE, "live request", AB_KV("by", r->who), AB_KV("agent", r->agent),
            AB_KV("verb", r->mapped ? ab_resource_map_verb(r->map.verb) : "none"),
            AB_KV("object", ab_buf_str(&object)), AB_KV("code", r->status),
            AB_KV("ms", ns / 1000000), AB_KV("bytes", r->bytes),
            AB_KV("end", r->gave_way        ? "not read"
                         : why == AB_ERR_OK ? "whole"
                                            : ab_err_text(why)));
    ab_buf_fini(&object);
}

void ab_resource_front_audit_end(ab_resource_front_request *r, ab_err why)
{
    uint64_t ns = uv_hrtime() - r->begun_ns;
    count(r);
    if (r->kind == AB_RESOURCE_FRONT_REQUEST)
        ab_metric_observe(r->front->seconds, (double)ns / 1e9);
    if (r->known)
        log_known(r, ns, why);
    else
        log_stranger(r);
}
