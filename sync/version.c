/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/version.h"

#include "schema/attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int ab_version_cmp(ab_version a, ab_version b)
{
    int by_epoch = order(a.epoch, b.epoch);
    return by_epoch != 0 ? by_epoch : order(a.version, b.version);
}

bool ab_version_is_none(ab_version v)
{
    return v.epoch == 0 && v.version == 0;
}

void ab_version_format(ab_version v, char out[AB_VERSION_TEXT])
{
    snprintf(out, AB_VERSION_TEXT, "%" PRIu64 ".%" PRIu64, v.epoch, v.version);
}

ab_err ab_version_parse(ab_str text, ab_version *out)
{
    const char *dot = text.ptr == NULL ? NULL : memchr(text.ptr, '.', text.len);
    if (dot == NULL)
        return AB_ERR_PARSE;
    size_t head = (size_t)(dot - text.ptr);
    ab_version v;
    if (ab_str_to_u64((ab_str){text.ptr, head}, &v.epoch) != AB_ERR_OK ||
        ab_str_to_u64((ab_str){dot + 1, text.len - head - 1}, &v.version) != AB_ERR_OK)
        return AB_ERR_PARSE;
    *out = v;
    return AB_ERR_OK;
}

ab_err ab_version_of(const ab_event *e, ab_version *out, ab_error *err)
{
    ab_version v;
    if (ab_event_attr_u64(e, AB_CE_WRITEREPOCH, &v.epoch) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_INVALID,
                       "attribute " AB_CE_WRITEREPOCH " is missing or not a number");
    if (ab_event_attr_u64(e, AB_CE_OBJVERSION, &v.version) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_INVALID,
                       "attribute " AB_CE_OBJVERSION " is missing or not a number");
    *out = v;
    return AB_ERR_OK;
}
