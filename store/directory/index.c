/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool take_part(const char **at, char end, char *out, size_t room)
{
    const char *stop = strchr(*at, end);
    if (stop == NULL || stop == *at || (size_t)(stop - *at) >= room)
        return false;
    memcpy(out, *at, (size_t)(stop - *at));
    out[stop - *at] = '\0';
    *at = end == '\0' ? stop : stop + 1;
    return true;
}

bool ab_place_of(const char *path, ab_place *out)
{
    const char *at = path;
    return take_part(&at, '/', out->ns, sizeof(out->ns)) &&
           take_part(&at, '/', out->kind, sizeof(out->kind)) &&
           take_part(&at, '\0', out->file, sizeof(out->file));
}

bool ab_place_is_secret(const ab_place *place)
{
    return strcmp(place->kind, "Secret") == 0;
}

ab_dir_file *ab_dir_file_at(ab_dir *d, const char *path)
{
    ab_dir_file *f = ab_map_make(d->files, ab_str_of(path), sizeof(*f));
    if (f != NULL)
        f->path = ab_map_at(f).key.ptr;
    return f;
}

void ab_dir_file_drop_unused(ab_dir *d, ab_dir_file *f)
{
    if (f->entries != NULL || f->ops.first != NULL || f->dirty || f->busy || f->writing ||
        f->broken || !ab_digest_is_none(&f->digest))
        return;
    ab_dir_file_set_partial(d, f, false);
    ab_map_drop(d->files, f);
}

void ab_dir_file_set_broken(ab_dir *d, ab_dir_file *f, bool broken)
{
    if (broken)
        f->broken_ms = ab_clock_mono_ms(d->base.env.clock);
    if (f->broken == broken)
        return;
    f->broken = broken;
    d->broken = broken ? d->broken + 1 : d->broken - 1;
}

void ab_dir_file_set_partial(ab_dir *d, ab_dir_file *f, bool partial)
{
    if (f->partial == partial)
        return;
    f->partial = partial;
    d->partial = partial ? d->partial + 1 : d->partial - 1;
}

ab_dir_entry *ab_dir_entry_find(const ab_dir *d, const char *key)
{
    return ab_map_find(d->entries, ab_str_of(key));
}

ab_dir_entry *ab_dir_entry_add(ab_dir *d, ab_dir_file *f, const char *key)
{
    ab_dir_entry *e = ab_map_make(d->entries, ab_str_of(key), sizeof(*e));
    if (e == NULL)
        return NULL;
    e->key = ab_map_at(e).key.ptr;
    e->file = f;
    e->next = f->entries;
    f->entries = e;
    ab_metric_set(d->objects, (double)ab_map_count(d->entries));
    return e;
}

void ab_dir_touch(ab_dir *d, ab_dir_file *f)
{
    if (!f->dirty) {
        f->dirty = true;
        f->next_dirty = NULL;
        if (d->dirty_last == NULL)
            d->dirty_first = f;
        else
            d->dirty_last->next_dirty = f;
        d->dirty_last = f;
    }
}

/* Have another file that has the object too read again: it may take it over. */
static void reload_conflicting(ab_dir *d, ab_dir_entry *e)
{
    char *path = e->conflicting;
    e->conflicting = NULL;
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
        reload_conflicting(d, e);
    e->unobserved = missing && (e->unobserved || e->file->relisting || e->file->relisted);
    if (e->missing == missing)
        return;
    e->missing = missing;
    e->held = false;
    e->missing_since_ms = ab_clock_mono_ms(d->base.env.clock);
    d->missing = missing ? d->missing + 1 : d->missing - 1;
}

void ab_dir_file_set_relisted(ab_dir_file *f)
{
    f->relisted = true;
    for (ab_dir_entry *e = f->entries; e != NULL; e = e->next)
        e->unobserved |= e->missing;
}

static void unlink_from_file(ab_dir_entry *e)
{
    ab_dir_entry **at = &e->file->entries;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
}

static void move_ops(ab_dir_file *from, ab_dir_file *to, const char *key)
{
    ab_store_line all = from->ops;
    from->ops = (ab_store_line){0};
    for (ab_store_op *op = ab_store_line_pop(&all); op != NULL; op = ab_store_line_pop(&all))
        ab_store_line_append(strcmp(op->key, key) == 0 ? &to->ops : &from->ops, op);
}

void ab_dir_entry_move(ab_dir *d, ab_dir_entry *e, ab_dir_file *to)
{
    ab_dir_file *from = e->file;
    assert(!from->busy || from->loading);
    unlink_from_file(e);
    e->file = to;
    e->next = to->entries;
    to->entries = e;
    move_ops(from, to, e->key);
    ab_dir_file_drop_unused(d, from);
}

void ab_dir_entry_remove(ab_dir *d, ab_dir_entry *e)
{
    ab_dir_entry_set_missing(d, e, false);
    unlink_from_file(e);
    reload_conflicting(d, e);
    free(e->head);
    ab_map_drop(d->entries, e);
    ab_metric_set(d->objects, (double)ab_map_count(d->entries));
}

static void entry_fini(void *entry)
{
    ab_dir_entry *e = entry;
    free(e->head);
    free(e->conflicting);
}

void ab_dir_index_fini(ab_dir *d)
{
    ab_map_free(d->entries, entry_fini);
    ab_map_free(d->files, NULL);
}

bool ab_dir_is_watched(const ab_dir *d, ab_str kind)
{
    for (const ab_store_watch *w = d->base.env.watches; w->kind != NULL; w++)
        if (ab_str_is(kind, w->kind))
            return true;
    return false;
}
