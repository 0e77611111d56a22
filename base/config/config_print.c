/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration as YAML, and the tables as a reference page. Every text is in double quotes, and
 * reads back as it is.
 */
#include "base/config/config_priv.h"
#include "base/yaml/yaml.h"

#include <string.h>

#define REDACTED "<redacted>"

bool ab_key_names_a_secret(const char *key)
{
    static const char *const words[] = {"password", "secret", "key", "token"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(key, words[i]) != NULL)
            return true;
    }
    return false;
}

static void put_string(ab_buf *out, const char *text)
{
    ab_yaml_put_quoted(out, ab_str_of(text));
}

/* `[a, b]` or `{a: b}` on one line; empty is told apart from unset. */
static void put_group(ab_buf *out, const ab_option *o, const ab_group *g)
{
    bool list = o->kind == AB_OPT_LIST;
    ab_buf_putc(out, list ? '[' : '{');
    for (size_t i = 0; i < g->count; i++) {
        const ab_pair *p = &g->pairs[i];
        ab_buf_puts(out, i == 0 ? "" : ", ");
        if (p->key != NULL) {
            put_string(out, p->key);
            ab_buf_puts(out, ": ");
        }
        bool hidden = o->secret || (p->key != NULL && ab_key_names_a_secret(p->key));
        put_string(out, hidden ? REDACTED : p->value);
    }
    ab_buf_putc(out, list ? ']' : '}');
}

static void put_value(ab_buf *out, const ab_value *v)
{
    const ab_option *o = v->option;
    switch (o->kind) {
    case AB_OPT_STRING:
    case AB_OPT_ENUM:
    case AB_OPT_FILE:
    case AB_OPT_PATH:
        put_string(out, o->secret ? REDACTED : v->text);
        return;
    case AB_OPT_BOOL:
    case AB_OPT_INT:
    case AB_OPT_DURATION:
    case AB_OPT_SIZE:
        ab_option_put_number(o, v->number, out);
        return;
    case AB_OPT_LIST:
    case AB_OPT_MAP:
        put_group(out, o, &v->groups[0]);
        return;
    case AB_OPT_OBJECTS:
        ab_buf_putc(out, '[');
        for (size_t i = 0; i < v->group_count; i++) {
            ab_buf_puts(out, i == 0 ? "" : ", ");
            put_group(out, o, &v->groups[i]);
        }
        ab_buf_putc(out, ']');
        return;
    }
}

static void put_origin(ab_buf *out, const ab_config *c, const ab_value *v)
{
    ab_buf_puts(out, "  # ");
    if (v->origin == AB_ORIGIN_FILE)
        ab_buf_printf(out, "from %s", c->file);
    else if (v->origin == AB_ORIGIN_ENV)
        ab_option_env_name(v->option->name, out);
    else
        ab_buf_puts(out, v->origin == AB_ORIGIN_SET ? "from --set" : "default");
    ab_buf_putc(out, '\n');
}

/* Bytes of the sections that two names have in common, with the dot at their end. */
static size_t common_sections(const char *a, const char *b)
{
    size_t common = 0;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
        if (a[i] == '.')
            common = i + 1;
    }
    return common;
}

static void put_indent(ab_buf *out, const char *name, size_t upto)
{
    for (size_t i = 0; i < upto; i++) {
        if (name[i] == '.')
            ab_buf_puts(out, "  ");
    }
}

/* The sections that `name` is in and `before` was not, each on its line, then the key itself. */
static void put_key(ab_buf *out, const char *before, const char *name)
{
    size_t at = common_sections(before, name);
    for (;;) {
        size_t len = strcspn(name + at, ".");
        put_indent(out, name, at);
        ab_buf_printf(out, "%.*s:", (int)len, name + at);
        if (name[at + len] == '\0')
            return;
        ab_buf_putc(out, '\n');
        at += len + 1;
    }
}

static bool is_unset(const ab_value *v)
{
    bool has_text = v->option->kind == AB_OPT_STRING || v->option->kind == AB_OPT_ENUM ||
                    v->option->kind == AB_OPT_FILE || v->option->kind == AB_OPT_PATH;
    return v->origin == AB_ORIGIN_UNSET || (has_text && v->text == NULL);
}

/* The smallest name above `after`, so that the members of a section come together. */
static const ab_value *next_by_name(const ab_config *c, const char *after)
{
    const ab_value *next = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const ab_value *v = &c->values[i];
        const char *name = v->option->name;
        if (!is_unset(v) && strcmp(name, after) > 0 &&
            (next == NULL || strcmp(name, next->option->name) < 0))
            next = v;
    }
    return next;
}

void ab_config_print(const ab_config *c, ab_buf *out)
{
    const char *before = "";
    for (const ab_value *v = next_by_name(c, before); v != NULL; v = next_by_name(c, before)) {
        put_key(out, before, v->option->name);
        ab_buf_putc(out, ' ');
        put_value(out, v);
        put_origin(out, c, v);
        before = v->option->name;
    }
}

/* A cell of a Markdown table cannot hold a bar. */
static void put_cell(ab_buf *out, ab_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '|')
            ab_buf_putc(out, '\\');
        ab_buf_putc(out, text.ptr[i]);
    }
}

static void put_option_row(ab_buf *out, const ab_option *o)
{
    ab_buf cell = ab_buf_up_to(1024);
    ab_option_put_wanted(o, &cell);
    if (o->min != 0 || o->max != 0) {
        ab_buf_puts(&cell, ", ");
        ab_option_put_number(o, o->min, &cell);
        ab_buf_puts(&cell, " to ");
        ab_option_put_number(o, o->max, &cell);
    }
    ab_buf_printf(out, "| `%s` | ", o->name);
    put_cell(out, ab_buf_str(&cell));
    if (o->deflt == NULL)
        ab_buf_puts(out, " | ");
    else
        ab_buf_printf(out, " | `%s`", o->deflt[0] == '\0' ? "\"\"" : o->deflt);
    ab_buf_printf(out, " | %s | ", o->reloadable ? "yes" : "no");
    put_cell(out, ab_str_of(o->help));
    ab_buf_puts(out, o->secret ? " Secret: never printed. |\n" : " |\n");
    ab_buf_fini(&cell);
}

void ab_options_print_markdown(const ab_options *tables, size_t table_count, ab_buf *out)
{
    ab_buf_puts(out, "| option | value | default | reloadable | meaning |\n"
                     "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < table_count; i++) {
        for (size_t k = 0; k < tables[i].count; k++)
            put_option_row(out, &tables[i].rows[k]);
    }
}
