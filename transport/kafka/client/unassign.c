/* SPDX-License-Identifier: Apache-2.0
 *
 * When librdkafka has stopped to read a partition, it still puts something into the partition's own
 * queue, which nobody looks at any more. That refers to the partition, the partition to a broker;
 * and a broker's thread waits, when the instance is destroyed, for all who refer to it. Only the
 * queues of topics that exist are emptied then. So we have it all come to the consumer's queue.
 */
#include "transport/kafka/client/unassign.h"

#include <stdlib.h>

/* Asked for while the partitions can still be found. */
static rd_kafka_queue_t **queues_of(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_queue_t **queues = calloc((size_t)list->cnt, sizeof(rd_kafka_queue_t *));
    for (int i = 0; queues != NULL && i < list->cnt; i++)
        queues[i] =
            rd_kafka_queue_get_partition(rk, list->elems[i].topic, list->elems[i].partition);
    return queues;
}

static rd_kafka_topic_partition_list_t *assigned(rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = NULL;
    (void)rd_kafka_assignment(rk, &list); /* NULL then */
    return list;
}

/* What librdkafka's thread does to stop them comes before its answer, and would undo this. */
static void wait_for_stop(rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *rest = assigned(rk);
    if (rest != NULL)
        rd_kafka_topic_partition_list_destroy(rest);
}

static void forward(rd_kafka_t *rk, rd_kafka_queue_t **queues, int count)
{
    if (queues == NULL)
        return;
    wait_for_stop(rk);
    rd_kafka_queue_t *consumer = rd_kafka_queue_get_consumer(rk);
    for (int i = 0; i < count; i++) {
        if (queues[i] == NULL)
            continue;
        rd_kafka_queue_forward(queues[i], consumer);
        rd_kafka_queue_destroy(queues[i]);
    }
    rd_kafka_queue_destroy(consumer);
    free((void *)queues);
}

rd_kafka_error_t *ab_kafka_unassign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_queue_t **queues = queues_of(rk, list);
    rd_kafka_error_t *failed = rd_kafka_incremental_unassign(rk, list);
    forward(rk, queues, list->cnt);
    return failed;
}

rd_kafka_resp_err_t ab_kafka_unassign_all(rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = assigned(rk);
    if (list == NULL)
        return rd_kafka_assign(rk, NULL);
    rd_kafka_queue_t **queues = queues_of(rk, list);
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, NULL);
    forward(rk, queues, list->cnt);
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}
