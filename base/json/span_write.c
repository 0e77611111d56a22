/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/span_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void put_escape(ab_buf *out, unsigned char c)
{
    static const char values[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    const char *value = c == '\0' ? NULL : strchr(values, c);
    if (value == NULL) {
        ab_buf_printf(out, "\\u%04x", c);
        return;
    }
    ab_buf_putc(out, '\\');
    ab_buf_putc(out, names[value - values]);
}

void ab_span_put_string(ab_buf *out, ab_str content)
{
    ab_buf_putc(out, '"');
    size_t run = 0;
    for (size_t i = 0; i < content.len; i++) {
        unsigned char c = (unsigned char)content.ptr[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        ab_buf_put(out, (ab_str){content.ptr + run, i - run});
        put_escape(out, c);
        run = i + 1;
    }
    ab_buf_put(out, (ab_str){content.ptr + run, content.len - run});
    ab_buf_putc(out, '"');
}

ab_spanw ab_spanw_to(ab_buf *buf)
{
    return (ab_spanw){.buf = buf};
}

static void separate(ab_spanw *w)
{
    if (w->comma)
        ab_buf_putc(w->buf, ',');
    w->comma = true;
}

static void open_with(ab_spanw *w, char bracket)
{
    separate(w);
    ab_buf_putc(w->buf, bracket);
    w->comma = false;
    w->depth++;
}

static void close_with(ab_spanw *w, char bracket)
{
    assert(w->depth > 0);
    ab_buf_putc(w->buf, bracket);
    w->comma = true;
    w->depth--;
}

void ab_spanw_object(ab_spanw *w)
{
    open_with(w, '{');
}

ab_spanw ab_spanw_object_to(ab_buf *buf)
{
    ab_spanw w = ab_spanw_to(buf);
    ab_spanw_object(&w);
    return w;
}

void ab_spanw_object_end(ab_spanw *w)
{
    close_with(w, '}');
}

void ab_spanw_array(ab_spanw *w)
{
    open_with(w, '[');
}

void ab_spanw_array_end(ab_spanw *w)
{
    close_with(w, ']');
}

void ab_spanw_str(ab_spanw *w, ab_str value)
{
    separate(w);
    if (!ab_str_is_utf8(value)) {
        if (w->buf->status == AB_ERR_OK)
            w->buf->status = AB_ERR_INVALID;
        return;
    }
    ab_span_put_string(w->buf, value);
}

void ab_spanw_key(ab_spanw *w, ab_str name)
{
    ab_spanw_str(w, name);
    ab_buf_putc(w->buf, ':');
    w->comma = false;
}

void ab_spanw_int(ab_spanw *w, int64_t value)
{
    separate(w);
    ab_buf_printf(w->buf, "%" PRId64, value);
}

void ab_spanw_raw(ab_spanw *w, ab_str json)
{
    separate(w);
    ab_buf_put(w->buf, json.ptr == NULL ? AB_STR("null") : json);
}

void ab_spanw_value(ab_spanw *w, ab_spanv v)
{
    ab_spanw_raw(w, ab_span_raw(v));
}

void ab_spanw_member(ab_spanw *w, ab_spanv v)
{
    if (!ab_span_present(v))
        return;
    ab_str key = ab_span_raw_key(v);
    assert(key.ptr != NULL);
    ab_spanw_raw(w, key);
    ab_buf_putc(w->buf, ':');
    w->comma = false;
    ab_spanw_value(w, v);
}

/* Who writes a name with escapes must not get it past those who leave it out. */
static bool is_left_out(ab_spanv v, const char *const *left_out)
{
    ab_str plain = ab_span_plain_key(v);
    if (plain.ptr != NULL)
        return ab_str_is_one_of(plain, left_out);
    for (; *left_out != NULL; left_out++)
        if (ab_span_key_is(v, *left_out))
            return true;
    return false;
}

void ab_spanw_members(ab_spanw *w, ab_spanv object, const char *const *left_out)
{
    for (ab_spanv v = ab_span_first(object); ab_span_present(v); v = ab_span_next(v))
        if (!is_left_out(v, left_out))
            ab_spanw_member(w, v);
}

void ab_spanw_key_str(ab_spanw *w, const char *name, ab_str value)
{
    if (value.ptr == NULL)
        return;
    ab_spanw_key(w, ab_str_of(name));
    ab_spanw_str(w, value);
}

void ab_spanw_key_raw(ab_spanw *w, const char *name, ab_str json)
{
    if (json.ptr == NULL)
        return;
    ab_spanw_key(w, ab_str_of(name));
    ab_spanw_raw(w, json);
}

void ab_spanw_key_int(ab_spanw *w, const char *name, int64_t value)
{
    ab_spanw_key(w, ab_str_of(name));
    ab_spanw_int(w, value);
}

void ab_spanw_key_object(ab_spanw *w, const char *name)
{
    ab_spanw_key(w, ab_str_of(name));
    ab_spanw_object(w);
}

void ab_spanw_key_array(ab_spanw *w, const char *name)
{
    ab_spanw_key(w, ab_str_of(name));
    ab_spanw_array(w);
}
