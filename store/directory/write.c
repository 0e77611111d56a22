/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operation does on a worker. The order of steps makes a crash harmless: both files are
 * written and synced under temporary names first, so a full disk changes nothing; then the manifest
 * takes its place, then the sidecar. Between the two the manifest looks as if a person had edited
 * it, and is taken so at the next start: same uid, next generation. When an object goes, its
 * manifest goes first; a sidecar without a manifest is not an object.
 */
#include "store/directory/write.h"

#include "store/directory/index.h"
#include "store/directory/manifest/stream.h"
#include "store/directory/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the job has in hand. */
typedef struct {
    ab_dir_op *op;
    ab_folder folder;
    ab_buf text; /* of the file now */
    ab_sidecar before;
    bool known; /* `before` was read */
} job;

static ab_err copy_sidecar(const ab_sidecar *from, ab_sidecar *out, ab_error *err)
{
    ab_sidecar s = *from;
    s.status = ab_str_dup(ab_str_of(from->status));
    s.status_version = ab_str_dup(ab_str_of(from->status_version));
    *out = s;
    bool lost = (from->status != NULL && s.status == NULL) ||
                (from->status_version != NULL && s.status_version == NULL);
    return lost ? ab_fail(err, AB_ERR_NOMEM, "out of memory for the status") : AB_ERR_OK;
}

static ab_err set_text(char **at, const char *value, ab_error *err)
{
    char *copy = ab_str_dup(ab_str_of(value));
    if (value != NULL && copy == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the status");
    free(*at);
    *at = copy;
    return AB_ERR_OK;
}

static ab_err not_found(ab_dir_op *op)
{
    return ab_fail(&op->base.err, AB_ERR_NOTFOUND, "%s does not exist", op->base.key);
}

static ab_err check(const job *j)
{
    ab_dir_op *op = j->op;
    char version[24];
    (void)snprintf(version, sizeof(version), "%" PRIu64, j->before.version);
    bool must_exist = op->base.must_exist || op->base.verb != AB_VERB_APPLY;
    if (must_exist && !op->exists)
        return not_found(op);
    if (op->base.must_not_exist && op->exists)
        return ab_fail(&op->base.err, AB_ERR_EXISTS, "%s already exists", op->base.key);
    if (op->base.want_version != NULL &&
        (!op->exists || strcmp(op->base.want_version, version) != 0))
        return ab_fail(&op->base.err, AB_ERR_CONFLICT, "%s has resourceVersion %s, not %s",
                       op->base.key, op->exists ? version : "none", op->base.want_version);
    if (op->base.want_uid != NULL && (!op->exists || strcmp(op->base.want_uid, j->before.uid) != 0))
        return ab_fail(&op->base.err, AB_ERR_CONFLICT, "%s has uid %s, not %s", op->base.key,
                       op->exists ? j->before.uid : "none", op->base.want_uid);
    return AB_ERR_OK;
}

static bool is_json_file(const job *j)
{
    size_t len = strlen(j->op->place.file);
    return len > 5 && strcmp(j->op->place.file + len - 5, ".json") == 0;
}

/* The file's text with the object's document replaced, or without it when `json` is absent. */
static ab_err next_text(const job *j, ab_str json, ab_buf *out)
{
    ab_dir_op *op = j->op;
    const ab_stream_edit edit = {ab_str_of(op->place.kind), ab_str_of(op->place.ns),
                                 op->base.name.ptr, json, is_json_file(j)};
    if (!op->whole)
        return ab_stream_change(ab_buf_str(&j->text), &edit, out, &op->base.err);
    return json.ptr == NULL ? AB_ERR_OK : ab_stream_write(json, edit.as_json, out, &op->base.err);
}

/* The manifest is in its place from here on: a failure must make the file be read again. */
static void note_text(job *j, ab_str text, bool adds)
{
    ab_dir_op *op = j->op;
    if (text.len == 0 || ab_digest_of(text, &op->digest) != AB_ERR_OK)
        op->digest = (ab_digest){0};
    if (op->whole)
        op->documents = text.len > 0 ? 1 : 0;
    else if (adds && !op->exists)
        op->documents++;
    else if (!adds && op->documents > 0)
        op->documents--;
}

static ab_err place_both(job *j, ab_temp *manifest, ab_temp *sidecar, ab_str text)
{
    ab_dir_op *op = j->op;
    ab_folder *f = &j->folder;
    ab_err e = ab_temp_place(f->meta, manifest, f->manifests, op->place.file, &op->base.err);
    if (e != AB_ERR_OK)
        return e;
    note_text(j, text, true);
    e = ab_dir_sidecar_place(f->meta, sidecar, op->base.name.ptr, &op->base.err);
    if (e == AB_ERR_OK)
        e = ab_disk_sync_dir(f->manifests, &op->base.err);
    /* After a power cut the former sidecar would do as well: same uid, and the generation rises. */
    if (e == AB_ERR_OK && !j->known)
        e = ab_disk_sync_dir(f->meta, &op->base.err);
    return e;
}

/* A Secret is for nobody else on this machine, whatever the umask says. */
static mode_t mode_of(const ab_dir_op *op)
{
    return ab_place_is_secret(&op->place) ? 0600 : 0666;
}

static ab_err write_both(job *j, ab_str json, const ab_sidecar *s)
{
    ab_dir_op *op = j->op;
    ab_temp manifest = {0};
    ab_temp sidecar = {0};
    ab_buf text = ab_buf_secret_up_to(ab_yaml_default_limits.bytes_max);
    ab_err e = next_text(j, json, &text);
    if (e == AB_ERR_OK)
        e = ab_temp_write(j->folder.meta, 0, mode_of(op), ab_buf_str(&text), &manifest,
                          &op->base.err);
    if (e == AB_ERR_OK)
        e = ab_dir_sidecar_temp(j->folder.meta, s, &sidecar, &op->base.err);
    if (e == AB_ERR_OK)
        e = place_both(j, &manifest, &sidecar, ab_buf_str(&text));
    ab_temp_drop(j->folder.meta, &manifest);
    ab_temp_drop(j->folder.meta, &sidecar);
    ab_buf_fini(&text);
    return e;
}

static ab_err write_sidecar(job *j, const ab_sidecar *s)
{
    ab_err e = ab_dir_sidecar_write(j->folder.meta, j->op->base.name.ptr, s, &j->op->base.err);
    return e == AB_ERR_OK ? ab_disk_sync_dir(j->folder.meta, &j->op->base.err) : e;
}

static ab_err replace_text(job *j, ab_str text)
{
    ab_dir_op *op = j->op;
    if (text.len == 0)
        return ab_disk_unlink(j->folder.manifests, op->place.file, &op->base.err);
    ab_temp manifest = {0};
    ab_err e = ab_temp_write(j->folder.meta, 0, mode_of(op), text, &manifest, &op->base.err);
    if (e == AB_ERR_OK)
        e = ab_temp_place(j->folder.meta, &manifest, j->folder.manifests, op->place.file,
                          &op->base.err);
    ab_temp_drop(j->folder.meta, &manifest);
    return e;
}

static ab_err drop_sidecar(job *j)
{
    char file[264];
    (void)snprintf(file, sizeof(file), "%s.json", j->op->base.name.ptr);
    if (j->folder.meta < 0)
        return AB_ERR_OK;
    ab_err e = ab_disk_unlink(j->folder.meta, file, &j->op->base.err);
    return e == AB_ERR_OK ? ab_disk_sync_dir(j->folder.meta, &j->op->base.err) : e;
}

static ab_err destroy(job *j)
{
    ab_dir_op *op = j->op;
    ab_buf text = ab_buf_secret_up_to(ab_yaml_default_limits.bytes_max);
    ab_err e = next_text(j, AB_STR_NONE, &text);
    if (e == AB_ERR_OK)
        e = replace_text(j, ab_buf_str(&text));
    if (e == AB_ERR_OK) {
        note_text(j, ab_buf_str(&text), false);
        e = ab_disk_sync_dir(j->folder.manifests, &op->base.err);
    }
    if (e == AB_ERR_OK)
        e = drop_sidecar(j);
    ab_buf_fini(&text);
    op->gone = e == AB_ERR_OK;
    return e;
}

/* The manifest is written without it. */
static ab_str status_version(const ab_dir_op *op)
{
    return ab_object_annotation(op->base.object, AB_STORE_STATUS_VERSION);
}

static ab_err store(job *j, const ab_manifest *m)
{
    ab_dir_op *op = j->op;
    ab_sidecar next = {0};
    ab_err e = copy_sidecar(&j->before, &next, &op->base.err);
    if (e == AB_ERR_OK && !op->exists)
        next.deleted[0] = '\0';
    next.taken = (ab_digest){0}; /* the manifest is written without .status */
    if (e == AB_ERR_OK && ab_str_replace(&next.status_version, status_version(op)) != AB_ERR_OK)
        e = ab_fail(&op->base.err, AB_ERR_NOMEM, "out of memory for the status");
    if (e == AB_ERR_OK)
        e = ab_dir_sidecar_advance(op->dir, &next, m, op->place.file, op->now_us, &op->base.err);
    if (e == AB_ERR_OK)
        e = ab_manifest_view(m, &next, &op->result, &op->base.err);
    if (e == AB_ERR_OK)
        e = write_both(j, ab_span_raw(ab_span_root(m->json)), &next);
    op->changed = e == AB_ERR_OK;
    ab_sidecar_fini(&next);
    return e;
}

static ab_err apply_manifest(job *j, const ab_manifest *m)
{
    ab_dir_op *op = j->op;
    bool same = op->exists && j->known && ab_digest_eq(&m->content, &j->before.content) &&
                ab_str_eq(status_version(op), ab_str_of(j->before.status_version));
    bool last = op->exists && j->before.deleted[0] != '\0' && !m->finalizers;
    if (!same && !last)
        return store(j, m);
    ab_err e = ab_manifest_view(m, &j->before, &op->result, &op->base.err);
    return e == AB_ERR_OK && last ? destroy(j) : e;
}

static ab_err apply(job *j)
{
    ab_dir_op *op = j->op;
    ab_manifest m = {0};
    ab_err e = ab_manifest_take(ab_object_json(op->base.object), ab_str_of(op->place.kind),
                                ab_str_of(op->place.ns), &m, &op->base.err);
    if (e == AB_ERR_OK)
        e = apply_manifest(j, &m);
    ab_manifest_fini(&m);
    return e;
}

static bool same_text(const char *a, const char *b)
{
    return ab_str_eq(ab_str_of(a), ab_str_of(b));
}

static ab_err patch_status(job *j, const ab_manifest *m)
{
    ab_dir_op *op = j->op;
    const char *version =
        op->base.status_version != NULL ? op->base.status_version : j->before.status_version;
    if (same_text(op->base.status, j->before.status) &&
        same_text(version, j->before.status_version))
        return ab_manifest_view(m, &j->before, &op->result, &op->base.err);
    ab_sidecar next = {0};
    ab_err e = copy_sidecar(&j->before, &next, &op->base.err);
    if (e == AB_ERR_OK)
        e = set_text(&next.status, op->base.status, &op->base.err);
    if (e == AB_ERR_OK)
        e = set_text(&next.status_version, version, &op->base.err);
    next.version = ab_dir_next_version(op->dir);
    if (e == AB_ERR_OK)
        e = ab_manifest_view(m, &next, &op->result, &op->base.err);
    if (e == AB_ERR_OK)
        e = write_sidecar(j, &next);
    op->changed = e == AB_ERR_OK;
    ab_sidecar_fini(&next);
    return e;
}

static ab_err mark_deleted(job *j, const ab_manifest *m)
{
    ab_dir_op *op = j->op;
    ab_sidecar next = j->before; /* shares the texts, which stay as they are */
    if (next.deleted[0] != '\0')
        return ab_manifest_view(m, &next, &op->result, &op->base.err);
    ab_time_format_seconds(op->now_us, next.deleted);
    next.version = ab_dir_next_version(op->dir);
    ab_err e = ab_manifest_view(m, &next, &op->result, &op->base.err);
    if (e == AB_ERR_OK)
        e = write_sidecar(j, &next);
    op->changed = e == AB_ERR_OK;
    return e;
}

static ab_err delete (job *j, const ab_manifest *m)
{
    if (m->finalizers)
        return mark_deleted(j, m);
    ab_err e = ab_manifest_view(m, &j->before, &j->op->result, &j->op->base.err);
    return e == AB_ERR_OK ? destroy(j) : e;
}

static ab_err with_manifest(job *j, const ab_manifest *m)
{
    switch (j->op->base.verb) {
    case AB_VERB_STATUS:
        return patch_status(j, m);
    case AB_VERB_REMOVE:
        return delete (j, m);
    case AB_VERB_GET:
        return ab_manifest_view(m, &j->before, &j->op->result, &j->op->base.err);
    default:
        break;
    }
    return ab_fail(&j->op->base.err, AB_ERR_FATAL, "not an operation on a manifest");
}

static ab_err on_existing(job *j)
{
    ab_dir_op *op = j->op;
    ab_stream stream = {0};
    ab_err e = ab_stream_read(ab_buf_str(&j->text), ab_str_of(op->place.kind),
                              ab_str_of(op->place.ns), &stream, &op->base.err);
    if (e != AB_ERR_OK)
        return e;
    const ab_manifest *m = ab_stream_find(&stream, op->base.name.ptr);
    if (m != NULL)
        e = with_manifest(j, m);
    else
        e = ab_fail(&op->base.err, AB_ERR_UNAVAILABLE,
                    "the manifest %s/%s/%s is broken; correct it", op->place.ns, op->place.kind,
                    op->place.file);
    ab_stream_fini(&stream);
    return e;
}

static ab_err act(job *j)
{
    ab_dir_op *op = j->op;
    if (op->base.verb == AB_DIR_FORGET) {
        op->gone = true;
        return drop_sidecar(j);
    }
    ab_err e = check(j);
    if (e != AB_ERR_OK)
        return e;
    return op->base.verb == AB_VERB_APPLY ? apply(j) : on_existing(j);
}

/* Read what is there. Sets `stale` when that is not what the loop knows. */
static ab_err look(job *j)
{
    ab_dir_op *op = j->op;
    ab_err e = ab_folder_open(op->dir->root, op->place.ns, op->place.kind,
                              op->base.verb == AB_VERB_APPLY, &j->folder, &op->base.err);
    if (e == AB_ERR_OK)
        e = ab_disk_read(j->folder.manifests, op->place.file, &j->text, &op->base.err);
    ab_digest now = {0};
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&j->text), &now);
    if (e != AB_ERR_OK && e != AB_ERR_NOTFOUND)
        return op->exists || op->base.verb == AB_VERB_APPLY ? e : not_found(op);
    op->stale = !ab_digest_eq(&now, &op->digest);
    if (op->stale)
        return AB_ERR_OK;
    e = ab_dir_sidecar_read(j->folder.meta, op->base.name.ptr, &j->before, &op->base.err);
    j->known = e == AB_ERR_OK;
    return e == AB_ERR_NOTFOUND || op->base.verb == AB_DIR_FORGET ? AB_ERR_OK : e;
}

void ab_dir_op_run(ab_dir_op *op)
{
    if (op->base.verb == AB_DIR_REFUSE)
        return;
    job j = {.op = op, .folder = {-1, -1}};
    ab_buf_init_secret(&j.text, ab_yaml_default_limits.bytes_max);
    ab_err e = look(&j);
    if (e == AB_ERR_OK && !op->stale)
        e = act(&j);
    op->base.code = e;
    if (e == AB_ERR_OK)
        op->base.err = (ab_error){0};
    ab_sidecar_fini(&j.before);
    ab_buf_fini(&j.text);
    ab_folder_close(&j.folder);
}
