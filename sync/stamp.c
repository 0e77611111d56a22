/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/stamp.h"

#include <stdio.h>
#include <string.h>

/* Cut what is before the next slash off `rest`; absent when nothing is left. */
static ab_str next_part(ab_str *rest)
{
    ab_str part = *rest;
    const char *slash = rest->len == 0 ? NULL : memchr(rest->ptr, '/', rest->len);
    *rest = AB_STR_NONE;
    if (slash == NULL)
        return part;
    size_t len = (size_t)(slash - part.ptr);
    *rest = (ab_str){slash + 1, part.len - len - 1};
    return (ab_str){part.ptr, len};
}

bool ab_stamp_parse(ab_str text, ab_stamp *out)
{
    ab_stamp s = {0};
    if (ab_version_parse(next_part(&text), &s.version) != AB_ERR_OK)
        return false;
    s.agent = next_part(&text);
    if (ab_digest_parse(text, &s.hash) != AB_ERR_OK)
        s.hash = (ab_digest){0};
    *out = s;
    return true;
}

void ab_stamp_format(const ab_stamp *stamp, char out[AB_STAMP_TEXT])
{
    char version[AB_VERSION_TEXT], hash[AB_DIGEST_HEX] = "";
    bool hashed = !ab_digest_is_none(&stamp->hash);
    ab_version_format(stamp->version, version);
    if (hashed)
        ab_digest_format(&stamp->hash, hash);
    snprintf(out, AB_STAMP_TEXT, "%s/%.*s%s%s", version, AB_STR_ARG(stamp->agent),
             hashed ? "/" : "", hash);
}
