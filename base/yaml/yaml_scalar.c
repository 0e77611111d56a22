/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of scalars as kubectl reads them: YAML 1.1 words and numbers, without its dates and
 * base 60. A number that JSON could hold as it stands keeps its text; others are written again.
 */
#include "base/yaml/yaml_priv.h"

#include "base/core/hex.h"
#include "base/json/span.h"

#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

typedef struct {
    const char *text;
    ab_yaml_kind kind;
    const char *json;
} word;

static const word words[] = {
    {"", AB_YAML_NULL, "null"},          {"~", AB_YAML_NULL, "null"},
    {"null", AB_YAML_NULL, "null"},      {"Null", AB_YAML_NULL, "null"},
    {"NULL", AB_YAML_NULL, "null"},      {"true", AB_YAML_BOOL, "true"},
    {"True", AB_YAML_BOOL, "true"},      {"TRUE", AB_YAML_BOOL, "true"},
    {"yes", AB_YAML_BOOL, "true"},       {"Yes", AB_YAML_BOOL, "true"},
    {"YES", AB_YAML_BOOL, "true"},       {"y", AB_YAML_BOOL, "true"},
    {"Y", AB_YAML_BOOL, "true"},         {"on", AB_YAML_BOOL, "true"},
    {"On", AB_YAML_BOOL, "true"},        {"ON", AB_YAML_BOOL, "true"},
    {"false", AB_YAML_BOOL, "false"},    {"False", AB_YAML_BOOL, "false"},
    {"FALSE", AB_YAML_BOOL, "false"},    {"no", AB_YAML_BOOL, "false"},
    {"No", AB_YAML_BOOL, "false"},       {"NO", AB_YAML_BOOL, "false"},
    {"n", AB_YAML_BOOL, "false"},        {"N", AB_YAML_BOOL, "false"},
    {"off", AB_YAML_BOOL, "false"},      {"Off", AB_YAML_BOOL, "false"},
    {"OFF", AB_YAML_BOOL, "false"},      {".inf", AB_YAML_NOT_FINITE, NULL},
    {".Inf", AB_YAML_NOT_FINITE, NULL},  {".INF", AB_YAML_NOT_FINITE, NULL},
    {"+.inf", AB_YAML_NOT_FINITE, NULL}, {"+.Inf", AB_YAML_NOT_FINITE, NULL},
    {"+.INF", AB_YAML_NOT_FINITE, NULL}, {"-.inf", AB_YAML_NOT_FINITE, NULL},
    {"-.Inf", AB_YAML_NOT_FINITE, NULL}, {"-.INF", AB_YAML_NOT_FINITE, NULL},
    {".nan", AB_YAML_NOT_FINITE, NULL},  {".NaN", AB_YAML_NOT_FINITE, NULL},
    {".NAN", AB_YAML_NOT_FINITE, NULL},
};

/* The longest word. */
#define WORD_MAX 5

static const word *find_word(ab_str text)
{
    if (text.len > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (ab_str_is(text, words[i].text))
            return &words[i];
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A decimal number taken apart: [-+]? (\.[0-9]+ | [0-9]+(\.[0-9]*)?) ([eE][-+]?[0-9]+)? */
typedef struct {
    bool negative;
    ab_str whole;
    ab_str fraction; /* without the point */
    ab_str exponent; /* with the letter */
    bool point;
} decimal;

static ab_str take_digits(ab_str *rest)
{
    ab_str digits = {rest->ptr, 0};
    while (digits.len < rest->len && is_digit(digits.ptr[digits.len]))
        digits.len++;
    rest->ptr += digits.len;
    rest->len -= digits.len;
    return digits;
}

static bool take_any(ab_str *rest, const char *set)
{
    if (rest->len == 0 || rest->ptr[0] == '\0' || strchr(set, rest->ptr[0]) == NULL)
        return false;
    rest->ptr++;
    rest->len--;
    return true;
}

static bool split_decimal(ab_str text, decimal *d)
{
    *d = (decimal){.negative = text.ptr[0] == '-'};
    (void)take_any(&text, "+-");
    d->whole = take_digits(&text);
    d->point = take_any(&text, ".");
    if (d->point)
        d->fraction = take_digits(&text);
    if (d->whole.len == 0 && d->fraction.len == 0)
        return false;
    ab_str exponent = text;
    if (take_any(&text, "eE")) {
        (void)take_any(&text, "+-");
        if (take_digits(&text).len == 0)
            return false;
        d->exponent = exponent;
    }
    return text.len == 0;
}

static ab_yaml_kind put_decimal(const decimal *d, ab_buf *json)
{
    ab_str whole = d->whole;
    while (whole.len > 1 && whole.ptr[0] == '0') {
        whole.ptr++;
        whole.len--;
    }
    if (d->negative)
        ab_buf_putc(json, '-');
    ab_buf_put(json, whole.len == 0 ? AB_STR("0") : whole);
    if (d->fraction.len > 0) {
        ab_buf_putc(json, '.');
        ab_buf_put(json, d->fraction);
    }
    ab_buf_put(json, d->exponent);
    return d->point || d->exponent.len > 0 ? AB_YAML_FLOAT : AB_YAML_INT;
}

/* Take "0x", "0o", "0b" or the 0 of an octal number off `digits`; 0 when it is none of these. */
static unsigned take_base(ab_str *digits)
{
    if (digits->len < 2 || digits->ptr[0] != '0')
        return 0;
    unsigned base = 8;
    size_t prefix = 2;
    switch (digits->ptr[1] | 0x20) {
    case 'x':
        base = 16;
        break;
    case 'b':
        base = 2;
        break;
    case 'o':
        break;
    default:
        prefix = 1;
    }
    digits->ptr += prefix;
    digits->len -= prefix;
    return base;
}

static bool put_based(ab_str text, ab_buf *json)
{
    uint64_t limit = UINT64_MAX;
    bool negative = text.ptr[0] == '-';
    if (take_any(&text, "+-"))
        limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    unsigned base = take_base(&text);
    if (base == 0 || text.len == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)ab_hex_digit(text.ptr[i]); /* none: more than any base */
        if (digit >= base || value > (limit - digit) / base)
            return false;
        value = value * base + digit;
    }
    ab_buf_printf(json, "%s%llu", negative && value > 0 ? "-" : "", (unsigned long long)value);
    return true;
}

static ab_yaml_kind resolve_number(ab_str text, ab_buf *json)
{
    decimal d;
    bool is_decimal = split_decimal(text, &d);
    bool octal =
        is_decimal && d.whole.len > 1 && d.whole.ptr[0] == '0' && !d.point && d.exponent.len == 0;
    if ((octal || !is_decimal) && put_based(text, json))
        return AB_YAML_INT;
    return is_decimal ? put_decimal(&d, json) : AB_YAML_STRING;
}

/* Underscores may stand anywhere in a number after its first character. */
static ab_yaml_kind resolve_with_underscores(ab_str text, ab_buf *json)
{
    ab_buf plain = ab_buf_up_to(text.len);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '_')
            ab_buf_putc(&plain, text.ptr[i]);
    }
    ab_yaml_kind kind = AB_YAML_STRING;
    if (ab_buf_status(&plain) == AB_ERR_OK)
        kind = resolve_number(ab_buf_str(&plain), json);
    else if (json->status == AB_ERR_OK)
        json->status = AB_ERR_NOMEM;
    ab_buf_fini(&plain);
    return kind;
}

ab_yaml_kind ab_yaml_resolve(ab_str text, ab_buf *json)
{
    const word *w = find_word(text);
    if (w != NULL) {
        if (w->json != NULL)
            ab_buf_puts(json, w->json);
        return w->kind;
    }
    char first = text.ptr[0];
    if (first == '.')
        return resolve_number(text, json);
    if (!is_digit(first) && first != '+' && first != '-')
        return AB_YAML_STRING;
    if (memchr(text.ptr, '_', text.len) != NULL)
        return resolve_with_underscores(text, json);
    return resolve_number(text, json);
}

static ab_err refuse(const char **reason, const char *why)
{
    *reason = why;
    return AB_ERR_PARSE;
}

static ab_err put_tagged(ab_str text, const char *type, ab_buf *json, const char **reason)
{
    if (strcmp(type, "str") == 0) {
        ab_span_put_string(json, text);
        return ab_buf_status(json);
    }
    static const struct {
        const char *type;
        ab_yaml_kind kind;
    } kinds[] = {{"null", AB_YAML_NULL},
                 {"bool", AB_YAML_BOOL},
                 {"int", AB_YAML_INT},
                 {"float", AB_YAML_FLOAT}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        ab_yaml_kind kind = ab_yaml_resolve(text, json);
        bool whole_float = kinds[i].kind == AB_YAML_FLOAT && kind == AB_YAML_INT;
        if (kind != kinds[i].kind && !whole_float)
            return refuse(reason, "the value does not match its tag");
        return ab_buf_status(json);
    }
    return refuse(reason, "only the tags !!str, !!int, !!float, !!bool and !!null are known");
}

ab_err ab_yaml_scalar(ab_str text, const char *tag, bool plain, ab_buf *json, const char **reason)
{
    size_t prefix = strlen(TAG_PREFIX);
    if (tag != NULL && strncmp(tag, TAG_PREFIX, prefix) == 0)
        return put_tagged(text, tag + prefix, json, reason);
    if (tag != NULL && strcmp(tag, "!") != 0)
        return refuse(reason, "only the tags !!str, !!int, !!float, !!bool and !!null are known");
    ab_yaml_kind kind = plain && tag == NULL ? ab_yaml_resolve(text, json) : AB_YAML_STRING;
    if (kind == AB_YAML_NOT_FINITE)
        return refuse(reason, "JSON has no infinity and no NaN");
    if (kind == AB_YAML_STRING)
        ab_span_put_string(json, text);
    return ab_buf_status(json);
}
