/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/text_lines.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool ab_text_lines_next(ab_text_lines *l, ab_str *line)
{
    if (l->rest.len == 0)
        return false;
    const char *newline = memchr(l->rest.ptr, '\n', l->rest.len);
    size_t len = newline == NULL ? l->rest.len : (size_t)(newline - l->rest.ptr);
    size_t whole = newline == NULL ? len : len + 1;
    *line = (ab_str){l->rest.ptr, len};
    l->rest = (ab_str){l->rest.ptr + whole, l->rest.len - whole};
    l->number++;
    while (line->len > 0 && is_blank(line->ptr[line->len - 1]))
        line->len--;
    for (; line->len > 0 && is_blank(line->ptr[0]); line->len--)
        line->ptr++;
    return true;
}
