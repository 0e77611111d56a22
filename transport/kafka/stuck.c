/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka tries again what brokers do not take, and says nothing of it. One line for all links:
 * they have the cause in common, mostly.
 */
#include "transport/kafka/stuck_priv.h"

/* The election of a leader takes less. */
#define TELL_MS 10000

static void log_stuck(ab_kafka_link *l, int64_t now)
{
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    l->stuck_logged = true;
    if (ab_limiter_pass(&k->host.limiter, "stuck", "begins", now, &held))
        AB_WARN(k->base.env.log, KAFKA,
                "topic takes no events, so they wait: it has too few in-sync replicas, no leader, "
                "or a leader that does not respond; see kafka-topics --describe",
                AB_KV("agent", l->name), AB_KV("topic", l->topics[AB_KAFKA_OUT_STATE]),
                AB_KV("held_back", held));
}

int64_t ab_kafka_stuck_look(ab_kafka_link *l, int64_t now)
{
    int64_t due_ms = l->share[AB_LANE_STATE].progress_ms + TELL_MS;
    if (l->stuck_logged)
        return INT64_MAX;
    if (now < due_ms)
        return due_ms;
    /* Without any broker, or while its topics are checked, another line says why. */
    if (l->kafka->host.broker != RD_KAFKA_RESP_ERR_NO_ERROR || l->phase != AB_LINK_READY)
        return now + TELL_MS;
    log_stuck(l, now);
    return INT64_MAX;
}

void ab_kafka_stuck_end(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    if (!l->stuck_logged)
        return;
    l->stuck_logged = false;
    if (ab_limiter_pass(&k->host.limiter, "stuck", "ends", ab_kafka_now(k), &held))
        AB_INFO(k->base.env.log, KAFKA, "topic takes events again", AB_KV("agent", l->name),
                AB_KV("topic", l->topics[AB_KAFKA_OUT_STATE]), AB_KV("held_back", held));
}
