/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/directory.h"
#include "store/directory/disk.h"
#include "store/directory/folders.h"
#include "store/directory/index.h"
#include "store/directory/load.h"
#include "store/directory/queue.h"
#include "store/directory/report.h"
#include "store/directory/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A start has its own range of resourceVersions, so that none is given twice whatever was removed
 * or lost: start 3 gives 3000000000001, 3000000000002, ... */
#define VERSIONS_PER_START UINT64_C(1000000000000)

static ab_dir *dir_of(ab_store *self)
{
    return (ab_dir *)self;
}

static ab_err dir_init(ab_store *self, const ab_store_env *env, ab_error *err)
{
    ab_dir *d = dir_of(self);
    d->root = -1;
    d->lock = -1;
    d->folders.fd = -1;
    d->read_dirty = ab_dir_load_next;
    const char *path = ab_config_str(env->config, "store.directory.path");
    if (path == NULL || path[0] == '\0')
        return ab_fail(err, AB_ERR_CONFIG, "store.directory.path is not set; name a folder");
    d->path = strdup(path);
    d->files = ab_map_new();
    d->entries = ab_map_new();
    if (d->path == NULL || d->files == NULL || d->entries == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    d->objects = ab_metric_get(env->metrics, AB_METRIC_GAUGE, "argobus_store_objects",
                               "Objects in the store.", NULL, 0);
    uint64_t start = 0;
    ab_err e = ab_disk_claim(path, &d->root, &d->lock, &start, err);
    atomic_init(&d->versions, start * VERSIONS_PER_START);
    return e;
}

static void init_timer(ab_dir *d, uv_timer_t *timer)
{
    int failed = uv_timer_init(d->base.env.loop, timer);
    assert(failed == 0);
    (void)failed;
    timer->data = d;
    d->handles++;
}

static void after_listing(uv_timer_t *timer)
{
    ab_dir_load_next(timer->data);
}

static ab_err dir_start(ab_store *self, ab_error *err)
{
    ab_dir *d = dir_of(self);
    ab_err e = ab_dir_watch_start(d, err);
    if (e != AB_ERR_OK)
        return e;
    init_timer(d, &d->grace);
    init_timer(d, &d->retry);
    d->started = true;
    /* An empty tree is synced at once, but not from inside this call. */
    (void)uv_timer_start(&d->grace, after_listing, 0, 0);
    return AB_ERR_OK;
}

static char *dup_of(ab_dir_op *op, ab_str text)
{
    char *copy = ab_str_dup(text);
    if (text.ptr != NULL && copy == NULL)
        op->code = ab_fail(&op->err, AB_ERR_NOMEM, "out of memory for an operation");
    return copy;
}

static void set_condition(ab_dir_op *op, const ab_store_condition *c)
{
    if (c == NULL)
        return;
    op->want_version = dup_of(op, c->version);
    op->want_uid = dup_of(op, c->uid);
    op->must_exist = c->must_exist;
    op->must_not_exist = c->must_not_exist;
}

static void dir_apply(ab_store *self, ab_object *object, const ab_store_condition *condition,
                      ab_store_done done, void *arg)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_dir_op *op = ab_dir_op_new(dir_of(self), AB_DIR_APPLY, key, done, arg);
    if (op == NULL)
        return;
    op->object = ab_object_ref(object);
    set_condition(op, condition);
    ab_dir_submit(dir_of(self), op);
}

static void check_status(ab_dir_op *op, ab_str status)
{
    ab_span *doc = NULL;
    if (op->code != AB_ERR_OK)
        return;
    op->code = ab_span_parse(status, &doc, &op->err);
    if (op->code == AB_ERR_OK && ab_span_typeof(ab_span_root(doc)) != AB_SPAN_OBJECT)
        op->code = ab_fail(&op->err, AB_ERR_INVALID, "the status is not an object");
    else if (op->code == AB_ERR_PARSE)
        op->code = AB_ERR_INVALID;
    ab_span_free(doc);
}

static void dir_patch_status(ab_store *self, ab_str key, ab_str status, ab_str version,
                             const ab_store_condition *condition, ab_store_done done, void *arg)
{
    ab_dir_op *op = ab_dir_op_new(dir_of(self), AB_DIR_STATUS, key, done, arg);
    if (op == NULL)
        return;
    op->status = dup_of(op, status);
    op->status_version = dup_of(op, version);
    set_condition(op, condition);
    check_status(op, status);
    ab_dir_submit(dir_of(self), op);
}

static void dir_remove(ab_store *self, ab_str key, const ab_store_condition *condition,
                       ab_propagation propagation, ab_store_done done, void *arg)
{
    (void)propagation; /* there is no garbage collector that would remove a finalizer */
    ab_dir_op *op = ab_dir_op_new(dir_of(self), AB_DIR_REMOVE, key, done, arg);
    if (op == NULL)
        return;
    set_condition(op, condition);
    ab_dir_submit(dir_of(self), op);
}

static void dir_get(ab_store *self, ab_str key, ab_store_done done, void *arg)
{
    ab_dir_op *op = ab_dir_op_new(dir_of(self), AB_DIR_GET, key, done, arg);
    if (op != NULL)
        ab_dir_submit(dir_of(self), op);
}

static void on_timer_closed(uv_handle_t *handle)
{
    ab_dir *d = handle->data;
    d->handles--;
    ab_dir_finish_stop(d);
}

static void close_timer(uv_timer_t *timer)
{
    if (!uv_is_closing((uv_handle_t *)timer))
        uv_close((uv_handle_t *)timer, on_timer_closed);
}

static void dir_stop(ab_store *self, void (*stopped)(void *arg), void *arg)
{
    ab_dir *d = dir_of(self);
    assert(!d->stopping && d->started);
    d->stopping = true;
    d->stopped = stopped;
    d->stopped_arg = arg;
    ab_dir_watch_stop(d);
    close_timer(&d->grace);
    close_timer(&d->retry);
    ab_dir_release(d);
}

static void dir_fini(ab_store *self)
{
    ab_dir *d = dir_of(self);
    ab_dir_folders_close(d);
    ab_dir_index_fini(d);
    if (d->lock >= 0)
        (void)close(d->lock);
    if (d->root >= 0)
        (void)close(d->root);
    free(d->path);
}

static const ab_option rows[] = {AB_DIRECTORY_OPTION_ROWS};
static const ab_options options = {rows, sizeof(rows) / sizeof(rows[0])};

const ab_store_ops ab_directory_store = {
    .name = "directory",
    .options = &options,
    .size = sizeof(ab_dir),
    .init = dir_init,
    .start = dir_start,
    .apply = dir_apply,
    .patch_status = dir_patch_status,
    .remove = dir_remove,
    .get = dir_get,
    .stop = dir_stop,
    .fini = dir_fini,
};
