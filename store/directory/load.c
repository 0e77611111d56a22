/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading files that may have changed, a batch at a time:
 *
 *   read (worker)     texts whose digest is another one become manifests
 *   claim (loop)      each manifest's object is this file's, or another file's already
 *   record (worker)   their sidecars are read, and written when the manifest is another
 *   finish (loop)     what is new is reported
 *
 * Files of a batch are `busy` throughout. Batches follow one another, so of two new files for one
 * object the one that was listed first has it. An object that its file no longer has is `missing`:
 * it is gone when no other file had it within the grace time, which covers renames and editors that
 * replace a file in two steps.
 */
#include "store/directory/load.h"

#include "store/directory/batch.h"
#include "store/directory/index.h"
#include "store/directory/listing.h"
#include "store/directory/missing.h"
#include "store/directory/queue.h"
#include "store/directory/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

static void fault_two_files(ab_dir *d, const ab_dir_entry *e, const char *path)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_EXISTS,
                  "%s is already in %s, which is used; remove it from one of them", e->key,
                  e->file->path);
    ab_dir_fault(d, path, &err);
}

static ab_err claim(ab_dir *d, ab_dir_file *f, const char *key, ab_dir_arrival *a)
{
    ab_dir_entry *e = ab_dir_entry_find(d, key);
    if (e == NULL)
        e = ab_dir_entry_add(d, f, key);
    if (e == NULL)
        return AB_ERR_NOMEM;
    if (e->file != f && e->missing && (!e->file->busy || e->file->loading))
        ab_dir_entry_move(d, e, f);
    a->claimed = e->file == f;
    if (a->claimed) {
        ab_dir_entry_set_missing(d, e, false);
        return AB_ERR_OK;
    }
    free(e->conflicting);
    e->conflicting = strdup(f->path);
    /* A file that is still to be read may have lost it: then this was a move. */
    if (!e->missing && !e->file->dirty)
        fault_two_files(d, e, f->path);
    return e->conflicting != NULL ? AB_ERR_OK : AB_ERR_NOMEM;
}

static void key_of(const ab_dir_item *it, const char *name, char out[AB_OBJECT_KEY_MAX])
{
    (void)snprintf(out, AB_OBJECT_KEY_MAX, "%.63s/%.63s/%.253s", it->place.kind, it->place.ns,
                   name);
}

/* What is wrong with a document may be its kind, namespace or name: it may be any of the file's
 * objects, also one that was missing until now, as while an editor put this file into its place. */
static void mark_missing(ab_dir *d, const ab_dir_item *it)
{
    const ab_stream *s = &it->stream;
    bool whole = s->readable && s->fault_count == 0;
    ab_dir_entry *next = NULL;
    for (ab_dir_entry *e = it->file->entries; e != NULL; e = next) {
        next = e->next;
        if (!whole || ab_stream_find(s, strrchr(e->key, '/') + 1) == NULL)
            ab_dir_entry_set_missing(d, e, whole);
    }
}

static void retry(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (!f->broken || !f->must_read)
            continue;
        ab_dir_file_set_relisted(f);
        ab_dir_touch(d, f);
    }
    ab_dir_load_next(d);
}

/* A fault that goes away by itself, as when a disk was full, is tried again; others wait for an
 * edit. */
static void note_trouble(ab_dir *d, ab_dir_item *it, const ab_error *err)
{
    ab_dir_fault(d, it->file->path, err);
    ab_dir_file_set_broken(d, it->file, true);
    if (ab_err_class_of(err->code) != AB_CLASS_TRANSIENT || d->stopping)
        return;
    it->file->must_read = true;
    if (uv_is_active((uv_handle_t *)&d->retry))
        return;
    d->retry_ms = d->retry_ms == 0 ? RETRY_MIN_MS : d->retry_ms * 2;
    if (d->retry_ms > RETRY_MAX_MS)
        d->retry_ms = RETRY_MAX_MS;
    (void)uv_timer_start(&d->retry, retry, (uint64_t)d->retry_ms, 0);
}

/* What was read is what its writer has come to: it is read again when that closes it. */
static void put_off(ab_dir *d, ab_dir_item *it)
{
    it->same = true;
    it->file->must_read = true;
    it->file->relisted = it->file->relisted || it->file->relisting;
    ab_dir_file_set_broken(d, it->file, true);
}

/* What the text says of the file itself, and what it no longer holds. */
static void note_text(ab_dir *d, ab_dir_item *it)
{
    ab_dir_file *f = it->file;
    if (it->same)
        return;
    if (f->writing) {
        put_off(d, it);
        return;
    }
    if (it->wait) {
        f->second = true;
        f->must_read = true;
        ab_dir_touch(d, f);
        return;
    }
    f->relisting = f->relisting || it->homeless;
    f->digest = it->digest;
    ab_dir_file_set_broken(d, f, it->stream.fault_count > 0);
    mark_missing(d, it);
    if (it->code != AB_ERR_OK) {
        note_trouble(d, it, &it->err);
        return;
    }
    for (size_t i = 0; i < it->stream.fault_count; i++)
        ab_dir_fault(d, f->path, &it->stream.faults[i]);
    if (it->stream.readable)
        f->documents = it->stream.documents;
}

static void claim_item(ab_dir *d, ab_dir_item *it)
{
    if (it->same || it->wait || it->code != AB_ERR_OK)
        return;
    for (size_t i = 0; i < it->stream.count; i++) {
        char key[AB_OBJECT_KEY_MAX];
        key_of(it, it->stream.items[i].name, key);
        if (claim(d, it->file, key, &it->arrivals[i]) == AB_ERR_OK)
            continue;
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "out of memory for %s", key);
        note_trouble(d, it, &err);
    }
}

static void remove_doomed(ab_dir *d, const char *key)
{
    ab_dir_op *op = ab_dir_op_new(AB_VERB_REMOVE, ab_str_of(key));
    if (op != NULL)
        ab_dir_submit(d, op);
}

static void finish_item(ab_dir *d, ab_dir_item *it)
{
    for (size_t i = 0; i < it->stream.count; i++) {
        ab_dir_arrival *a = &it->arrivals[i];
        char key[AB_OBJECT_KEY_MAX];
        if (!a->claimed)
            continue;
        if (a->code != AB_ERR_OK) {
            note_trouble(d, it, &a->err);
            continue;
        }
        key_of(it, it->stream.items[i].name, key);
        ab_dir_entry *e = ab_dir_entry_find(d, key);
        assert(e != NULL && e->file == it->file);
        ab_dir_report(d, e, a->object);
        if (a->doomed && !d->stopping)
            remove_doomed(d, key);
    }
}

static void finish_batch(uv_work_t *work, int status)
{
    (void)status;
    ab_dir_load *load = work->data;
    ab_dir *d = load->dir;
    for (size_t i = 0; i < load->count; i++)
        finish_item(d, &load->items[i]);
    d->load = NULL;
    for (size_t i = 0; i < load->count; i++) {
        ab_dir_file *f = load->items[i].file;
        f->busy = false;
        f->loading = false;
        ab_dir_dispatch(d, f);
        ab_dir_file_drop_unused(d, f);
        ab_dir_item_fini(&load->items[i]);
    }
    free(load);
    ab_dir_load_next(d);
    ab_dir_finish_stop(d);
}

static void claim_batch(uv_work_t *work, int status)
{
    (void)status;
    ab_dir_load *load = work->data;
    bool claims = false;
    load->dir->see_events(load->dir); /* somebody may have begun to write before a file was read */
    /* First of all files what they lost: an object may have moved from one to another of them. */
    for (size_t i = 0; i < load->count; i++)
        note_text(load->dir, &load->items[i]);
    for (size_t i = 0; i < load->count; i++) {
        claim_item(load->dir, &load->items[i]);
        claims =
            claims || (load->items[i].code == AB_ERR_OK && ab_dir_item_has_claims(&load->items[i]));
    }
    if (!claims) {
        finish_batch(work, 0);
        return;
    }
    ab_dir_work(load->dir, work, ab_dir_batch_record, finish_batch);
}

static void take_file(ab_dir_load *load, ab_dir_file *f)
{
    ab_dir_item *it = &load->items[load->count++];
    it->file = f;
    it->digest = f->digest;
    it->must_read = f->must_read;
    it->second = f->second;
    bool placed = ab_place_of(f->path, &it->place);
    assert(placed);
    (void)placed;
    f->must_read = false;
    f->relisting = f->relisted;
    f->relisted = false;
    f->dirty = false;
    f->busy = true;
    f->loading = true;
}

/* Once it stops, only what operations wait for is still read. */
static void take_batch(ab_dir *d, ab_dir_load *load)
{
    ab_dir_file **at = &d->dirty_first;
    d->dirty_last = NULL;
    while (*at != NULL) {
        ab_dir_file *f = *at;
        if (load->count == AB_DIR_BATCH || f->busy || (d->stopping && f->ops.first == NULL)) {
            d->dirty_last = f;
            at = &f->next_dirty;
            continue;
        }
        *at = f->next_dirty;
        take_file(load, f);
    }
}

static void on_listed(ab_dir *d)
{
    d->listed = true;
    if (!d->stopping) {
        d->base.env.events.on_change(d->base.env.events.arg, AB_STORE_LIST_DONE, NULL);
        ab_dir_release(d);
        ab_dir_load_next(d);
    }
    ab_dir_finish_stop(d);
}

static void drained(ab_dir *d)
{
    if (d->dirty_first != NULL || d->stopping)
        return;
    if (!d->listed) {
        if (uv_is_active((uv_handle_t *)&d->reread)) /* and sweeps when that is over */
            return;
        if (ab_dir_sweep(d, on_listed) != AB_ERR_OK)
            on_listed(d); /* they stay until the next start */
        return;
    }
    if (d->broken == 0)
        d->retry_ms = 0;
    if (d->synced || d->broken > 0 || d->unlisted > 0 || d->partial > 0)
        return;
    d->synced = true;
    d->base.env.events.on_change(d->base.env.events.arg, AB_STORE_SYNCED, NULL);
}

void ab_dir_load_next(ab_dir *d)
{
    ab_dir_grace_start(d);
    if (d->load != NULL || d->sweeping)
        return;
    if (d->dirty_first == NULL) {
        drained(d);
        return;
    }
    ab_dir_load *load = calloc(1, sizeof(*load));
    if (load == NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "out of memory reading manifests");
        ab_dir_fault(d, d->path, &err);
        return;
    }
    load->dir = d;
    load->first_listing = !d->listed;
    load->now_us = ab_clock_wall_us(d->base.env.clock);
    take_batch(d, load);
    if (load->count == 0) {
        free(load);
        return;
    }
    d->load = load;
    load->work.data = load;
    ab_dir_work(d, &load->work, ab_dir_batch_read, claim_batch);
}
