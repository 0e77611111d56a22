/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/context.h"

#include "base/core/hex.h"

#include <stdio.h>

/* "00-" 32 digits "-" 16 digits "-" 2 digits */
#define VERSION_AT  0
#define TRACE_AT    3
#define SPAN_AT     36
#define FLAGS_AT    53
#define TEXT_LENGTH (AB_TRACEPARENT_TEXT - 1)

#define FLAG_SAMPLED 0x01u

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; /* capitals are not allowed */
}

static bool read_hex(const char *text, uint8_t *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return any == 0;
}

/* Newer versions may have more behind what version 00 has. */
static bool is_length_of(ab_str text, uint8_t version)
{
    if (version == 0)
        return text.len == TEXT_LENGTH;
    return version != 0xff && (text.len == TEXT_LENGTH || text.ptr[TEXT_LENGTH] == '-');
}

ab_err ab_trace_context_parse(ab_str text, ab_trace_context *out)
{
    uint8_t version, flags;
    if (text.ptr == NULL || text.len < TEXT_LENGTH)
        return AB_ERR_PARSE;
    bool divided = text.ptr[TRACE_AT - 1] == '-' && text.ptr[SPAN_AT - 1] == '-' &&
                   text.ptr[FLAGS_AT - 1] == '-';
    if (!divided || !read_hex(text.ptr + VERSION_AT, &version, 1) || !is_length_of(text, version) ||
        !read_hex(text.ptr + TRACE_AT, out->trace, sizeof(out->trace)) ||
        !read_hex(text.ptr + SPAN_AT, out->span, sizeof(out->span)) ||
        !read_hex(text.ptr + FLAGS_AT, &flags, 1))
        return AB_ERR_PARSE;
    if (is_zero(out->trace, sizeof(out->trace)) || is_zero(out->span, sizeof(out->span)))
        return AB_ERR_PARSE;
    out->sampled = (flags & FLAG_SAMPLED) != 0;
    return AB_ERR_OK;
}

void ab_trace_context_format(const ab_trace_context *context, char out[AB_TRACEPARENT_TEXT])
{
    char trace[2 * AB_TRACE_ID_BYTES + 1], span[2 * AB_SPAN_ID_BYTES + 1];
    *ab_hex_write(trace, context->trace, sizeof(context->trace)) = '\0';
    *ab_hex_write(span, context->span, sizeof(context->span)) = '\0';
    snprintf(out, AB_TRACEPARENT_TEXT, "00-%s-%s-%02x", trace, span,
             context->sampled ? FLAG_SAMPLED : 0u);
}
