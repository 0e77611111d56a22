/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/file_stamp.h"

#include <assert.h>

ab_file_stamp ab_file_stamp_from(const struct stat *st)
{
    return (ab_file_stamp){.dev = st->st_dev,
                           .ino = st->st_ino,
                           .size = st->st_size,
                           .modified = st->st_mtim,
                           .changed = st->st_ctim};
}

ab_file_stamp ab_file_stamp_of(const char *path)
{
    struct stat st;
    if (path == NULL || stat(path, &st) != 0)
        return (ab_file_stamp){0};
    return ab_file_stamp_from(&st);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool ab_file_stamp_eq(const ab_file_stamp *a, const ab_file_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

void ab_file_stamps_add(ab_file_stamps *s, const char *path)
{
    if (path == NULL)
        return;
    assert(s->count < AB_FILE_STAMPS_MAX);
    s->paths[s->count] = path;
    s->seen[s->count++] = ab_file_stamp_of(path);
}

bool ab_file_stamps_changed(ab_file_stamps *s)
{
    bool changed = false;
    for (size_t i = 0; i < s->count; i++) {
        ab_file_stamp now = ab_file_stamp_of(s->paths[i]);
        changed = changed || !ab_file_stamp_eq(&now, &s->seen[i]);
        s->seen[i] = now;
    }
    return changed;
}
