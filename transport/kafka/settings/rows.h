/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of librdkafka that must be accepted.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>

typedef struct {
    const char *key;
    const char *value;  /* NULL: leave librdkafka's default */
    const char *option; /* what the user wrote it as; NULL: the key */
} ab_kafka_row;

/** Set one. Any thread. @return CONFIG naming the option, and what librdkafka says */
AB_MUST_USE ab_err ab_kafka_row_set(rd_kafka_conf_t *conf, const ab_kafka_row *row, ab_error *err);
/** Set `count` of them, up to the first that is refused. Any thread. @return as ab_kafka_row_set */
AB_MUST_USE ab_err ab_kafka_rows_set(rd_kafka_conf_t *conf, const ab_kafka_row *rows, size_t count,
                                     ab_error *err);

/* Of an array. */
#define AB_KAFKA_ROWS_SET(conf, rows, err)                                                         \
    ab_kafka_rows_set((conf), (rows), sizeof(rows) / sizeof((rows)[0]), (err))
