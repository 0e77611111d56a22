/* SPDX-License-Identifier: Apache-2.0
 *
 * An object that its file no longer has is missing. It is gone when no file had it within the grace
 * time, which covers renames and editors that replace a file in two steps.
 */
#include "store/directory/directory_priv.h"

#include <stdlib.h>

#define GRACE_MS 250

void ab_dir_entry_wake_rival(ab_dir *d, ab_dir_entry *e)
{
    char *path = e->rival;
    e->rival = NULL;
    ab_dir_file *f = path == NULL ? NULL : ab_map_find(d->files, ab_str_of(path));
    free(path);
    if (f == NULL)
        return;
    f->must_read = true;
    ab_dir_touch(d, f);
}

void ab_dir_entry_set_missing(ab_dir *d, ab_dir_entry *e, bool missing)
{
    if (missing)
        ab_dir_entry_wake_rival(d, e);
    if (e->missing == missing)
        return;
    e->missing = missing;
    e->missing_since_ms = ab_clock_mono_ms(d->base.env.clock);
    d->missing = missing ? d->missing + 1 : d->missing - 1;
}

static void forget(ab_dir *d, ab_dir_entry *e)
{
    ab_dir_op *op = ab_dir_op_new(d, AB_DIR_FORGET, ab_str_of(e->key), NULL, NULL);
    if (op == NULL)
        return;
    e->missing_since_ms = INT64_MAX;
    ab_dir_submit(d, op);
}

static void grace_expired(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    bool unread = d->load != NULL || d->dirty_first != NULL;
    int64_t now = ab_clock_mono_ms(d->base.env.clock);
    bool more = false;
    for (ab_map_iter i = ab_map_first(d->entries); !d->lost && i.entry != NULL; ab_map_next(&i)) {
        ab_dir_entry *e = i.value;
        if (!e->missing || e->missing_since_ms == INT64_MAX)
            continue;
        if (unread || now - e->missing_since_ms < GRACE_MS)
            more = true;
        else
            forget(d, e);
    }
    if (more)
        (void)uv_timer_start(timer, grace_expired, GRACE_MS, 0);
}

void ab_dir_grace_start(ab_dir *d)
{
    if (d->missing > 0 && !d->stopping && !uv_is_active((uv_handle_t *)&d->grace))
        (void)uv_timer_start(&d->grace, grace_expired, GRACE_MS, 0);
}
