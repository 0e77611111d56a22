/* SPDX-License-Identifier: Apache-2.0
 *
 * What topics must be like, and the requests that look at them, make them, delete them and find
 * their ends. All of these wait for the broker: worker threads only.
 */
#pragma once

#include "transport/kafka/client/settings.h"

/* One topic in question. */
typedef struct {
    const char *name;  /* borrowed */
    const char *agent; /* borrowed; for advice in error texts */
    bool live;
    bool usable; /* there, with a leader */
    bool missing;
    bool made;      /* just now, by us */
    int32_t leader; /* number of the broker; of a usable one */
    ab_error error; /* why it is not usable */
} ab_kafka_topic_state;

/* How long one request may take: a stop has to wait for it. Milliseconds. */
#define AB_KAFKA_REQUEST_MS 3000
/* The time that librdkafka gets for a request to the coordinator of a group: its most, and much
 * longer than we wait. A request that it gives up itself while the coordinator is away ends the
 * process when that returns (librdkafka issues 4605 and 5397). Milliseconds. */
#define AB_KAFKA_COORDINATOR_MS 3600000

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
/** Delete these; one that is not there counts as deleted. @return why one of them, or all, stay */
AB_MUST_USE ab_err ab_kafka_topics_delete(rd_kafka_t *rk, const ab_kafka_topic_state *topics,
                                          size_t count, ab_error *err);
/** Check the settings of those that are usable; a wrong one is no longer usable, and its `error`
 * says why. */
void ab_kafka_topics_check(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                           size_t count);

/** Options of a request to the coordinator of a group (AB_KAFKA_COORDINATOR_MS). Any thread.
 * @return owned by the caller; free with rd_kafka_AdminOptions_destroy */
rd_kafka_AdminOptions_t *ab_kafka_coordinator_options(rd_kafka_t *rk, rd_kafka_admin_op_t op);

/** Whether a group has no members, or does not exist. False also when no broker answers. */
bool ab_kafka_group_is_empty(rd_kafka_t *rk, const char *group);

/** The one partition of a group's result; it lives as long as the event. Any thread.
 * @param event  NULL: no answer came
 * @return NULL with the reason */
const rd_kafka_topic_partition_t *ab_kafka_only_position(rd_kafka_event_t *event,
                                                         const rd_kafka_group_result_t **groups,
                                                         size_t count, ab_error *err);

/** Commit again what a group without members has committed in a topic, so that the broker does not
 * forget it. @return NOTFOUND: it has committed nothing; else why not */
AB_MUST_USE ab_err ab_kafka_group_recommit(rd_kafka_t *rk, const char *group, const char *topic,
                                           ab_error *err);

#define AB_KAFKA_SILENT_MAX 8

/* Brokers that were asked something in vain. Past AB_KAFKA_SILENT_MAX of them the rest is asked
 * each time. */
typedef struct {
    int32_t brokers[AB_KAFKA_SILENT_MAX];
    size_t count;
} ab_kafka_silent;

/* Where a log begins and ends. */
typedef struct {
    const char *name; /* borrowed */
    int32_t leader;   /* as ab_kafka_topics_inspect found it */
    int64_t low;
    int64_t high;   /* the next offset to be written */
    bool asked;     /* false at first */
    ab_error error; /* why it could not be had; OK: it was */
} ab_kafka_ends;

/**
 * Find where logs begin and end, leader by leader: what one of them does not answer fails alone.
 * @param silent  leaders that are not asked; those that do not answer are added
 */
void ab_kafka_topics_ends(rd_kafka_t *rk, ab_kafka_ends *ends, size_t count,
                          ab_kafka_silent *silent);
