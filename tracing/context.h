/* SPDX-License-Identifier: Apache-2.0
 *
 * Which trace something belongs to, as text: field traceparent of W3C Trace Context (Level 2,
 * section 3.2), which is also the value of the CloudEvents extension of that name. Pure; any
 * thread.
 */
#pragma once

#include "base/core/buf.h"

#define AB_TRACE_ID_BYTES 16
#define AB_SPAN_ID_BYTES  8
/* With the NUL. */
#define AB_TRACEPARENT_TEXT 56

typedef struct {
    uint8_t trace[AB_TRACE_ID_BYTES];
    uint8_t span[AB_SPAN_ID_BYTES]; /* whose children what follows is */
    bool sampled;                   /* it is recorded */
} ab_trace_context;

/** @return PARSE: it is not a traceparent; it is ignored then, as the recommendation says */
AB_MUST_USE ab_err ab_trace_context_parse(ab_str text, ab_trace_context *out);
/** In version 00. */
void ab_trace_context_format(const ab_trace_context *context, char out[AB_TRACEPARENT_TEXT]);
