/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to the brokers, other than producing and fetching, that a worker thread waits for.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>

/* How long one request may take: a stop has to wait for it. Milliseconds. */
#define AB_KAFKA_REQUEST_MS 3000
/* The time that librdkafka gets for a request to the coordinator of a group: its most, and much
 * longer than we wait. A request that it gives up itself while the coordinator is away ends the
 * process when that returns (librdkafka issues 4605 and 5397). Milliseconds. */
#define AB_KAFKA_COORDINATOR_MS 3600000

/* What every request is given. */
typedef struct {
    rd_kafka_AdminOptions_t *options;
    rd_kafka_queue_t *queue;
} ab_kafka_admin;

/** Options for a request, which librdkafka gives up after `timeout_ms`. Any thread.
 * @return owned by the caller; free with rd_kafka_AdminOptions_destroy */
rd_kafka_AdminOptions_t *ab_kafka_admin_options(rd_kafka_t *rk, rd_kafka_admin_op_t op,
                                                int timeout_ms);
/** What the request must be given; ab_kafka_admin_await releases it. */
ab_kafka_admin ab_kafka_admin_begin(rd_kafka_t *rk, rd_kafka_admin_op_t op, int timeout_ms);
/** Wait for the result. @return NULL: none came; else destroyed by the caller. librdkafka's
 * functions for results and their destruction take NULL too */
rd_kafka_event_t *ab_kafka_admin_await(ab_kafka_admin *a);
/** OK, or why the request as a whole failed. @param event  NULL: no result came */
AB_MUST_USE ab_err ab_kafka_admin_check(rd_kafka_event_t *event, ab_error *err);
