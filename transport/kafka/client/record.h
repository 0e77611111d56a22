/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka's messages as CloudEvents, by event/codec_kafka.h.
 */
#pragma once

#include "event/event.h"

#include <librdkafka/rdkafka.h>

/**
 * Decode a received record.
 *
 * @param with_data  false: leave the data of a binary-mode event out, to save memory
 * @param reason     set on error: a word for the metric
 * @return INVALID, PARSE, UNSUPPORTED, TOOBIG: it is not an event of ours; NOMEM
 */
AB_MUST_USE ab_err ab_kafka_record_decode(const rd_kafka_message_t *m, bool with_data,
                                          ab_event **out, const char **reason, ab_error *err);
/**
 * Hand an event to a producer, which reads its data until it reports.
 * @param opaque  comes back in the delivery report
 * @return what librdkafka says at once
 */
rd_kafka_resp_err_t ab_kafka_record_produce(rd_kafka_t *rk, rd_kafka_topic_t *topic,
                                            const ab_event *event, void *opaque);
