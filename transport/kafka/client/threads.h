/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka's own threads.
 */
#pragma once

#include <librdkafka/rdkafka.h>

/**
 * From now on the calling thread, which librdkafka's threads wake up, waits until the processor is
 * free, instead of taking it from whoever has it (SCHED_BATCH). They wake it up while they hold the
 * lock of the queue that it then reads: it would take the processor from them, and wait for the
 * lock. It keeps its share of the processor, and where one is free it does not wait.
 * Nothing changes where the thread was given another policy than the usual one.
 */
void ab_kafka_threads_give_way(void);

/**
 * rd_kafka_new, whose threads may be woken up a millisecond late (PR_SET_TIMERSLACK, which threads
 * inherit). librdkafka 2.0 waits for whole milliseconds, and polls without waiting for the rest, at
 * least once a second in each thread: up to 0.1 % of a core for each. Nothing that it times needs
 * to be more exact. They do not give way. Any thread; what that thread itself waits for is as exact
 * as before.
 *
 * @param conf  is the handle's then; the caller's still when there is none
 * @param why   why there is none; written then only
 * @return NULL: there is none
 */
rd_kafka_t *ab_kafka_threads_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                 size_t why_size);
