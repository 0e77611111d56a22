/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the peers' live topics (an agent does it in member.c): hellos, and what is of use at once
 * or never. These partitions have handles of their own, so that hellos wake none that reads state.
 * Nothing is ever committed here: reading begins at the end of the topic, as it was when the link's
 * topic check looked.
 */
#include "transport/kafka/live_priv.h"

#include "transport/kafka/flow_priv.h"
#include "transport/kafka/group_priv.h"
#include "transport/kafka/member_priv.h"
#include "transport/kafka/receive_priv.h"

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
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
        ab_kafka_receive_live(l, m);
        if (l->live != NULL)
            ab_kafka_flow_taken(l->live, m, false);
        ab_kafka_link_unref(l);
    }
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        ab_kafka_receive_error(k, event);
}

void ab_kafka_live_init(ab_kafka *k)
{
    k->live_groups =
        (ab_kafka_groups){.kafka = k, .kind = AB_KAFKA_LIVE_CONSUMER, .on_event = on_event};
    TAILQ_INIT(&k->live_groups.list);
}

ab_err ab_kafka_live_start(ab_kafka *k, ab_error *err)
{
    return k->settings.role == AB_ROLE_AGENT ? AB_ERR_OK
                                             : ab_kafka_group_start(&k->live_groups, err);
}

ab_err ab_kafka_live_open(ab_kafka_link *l, int64_t from, ab_error *err)
{
    ab_kafka *k = l->kafka;
    return k->settings.role == AB_ROLE_AGENT
               ? ab_kafka_member_open(k, from, err)
               : ab_kafka_group_assign(&k->live_groups, l->topics[AB_KAFKA_IN_LIVE], from, &l->live,
                                       err);
}

void ab_kafka_live_close(ab_kafka_link *l)
{
    if (l->kafka->settings.role == AB_ROLE_AGENT)
        ab_kafka_member_close(l->kafka);
    if (l->live != NULL)
        ab_kafka_group_unassign(l->live, l->topics[AB_KAFKA_IN_LIVE]);
    l->live = NULL;
}
