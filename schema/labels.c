/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/labels.h"

#include <string.h>

#define NAME_MAX_LEN   63
#define PREFIX_MAX_LEN 253

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(ab_str s)
{
    if (s.len == 0 || s.len > NAME_MAX_LEN || !is_alnum(s.ptr[0]) || !is_alnum(s.ptr[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.ptr[i]) && (s.ptr[i] == '\0' || strchr("-_.", s.ptr[i]) == NULL))
            return false;
    return true;
}

/* @param end  where the part before `c` ends; NULL: there is no `c` */
static ab_str split(ab_str s, char c, const char **end)
{
    *end = s.len == 0 ? NULL : memchr(s.ptr, c, s.len);
    return *end == NULL ? s : (ab_str){s.ptr, (size_t)(*end - s.ptr)};
}

static ab_str after(ab_str s, const char *end)
{
    return (ab_str){end + 1, (size_t)(s.ptr + s.len - end - 1)};
}

/* RFC 1123: labels with dots between. */
static bool is_subdomain(ab_str s)
{
    const char *end;
    if (s.len > PREFIX_MAX_LEN)
        return false;
    do {
        if (!ab_str_is_dns_label(split(s, '.', &end)))
            return false;
        s = end == NULL ? s : after(s, end);
    } while (end != NULL);
    return true;
}

bool ab_label_is_valid(ab_str key, ab_str value)
{
    const char *slash;
    ab_str prefix = split(key, '/', &slash);
    bool good = slash == NULL ? is_name(key) : is_subdomain(prefix) && is_name(after(key, slash));
    return good && value.ptr != NULL && (value.len == 0 || is_name(value));
}

bool ab_labels_next(ab_str *rest, ab_str *key, ab_str *value)
{
    const char *end, *equals;
    if (rest->len == 0)
        return false;
    ab_str label = split(*rest, ',', &end);
    *rest = end == NULL ? AB_STR("") : after(*rest, end);
    *key = split(label, '=', &equals);
    *value = equals == NULL ? AB_STR_NONE : after(label, equals);
    return true;
}
