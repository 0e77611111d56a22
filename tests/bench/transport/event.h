/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as the services make them of an Application, and the acknowledgements of the gRPC
 * transport.
 */
#pragma once

#include "event/event.h"
#include "tests/bench/base/payload.h"

/**
 * The i-th event: no two of a run have the same key.
 *
 * @param source  who writes it
 * @param epoch   of the writer
 * @param out     one reference
 */
AB_MUST_USE ab_err ab_bench_event(const ab_bench_pool *pool, size_t i, const char *source,
                                  uint64_t epoch, ab_event **out, ab_error *err);
/** The same with other data. */
AB_MUST_USE ab_err ab_bench_event_of(ab_str data, size_t i, const char *source, uint64_t epoch,
                                     ab_event **out, ab_error *err);

/* The same as messages of a stream, made before the clock runs. */
typedef struct {
    ab_buf event[AB_BENCH_POOL];
    ab_buf ack; /* as large as that of any */
} ab_bench_messages;

/** @return what failed */
AB_MUST_USE ab_err ab_bench_messages_init(ab_bench_messages *m, const ab_bench_pool *pool,
                                          ab_error *err);
