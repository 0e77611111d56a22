/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

/* ----- reading ----- */

/* cJSON would end a string there. Backslashes occur in strings only. */
static bool has_nul(ab_str text)
{
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return true;
    for (size_t i = 0; i + 5 < text.len; i++) {
        if (text.ptr[i] != '\\')
            continue;
        if (memcmp(text.ptr + i, "\\u0000", 6) == 0)
            return true;
        i++; /* what it escapes */
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ab_err check_names(const cJSON *object)
{
    size_t count = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, object) count++;
    if (count < 2)
        return AB_ERR_OK;
    const char **names = malloc(count * sizeof(*names));
    if (names == NULL)
        return AB_ERR_NOMEM;
    size_t i = 0;
    cJSON_ArrayForEach(v, object) names[i++] = v->string;
    qsort(names, count, sizeof(*names), by_name);
    bool twice = false;
    for (i = 1; i < count; i++)
        twice = twice || strcmp(names[i - 1], names[i]) == 0;
    free(names);
    return twice ? AB_ERR_PARSE : AB_ERR_OK;
}

/* Recursion is bounded: cJSON itself refuses more than CJSON_NESTING_LIMIT levels. */
static ab_err check_tree(const cJSON *v, size_t depth)
{
    if (!cJSON_IsObject(v) && !cJSON_IsArray(v))
        return AB_ERR_OK;
    if (depth == AB_DOC_DEPTH_MAX)
        return AB_ERR_TOOBIG;
    ab_err e = cJSON_IsObject(v) ? check_names(v) : AB_ERR_OK;
    const cJSON *child;
    cJSON_ArrayForEach(child, v)
    {
        if (e != AB_ERR_OK)
            return e;
        e = check_tree(child, depth + 1);
    }
    return e;
}

static size_t skip_space(ab_str text, size_t at)
{
    while (at < text.len && memchr(" \t\r\n", text.ptr[at], 4) != NULL)
        at++;
    return at;
}

static ab_err parse(ab_str text, cJSON **out)
{
    const char *end = NULL;
    if (!ab_str_is_utf8(text) || has_nul(text))
        return AB_ERR_PARSE;
    *out = cJSON_ParseWithLengthOpts(text.ptr, text.len, &end, false);
    if (*out == NULL)
        return AB_ERR_PARSE;
    if (skip_space(text, (size_t)(end - text.ptr)) != text.len)
        return AB_ERR_PARSE;
    return check_tree(*out, 0);
}

ab_err ab_doc_parse(ab_str text, size_t most, cJSON **out, ab_error *err)
{
    *out = NULL;
    if (text.len > most)
        return ab_fail(err, AB_ERR_TOOBIG, "a document of %zu bytes, more than %zu", text.len,
                       most);
    ab_err e = text.len == 0 ? AB_ERR_PARSE : parse(text, out);
    if (e == AB_ERR_OK)
        return e;
    cJSON_Delete(*out);
    *out = NULL;
    return ab_fail(err, e, "cannot read the JSON document: %s", ab_err_text(e));
}

ab_str ab_doc_text(const cJSON *object, const char *name)
{
    return ab_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

bool ab_doc_is(const cJSON *object, const char *name, const char *text)
{
    return ab_str_is(ab_doc_text(object, name), text);
}

ab_err ab_doc_i64(const cJSON *object, const char *name, int64_t *out)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(v) || !(fabs(v->valuedouble) <= EXACT_MAX) ||
        trunc(v->valuedouble) != v->valuedouble)
        return AB_ERR_INVALID;
    *out = (int64_t)v->valuedouble;
    return AB_ERR_OK;
}

/* ----- writing ----- */

bool ab_doc_add_str(cJSON *object, const char *name, ab_str text)
{
    char *copy = ab_str_is_utf8(text) ? ab_str_dup(text) : NULL;
    bool added = copy != NULL && cJSON_AddStringToObject(object, name, copy) != NULL;
    free(copy);
    return added;
}

bool ab_doc_add_i64(cJSON *object, const char *name, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, value);
    return cJSON_AddRawToObject(object, name, digits) != NULL;
}

bool ab_doc_add_bool(cJSON *object, const char *name, bool value)
{
    return cJSON_AddBoolToObject(object, name, value) != NULL;
}

ab_err ab_doc_finish(cJSON *doc, bool complete, ab_buf *out)
{
    char *text = doc != NULL && complete ? cJSON_PrintUnformatted(doc) : NULL;
    if (text != NULL)
        ab_buf_puts(out, text);
    else if (out->status == AB_ERR_OK)
        out->status = AB_ERR_NOMEM;
    cJSON_free(text);
    cJSON_Delete(doc);
    return ab_buf_status(out);
}
