/* SPDX-License-Identifier: Apache-2.0
 *
 * From our options to what librdkafka is told. Each kind of handle has its own fixed settings; what
 * a user passes through (kafka.librdkafka.*) comes last, save for keys that carry a promise.
 */
#pragma once

#include "base/core/file_stamp.h"
#include "schema/topics.h"
#include "transport/transport.h"

#include <librdkafka/rdkafka.h>

/* How far a consumer's handle fetches ahead, for all its partitions together: until it has one of
 * these, so by one answer of a broker more at most. */
#define AB_KAFKA_AHEAD_BYTES    ((size_t)32 * 1024 * 1024)
#define AB_KAFKA_AHEAD_MESSAGES 100000
/* Of kafka.brokers, as one list. */
#define AB_KAFKA_BROKERS_MAX ((size_t)64 * 1024)

typedef enum {
    AB_KAFKA_PRODUCER,      /* state: idempotent, acknowledged by all in-sync replicas */
    AB_KAFKA_LIVE_PRODUCER, /* live: at once or never */
    AB_KAFKA_CONSUMER,      /* what peers send; commits */
    AB_KAFKA_READER,        /* our own log at start; never commits */
    AB_KAFKA_LIVE_CONSUMER, /* what is of use now; never commits. AGENT: a member of live_group */
} ab_kafka_kind;

typedef enum { AB_TOPICS_VERIFY, AB_TOPICS_CREATE, AB_TOPICS_EXTERNAL } ab_kafka_management;

typedef struct {
    const ab_config *config;
    ab_role role;
    const char *prefix;
    ab_kafka_management topics;
    int64_t commit_ms;
    int64_t heartbeat_ms;
    int64_t message_max_bytes;
    int64_t batch_bytes; /* most that is sent in one go, unless one event is larger */
    int64_t queue_bytes; /* on their way to the broker, of all agents */
    int64_t linger_ms;
    size_t inflight;
    char group[AB_TOPIC_NAME_MAX];
    char live_group[AB_TOPIC_NAME_MAX]; /* AGENT: of the member that reads the live topic */
    const char *agent;                  /* NULL: PRINCIPAL */
    rd_kafka_conf_t *common;            /* what all kinds share */
    ab_file_stamps files; /* that it was read from: certificates, their key, a password */
} ab_kafka_settings;

extern const ab_options ab_kafka_options;

/** Append kafka.brokers as one list, host:port,...: as librdkafka and Kafka's own tools take it. */
void ab_kafka_put_brokers(const ab_config *config, ab_buf *out);

/**
 * Read and check the options, certificates included. No network.
 * @param s  zeroed; fini also after a failure
 * @return CONFIG naming the option and what to do, NOMEM
 */
AB_MUST_USE ab_err ab_kafka_settings_init(ab_kafka_settings *s, const ab_transport_env *env,
                                          ab_error *err);
/** Read the files again, for the handles that are made from now on. Loop thread. @return as init;
 * then all is as it was */
AB_MUST_USE ab_err ab_kafka_settings_reload(ab_kafka_settings *s, ab_error *err);
void ab_kafka_settings_fini(ab_kafka_settings *s);
/** Settings of one handle, owned by the caller until given to rd_kafka_new. Any thread. @return
 * CONFIG */
AB_MUST_USE ab_err ab_kafka_settings_conf(const ab_kafka_settings *s, ab_kafka_kind kind,
                                          rd_kafka_conf_t **out, ab_error *err);
