/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/flow_priv.h"

#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/refusal_priv.h"

/* Deliveries not acknowledged, per agent. */
#define OPEN_BYTES_MAX ((size_t)32 * 1024 * 1024)
/* The same of all agents together, beside what each may have in any case. */
#define ALL_OPEN_BYTES_MAX ((size_t)128 * 1024 * 1024)
#define OPEN_BYTES_MIN     ((size_t)256 * 1024)

/* When librdkafka 2.0 has stopped fetching, because its queue was full or the partition paused, it
 * looks only once a second whether it may go on. To seek to where we are makes it look at once, at
 * all partitions of the handle. */
static void fetch_on(const ab_kafka_group *g, const char *topic, int64_t next)
{
    rd_kafka_topic_partition_list_t *list = ab_kafka_handle_partition(topic, next);
    /* Without a time-out it does not wait, and has nothing to report. */
    rd_kafka_error_destroy(rd_kafka_seek_partitions(ab_kafka_handle_rk(g->handle), list, 0));
    rd_kafka_topic_partition_list_destroy(list);
}

/* Once the queue may have been full, and all of it has been taken, it is time to go on. At any
 * other time that would throw away what was fetched: of a queue that was empty in between, only
 * what was taken since then can have been in it at once. */
void ab_kafka_flow_taken(ab_kafka_group *g, const rd_kafka_message_t *m, bool paused)
{
    /* Enough for both limits: each message counts for its share of the other one too. */
    g->taken += m->len + m->key_len + AB_KAFKA_AHEAD_BYTES / AB_KAFKA_AHEAD_MESSAGES;
    if (rd_kafka_queue_length(ab_kafka_handle_queue(g->handle)) > 0)
        return;
    bool was_full = g->taken >= AB_KAFKA_AHEAD_BYTES;
    g->taken = 0;
    if (was_full && !paused)
        fetch_on(g, rd_kafka_topic_name(m->rkt), m->offset + 1);
}

void ab_kafka_flow_pause(ab_kafka_link *l, bool paused)
{
    if (l->in.paused == paused || l->in.group == NULL)
        return;
    rd_kafka_t *rk = ab_kafka_handle_rk(l->in.group->handle);
    rd_kafka_topic_partition_list_t *list =
        ab_kafka_handle_partition(l->topics[AB_KAFKA_IN_STATE], RD_KAFKA_OFFSET_INVALID);
    if (paused)
        rd_kafka_pause_partitions(rk, list);
    else
        rd_kafka_resume_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    l->in.paused = paused;
    if (!paused)
        fetch_on(l->in.group, l->topics[AB_KAFKA_IN_STATE], l->in.offsets.next);
}

/* Far enough below the limit that pausing, which drops what was fetched ahead, is rare. */
void ab_kafka_flow_control(ab_kafka_link *l)
{
    /* The first of a replay may be acknowledged last. */
    size_t most = l->kafka->settings.inflight + (l->kafka->base.env.replay ? 1 : 0);
    size_t bytes =
        ab_share_of_rest(ALL_OPEN_BYTES_MAX, l->kafka->open_bytes, OPEN_BYTES_MIN, OPEN_BYTES_MAX);
    if (l->in.open >= most || l->in.open_bytes >= bytes || ab_kafka_refusal_is_on(l))
        ab_kafka_flow_pause(l, true);
    else if (l->in.open <= most / 2 && l->in.open_bytes <= bytes / 2)
        ab_kafka_flow_pause(l, false);
    ab_metric_set(l->metrics.unacknowledged, (double)l->in.open);
}
