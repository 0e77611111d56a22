/* SPDX-License-Identifier: Apache-2.0
 *
 * The real broker as tests see it: where it listens, what an administrator does to it, and raw
 * records. It was started by kafka-dev, whose folder is in the environment (KAFKA_DEV_HOME). Every
 * failure fails the test.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/** "127.0.0.1:<port>" of a listener: "plain", "tls" or "sasl". */
void ab_broker_address(const char *listener, char out[32]);
/** Path of a file in the broker's folder, e.g. "tls/ca.crt". */
void ab_broker_file(const char *name, char out[512]);
/** Run kafka-dev with these arguments. */
void ab_broker_run(const char *fmt, ...) AB_PRINTF(1, 2);
/** From now on use a broker of our own, in a folder beside the shared one; it must be started and
 * killed. */
void ab_broker_own(const char *name);

/** A plaintext producer that is also the administrator's client. */
rd_kafka_t *ab_broker_admin_new(void);
/** Make a topic, ready for use when this returns. `policy` is its cleanup.policy. */
void ab_broker_topic_create(rd_kafka_t *admin, const char *topic, int partitions,
                            const char *policy);
/** Change what a topic takes: its cleanup.policy and max.message.bytes; other settings are the
 * broker's defaults then. */
void ab_broker_topic_limit(rd_kafka_t *admin, const char *topic, const char *policy,
                           const char *largest);
/** Make a topic of one partition with a second replica at the absent broker 2 (kafka-dev absent),
 * ready for use when this returns: one replica is in sync, and one is enough. */
void ab_broker_topic_create_half(rd_kafka_t *admin, const char *topic, const char *policy);
/** How many replicas must be in sync for the topic to take a record; other settings are the
 * broker's defaults then. */
void ab_broker_topic_need(rd_kafka_t *admin, const char *topic, const char *policy,
                          const char *replicas);
/** Delete a topic; it is gone from the metadata when this returns. */
void ab_broker_topic_delete(rd_kafka_t *admin, const char *topic);
/** Allow `user` an operation on the resources of that type whose name begins with `prefix`. */
void ab_broker_allow(rd_kafka_t *admin, const char *user, rd_kafka_AclOperation_t operation,
                     rd_kafka_ResourceType_t type, const char *prefix);
/** How many records the log of partition 0 holds or held: its high watermark. */
int64_t ab_broker_log_end(rd_kafka_t *admin, const char *topic);
/** Delete all records of partition 0, as retention would; its cleanup.policy must be delete. */
void ab_broker_log_trim(rd_kafka_t *admin, const char *topic);

/* A record as it is written; NULL key or value are null. */
typedef struct {
    const char *key;
    const char *value;
    size_t value_len;
    /* "name=value" each, up to the first NULL */
    const char *headers[16];
} ab_broker_record;
/** Write one record; it is in the log when this returns. */
void ab_broker_write(rd_kafka_t *admin, const char *topic, const ab_broker_record *record);
