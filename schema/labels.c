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

/* RFC 1123: labels with dots between. */
static bool is_subdomain(ab_str s)
{
    bool good = s.len <= PREFIX_MAX_LEN;
    while (good && s.ptr != NULL)
        good = ab_str_is_dns_label(ab_str_cut(&s, '.'));
    return good;
}

bool ab_label_is_valid(ab_str key, ab_str value)
{
    ab_str name = key;
    ab_str prefix = ab_str_cut(&name, '/');
    bool good = name.ptr == NULL ? is_name(key) : is_subdomain(prefix) && is_name(name);
    return good && value.ptr != NULL && (value.len == 0 || is_name(value));
}

bool ab_labels_next(ab_str *rest, ab_str *key, ab_str *value)
{
    if (rest->len == 0)
        return false;
    *value = ab_str_cut(rest, ',');
    *key = ab_str_cut(value, '=');
    return true;
}
