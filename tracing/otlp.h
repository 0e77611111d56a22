/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans as the body of a request to a collector: OTLP 1.x, ExportTraceServiceRequest in binary
 * protobuf. Pure; any thread.
 */
#pragma once

#include "tracing/trace_span.h"

/* Who says it; texts are borrowed. */
typedef struct {
    const char *service;  /* attribute service.name */
    const char *version;  /* attribute service.version */
    const char *instance; /* attribute service.instance.id */
} ab_otlp_resource;

/**
 * Write the first `count` spans of the list.
 *
 * @param spans  of ab_trace_span; at least so many
 * @return NOMEM, TOOBIG (as `out` allows); nothing is taken from the list
 */
AB_MUST_USE ab_err ab_otlp_write(const ab_otlp_resource *resource, const ab_link *spans,
                                 size_t count, ab_buf *out);
