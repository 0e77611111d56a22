/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/trace_span.h"

#include <stdlib.h>
#include <string.h>

void ab_trace_span_set(ab_trace_span *span, const char *name, ab_str value)
{
    if (value.ptr != NULL && span->attribute_count < AB_TRACE_ATTRIBUTES_MAX)
        span->attributes[span->attribute_count++] = (ab_trace_attribute){name, value};
}

/* No more than fits, and no half of a character at its end. */
static ab_str clip(ab_str text)
{
    size_t most = text.len > AB_TRACE_TEXT_MAX ? AB_TRACE_TEXT_MAX : text.len;
    for (size_t cut = 0; cut < 4 && cut <= most; cut++)
        if (ab_str_is_utf8((ab_str){text.ptr, most - cut}))
            return (ab_str){text.ptr, most - cut};
    return AB_STR("(not UTF-8)");
}

static ab_str move(ab_str text, char **at)
{
    ab_str clipped = clip(text);
    memcpy(*at, clipped.ptr, clipped.len);
    ab_str moved = {*at, clipped.len};
    *at += clipped.len;
    return moved;
}

ab_trace_span *ab_trace_span_copy(const ab_trace_span *span)
{
    size_t bytes = span->error.ptr == NULL ? 0 : clip(span->error).len;
    for (size_t i = 0; i < span->attribute_count; i++)
        bytes += clip(span->attributes[i].value).len;
    ab_trace_span *copy = malloc(sizeof(*copy) + bytes);
    if (copy == NULL)
        return NULL;
    *copy = *span;
    ab_link_init(&copy->link);
    char *at = (char *)(copy + 1);
    if (span->error.ptr != NULL)
        copy->error = move(span->error, &at);
    for (size_t i = 0; i < span->attribute_count; i++)
        copy->attributes[i].value = move(span->attributes[i].value, &at);
    return copy;
}
