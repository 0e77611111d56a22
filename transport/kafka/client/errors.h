/* SPDX-License-Identifier: Apache-2.0
 *
 * Kafka's error codes in our terms.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>

/** What a caller does about a failed send or request. Any thread. */
ab_err ab_kafka_err(rd_kafka_resp_err_t code);
/** Set `err` from a Kafka code, its own text after `what`, and return the mapped code. Any thread.
 */
ab_err ab_kafka_fail(ab_error *err, rd_kafka_resp_err_t code, const char *what);
/** True when the code says that a topic is not there (any more), as the broker or the client sees
 * it. */
bool ab_kafka_is_missing(rd_kafka_resp_err_t code);
/** True when the code says that no broker can be reached. */
bool ab_kafka_is_down(rd_kafka_resp_err_t code);
/** True when what librdkafka says of a connection is that the broker refused our certificate, or
 * that it wants one and got none. Any thread. */
bool ab_kafka_is_about_our_certificate(const char *text);
