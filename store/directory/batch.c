/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker does of a batch: first it reads texts, later it brings sidecars up to what they
 * say.
 */
#include "store/directory/batch.h"

#include "store/directory/index.h"
#include "store/directory/record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_text(ab_dir_item *it, ab_str text)
{
    ab_digest now;
    it->code = ab_digest_of(text, &now);
    if (it->code != AB_ERR_OK)
        return;
    it->same = !it->must_read && ab_digest_eq(&now, &it->digest);
    it->digest = now;
    if (it->same)
        return;
    /* A writer that found the disk full leaves this, and so may a power cut. */
    if (text.len == 0) {
        it->code = ab_fail(&it->err, AB_ERR_PARSE,
                           "the file is empty, as after a full disk, and nothing is deleted; write "
                           "the object again, or remove the file to delete it");
        return;
    }
    it->code = ab_stream_read(text, ab_str_of(it->place.kind), ab_str_of(it->place.ns), &it->stream,
                              &it->err);
    if (it->code != AB_ERR_OK || it->stream.count == 0)
        return;
    it->arrivals = calloc(it->stream.count, sizeof(*it->arrivals));
    if (it->arrivals == NULL)
        it->code = ab_fail(&it->err, AB_ERR_NOMEM, "out of memory for the objects of a file");
}

/* Does another file have precedence, because an object was in it before the last stop? */
static bool yields(const ab_folder *folder, const ab_dir_item *it)
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

static void read_item(ab_dir *d, ab_dir_item *it, bool first_listing)
{
    ab_folder folder = {-1, -1};
    ab_buf text = ab_buf_secret_up_to(ab_yaml_default_limits.bytes_max);
    it->code = ab_folder_open(d->root, it->place.ns, it->place.kind, false, &folder, &it->err);
    it->homeless = it->code == AB_ERR_NOTFOUND;
    if (it->code == AB_ERR_OK && ab_place_is_secret(&it->place))
        ab_disk_hide(folder.manifests, it->place.file);
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

void ab_dir_batch_read(uv_work_t *work)
{
    ab_dir_load *load = work->data;
    for (size_t i = 0; i < load->count; i++)
        read_item(load->dir, &load->items[i], load->first_listing);
}

/* A .status in a manifest counts once: when a person has just written it. What stands there since
 * then is old. @return whether there is a new one */
static bool is_new_status(const ab_manifest *m, const ab_sidecar *s, ab_digest *digest)
{
    *digest = (ab_digest){0};
    if (m->status == NULL || ab_digest_of(ab_str_of(m->status), digest) != AB_ERR_OK)
        return false;
    return !ab_digest_eq(digest, &s->taken);
}

static ab_err take_status(const ab_manifest *m, const ab_digest *digest, ab_sidecar *s,
                          ab_error *err)
{
    char *status = strdup(m->status);
    if (status == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the status");
    free(s->status);
    s->status = status;
    s->taken = *digest;
    return AB_ERR_OK;
}

static ab_err bring_up(ab_dir_load *load, const ab_folder *folder, const char *file,
                       const ab_manifest *m, ab_sidecar *s, ab_error *err)
{
    ab_digest status;
    ab_err e = ab_dir_sidecar_read(folder->meta, m->name, s, err);
    if (e != AB_ERR_OK && e != AB_ERR_NOTFOUND)
        return e;
    bool edited = e == AB_ERR_NOTFOUND || !ab_digest_eq(&s->content, &m->content);
    bool reported = is_new_status(m, s, &status);
    if (!edited && !reported) {
        if (strcmp(s->file, file) == 0)
            return AB_ERR_OK;
        (void)snprintf(s->file, sizeof(s->file), "%s", file);
        return ab_dir_sidecar_write(folder->meta, m->name, s, err);
    }
    e = reported ? take_status(m, &status, s, err) : AB_ERR_OK;
    if (e == AB_ERR_OK)
        e = ab_dir_sidecar_advance(load->dir, s, m, file, load->now_us, err);
    return e == AB_ERR_OK ? ab_dir_sidecar_write(folder->meta, m->name, s, err) : e;
}

static ab_err record_manifest(ab_dir_load *load, const ab_folder *folder, const char *file,
                              const ab_manifest *m, ab_dir_arrival *a)
{
    ab_sidecar s = {0};
    ab_err e = bring_up(load, folder, file, m, &s, &a->err);
    if (e == AB_ERR_OK)
        e = ab_manifest_view(m, &s, &a->object, &a->err);
    a->doomed = s.deleted[0] != '\0' && !m->finalizers;
    ab_sidecar_fini(&s);
    return e;
}

static void record_item(ab_dir_load *load, ab_dir_item *it)
{
    ab_folder folder = {-1, -1};
    ab_error err = {0};
    ab_err e = ab_folder_open(load->dir->root, it->place.ns, it->place.kind, true, &folder, &err);
    for (size_t i = 0; i < it->stream.count; i++) {
        ab_dir_arrival *a = &it->arrivals[i];
        if (!a->claimed)
            continue;
        a->err = err;
        a->code = e;
        if (e == AB_ERR_OK)
            a->code = record_manifest(load, &folder, it->place.file, &it->stream.items[i], a);
    }
    ab_folder_close(&folder);
}

bool ab_dir_item_has_claims(const ab_dir_item *it)
{
    for (size_t i = 0; i < it->stream.count; i++)
        if (it->arrivals[i].claimed)
            return true;
    return false;
}

/* Names of sidecars are made durable once per folder: files of a batch mostly share one. */
static void sync_folders(const ab_dir_load *load)
{
    const ab_place *last = NULL;
    for (size_t i = 0; i < load->count; i++) {
        const ab_place *p = &load->items[i].place;
        bool repeated =
            last != NULL && strcmp(last->ns, p->ns) == 0 && strcmp(last->kind, p->kind) == 0;
        ab_folder folder;
        if (repeated || !ab_dir_item_has_claims(&load->items[i]))
            continue;
        last = p;
        if (ab_folder_open(load->dir->root, p->ns, p->kind, false, &folder, NULL) != AB_ERR_OK)
            continue;
        if (folder.meta >= 0)
            (void)fsync(folder.meta);
        ab_folder_close(&folder);
    }
}

void ab_dir_batch_record(uv_work_t *work)
{
    ab_dir_load *load = work->data;
    for (size_t i = 0; i < load->count; i++)
        if (ab_dir_item_has_claims(&load->items[i]))
            record_item(load, &load->items[i]);
    sync_folders(load);
}

void ab_dir_item_fini(ab_dir_item *it)
{
    for (size_t i = 0; it->arrivals != NULL && i < it->stream.count; i++)
        ab_object_unref(it->arrivals[i].object);
    free(it->arrivals);
    ab_stream_fini(&it->stream);
}
