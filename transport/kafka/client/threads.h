/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka's own threads.
 */
#pragma once

#include <librdkafka/rdkafka.h>

/**
 * rd_kafka_new, whose threads may be woken up a millisecond late (PR_SET_TIMERSLACK, which threads
 * inherit). librdkafka 2.0 waits for whole milliseconds, and polls without waiting for the rest, at
 * least once a second in each thread: up to 0.1 % of a core for each. Nothing that it times needs
 * to be more exact. Any thread; what that thread itself waits for is as exact as before.
 *
 * @param conf  is the handle's then; the caller's still when there is none
 * @param why   why there is none; written then only
 * @return NULL: there is none
 */
rd_kafka_t *ab_kafka_threads_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                 size_t why_size);
