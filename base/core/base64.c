/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSSL's functions, made strict: they skip white space around a text, take "=" for a digit, and
 * pass over bits that no byte holds, so that two texts would mean the same bytes.
 */
#include "base/core/base64.h"

#include <openssl/evp.h>

void ab_base64_encode(ab_str bytes, ab_buf *out)
{
    char *to = ab_buf_extend(out, (bytes.len + 2) / 3 * 4);
    if (to != NULL && bytes.len > 0)
        (void)EVP_EncodeBlock((unsigned char *)to, (const unsigned char *)bytes.ptr,
                              (int)bytes.len);
}

/* @return how many bytes the last group is, 0 when it is not base64 */
static size_t decode_last(const char text[4], unsigned char out[3])
{
    unsigned char again[5];
    int n = text[3] != '=' ? 3 : text[2] != '=' ? 2 : 1;
    if (EVP_DecodeBlock(out, (const unsigned char *)text, 4) != 3)
        return 0;
    (void)EVP_EncodeBlock(again, out, n);
    return memcmp(again, text, 4) == 0 ? (size_t)n : 0;
}

bool ab_base64_decode(ab_str text, ab_buf *out)
{
    unsigned char last[3];
    if (text.len == 0 || text.len % 4 != 0)
        return text.len == 0;
    size_t first = text.len - 4;
    size_t n = decode_last(text.ptr + first, last);
    if (n == 0 || (first > 0 && memchr(text.ptr, '=', first) != NULL))
        return false;
    unsigned char *to = (unsigned char *)ab_buf_extend(out, first / 4 * 3);
    if (to != NULL && first > 0 &&
        EVP_DecodeBlock(to, (const unsigned char *)text.ptr, (int)first) != (int)(first / 4 * 3))
        return false;
    ab_buf_put(out, (ab_str){(const char *)last, n});
    return true;
}

bool ab_base64_is(ab_str text)
{
    ab_buf bytes = ab_buf_up_to(text.len);
    bool is = ab_base64_decode(text, &bytes);
    ab_buf_fini(&bytes);
    return is;
}

/* --- for URLs --- */

void ab_base64url_encode(ab_str bytes, ab_buf *out)
{
    size_t begin = out->len;
    ab_base64_encode(bytes, out);
    if (ab_buf_status(out) != AB_ERR_OK)
        return;
    size_t end = begin;
    for (; end < out->len && out->ptr[end] != '='; end++) {
        char c = out->ptr[end];
        out->ptr[end] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    out->ptr[end] = '\0';
    out->len = end;
}

bool ab_base64url_decode(ab_str text, ab_buf *out)
{
    ab_buf plain = ab_buf_secret_up_to(text.len + 4);
    bool good = text.len > 0 && text.len % 4 != 1;
    for (size_t i = 0; i < text.len && good; i++) {
        char c = text.ptr[i];
        good = c != '+' && c != '/' && c != '=';
        ab_buf_putc(&plain, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (plain.len % 4 != 0 && ab_buf_status(&plain) == AB_ERR_OK)
        ab_buf_putc(&plain, '=');
    if (ab_buf_status(&plain) != AB_ERR_OK)
        out->status = ab_buf_status(&plain);
    good = good && ab_buf_status(&plain) == AB_ERR_OK &&
           ab_base64_decode(ab_buf_str(&plain), out) && ab_buf_status(out) == AB_ERR_OK;
    ab_buf_wipe(&plain);
    return good;
}
