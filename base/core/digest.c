/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/digest.h"

#include "base/core/hex.h"

#include <openssl/evp.h>
#include <string.h>
#include <sys/random.h>

ab_err ab_digest_of(ab_str data, ab_digest *out)
{
    unsigned char full[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    const char *bytes = data.len == 0 ? "" : data.ptr;
    if (EVP_Digest(bytes, data.len, full, &length, EVP_sha256(), NULL) != 1)
        return AB_ERR_FATAL;
    memcpy(out->bytes, full, sizeof(out->bytes));
    return AB_ERR_OK;
}

bool ab_digest_eq(const ab_digest *a, const ab_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool ab_digest_is_none(const ab_digest *d)
{
    static const ab_digest none = {{0}};
    return ab_digest_eq(d, &none);
}

void ab_digest_format(const ab_digest *d, char out[AB_DIGEST_HEX])
{
    *ab_hex_write(out, d->bytes, sizeof(d->bytes)) = '\0';
}

ab_err ab_digest_parse(ab_str text, ab_digest *out)
{
    ab_digest parsed = {{0}};
    if (text.len != AB_DIGEST_HEX - 1)
        return AB_ERR_PARSE;
    for (size_t i = 0; i < text.len; i++) {
        int value = ab_hex_digit(text.ptr[i]);
        if (value < 0)
            return AB_ERR_PARSE;
        parsed.bytes[i / 2] = (uint8_t)(parsed.bytes[i / 2] << 4 | value);
    }
    *out = parsed;
    return AB_ERR_OK;
}

ab_err ab_uuid(char out[37])
{
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return AB_ERR_FATAL;
    b[6] = (uint8_t)((b[6] & 0x0F) | 0x40); /* version 4 */
    b[8] = (uint8_t)((b[8] & 0x3F) | 0x80); /* the variant of RFC 9562 */
    static const uint8_t groups[] = {4, 2, 2, 2, 6};
    const uint8_t *from = b;
    for (size_t i = 0; i < sizeof(groups); i++) {
        if (i > 0)
            *out++ = '-';
        out = ab_hex_write(out, from, groups[i]);
        from += groups[i];
    }
    *out = '\0';
    return AB_ERR_OK;
}
