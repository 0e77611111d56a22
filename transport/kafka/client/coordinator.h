/* SPDX-License-Identifier: Apache-2.0
 *
 * What the coordinator of a group knows: its members, and its position in a topic.
 */
#pragma once

#include "transport/kafka/client/admin.h"

#include <stdbool.h>

/** Whether a group has no members, or does not exist. False also when no broker answers. Worker
 * threads only. */
bool ab_kafka_coordinator_group_is_empty(rd_kafka_t *rk, const char *group);
/** The one partition of a group's result; it lives as long as the event. Any thread.
 * @param event  NULL: no answer came
 * @return NULL with the reason */
const rd_kafka_topic_partition_t *
ab_kafka_coordinator_position(rd_kafka_event_t *event, const rd_kafka_group_result_t **groups,
                              size_t count, ab_error *err);
