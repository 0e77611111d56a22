/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the end of a topic, commits nothing, and joins no group.
 */
#pragma once

#include "services/ctl/check/kafka/client.h"

/**
 * Give the records of a topic's last `count` offsets, oldest first. Compaction may have removed
 * some of them.
 *
 * @param each  false: stop
 * @return NOTFOUND: there is no such topic; UNAVAILABLE: no broker answered in time, or it refused;
 * says why. OK also when `each` stopped it
 */
AB_MUST_USE ab_err ab_log_read(ab_check_client *c, const char *topic, int64_t count,
                               bool (*each)(void *arg, const rd_kafka_message_t *m), void *arg,
                               ab_error *err);
