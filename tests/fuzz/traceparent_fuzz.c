/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a traceparent: what is read is written so that it is read as the same again.
 */
#include "tracing/context.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_trace_context first, again;
    char text[AB_TRACEPARENT_TEXT];
    if (ab_trace_context_parse((ab_str){(const char *)data, size}, &first) != AB_ERR_OK)
        return 0;
    ab_trace_context_format(&first, text);
    assert(ab_trace_context_parse(ab_str_of(text), &again) == AB_ERR_OK);
    assert(memcmp(first.trace, again.trace, sizeof(first.trace)) == 0);
    assert(memcmp(first.span, again.span, sizeof(first.span)) == 0);
    assert(first.sampled == again.sampled);
    return 0;
}
