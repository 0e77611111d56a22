/* SPDX-License-Identifier: Apache-2.0
 *
 * An object that its file no longer has is missing. It is gone when no file had it within the grace
 * time, which covers renames and editors that replace a file in two steps.
 *
 * It is reported as DELETED when its deletion was observed: inotify told that this very file was
 * deleted, moved or written, and reading it showed that the object is not there any more. That is
 * proof, however many files go: each was deleted by itself while it was watched. It is ABSENT when
 * something else had the file read: a folder that went (with what its files lost within the grace
 * time before, as by rm -r), events that the kernel dropped, a folder or a file that could not be
 * read for a while. What is ABSENT waits until nothing more becomes so: it is reported together.
 */
#include "store/directory/missing.h"

#include "store/directory/queue.h"

#include <string.h>

static void forget(ab_dir *d, ab_dir_entry *e)
{
    ab_dir_op *op = ab_dir_op_new(AB_DIR_FORGET, ab_str_of(e->key));
    if (op == NULL)
        return;
    e->missing_since_ms = INT64_MAX;
    ab_dir_submit(d, op);
}

static bool is_fresh(const ab_dir_entry *e, int64_t now)
{
    return e->missing && e->missing_since_ms != INT64_MAX &&
           now - e->missing_since_ms < AB_DIR_GRACE_MS;
}

static bool is_beside(const char *a, const char *b)
{
    size_t len = (size_t)(strrchr(a, '/') - a) + 1;
    return strncmp(a, b, len) == 0;
}

static void hold(const ab_dir *d, const ab_dir_file *f, int64_t now)
{
    for (ab_map_iter i = ab_map_first(d->entries); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_entry *e = i.value;
        bool other = !e->missing || f->broken_ms < e->missing_since_ms - AB_DIR_GRACE_MS;
        if (other || is_fresh(e, now) || !is_beside(f->path, e->file->path))
            continue;
        if (!e->held)
            AB_WARN(d->base.env.log, STORE,
                    "a manifest is gone, and another one, which cannot be read, may hold its "
                    "object: it is not deleted until that one is corrected or removed",
                    AB_KV("object", e->key), AB_KV("file", f->path));
        e->held = true;
        e->held_now = true;
    }
}

/* A file may have been renamed and damaged in one go. One that was damaged long before does not
 * hold what goes now, and one that is being written held before what it is known for. */
static void hold_renamed(const ab_dir *d, int64_t now)
{
    for (ab_map_iter i = ab_map_first(d->files); d->broken > 0 && i.entry != NULL;
         ab_map_next(&i)) {
        const ab_dir_file *f = i.value;
        if (f->broken && !f->writing)
            hold(d, f, now);
    }
}

/* @return whether it is to be looked at again */
static bool judge(ab_dir *d, ab_dir_entry *e, bool wait)
{
    e->held = e->held_now;
    e->held_now = false;
    if (wait || e->held) /* the one that holds it is read again when it changes */
        return wait;
    forget(d, e);
    return false;
}

static bool is_more_going(const ab_dir *d, int64_t now)
{
    for (ab_map_iter i = ab_map_first(d->entries); i.entry != NULL; ab_map_next(&i)) {
        const ab_dir_entry *e = i.value;
        if (e->unobserved && is_fresh(e, now))
            return true;
    }
    return false;
}

static void grace_expired(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    d->see_events(d);
    bool unread = d->load != NULL || d->dirty_first != NULL;
    int64_t now = ab_clock_mono_ms(d->base.env.clock);
    bool going = is_more_going(d, now);
    bool more = false;
    if (d->lost || d->unmounted)
        return;
    hold_renamed(d, now);
    for (ab_map_iter i = ab_map_first(d->entries); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_entry *e = i.value;
        if (e->missing && e->missing_since_ms != INT64_MAX)
            more |= judge(
                d, e, unread || is_fresh(e, now) || e->file->writing || (e->unobserved && going));
    }
    if (more)
        (void)uv_timer_start(timer, grace_expired, AB_DIR_GRACE_MS, 0);
    if (d->dirty_first != NULL)
        d->read_dirty(d);
}

void ab_dir_grace_start(ab_dir *d)
{
    if (d->missing > 0 && !d->stopping && !uv_is_active((uv_handle_t *)&d->grace))
        (void)uv_timer_start(&d->grace, grace_expired, AB_DIR_GRACE_MS, 0);
}
