/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void ab_base64_encode(ab_str bytes, ab_buf *out)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < n ? (unsigned char)bytes.ptr[i + k] : 0);
        char text[4];
        for (size_t k = 0; k < 4; k++)
            text[k] = k <= n ? digits[group >> (18 - 6 * k) & 63] : '=';
        ab_buf_put(out, (ab_str){text, sizeof(text)});
    }
}

/** Value of a digit, 64 when it is none. */
static uint32_t digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/** Decode four characters into `out`. @return how many bytes they are, 0 when they are not base64
 */
static size_t decode_group(const char text[4], bool last, char out[3])
{
    size_t padding = 0;
    if (last && text[3] == '=')
        padding = text[2] == '=' ? 2 : 1;
    uint32_t group = 0;
    for (size_t k = 0; k < 4; k++) {
        uint32_t value = k < 4 - padding ? digit_value(text[k]) : 0;
        if (value == 64)
            return 0;
        group = group << 6 | value;
    }
    /* Bits that no byte holds must be zero, or two texts would mean the same bytes. */
    if ((group & ((1u << (8 * padding)) - 1)) != 0)
        return 0;
    for (size_t k = 0; k < 3; k++)
        out[k] = (char)(group >> (16 - 8 * k) & 0xff);
    return 3 - padding;
}

bool ab_base64_decode(ab_str text, ab_buf *out)
{
    if (text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        char bytes[3];
        size_t n = decode_group(text.ptr + i, i + 4 == text.len, bytes);
        if (n == 0)
            return false;
        ab_buf_put(out, (ab_str){bytes, n});
    }
    return true;
}

bool ab_base64_is(ab_str text)
{
    char bytes[3];
    for (size_t i = 0; i + 4 <= text.len; i += 4) {
        if (decode_group(text.ptr + i, i + 4 == text.len, bytes) == 0)
            return false;
    }
    return text.len % 4 == 0;
}
