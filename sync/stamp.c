/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/stamp.h"

#include <stdio.h>

bool ab_stamp_parse(ab_str text, ab_stamp *out)
{
    ab_stamp s = {0};
    if (ab_version_parse(ab_str_cut(&text, '/'), &s.version) != AB_ERR_OK)
        return false;
    s.agent = ab_str_cut(&text, '/');
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
