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
 * or lost: start 3 gives 3001234567891, 3001234567892, ... It begins somewhere in it: a folder that
 * was restored from a backup counts a start of the same number again. */
#define VERSIONS_PER_START UINT64_C(1000000000000)

/* How often it is looked whether the root is where it was, which no event tells. */
#define LOOK_MS 1000

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
    uint32_t random = 0;
    (void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL); /* else one may come again */
    ab_err e = ab_disk_claim(path, &d->root, &d->lock, &start, err);
    atomic_init(&d->versions, start * VERSIONS_PER_START + random);
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

static void look(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    d->see_events(d);
    ab_dir_load_next(d);
}

static ab_err dir_start(ab_store *self, ab_error *err)
{
    ab_dir *d = dir_of(self);
    ab_err e = ab_dir_watch_start(d, err);
    if (e != AB_ERR_OK)
        return e;
    init_timer(d, &d->grace);
    init_timer(d, &d->retry);
    init_timer(d, &d->reread);
    init_timer(d, &d->look);
    d->started = true;
    (void)uv_timer_start(&d->look, look, LOOK_MS, LOOK_MS);
    /* An empty tree is synced at once, but not from inside this call. */
    (void)uv_timer_start(&d->grace, after_listing, 0, 0);
    return AB_ERR_OK;
}

static void dir_submit(ab_store *self, ab_store_op *op)
{
    ab_dir_submit(dir_of(self), (ab_dir_op *)op);
}

static void on_closed(uv_handle_t *handle)
{
    ab_dir *d = handle->data;
    d->handles--;
    ab_dir_finish_stop(d);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void dir_stop(ab_store *self, void (*stopped)(void *arg), void *arg)
{
    ab_dir *d = dir_of(self);
    assert(!d->stopping && d->started);
    d->stopping = true;
    d->stopped = stopped;
    d->stopped_arg = arg;
    close_handle(&d->watch);
    close_handle(&d->look);
    close_handle(&d->grace);
    close_handle(&d->retry);
    close_handle(&d->reread);
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

const ab_store_ops ab_directory_store = {
    .name = "directory",
    .size = sizeof(ab_dir),
    .op_size = sizeof(ab_dir_op),
    .init = dir_init,
    .start = dir_start,
    .submit = dir_submit,
    .stop = dir_stop,
    .fini = dir_fini,
};
