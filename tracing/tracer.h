/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which traces are recorded, gives out ids, and hands what has ended to the exporter. Loop
 * thread.
 */
#pragma once

#include "tracing/exporter.h"

typedef struct ab_tracer ab_tracer;

/**
 * @param exporter  borrowed; must outlive it
 * @param one_in    so many of what may begin a trace begin one; 1: all
 * @return NULL when out of memory, or of random bytes
 */
ab_tracer *ab_tracer_new(ab_exporter *exporter, const ab_clock *clock, uint64_t one_in);
/** NULL is allowed. */
void ab_tracer_free(ab_tracer *t);

/** Begin a trace, one time in so many. @param out  its first span. @return false: not this time */
bool ab_tracer_begin(ab_tracer *t, ab_trace_context *out);
/** A span of this name and kind that begins now, below `parent`; it is told of when it ends. */
ab_trace_span ab_tracer_below(ab_tracer *t, const ab_trace_context *parent, const char *name,
                              ab_trace_kind kind);
/** It is over: queued to be exported. Ends now unless end_us is set; never before it began. Texts
 * are copied. */
void ab_tracer_end(ab_tracer *t, ab_trace_span *span);
