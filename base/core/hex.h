/* SPDX-License-Identifier: Apache-2.0
 *
 * Hexadecimal digits. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** The value of a digit in either case; -1: it is none. */
static inline int ab_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/** Write bytes in lower case, without a NUL. @return where that ends */
static inline char *ab_hex_write(char *at, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    return at;
}
