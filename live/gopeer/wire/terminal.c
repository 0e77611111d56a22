/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/side.h"
#include "live/resource/query.h"

#define WORD_MAX  (8u * 1024)
#define WORDS_MAX 256

static const char *const STREAMS[] = {"tty", "stdin", "stdout", "stderr"};
#define STREAM_COUNT (sizeof(STREAMS) / sizeof(STREAMS[0]))

/* ----- out ----- */

/* One parameter of a checked query, if it is a word of the command. */
static ab_err put_word(ab_spanw *w, ab_str param, size_t *count)
{
    ab_str text = ab_str_after(param, "command=");
    if (text.ptr == NULL)
        return AB_ERR_OK;
    if ((*count)++ == WORDS_MAX)
        return AB_ERR_INVALID;
    ab_buf word = ab_buf_up_to(WORD_MAX);
    ab_err e = ab_resource_query_decode(text, true, &word);
    if (e == AB_ERR_OK)
        ab_spanw_str(w, word.len == 0 ? AB_STR("") : ab_buf_str(&word));
    ab_buf_fini(&word);
    return e;
}

static ab_err put_command(ab_spanw *w, ab_str query)
{
    ab_err e = AB_ERR_OK;
    size_t count = 0;
    ab_spanw_key_array(w, "command");
    while (e == AB_ERR_OK && query.len > 0)
        e = put_word(w, ab_str_cut(&query, '&'), &count);
    ab_spanw_array_end(w);
    return e;
}

static ab_err put_container(ab_spanw *w, ab_str query)
{
    size_t count = 0;
    ab_buf name = ab_buf_up_to(WORD_MAX);
    ab_err e = ab_resource_query_find(query, "container", &name, &count);
    if (e == AB_ERR_OK && count > 1)
        e = AB_ERR_INVALID;
    if (e == AB_ERR_OK)
        ab_spanw_key_str(w, "containerName", name.len == 0 ? AB_STR("") : ab_buf_str(&name));
    ab_buf_fini(&name);
    return e;
}

static ab_err put_stream(ab_spanw *w, ab_str query, const char *name)
{
    bool value = false;
    ab_err e = ab_resource_query_bool(query, name, &value, NULL);
    ab_spanw_key_raw(w, name, value ? AB_STR("true") : AB_STR("false"));
    return e;
}

ab_err ab_gopeer_wire_put_terminal(const char *uuid, const ab_resource_map *m, ab_buf *out,
                                   ab_error *err)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    ab_spanw_key_str(&w, "namespace", m->ns);
    ab_spanw_key_str(&w, "podName", m->name);
    ab_err e = put_container(&w, m->query);
    if (e == AB_ERR_OK)
        e = put_command(&w, m->query);
    for (size_t i = 0; e == AB_ERR_OK && i < STREAM_COUNT; i++)
        e = put_stream(&w, m->query, STREAMS[i]);
    ab_spanw_object_end(&w);
    if (e == AB_ERR_OK)
        e = ab_buf_status(out);
    return e == AB_ERR_OK ? e : ab_fail(err, AB_ERR_INVALID, "the query is not one of a terminal");
}

/* ----- in ----- */

static ab_err read_word(ab_spanv value, const char *name, ab_buf *out)
{
    ab_buf word = ab_buf_up_to(WORD_MAX);
    ab_err e = ab_span_copy(value, &word);
    if (e == AB_ERR_OK) {
        ab_buf_printf(out, "&%s=", name);
        ab_resource_query_encode(word.len == 0 ? AB_STR("") : ab_buf_str(&word), out);
    }
    ab_buf_fini(&word);
    return e;
}

static bool is_true(ab_spanv root, const char *name)
{
    return ab_span_typeof(ab_span_get(root, name)) == AB_SPAN_TRUE;
}

static ab_err read_terminal(ab_spanv root, ab_buf *out)
{
    ab_spanv container = ab_span_get(root, "containerName");
    ab_spanv command = ab_span_get(root, "command");
    ab_err e = ab_gopeer_wire_read_pod(root, "/exec", out);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        ab_buf_printf(out, "%c%s=%s", i == 0 ? '?' : '&', STREAMS[i],
                      is_true(root, STREAMS[i]) ? "true" : "false");
    if (e == AB_ERR_OK && ab_span_present(container) && !ab_span_is(container, ""))
        e = read_word(container, "container", out);
    for (ab_spanv v = ab_span_first(command); e == AB_ERR_OK && ab_span_present(v);
         v = ab_span_next(v))
        e = read_word(v, "command", out);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

ab_err ab_gopeer_wire_read_terminal(ab_str data, ab_buf *target, bool *tty, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_terminal(ab_span_root(doc), target);
    *tty = is_true(ab_span_root(doc), "tty");
    ab_span_free(doc);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "it is not a request for a terminal");
}

static ab_err read_side_of(ab_spanv size, const char *name, const char *other, uint32_t *out)
{
    int64_t number = 0;
    ab_spanv v = ab_span_get(size, name);
    ab_err e = ab_span_i64(ab_span_present(v) ? v : ab_span_get(size, other), &number);
    if (e != AB_ERR_OK || number < 0 || number > UINT16_MAX)
        return AB_ERR_INVALID;
    *out = (uint32_t)number;
    return AB_ERR_OK;
}

ab_err ab_gopeer_wire_read_size(ab_str data, uint32_t *cols, uint32_t *rows)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(data, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    e = read_side_of(ab_span_root(doc), "Width", "cols", cols);
    if (e == AB_ERR_OK)
        e = read_side_of(ab_span_root(doc), "Height", "rows", rows);
    ab_span_free(doc);
    return e;
}
