/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/group_priv.h"

#include "transport/kafka/client/unassign.h"
#include "transport/kafka/kafka_priv.h"

#include <stdlib.h>

/* Each fetch names every partition of its handle, and librdkafka looks for each one of the answer
 * in a list: one fetch costs the square of their number (measured: 0.7 ms of CPU time at 400, so 4
 * ms at 1,000). A handle more costs three threads. */
#define PARTITIONS_MAX 100

static ab_err open_group(ab_kafka_groups *groups, ab_kafka_group **out, ab_error *err)
{
    ab_kafka *k = groups->kafka;
    ab_kafka_group *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "kafka: out of memory");
    g->kafka = k;
    ab_link_init(&g->moved);
    ab_link_init(&g->at_rest);
    ab_err e = ab_kafka_handle_open(&k->host, &k->settings, groups->kind, groups->on_event, g,
                                    &g->handle, err);
    if (e != AB_ERR_OK) {
        free(g);
        return e;
    }
    TAILQ_INSERT_TAIL(&groups->list, g, at);
    *out = g;
    return AB_ERR_OK;
}

static ab_err find_room(ab_kafka_groups *groups, ab_kafka_group **out, ab_error *err)
{
    ab_kafka_group *g = NULL;
    TAILQ_FOREACH(g, &groups->list, at)
    {
        if (g->partitions < PARTITIONS_MAX) {
            *out = g;
            return AB_ERR_OK;
        }
    }
    return open_group(groups, out, err);
}

ab_err ab_kafka_group_start(ab_kafka_groups *groups, ab_error *err)
{
    ab_kafka_group *g = NULL;
    return find_room(groups, &g, err);
}

ab_err ab_kafka_group_assign(ab_kafka_groups *groups, const char *topic, int64_t from,
                             ab_kafka_group **out, ab_error *err)
{
    ab_kafka_group *g = NULL;
    ab_err e = find_room(groups, &g, err);
    if (e != AB_ERR_OK)
        return e;
    if (g->to_assign == NULL)
        g->to_assign = rd_kafka_topic_partition_list_new(PARTITIONS_MAX);
    rd_kafka_topic_partition_list_add(g->to_assign, topic, 0)->offset = from;
    g->partitions++;
    *out = g;
    return AB_ERR_OK;
}

static void forget_to_assign(ab_kafka_group *g)
{
    if (g->to_assign != NULL)
        rd_kafka_topic_partition_list_destroy(g->to_assign);
    g->to_assign = NULL;
}

static ab_err assign_all_of(ab_kafka_group *g, ab_error *err)
{
    if (g->to_assign == NULL)
        return AB_ERR_OK;
    rd_kafka_error_t *failed =
        rd_kafka_incremental_assign(ab_kafka_handle_rk(g->handle), g->to_assign);
    forget_to_assign(g);
    if (failed == NULL)
        return AB_ERR_OK;
    ab_fail(err, AB_ERR_UNAVAILABLE, "cannot assign topics: %s", rd_kafka_error_string(failed));
    rd_kafka_error_destroy(failed);
    return AB_ERR_UNAVAILABLE;
}

ab_err ab_kafka_group_assign_all(ab_kafka_groups *groups, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    ab_kafka_group *g = NULL;
    TAILQ_FOREACH(g, &groups->list, at)
    {
        ab_err one = assign_all_of(g, err);
        e = one == AB_ERR_OK ? e : one;
    }
    return e;
}

void ab_kafka_group_unassign(ab_kafka_group *g, const char *topic)
{
    if (g->to_assign != NULL && rd_kafka_topic_partition_list_del(g->to_assign, topic, 0) == 1) {
        g->partitions--;
        return;
    }
    rd_kafka_topic_partition_list_t *list =
        ab_kafka_handle_partition(topic, RD_KAFKA_OFFSET_INVALID);
    rd_kafka_error_t *failed = ab_kafka_unassign(ab_kafka_handle_rk(g->handle), list);
    rd_kafka_topic_partition_list_destroy(list);
    g->partitions--;
    if (failed == NULL)
        return;
    ab_kafka_host_error(&g->kafka->host, rd_kafka_error_code(failed),
                        rd_kafka_error_string(failed));
    rd_kafka_error_destroy(failed);
}

void ab_kafka_group_close_all(ab_kafka_groups *groups)
{
    ab_kafka_group *g = NULL;
    while ((g = TAILQ_FIRST(&groups->list)) != NULL) {
        TAILQ_REMOVE(&groups->list, g, at);
        forget_to_assign(g);
        ab_kafka_handle_close(g->handle);
        free(g);
    }
}
