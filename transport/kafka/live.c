/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the peers' live topics (an agent does it in member.c): hellos, and what is of use at once
 * or never. These partitions have handles of their own, so that hellos wake none that reads state.
 * Nothing is ever committed here: reading begins at the end of the topic, as it was when the link's
 * topic check looked.
 */
#include "transport/kafka/kafka_priv.h"

void ab_kafka_live_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    ab_kafka *k = ((ab_kafka_group *)arg)->kafka;
    const rd_kafka_message_t *m = NULL;
    while ((m = rd_kafka_event_message_next(event)) != NULL) {
        ab_kafka_topic which = AB_KAFKA_TOPICS;
        ab_kafka_link *l = ab_kafka_link_of_topic(k, rd_kafka_topic_name(m->rkt), &which);
        if (l == NULL || which != AB_KAFKA_IN_LIVE || l->live == NULL || k->closed)
            continue;
        ab_kafka_link_ref(l);
        ab_kafka_consumer_live(l, m);
        ab_kafka_link_unref(l);
    }
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        ab_kafka_consumer_error(k, event);
}

ab_err ab_kafka_live_start(ab_kafka *k, ab_error *err)
{
    ab_kafka_group *g = NULL;
    if (k->settings.role == AB_ROLE_AGENT)
        return AB_ERR_OK;
    return ab_kafka_group_for(k, &k->live_groups, &g, err);
}

static rd_kafka_topic_partition_list_t *live_partition(const ab_kafka_link *l, int64_t from)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, l->topics[AB_KAFKA_IN_LIVE], 0)->offset = from;
    return list;
}

ab_err ab_kafka_live_open(ab_kafka_link *l, int64_t from, ab_error *err)
{
    if (l->kafka->settings.role == AB_ROLE_AGENT)
        return ab_kafka_member_open(l->kafka, from, err);
    ab_kafka_group *g = NULL;
    ab_err e = ab_kafka_group_for(l->kafka, &l->kafka->live_groups, &g, err);
    if (e != AB_ERR_OK)
        return e;
    rd_kafka_topic_partition_list_t *list = live_partition(l, from);
    rd_kafka_error_t *failed = rd_kafka_incremental_assign(ab_kafka_handle_rk(g->handle), list);
    rd_kafka_topic_partition_list_destroy(list);
    if (failed != NULL) {
        e = ab_fail(err, AB_ERR_UNAVAILABLE, "cannot assign topic %s: %s",
                    l->topics[AB_KAFKA_IN_LIVE], rd_kafka_error_string(failed));
        rd_kafka_error_destroy(failed);
        return e;
    }
    g->partitions++;
    l->live = g;
    return AB_ERR_OK;
}

void ab_kafka_live_close(ab_kafka_link *l)
{
    ab_kafka_group *g = l->live;
    if (l->kafka->settings.role == AB_ROLE_AGENT)
        ab_kafka_member_close(l->kafka);
    if (g == NULL)
        return;
    rd_kafka_topic_partition_list_t *list = live_partition(l, 0);
    rd_kafka_error_t *failed = rd_kafka_incremental_unassign(ab_kafka_handle_rk(g->handle), list);
    rd_kafka_topic_partition_list_destroy(list);
    if (failed != NULL) {
        ab_kafka_host_error(&l->kafka->host, rd_kafka_error_code(failed),
                            rd_kafka_error_string(failed));
        rd_kafka_error_destroy(failed);
    }
    g->partitions--;
    l->live = NULL;
}
