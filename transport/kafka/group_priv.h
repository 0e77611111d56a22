/* SPDX-License-Identifier: Apache-2.0
 *
 * Consumer handles, each with a share of the partitions: fetching slows down with their number.
 */
#pragma once

#include "transport/kafka/kafka_priv.h"

/** See to it that there is a handle, so that topic checks have one. @return CONFIG, FATAL, NOMEM */
AB_MUST_USE ab_err ab_kafka_group_start(ab_kafka_groups *groups, ab_error *err);
/**
 * Read one more topic, by a handle that has room or a new one, once ab_kafka_group_assign_all is
 * called.
 * @param from  the first offset to read
 * @param out   whose handle reads it; borrowed until ab_kafka_group_close_all
 * @return CONFIG, FATAL, NOMEM
 */
AB_MUST_USE ab_err ab_kafka_group_assign(ab_kafka_groups *groups, const char *topic, int64_t from,
                                         ab_kafka_group **out, ab_error *err);
/** Begin to read what ab_kafka_group_assign was called for: one call for each handle, since each
 * call waits for librdkafka's thread. @return UNAVAILABLE: the topics of one group are not read */
AB_MUST_USE ab_err ab_kafka_group_assign_all(ab_kafka_groups *groups, ab_error *err);
/** Stop reading a topic that was assigned to this group. */
void ab_kafka_group_unassign(ab_kafka_group *g, const char *topic);
/** Close the handles of all groups: no link has one of them any more. */
void ab_kafka_group_close_all(ab_kafka_groups *groups);
