/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration file: YAML, turned into JSON and walked in the order of the text. Nested maps
 * and dotted keys are the same thing: `kafka: {tls: {ca: x}}` is `kafka.tls.ca: x`.
 *
 * JSON knows no lines, so the walk keeps a place in the text and looks for each key from there on.
 * With anchors and merge keys the line can be missing or be that of the anchor; the key in the
 * message is right.
 */
#include "base/config/config_priv.h"
#include "base/core/file.h"
#include "base/yaml/yaml.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES (1024u * 1024)
#define SECTION_DEPTH  8
#define NAME_MAX_BYTES 256

typedef struct {
    ab_config *config;
    ab_str text;
    size_t at;   /* where in the text the last key was found */
    size_t line; /* its line, 0 = not found */
    size_t documents;
    ab_spanv stack[SECTION_DEPTH];  /* the next member of each open section */
    size_t name_len[SECTION_DEPTH]; /* how much of `name` belongs to that section */
    size_t depth;
    char name[NAME_MAX_BYTES]; /* dotted name of the member being read */
} walk;

static bool is_key_start(ab_str text, size_t at)
{
    return at == 0 || strchr(" \t\n\r{,\"'", text.ptr[at - 1]) != NULL;
}

static bool is_key_end(ab_str text, size_t at)
{
    while (at < text.len && strchr("\"' \t", text.ptr[at]) != NULL)
        at++;
    return at < text.len && text.ptr[at] == ':';
}

static bool is_in_comment(ab_str text, size_t at)
{
    for (; at > 0 && text.ptr[at - 1] != '\n'; at--) {
        if (text.ptr[at - 1] == '#' && (at == 1 || strchr(" \t\n", text.ptr[at - 2]) != NULL))
            return true;
    }
    return false;
}

/* Move the place in the text to the next `key:`. */
static void locate(walk *w, ab_str key)
{
    ab_str t = w->text;
    size_t from = w->at;
    w->line = 0;
    while (key.len > 0 && from < t.len) {
        const char *hit = memmem(t.ptr + from, t.len - from, key.ptr, key.len);
        if (hit == NULL)
            return;
        size_t at = (size_t)(hit - t.ptr);
        from = at + 1;
        if (!is_key_start(t, at) || !is_key_end(t, at + key.len) || is_in_comment(t, at))
            continue;
        w->at = at + key.len;
        w->line = 1;
        for (size_t i = 0; i < at; i++)
            w->line += t.ptr[i] == '\n';
        return;
    }
}

/* Keys inside the value of an option are passed over, or they would be taken for later options. */
static void locate_inner_keys(walk *w, ab_spanv json)
{
    for (ab_spanv v = ab_span_first(json); ab_span_present(v); v = ab_span_next(v)) {
        size_t line = w->line;
        locate(w, ab_span_plain_key(v));
        w->line = line;
    }
}

static ab_err at_line(const walk *w, ab_err e, ab_error *err)
{
    if (w->line > 0)
        ab_error_prefix(err, "%s:%zu", w->config->file, w->line);
    else
        ab_error_prefix(err, "%s", w->config->file);
    return e;
}

static ab_err unknown_key(walk *w, ab_error *err)
{
    ab_buf hint = ab_buf_up_to(512);
    ab_config_suggest(w->config, ab_str_of(w->name), false, &hint);
    ab_err e = ab_fail(err, AB_ERR_CONFIG, "unknown key \"%s\"%.*s", w->name,
                       AB_STR_ARG(ab_buf_str(&hint)));
    ab_buf_fini(&hint);
    return at_line(w, e, err);
}

static ab_err open_section(walk *w, ab_spanv json, ab_error *err)
{
    ab_span_type t = ab_span_typeof(json);
    if (t == AB_SPAN_NULL) /* a section with every line commented out */
        return AB_ERR_OK;
    if (t != AB_SPAN_OBJECT)
        return at_line(w,
                       ab_fail(err, AB_ERR_CONFIG,
                               "%s: is a section of options, not an option: write its options "
                               "indented below it",
                               w->name),
                       err);
    if (w->depth == SECTION_DEPTH)
        return unknown_key(w, err);
    w->stack[w->depth] = ab_span_first(json);
    w->name_len[w->depth] = strlen(w->name);
    w->depth++;
    return AB_ERR_OK;
}

static ab_err read_option(walk *w, ab_value *v, ab_spanv json, ab_error *err)
{
    if (v->origin == AB_ORIGIN_FILE)
        return at_line(w, ab_fail(err, AB_ERR_CONFIG, "%s: is given twice", v->option->name), err);
    ab_err e = ab_value_from_json(w->config, v, json, err);
    if (e != AB_ERR_OK)
        return at_line(w, e, err);
    v->origin = AB_ORIGIN_FILE;
    locate_inner_keys(w, json);
    return AB_ERR_OK;
}

/* Make `name` the dotted name of `json` in the section at the top of the stack. */
static ab_err enter_member(walk *w, ab_spanv json, ab_error *err)
{
    size_t len = w->name_len[w->depth - 1];
    ab_str key = ab_span_plain_key(json);
    locate(w, key);
    if (key.ptr == NULL || key.len == 0 || len + key.len + 2 > NAME_MAX_BYTES)
        return at_line(w, ab_fail(err, AB_ERR_CONFIG, "a key is empty, too long or needs escapes"),
                       err);
    snprintf(w->name + len, sizeof(w->name) - len, "%s%.*s", len > 0 ? "." : "", AB_STR_ARG(key));
    return AB_ERR_OK;
}

static ab_err read_member(walk *w, ab_spanv json, ab_error *err)
{
    ab_err e = enter_member(w, json, err);
    if (e != AB_ERR_OK)
        return e;
    ab_value *v = ab_config_find(w->config, ab_str_of(w->name));
    if (v != NULL)
        return read_option(w, v, json, err);
    if (ab_config_first_of_section(w->config, ab_str_of(w->name)) != NULL)
        return open_section(w, json, err);
    return unknown_key(w, err);
}

static ab_err read_members(walk *w, ab_error *err)
{
    while (w->depth > 0) {
        ab_spanv json = w->stack[w->depth - 1];
        if (!ab_span_present(json)) {
            w->depth--;
            continue;
        }
        w->stack[w->depth - 1] = ab_span_next(json);
        ab_err e = read_member(w, json, err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err read_root(walk *w, ab_spanv root, ab_error *err)
{
    if (ab_span_typeof(root) != AB_SPAN_OBJECT)
        return at_line(
            w,
            ab_fail(err, AB_ERR_CONFIG, "expected a map of options, e.g. \"log: {level: debug}\""),
            err);
    w->stack[0] = ab_span_first(root);
    w->depth = 1;
    return read_members(w, err);
}

typedef struct {
    walk *walk;
    ab_error *err;
} reading;

static ab_err on_document(void *arg, ab_str json, size_t line)
{
    reading *r = arg;
    walk *w = r->walk;
    if (w->documents++ > 0) {
        w->line = line;
        return at_line(w, ab_fail(r->err, AB_ERR_CONFIG, "a second document starts here"), r->err);
    }
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, r->err);
    if (e != AB_ERR_OK)
        return at_line(w, e, r->err);
    e = read_root(w, ab_span_root(doc), r->err);
    ab_span_wipe(doc);
    return e;
}

/* As ab_yaml_to_json keeps the reason and the place of what is not YAML, only the file is to be
 * added. */
static ab_err read_text(ab_config *c, ab_str text, ab_error *err)
{
    walk w = {.config = c, .text = text};
    ab_error why = {0};
    reading r = {&w, &why};
    ab_err e = ab_yaml_to_json(text, &ab_yaml_default_limits, on_document, &r, &why);
    if (e == AB_ERR_OK)
        return e;
    if (e != AB_ERR_CONFIG)
        ab_error_prefix(&why, "%s", c->file);
    return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG, "%s", why.text);
}

ab_err ab_config_read_file(ab_config *c, ab_error *err)
{
    ab_error why = {0};
    if (c->file == NULL)
        return AB_ERR_OK;
    ab_buf text = ab_buf_secret_up_to(FILE_MAX_BYTES);
    ab_err e = ab_file_read_named(c->file, &text, &why);
    if (e == AB_ERR_OK)
        e = read_text(c, ab_buf_str(&text), err);
    else
        ab_fail(err, e, "cannot read the configuration file %s", why.text);
    ab_buf_wipe(&text);
    return e;
}
