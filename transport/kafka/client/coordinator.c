/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/coordinator.h"

#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/handle.h"

static bool is_empty(const rd_kafka_ConsumerGroupDescription_t *group)
{
    rd_kafka_consumer_group_state_t state = rd_kafka_ConsumerGroupDescription_state(group);
    return rd_kafka_ConsumerGroupDescription_error(group) == NULL &&
           (state == RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY ||
            state == RD_KAFKA_CONSUMER_GROUP_STATE_DEAD);
}

bool ab_kafka_coordinator_group_is_empty(rd_kafka_t *rk, const char *group)
{
    size_t n = 0;
    ab_kafka_admin a =
        ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, AB_KAFKA_COORDINATOR_MS);
    rd_kafka_DescribeConsumerGroups(rk, &group, 1, a.options, a.queue);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    const rd_kafka_DescribeConsumerGroups_result_t *result =
        rd_kafka_event_DescribeConsumerGroups_result(event);
    const rd_kafka_ConsumerGroupDescription_t **groups =
        result == NULL ? NULL : rd_kafka_DescribeConsumerGroups_result_groups(result, &n);
    bool empty = n == 1 && is_empty(groups[0]);
    rd_kafka_event_destroy(event);
    return empty;
}

const rd_kafka_topic_partition_t *
ab_kafka_coordinator_position(rd_kafka_event_t *event, const rd_kafka_group_result_t **groups,
                              size_t count, ab_error *err)
{
    if (ab_kafka_admin_check(event, err) != AB_ERR_OK)
        return NULL;
    const rd_kafka_error_t *failed = count == 1 ? rd_kafka_group_result_error(groups[0]) : NULL;
    const rd_kafka_topic_partition_list_t *list =
        count == 1 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
    if (failed != NULL)
        ab_kafka_fail(err, rd_kafka_error_code(failed), rd_kafka_error_string(failed));
    else if (list == NULL || list->cnt != 1)
        ab_fail(err, AB_ERR_UNAVAILABLE, "the broker returned no position");
    else if (list->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR)
        ab_kafka_fail(err, list->elems[0].err, "no position");
    else
        return &list->elems[0];
    return NULL;
}
