/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/event/record_text.h"

#include <string.h>

static ab_str take_line(ab_str *text)
{
    const char *end = memchr(text->ptr, '\n', text->len);
    ab_str line = {text->ptr, end == NULL ? text->len : (size_t)(end - text->ptr)};
    size_t taken = line.len + (end != NULL);
    *text = (ab_str){text->ptr + taken, text->len - taken};
    return line;
}

static ab_header header_of(ab_str line)
{
    const char *colon = memmem(line.ptr, line.len, ": ", 2);
    if (colon == NULL)
        return (ab_header){line, AB_STR_NONE};
    size_t name_len = (size_t)(colon - line.ptr);
    return (ab_header){{line.ptr, name_len}, {colon + 2, line.len - name_len - 2}};
}

static int64_t number_of(ab_str text)
{
    uint64_t number = 0;
    return ab_str_to_u64(text, &number) == AB_ERR_OK && number <= INT64_MAX ? (int64_t)number : 0;
}

void record_from_text(ab_str text, ab_record *out)
{
    out->header_count = 0;
    out->key = AB_STR_NONE;
    out->value = AB_STR_NONE;
    out->time_ms = 0;
    while (text.len > 0) {
        ab_str line = take_line(&text);
        if (line.len == 0) {
            out->value = text;
            return;
        }
        ab_header h = header_of(line);
        if (ab_str_is(h.name, "key"))
            out->key = h.value;
        else if (ab_str_is(h.name, "time_ms"))
            out->time_ms = number_of(h.value);
        else if (out->header_count < AB_EVENT_ATTRS_MAX + 1)
            out->headers[out->header_count++] = h;
    }
}
