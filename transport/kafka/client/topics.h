/* SPDX-License-Identifier: Apache-2.0
 *
 * What topics must be like, and the requests that look at them, make them, delete them and find
 * their ends. All of these wait for the broker: worker threads only.
 */
#pragma once

#include "transport/kafka/settings/settings.h"

/* One topic in question. */
typedef struct {
    const char *name;  /* borrowed */
    const char *agent; /* borrowed; for advice in error texts */
    bool live;
    bool usable; /* there, with a leader */
    bool missing;
    bool made;      /* just now, by us */
    bool hidden;    /* its settings are not shown: DescribeConfigs is missing */
    int32_t leader; /* number of the broker; of a usable one */
    ab_error error; /* why it is not usable, or what a usable one should be set to; `foreign` is
                       Kafka's code, if the broker said it */
} ab_kafka_topic_state;

/**
 * Find out which of these topics are there, with one partition and a leader.
 * @param rk  knows no other topics: what a handle knows is asked for too
 * @return what went wrong with the request as a whole
 */
AB_MUST_USE ab_err ab_kafka_topics_inspect(const ab_kafka_settings *s, rd_kafka_t *rk,
                                           ab_kafka_topic_state *topics, size_t count,
                                           ab_error *err);
/** Make those that are missing; their `error` says that they come, or why they cannot. */
void ab_kafka_topics_make(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                          size_t count);
/** Find out whether this topic could be made, and make nothing. @param name  borrowed
 * @return why not, with Kafka's code in `foreign`; OK also when it exists */
AB_MUST_USE ab_err ab_kafka_topics_try(const ab_kafka_settings *s, rd_kafka_t *rk, const char *name,
                                       ab_error *err);
/** Delete these; one that is not there counts as deleted. @return why one of them, or all, stay */
AB_MUST_USE ab_err ab_kafka_topics_delete(rd_kafka_t *rk, const ab_kafka_topic_state *topics,
                                          size_t count, ab_error *err);
/** Check the settings of those that are usable. The `error` of a wrong one says what is to be set,
 * and it is no longer usable, unless it only takes less than kafka.message-max. */
void ab_kafka_topics_check(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                           size_t count);
