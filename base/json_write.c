/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_priv.h"

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

void ab_json_put_string(ab_buf *out, ab_str content)
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

ab_jsonw ab_jsonw_to(ab_buf *buf)
{
    return (ab_jsonw){.buf = buf};
}

static void separate(ab_jsonw *w)
{
    if (w->comma)
        ab_buf_putc(w->buf, ',');
    w->comma = true;
}

static void open_with(ab_jsonw *w, char bracket)
{
    separate(w);
    ab_buf_putc(w->buf, bracket);
    w->comma = false;
    w->depth++;
}

static void close_with(ab_jsonw *w, char bracket)
{
    assert(w->depth > 0);
    ab_buf_putc(w->buf, bracket);
    w->comma = true;
    w->depth--;
}

void ab_jsonw_object(ab_jsonw *w)
{
    open_with(w, '{');
}

void ab_jsonw_object_end(ab_jsonw *w)
{
    close_with(w, '}');
}

void ab_jsonw_array(ab_jsonw *w)
{
    open_with(w, '[');
}

void ab_jsonw_array_end(ab_jsonw *w)
{
    close_with(w, ']');
}

void ab_jsonw_str(ab_jsonw *w, ab_str value)
{
    separate(w);
    if (!ab_str_is_utf8(value)) {
        if (w->buf->status == AB_ERR_OK)
            w->buf->status = AB_ERR_INVALID;
        return;
    }
    ab_json_put_string(w->buf, value);
}

void ab_jsonw_key(ab_jsonw *w, ab_str name)
{
    ab_jsonw_str(w, name);
    ab_buf_putc(w->buf, ':');
    w->comma = false;
}

void ab_jsonw_int(ab_jsonw *w, int64_t value)
{
    separate(w);
    ab_buf_printf(w->buf, "%" PRId64, value);
}

void ab_jsonw_raw(ab_jsonw *w, ab_str json)
{
    separate(w);
    ab_buf_put(w->buf, json.ptr == NULL ? AB_STR("null") : json);
}

void ab_jsonw_bool(ab_jsonw *w, bool value)
{
    ab_jsonw_raw(w, value ? AB_STR("true") : AB_STR("false"));
}

void ab_jsonw_null(ab_jsonw *w)
{
    ab_jsonw_raw(w, AB_STR("null"));
}

void ab_jsonw_value(ab_jsonw *w, ab_jsonv v)
{
    ab_jsonw_raw(w, ab_json_raw(v));
}

void ab_jsonw_member(ab_jsonw *w, ab_jsonv v)
{
    if (!ab_json_present(v))
        return;
    ab_str key = ab_json_raw_key(v);
    assert(key.ptr != NULL);
    ab_jsonw_raw(w, key);
    ab_buf_putc(w->buf, ':');
    w->comma = false;
    ab_jsonw_value(w, v);
}

void ab_jsonw_key_str(ab_jsonw *w, const char *name, ab_str value)
{
    if (value.ptr == NULL)
        return;
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_str(w, value);
}

void ab_jsonw_key_raw(ab_jsonw *w, const char *name, ab_str json)
{
    if (json.ptr == NULL)
        return;
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_raw(w, json);
}
