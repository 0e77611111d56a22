/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading files that may have changed, a batch at a time:
 *
 *   read (worker)     texts whose digest is another one become manifests
 *   claim (loop)      each manifest's object is this file's, or another file's already
 *   record (worker)   sidecars of claimed objects are read, and written when the manifest is
 * another one finish (loop)     what is new is reported
 *
 * Files of a batch are `busy` throughout. Batches follow one another, so of two new files for one
 * object the one that was listed first has it. An object that its file no longer has is `missing`:
 * it is gone when no other file had it within the grace time, which covers renames and editors that
 * replace a file in two steps.
 */
#include "store/directory/directory_priv.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH        64
#define GRACE_MS     250
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

/* One manifest of a file on its way into the store. */
typedef struct {
    bool claimed;
    bool doomed; /* being deleted, and nothing holds it any more */
    ab_object *object;
    ab_err code;
    ab_error err;
} arrival;

typedef struct {
    ab_dir_file *file;
    ab_place place;
    bool must_read;
    bool second;
    bool wait;        /* another file is to be read before it */
    ab_digest digest; /* known before; after reading: of what is there */
    bool same;
    ab_stream stream;
    arrival *arrivals; /* one for each item of `stream` */
    ab_err code;       /* the file could not be read */
    ab_error err;
} item;

struct ab_dir_load {
    uv_work_t work;
    ab_dir *dir;
    int64_t now_us;
    bool first_listing;
    size_t count;
    item items[BATCH];
};

static void read_text(item *it, ab_str text)
{
    ab_digest now;
    it->code = ab_digest_of(text, &now);
    if (it->code != AB_ERR_OK)
        return;
    it->same = !it->must_read && ab_digest_eq(&now, &it->digest);
    it->digest = now;
    if (it->same)
        return;
    it->code = ab_stream_read(text, ab_str_of(it->place.kind), ab_str_of(it->place.ns), &it->stream,
                              &it->err);
    if (it->code != AB_ERR_OK || it->stream.count == 0)
        return;
    it->arrivals = calloc(it->stream.count, sizeof(*it->arrivals));
    if (it->arrivals == NULL)
        it->code = ab_fail(&it->err, AB_ERR_NOMEM, "no memory for the objects of a file");
}

/* Does another file have precedence, because an object was in it before the last stop? */
static bool yields(const ab_folder *folder, const item *it)
{
    for (size_t i = 0; i < it->stream.count; i++) {
        ab_sidecar s = {0};
        if (ab_dir_sidecar_read(folder->meta, it->stream.items[i].name, &s, NULL) != AB_ERR_OK)
            continue;
        bool elsewhere = strcmp(s.file, it->place.file) != 0 &&
                         faccessat(folder->manifests, s.file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        ab_sidecar_fini(&s);
        if (elsewhere)
            return true;
    }
    return false;
}

static void read_item(ab_dir *d, item *it, bool first_listing)
{
    ab_folder folder = {-1, -1};
    ab_buf text;
    ab_buf_init(&text, ab_yaml_default_limits.bytes_max);
    it->code = ab_folder_open(d->root, it->place.ns, it->place.kind, false, &folder, &it->err);
    if (it->code == AB_ERR_OK)
        it->code = ab_disk_read(folder.manifests, it->place.file, &text, &it->err);
    if (it->code == AB_ERR_OK) {
        read_text(it, ab_buf_str(&text));
        it->wait = first_listing && !it->second && it->code == AB_ERR_OK && yields(&folder, it);
    } else {
        it->digest = (ab_digest){0};
        it->stream.readable = it->code == AB_ERR_NOTFOUND;
        if (it->code == AB_ERR_NOTFOUND)
            it->code = AB_ERR_OK;
    }
    ab_buf_fini(&text);
    ab_folder_close(&folder);
}

static void read_batch(uv_work_t *work)
{
    struct ab_dir_load *load = work->data;
    for (size_t i = 0; i < load->count; i++)
        read_item(load->dir, &load->items[i], load->first_listing);
}

static ab_err bring_up(struct ab_dir_load *load, const ab_folder *folder, const char *file,
                       const ab_manifest *m, ab_sidecar *s, ab_error *err)
{
    ab_err e = ab_dir_sidecar_read(folder->meta, m->name, s, err);
    if (e != AB_ERR_OK && e != AB_ERR_NOTFOUND)
        return e;
    bool edited = e == AB_ERR_NOTFOUND || !ab_digest_eq(&s->content, &m->content);
    bool adopt = s->status == NULL && m->status != NULL;
    bool moved = strcmp(s->file, file) != 0;
    if (!edited && !adopt && !moved)
        return AB_ERR_OK;
    if (!edited && !adopt) {
        (void)snprintf(s->file, sizeof(s->file), "%s", file);
        return ab_dir_sidecar_write(folder->meta, m->name, s, err);
    }
    if (adopt) {
        s->status = strdup(m->status);
        if (s->status == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "no memory for the status");
    }
    e = ab_dir_sidecar_advance(load->dir, s, m, file, load->now_us, err);
    return e == AB_ERR_OK ? ab_dir_sidecar_write(folder->meta, m->name, s, err) : e;
}

static ab_err record_manifest(struct ab_dir_load *load, const ab_folder *folder, const char *file,
                              const ab_manifest *m, arrival *a)
{
    ab_sidecar s = {0};
    ab_err e = bring_up(load, folder, file, m, &s, &a->err);
    if (e == AB_ERR_OK)
        e = ab_manifest_view(m, &s, &a->object, &a->err);
    a->doomed = s.deleted[0] != '\0' && !m->finalizers;
    ab_sidecar_fini(&s);
    return e;
}

static void record_item(struct ab_dir_load *load, item *it)
{
    ab_folder folder = {-1, -1};
    ab_error err = {0};
    ab_err e = ab_folder_open(load->dir->root, it->place.ns, it->place.kind, true, &folder, &err);
    for (size_t i = 0; i < it->stream.count; i++) {
        arrival *a = &it->arrivals[i];
        if (!a->claimed)
            continue;
        a->err = err;
        a->code = e;
        if (e == AB_ERR_OK)
            a->code = record_manifest(load, &folder, it->place.file, &it->stream.items[i], a);
    }
    ab_folder_close(&folder);
}

static bool has_claims(const item *it)
{
    for (size_t i = 0; i < it->stream.count; i++)
        if (it->arrivals[i].claimed)
            return true;
    return false;
}

/* Names of sidecars are made durable once per folder: files of a batch mostly share one. */
static void sync_folders(const struct ab_dir_load *load)
{
    const ab_place *last = NULL;
    for (size_t i = 0; i < load->count; i++) {
        const ab_place *p = &load->items[i].place;
        bool repeated =
            last != NULL && strcmp(last->ns, p->ns) == 0 && strcmp(last->kind, p->kind) == 0;
        ab_folder folder;
        if (repeated || !has_claims(&load->items[i]))
            continue;
        last = p;
        if (ab_folder_open(load->dir->root, p->ns, p->kind, false, &folder, NULL) != AB_ERR_OK)
            continue;
        if (folder.meta >= 0)
            (void)fsync(folder.meta);
        ab_folder_close(&folder);
    }
}

static void record_batch(uv_work_t *work)
{
    struct ab_dir_load *load = work->data;
    for (size_t i = 0; i < load->count; i++)
        if (has_claims(&load->items[i]))
            record_item(load, &load->items[i]);
    sync_folders(load);
}

static void item_fini(item *it)
{
    for (size_t i = 0; it->arrivals != NULL && i < it->stream.count; i++)
        ab_object_unref(it->arrivals[i].object);
    free(it->arrivals);
    ab_stream_fini(&it->stream);
}

static void fault_two_files(ab_dir *d, const ab_dir_entry *e, const char *path)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_EXISTS,
                  "%s is in %s already, which stays; remove it from one of them", e->key,
                  e->file->path);
    ab_dir_fault(d, path, &err);
}

static ab_err claim(ab_dir *d, ab_dir_file *f, const char *key, arrival *a)
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
    free(e->rival);
    e->rival = strdup(f->path);
    /* A file that is still to be read may have lost it: then this was a move. */
    if (!e->missing && !e->file->dirty)
        fault_two_files(d, e, f->path);
    return e->rival != NULL ? AB_ERR_OK : AB_ERR_NOMEM;
}

static void key_of(const item *it, const char *name, char out[AB_OBJECT_KEY_MAX])
{
    (void)snprintf(out, AB_OBJECT_KEY_MAX, "%.63s/%.63s/%.253s", it->place.kind, it->place.ns,
                   name);
}

static void mark_missing(ab_dir *d, const item *it)
{
    ab_dir_entry *next = NULL;
    for (ab_dir_entry *e = it->file->entries; e != NULL; e = next) {
        next = e->next;
        if (ab_stream_find(&it->stream, strrchr(e->key, '/') + 1) == NULL)
            ab_dir_entry_set_missing(d, e, true);
    }
    ab_dir_grace_start(d);
}

static void retry(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (f->broken && f->must_read)
            ab_dir_touch(d, f);
    }
    ab_dir_load_next(d);
}

/* A fault that goes away by itself, as when a disk was full, is tried again; others wait for an
 * edit. */
static void note_trouble(ab_dir *d, item *it, const ab_error *err)
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

/* What the text says of the file itself, and what it no longer holds. */
static void note_text(ab_dir *d, item *it)
{
    ab_dir_file *f = it->file;
    if (it->same)
        return;
    if (it->wait) {
        f->second = true;
        f->must_read = true;
        ab_dir_touch(d, f);
        return;
    }
    f->digest = it->digest;
    ab_dir_file_set_broken(d, f, it->stream.fault_count > 0);
    if (it->code != AB_ERR_OK) {
        note_trouble(d, it, &it->err);
        return;
    }
    for (size_t i = 0; i < it->stream.fault_count; i++)
        ab_dir_fault(d, f->path, &it->stream.faults[i]);
    if (it->stream.readable)
        f->documents = it->stream.documents;
    if (it->stream.readable)
        mark_missing(d, it);
}

static void claim_item(ab_dir *d, item *it)
{
    if (it->same || it->wait || it->code != AB_ERR_OK)
        return;
    for (size_t i = 0; i < it->stream.count; i++) {
        char key[AB_OBJECT_KEY_MAX];
        key_of(it, it->stream.items[i].name, key);
        if (claim(d, it->file, key, &it->arrivals[i]) == AB_ERR_OK)
            continue;
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "no memory for %s", key);
        note_trouble(d, it, &err);
    }
}

static void remove_doomed(ab_dir *d, const char *key)
{
    ab_dir_op *op = ab_dir_op_new(d, AB_DIR_REMOVE, ab_str_of(key), NULL, NULL);
    if (op != NULL)
        ab_dir_submit(d, op);
}

static void finish_item(ab_dir *d, item *it)
{
    for (size_t i = 0; i < it->stream.count; i++) {
        arrival *a = &it->arrivals[i];
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
    struct ab_dir_load *load = work->data;
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
        item_fini(&load->items[i]);
    }
    free(load);
    ab_dir_load_next(d);
    ab_dir_settle(d);
}

static void claim_batch(uv_work_t *work, int status)
{
    (void)status;
    struct ab_dir_load *load = work->data;
    bool claims = false;
    /* First of all files what they lost: an object may have moved from one to another of them. */
    for (size_t i = 0; i < load->count; i++)
        note_text(load->dir, &load->items[i]);
    for (size_t i = 0; i < load->count; i++) {
        claim_item(load->dir, &load->items[i]);
        claims = claims || (load->items[i].code == AB_ERR_OK && has_claims(&load->items[i]));
    }
    if (!claims) {
        finish_batch(work, 0);
        return;
    }
    ab_dir_work(load->dir, work, record_batch, finish_batch);
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

static void take_file(struct ab_dir_load *load, ab_dir_file *f)
{
    item *it = &load->items[load->count++];
    it->file = f;
    it->digest = f->digest;
    it->must_read = f->must_read;
    it->second = f->second;
    bool placed = ab_place_of(f->path, &it->place);
    assert(placed);
    (void)placed;
    f->must_read = false;
    f->dirty = false;
    f->busy = true;
    f->loading = true;
}

/* Once it stops, only what operations wait for is still read. */
static void take_batch(ab_dir *d, struct ab_dir_load *load)
{
    ab_dir_file **at = &d->dirty_first;
    d->dirty_last = NULL;
    while (*at != NULL) {
        ab_dir_file *f = *at;
        if (load->count == BATCH || f->busy || (d->stopping && f->first == NULL)) {
            d->dirty_last = f;
            at = &f->next_dirty;
            continue;
        }
        *at = f->next_dirty;
        take_file(load, f);
    }
}

static void drained(ab_dir *d)
{
    if (d->dirty_first != NULL || d->stopping)
        return;
    if (!d->listed) {
        d->listed = true;
        ab_dir_watch_sweep(d);
        ab_dir_release(d);
    }
    if (d->broken == 0)
        d->retry_ms = 0;
    if (d->synced || d->broken > 0 || d->unlisted > 0)
        return;
    d->synced = true;
    d->base.env.events.on_change(d->base.env.events.arg, AB_STORE_SYNCED, NULL);
}

void ab_dir_load_next(ab_dir *d)
{
    if (d->load != NULL)
        return;
    if (d->dirty_first == NULL) {
        drained(d);
        return;
    }
    struct ab_dir_load *load = calloc(1, sizeof(*load));
    if (load == NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "no memory to read manifests");
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
    ab_dir_work(d, &load->work, read_batch, claim_batch);
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
