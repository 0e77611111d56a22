/* SPDX-License-Identifier: Apache-2.0
 *
 * To stop reading, so that the instance can be destroyed although topics are deleted
 * (docs/decisions/0065). Both wait twice for librdkafka's thread. Any thread.
 */
#pragma once

#include <librdkafka/rdkafka.h>

/** Stop reading some of the partitions that are assigned.
 * @return NULL, or why librdkafka did not do it; owned by the caller */
rd_kafka_error_t *ab_kafka_unassign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list);
/** Stop reading. The error is librdkafka's; an instance that reads nothing succeeds. */
rd_kafka_resp_err_t ab_kafka_unassign_all(rd_kafka_t *rk);
