/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/record.h"

#include <stdio.h>
#include <string.h>

uint64_t ab_dir_next_version(ab_dir *d)
{
    return atomic_fetch_add(&d->versions, 1) + 1;
}

ab_err ab_dir_sidecar_read(int meta, const char *name, ab_sidecar *out, ab_error *err)
{
    char file[264];
    (void)snprintf(file, sizeof(file), "%s.json", name);
    if (meta < 0)
        return AB_ERR_NOTFOUND;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_disk_read(meta, file, &text, err);
    if (e == AB_ERR_OK) {
        e = ab_sidecar_parse(ab_buf_str(&text), out, err);
        if (e != AB_ERR_OK && e != AB_ERR_NOMEM) {
            ab_error_prefix(err, "%s/%s is broken; remove it to assign a new uid", AB_DISK_META,
                            file);
            e = AB_ERR_INVALID;
        }
    }
    ab_buf_fini(&text);
    return e;
}

ab_err ab_dir_sidecar_temp(int meta, const ab_sidecar *s, ab_temp *out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_sidecar_format(s, &text);
    if (e == AB_ERR_OK)
        e = ab_temp_write(meta, 1, 0666, ab_buf_str(&text), out, err);
    else
        (void)ab_fail(err, e, "the sidecar: %s", ab_err_text(e));
    ab_buf_fini(&text);
    return e;
}

ab_err ab_dir_sidecar_place(int meta, ab_temp *t, const char *name, ab_error *err)
{
    char file[264];
    (void)snprintf(file, sizeof(file), "%s.json", name);
    return ab_temp_place(meta, t, meta, file, err);
}

ab_err ab_dir_sidecar_write(int meta, const char *name, const ab_sidecar *s, ab_error *err)
{
    ab_temp temp = {0};
    ab_err e = ab_dir_sidecar_temp(meta, s, &temp, err);
    if (e == AB_ERR_OK)
        e = ab_dir_sidecar_place(meta, &temp, name, err);
    ab_temp_drop(meta, &temp);
    return e;
}

ab_err ab_dir_sidecar_advance(ab_dir *d, ab_sidecar *s, const ab_manifest *m, const char *file,
                              int64_t now_us, ab_error *err)
{
    if (s->uid[0] == '\0') {
        char uid[37];
        ab_err e = ab_uuid(uid);
        if (e != AB_ERR_OK)
            return ab_fail(err, e, "random number generator failed");
        memcpy(s->uid, uid, sizeof(uid));
        ab_time_format_seconds(now_us, s->created);
        s->generation = 1;
    } else if (!ab_digest_eq(&s->spec, &m->spec)) {
        s->generation++;
    }
    (void)snprintf(s->file, sizeof(s->file), "%s", file);
    s->content = m->content;
    s->spec = m->spec;
    s->version = ab_dir_next_version(d);
    return AB_ERR_OK;
}
