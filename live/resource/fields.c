/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts are put one behind the other, and found by their lengths when the buffer moves no more.
 */
#include "live/resource/fields.h"

#define BYTES_MAX (16u * 1024)

void ab_resource_fields_init(ab_resource_fields *f)
{
    f->count = 0;
    f->too_many = false;
    ab_buf_init(&f->texts, BYTES_MAX);
}

void ab_resource_fields_fini(ab_resource_fields *f)
{
    f->count = 0;
    ab_buf_fini(&f->texts);
}

void ab_resource_fields_add(ab_resource_fields *f, ab_str name, ab_str value)
{
    f->too_many = f->too_many || f->count == AB_RESOURCE_FIELDS_MAX;
    if (f->too_many)
        return;
    ab_buf_put(&f->texts, name);
    ab_buf_put(&f->texts, value);
    f->list[f->count++] = (ab_http_field){{NULL, name.len}, {NULL, value.len}};
}

ab_err ab_resource_fields_seal(ab_resource_fields *f)
{
    size_t offset = 0;
    ab_err e = f->too_many ? AB_ERR_TOOBIG : ab_buf_status(&f->texts);
    if (e != AB_ERR_OK) {
        f->count = 0;
        return e;
    }
    for (size_t i = 0; i < f->count; i++) {
        f->list[i].name.ptr = f->texts.ptr + offset;
        offset += f->list[i].name.len;
        f->list[i].value.ptr = f->texts.ptr + offset;
        offset += f->list[i].value.len;
    }
    return AB_ERR_OK;
}

bool ab_resource_fields_is_asked(ab_str name)
{
    static const char *const NAMES[] = {"accept", "accept-encoding", "content-type", "user-agent",
                                        NULL};
    return ab_str_is_one_of(name, NAMES) || ab_resource_fields_is_impersonation(name);
}

bool ab_resource_fields_is_impersonation(ab_str name)
{
    return ab_str_starts(name, "impersonate-");
}

bool ab_resource_fields_is_hop(ab_str name)
{
    static const char *const HOPS[] = {"connection",        "keep-alive", "proxy-connection",
                                       "transfer-encoding", "upgrade",    "te",
                                       "trailer",           NULL};
    return ab_str_is_one_of(name, HOPS);
}
