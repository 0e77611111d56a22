/* SPDX-License-Identifier: Apache-2.0
 *
 * From text to the value of an option, with every check, and back. What the file gives has been
 * typed by YAML and is checked against that type first, so that `prefix: yes` is not silently the
 * text "true".
 */
#include "base/config/config_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int64_t factor;
} unit;

/* Largest first: printing takes the first that divides. */
static const unit duration_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const unit size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}};
#define UNIT_COUNT 4

static const unit *units_of(const ab_option *o)
{
    return o->kind == AB_OPT_DURATION ? duration_units : size_units;
}

void ab_option_put_number(const ab_option *o, int64_t number, ab_buf *out)
{
    if (o->kind == AB_OPT_BOOL) {
        ab_buf_puts(out, number != 0 ? "true" : "false");
        return;
    }
    if (o->kind == AB_OPT_INT) {
        ab_buf_printf(out, "%" PRId64, number);
        return;
    }
    if (number == 0) {
        ab_buf_puts(out, o->kind == AB_OPT_DURATION ? "0s" : "0");
        return;
    }
    const unit *u = units_of(o);
    while (number % u->factor != 0)
        u++;
    ab_buf_printf(out, "%" PRId64 "%s", number / u->factor, u->name);
}

void ab_option_put_wanted(const ab_option *o, ab_buf *out)
{
    static const char *const wanted[] = {
        [AB_OPT_STRING] = "text",
        [AB_OPT_ENUM] = "one of ",
        [AB_OPT_BOOL] = "true or false",
        [AB_OPT_INT] = "a whole number like 10",
        [AB_OPT_DURATION] = "a duration like \"30s\" (ms, s, m, h)",
        [AB_OPT_SIZE] = "a size like \"4MiB\" (KiB, MiB, GiB or plain bytes)",
        [AB_OPT_LIST] = "a list of texts like [\"a\", \"b\"]",
        [AB_OPT_FILE] = "the path of a file",
        [AB_OPT_PATH] = "a path",
        [AB_OPT_MAP] = "a map of texts like {\"a\": \"1\"}",
        [AB_OPT_OBJECTS] = "a list of maps like [{\"name\": \"a\"}]",
    };
    ab_buf_puts(out, wanted[o->kind]);
    if (o->kind != AB_OPT_ENUM)
        return;
    for (const char *c = o->choices; *c != '\0'; c++) {
        if (*c == '|')
            ab_buf_puts(out, ", ");
        else
            ab_buf_putc(out, *c);
    }
}

ab_err ab_option_wrong(const ab_option *o, const char *what, ab_str given, ab_error *err)
{
    ab_buf wanted = ab_buf_up_to(1024);
    ab_option_put_wanted(o, &wanted);
    /* A secret put under the wrong type is still a secret. */
    ab_str shown = o->secret ? AB_STR("<redacted>") : given;
    int len = shown.len > 60 ? 60 : (int)shown.len;
    ab_err e = ab_fail(err, AB_ERR_CONFIG, "%s: expected %.*s, got %s%.*s", o->name,
                       AB_STR_ARG(ab_buf_str(&wanted)), what, len, shown.ptr);
    ab_buf_fini(&wanted);
    return e;
}

static ab_err check_bounds(const ab_option *o, int64_t n, ab_error *err)
{
    if ((o->min == 0 && o->max == 0) || (n >= o->min && n <= o->max))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(256);
    ab_option_put_number(o, n, &text);
    ab_buf_puts(&text,
                n < o->min ? " is below the smallest value " : " is above the largest value ");
    ab_option_put_number(o, n < o->min ? o->min : o->max, &text);
    ab_err e = ab_fail(err, AB_ERR_CONFIG, "%s: %.*s", o->name, AB_STR_ARG(ab_buf_str(&text)));
    ab_buf_fini(&text);
    return e;
}

/* Digits and a unit, e.g. "30s". */
static bool parse_with_unit(const ab_option *o, ab_str text, int64_t *out)
{
    size_t digits = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    uint64_t n = 0;
    if (ab_str_to_u64((ab_str){text.ptr, digits}, &n) != AB_ERR_OK)
        return false;
    ab_str suffix = {text.ptr + digits, text.len - digits};
    const unit *u = units_of(o);
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (ab_str_is(suffix, u[i].name) && n <= (uint64_t)(INT64_MAX / u[i].factor)) {
            *out = (int64_t)n * u[i].factor;
            return true;
        }
    }
    return o->kind == AB_OPT_DURATION && suffix.len == 0 && n == 0; /* 0 needs no unit */
}

static bool parse_int(ab_str text, int64_t *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    uint64_t n = 0;
    ab_str digits = {text.ptr + negative, text.len - negative};
    if (ab_str_to_u64(digits, &n) != AB_ERR_OK || n > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static bool parse_number(const ab_option *o, ab_str text, int64_t *out)
{
    if (o->kind == AB_OPT_BOOL) {
        *out = ab_str_is(text, "true");
        return *out != 0 || ab_str_is(text, "false");
    }
    return o->kind == AB_OPT_INT ? parse_int(text, out) : parse_with_unit(o, text, out);
}

static ab_err number_from_text(ab_value *v, ab_str text, ab_error *err)
{
    int64_t n = 0;
    if (!parse_number(v->option, text, &n))
        return ab_option_wrong(v->option, "", text.len == 0 ? AB_STR("nothing") : text, err);
    ab_err e = check_bounds(v->option, n, err);
    if (e == AB_ERR_OK)
        v->number = n;
    return e;
}

bool ab_choice_has(const char *choices, ab_str text)
{
    ab_str rest = ab_str_of(choices);
    bool has = false;
    while (text.len > 0 && rest.ptr != NULL && !has)
        has = ab_str_eq(ab_str_cut(&rest, '|'), text);
    return has;
}

static ab_err check_readable(const ab_option *o, const char *path, ab_error *err)
{
    /* Without O_NONBLOCK a named pipe would hold us up. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s: cannot read the file %s", o->name,
                             path);
    struct stat st;
    int rc = fstat(fd, &st);
    close(fd);
    if (rc == 0 && S_ISDIR(st.st_mode))
        return ab_fail(err, AB_ERR_CONFIG, "%s: %s is a folder, not a file", o->name, path);
    return AB_ERR_OK;
}

char *ab_config_resolve_path(const ab_config *c, ab_str text)
{
    if (text.len == 0 || text.ptr[0] == '/' || strcmp(c->folder, ".") == 0)
        return ab_str_dup(text);
    ab_buf path = ab_buf_up_to(text.len + strlen(c->folder) + 2);
    ab_buf_printf(&path, "%s/%.*s", c->folder, AB_STR_ARG(text));
    char *out = ab_buf_take(&path);
    ab_buf_fini(&path);
    return out;
}

static void free_text(const ab_option *o, char *text)
{
    if (text != NULL && o->secret)
        explicit_bzero(text, strlen(text));
    free(text);
}

static ab_err string_from_text(const ab_config *c, ab_value *v, ab_str text, ab_error *err)
{
    const ab_option *o = v->option;
    bool is_path = o->kind == AB_OPT_FILE || o->kind == AB_OPT_PATH;
    if (o->kind == AB_OPT_ENUM && !ab_choice_has(o->choices, text))
        return ab_option_wrong(o, "", text.len == 0 ? AB_STR("nothing") : text, err);
    /* An empty path is how a variable takes back what the file says. */
    bool unset = is_path && text.len == 0;
    char *copy = unset ? NULL : is_path ? ab_config_resolve_path(c, text) : ab_str_dup(text);
    if (!unset && copy == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = o->kind == AB_OPT_FILE && copy != NULL ? check_readable(o, copy, err) : AB_ERR_OK;
    if (e != AB_ERR_OK) {
        free(copy);
        return e;
    }
    free_text(o, v->text);
    v->text = copy;
    return AB_ERR_OK;
}

static ab_err check_text(const ab_option *o, ab_str text, ab_error *err)
{
    if (text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL)
        return ab_fail(err, AB_ERR_CONFIG, "%s: the value contains a NUL character", o->name);
    if (!ab_str_is_utf8(text))
        return ab_fail(err, AB_ERR_CONFIG, "%s: the value is not valid UTF-8", o->name);
    return AB_ERR_OK;
}

void ab_value_clear(ab_value *v)
{
    ab_value_set_groups(v, NULL, 0);
    free_text(v->option, v->text);
    v->text = NULL;
    v->number = 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool ab_value_eq(const ab_value *a, const ab_value *b)
{
    if (!same_text(a->text, b->text) || a->number != b->number || a->group_count != b->group_count)
        return false;
    for (size_t i = 0; i < a->group_count; i++) {
        const ab_group *x = &a->groups[i];
        const ab_group *y = &b->groups[i];
        if (x->count != y->count)
            return false;
        for (size_t k = 0; k < x->count; k++) {
            if (!same_text(x->pairs[k].key, y->pairs[k].key) ||
                !same_text(x->pairs[k].value, y->pairs[k].value))
                return false;
        }
    }
    return true;
}

ab_err ab_value_from_text(const ab_config *c, ab_value *v, ab_str text, ab_error *err)
{
    ab_err e = check_text(v->option, text, err);
    if (e != AB_ERR_OK)
        return e;
    switch (v->option->kind) {
    case AB_OPT_STRING:
    case AB_OPT_ENUM:
    case AB_OPT_FILE:
    case AB_OPT_PATH:
        return string_from_text(c, v, text, err);
    case AB_OPT_BOOL:
    case AB_OPT_INT:
    case AB_OPT_DURATION:
    case AB_OPT_SIZE:
        return number_from_text(v, text, err);
    case AB_OPT_LIST:
        return ab_value_list_from_text(v, text, err);
    case AB_OPT_MAP:
    case AB_OPT_OBJECTS:
        break;
    }
    return ab_fail(err, AB_ERR_CONFIG, "%s: can only be set in the configuration file",
                   v->option->name);
}
