/* SPDX-License-Identifier: Apache-2.0
 *
 * A span of a trace that has ended: what was done, for what, from when to when (OpenTelemetry's
 * data model of traces). Loop thread.
 */
#pragma once

#include "base/core/list.h"
#include "tracing/context.h"

#define AB_TRACE_ATTRIBUTES_MAX 8
/* Bytes of one text that are kept. */
#define AB_TRACE_TEXT_MAX 256

/* Values are those of opentelemetry.proto.trace.v1.Span.SpanKind. */
typedef enum {
    AB_TRACE_INTERNAL = 1,
    AB_TRACE_CLIENT = 3,
    AB_TRACE_PRODUCER = 4,
    AB_TRACE_CONSUMER = 5,
} ab_trace_kind;

typedef struct {
    const char *name; /* a literal */
    ab_str value;
} ab_trace_attribute;

typedef struct {
    ab_link link;             /* in the queue of those to export */
    ab_trace_context context; /* its trace, and its own id */
    uint8_t parent[AB_SPAN_ID_BYTES];
    bool has_parent; /* else it is the first of its trace */
    ab_trace_kind kind;
    const char *name;         /* a literal */
    int64_t start_us, end_us; /* wall clock */
    ab_str error;             /* why it failed; absent: it did not */
    ab_trace_attribute attributes[AB_TRACE_ATTRIBUTES_MAX];
    size_t attribute_count;
} ab_trace_span;

/** Ignored when the value is absent, or there are AB_TRACE_ATTRIBUTES_MAX. @param value  borrowed,
 * as ab_trace_span_copy finds it */
void ab_trace_span_set(ab_trace_span *span, const char *name, ab_str value);
/** A copy with texts of its own, each no longer than AB_TRACE_TEXT_MAX and valid UTF-8. @return
 * NULL when out of memory; free() */
ab_trace_span *ab_trace_span_copy(const ab_trace_span *span);
