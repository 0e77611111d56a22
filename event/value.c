/* SPDX-License-Identifier: Apache-2.0 */
#include "event/value_priv.h"

#include "base/core/base64.h"
#include "base/core/rfc3339.h"

/** CloudEvents §3.1: no control characters, neither ASCII's nor those of U+0080 to U+009F. */
static bool has_controls(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xa0)
            return true;
    }
    return false;
}

bool ab_value_integer_parse(ab_str text, int32_t *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    ab_str digits = negative ? (ab_str){text.ptr + 1, text.len - 1} : text;
    uint64_t magnitude;
    if (ab_str_to_u64(digits, &magnitude) != AB_ERR_OK)
        return false;
    if (digits.ptr[0] == '0' && text.len > 1)
        return false;
    if (magnitude > (uint64_t)INT32_MAX + (negative ? 1 : 0))
        return false;
    *out = (int32_t)(negative ? -(int64_t)magnitude : (int64_t)magnitude);
    return true;
}

bool ab_value_is_valid(ab_attr_type type, ab_str value)
{
    int32_t integer;
    int64_t seconds;
    int32_t nanos;
    switch (type) {
    case AB_ATTR_STRING:
    case AB_ATTR_URI:
    case AB_ATTR_URI_REF:
        return ab_str_is_printable(value) || (!has_controls(value) && ab_str_is_utf8(value));
    case AB_ATTR_BOOLEAN:
        return ab_str_is(value, "true") || ab_str_is(value, "false");
    case AB_ATTR_INTEGER:
        return ab_value_integer_parse(value, &integer);
    case AB_ATTR_BYTES:
        return ab_base64_is(value);
    case AB_ATTR_TIMESTAMP:
        return ab_rfc3339_parse(value, &seconds, &nanos);
    }
    return false;
}
