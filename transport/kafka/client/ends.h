/* SPDX-License-Identifier: Apache-2.0
 *
 * Where logs begin and end. Waits for the brokers: worker threads only.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>

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
void ab_kafka_ends_find(rd_kafka_t *rk, ab_kafka_ends *ends, size_t count, ab_kafka_silent *silent);
