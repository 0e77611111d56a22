/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/utf8.h"

#include <assert.h>

/* Bounds of the second byte tell overlong forms, surrogates and what is past U+10FFFF. */
static size_t expected_length(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF) {
        *low = first == 0xE0 ? 0xA0 : 0x80;
        *high = first == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        *low = first == 0xF0 ? 0x90 : 0x80;
        *high = first == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

size_t ab_utf8_length(ab_str s)
{
    if (s.len == 0)
        return 0;
    unsigned char low = 0;
    unsigned char high = 0;
    size_t length = expected_length((unsigned char)s.ptr[0], &low, &high);
    if (length <= 1)
        return length;
    if (s.len < length)
        return 0;
    unsigned char second = (unsigned char)s.ptr[1];
    if (second < low || second > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (((unsigned char)s.ptr[i] & 0xC0) != 0x80)
            return 0;
    }
    return length;
}

uint32_t ab_utf8_decode(ab_str s)
{
    size_t length = ab_utf8_length(s);
    assert(length != 0);
    uint32_t first = (unsigned char)s.ptr[0];
    if (length == 1)
        return first;
    uint32_t code_point = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++)
        code_point = code_point << 6 | ((unsigned char)s.ptr[i] & 0x3Fu);
    return code_point;
}

static size_t put(char out[4], unsigned lead, uint32_t code_point, size_t length)
{
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = (char)(lead | code_point);
    return length;
}

size_t ab_utf8_encode(uint32_t code_point, char out[4])
{
    assert(code_point < 0x110000);
    if (code_point < 0x80)
        return put(out, 0, code_point, 1);
    if (code_point < 0x800)
        return put(out, 0xC0, code_point, 2);
    if (code_point < 0x10000)
        return put(out, 0xE0, code_point, 3);
    return put(out, 0xF0, code_point, 4);
}
