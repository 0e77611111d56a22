/* SPDX-License-Identifier: Apache-2.0
 *
 * Applications as teams write them, of a wanted size. Their ids are random, so that compression
 * finds in them what it finds in real ones; the same index always gives the same Application.
 */
#pragma once

#include "base/core/buf.h"

/**
 * Append one Application as compact JSON.
 *
 * @param index     its name is app-<index>
 * @param revision  another one changes spec.source.targetRevision and nothing else
 * @param bytes     the size to come near to, from above
 */
void ab_bench_application(ab_buf *out, size_t index, unsigned revision, size_t bytes);

/** The revision of an Application as this made it; 0: there is none. */
unsigned ab_bench_revision(ab_str application);

/* Applications made before the clock runs. More of them than fit into a compressor's window, or it
 * would find each one's like. */
#define AB_BENCH_POOL 128

typedef struct {
    ab_buf text[AB_BENCH_POOL];
} ab_bench_pool;

/** Fill the pool with Applications of this size. @return false when out of memory */
bool ab_bench_pool_init(ab_bench_pool *pool, size_t bytes);
void ab_bench_pool_fini(ab_bench_pool *pool);
/** The data of the i-th event; borrowed. */
ab_str ab_bench_pool_at(const ab_bench_pool *pool, size_t i);
