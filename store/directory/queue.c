/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations from call to report. One line per file keeps the order of each object; files go on
 * concurrently on libuv's workers.
 */
#include "store/directory/queue.h"

#include "store/directory/index.h"
#include "store/directory/report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

ab_dir_op *ab_dir_op_new(unsigned verb, ab_str key)
{
    return (ab_dir_op *)ab_store_op_new(sizeof(ab_dir_op), verb, key, NULL, NULL);
}

static void report(ab_dir_op *op)
{
    ab_dir *d = op->dir;
    if (op->base.done != NULL)
        op->base.done(op->base.arg, op->base.code,
                      op->base.code == AB_ERR_OK && !op->gone ? op->result : NULL,
                      op->base.code == AB_ERR_OK ? NULL : &op->base.err);
    else if (op->base.code != AB_ERR_OK && op->base.code != AB_ERR_NOTFOUND)
        ab_dir_fault(d, op->base.key, &op->base.err);
    ab_object_unref(op->result);
    ab_store_op_free(&op->base);
    d->ops--;
    ab_dir_finish_stop(d);
}

void ab_dir_work(ab_dir *d, uv_work_t *work, uv_work_cb run, uv_after_work_cb after)
{
    int failed = uv_queue_work(d->base.env.loop, work, run, after);
    assert(failed == 0);
    (void)failed;
}

static void run_refused(uv_work_t *work)
{
    (void)work;
}

static void after_refused(uv_work_t *work, int status)
{
    (void)status;
    report(work->data);
}

static void refuse(ab_dir_op *op)
{
    op->base.verb = AB_DIR_REFUSE;
    op->work.data = op;
    ab_dir_work(op->dir, &op->work, run_refused, after_refused);
}

static void refuse_closed(ab_dir_op *op)
{
    (void)ab_store_op_refuse(&op->base, AB_ERR_CLOSED, "the store is stopped");
    refuse(op);
}

/* The file that an operation is about. */
static ab_err file_for(ab_dir *d, ab_store_op *op, ab_dir_file **out)
{
    char path[sizeof(ab_place)];
    if (!ab_dir_is_watched(d, op->kind))
        return ab_store_op_refuse(op, AB_ERR_DENIED,
                                  "this store does not hold objects of that kind");
    if (op->name.len + strlen(".yaml") > 255)
        return ab_store_op_refuse(op, AB_ERR_INVALID,
                                  "the name is too long for a file: at most 250 characters");
    const ab_dir_entry *e = ab_dir_entry_find(d, op->key);
    (void)snprintf(path, sizeof(path), "%.*s/%.*s/%.*s.yaml", AB_STR_ARG(op->ns),
                   AB_STR_ARG(op->kind), AB_STR_ARG(op->name));
    *out = e != NULL ? e->file : ab_dir_file_at(d, path);
    return *out != NULL ? AB_ERR_OK
                        : ab_store_op_refuse(op, AB_ERR_NOMEM, "out of memory for a file");
}

static void enqueue(ab_dir *d, ab_dir_op *op)
{
    ab_dir_file *f = NULL;
    if (file_for(d, &op->base, &f) != AB_ERR_OK) {
        refuse(op);
        return;
    }
    ab_store_line_append(&f->ops, &op->base);
    ab_dir_dispatch(d, f);
}

void ab_dir_submit(ab_dir *d, ab_dir_op *op)
{
    d->ops++;
    op->dir = d;
    if (op->base.code != AB_ERR_OK)
        refuse(op);
    else if (d->stopping || !d->started)
        refuse_closed(op);
    else if (!d->listed)
        ab_store_line_append(&d->held, &op->base);
    else
        enqueue(d, op);
}

void ab_dir_release(ab_dir *d)
{
    for (ab_store_op *op = ab_store_line_pop(&d->held); op != NULL;
         op = ab_store_line_pop(&d->held)) {
        if (d->stopping)
            refuse_closed((ab_dir_op *)op);
        else
            enqueue(d, (ab_dir_op *)op);
    }
}

/* What its writer has come to is not what it will hold: others are not kept waiting for that. */
static void refuse_written(ab_dir_op *op)
{
    op->stale = false;
    op->base.code =
        ab_fail(&op->base.err, AB_ERR_UNAVAILABLE,
                "somebody is writing to %s: it is read when it is closed", op->file->path);
}

static void put_back(ab_dir_op *op)
{
    ab_dir_file *f = op->file;
    op->stale = false;
    ab_dir_touch(op->dir, f);
    ab_store_line_prepend(&f->ops, &op->base);
}

/* What the job left of the file. After a failure half way it must be read again. */
static void note_file(ab_dir *d, const ab_dir_op *op)
{
    ab_dir_file *f = op->file;
    bool written = !ab_digest_eq(&f->digest, &op->digest);
    f->digest = op->digest;
    f->documents = op->documents;
    if (written && op->whole)
        ab_dir_file_set_broken(d, f, false);
    if (op->base.code == AB_ERR_OK || !written)
        return;
    f->must_read = true;
    ab_dir_touch(d, f);
}

static void note_change(ab_dir *d, ab_dir_op *op, ab_dir_entry *e)
{
    if (e == NULL)
        e = ab_dir_entry_add(d, op->file, op->base.key);
    if (e == NULL) {
        op->base.code = ab_fail(&op->base.err, AB_ERR_NOMEM, "out of memory for an object");
        return;
    }
    if (op->base.verb == AB_VERB_APPLY)
        ab_dir_entry_set_missing(d, e, false);
    ab_dir_report(d, e, op->result);
}

static void take_effect(ab_dir_op *op)
{
    ab_dir *d = op->dir;
    ab_dir_entry *e = ab_dir_entry_find(d, op->base.key);
    note_file(d, op);
    if (op->base.code != AB_ERR_OK && op->base.verb == AB_DIR_FORGET && e != NULL)
        e->missing_since_ms = ab_clock_mono_ms(d->base.env.clock); /* tried again after the grace */
    if (op->base.code != AB_ERR_OK)
        return;
    if (op->gone && e != NULL)
        ab_dir_report_gone(d, e, op->result);
    else if (op->changed)
        note_change(d, op, e);
}

static void after_run(uv_work_t *work, int status)
{
    (void)status;
    ab_dir_op *op = work->data;
    ab_dir *d = op->dir;
    ab_dir_file *f = op->file;
    if (op->stale && f->writing)
        refuse_written(op);
    if (op->stale) {
        f->busy = false;
        put_back(op);
        d->read_dirty(d);
        return;
    }
    /* `f` stays while it is busy, and begins nothing, whatever the reports make their receiver do.
     */
    take_effect(op);
    report(op);
    f->busy = false;
    ab_dir_dispatch(d, f);
    ab_dir_file_drop_unused(d, f);
    d->read_dirty(d);
}

static void run(uv_work_t *work)
{
    ab_dir_op_run(work->data);
}

/* It may or may not exist. Who writes it makes it exist. */
static void refuse_held(ab_dir_op *op)
{
    if (op->base.verb == AB_VERB_APPLY || op->base.verb == AB_DIR_FORGET)
        return;
    op->base.verb = AB_DIR_REFUSE;
    (void)ab_store_op_refuse(&op->base, AB_ERR_UNAVAILABLE,
                             "its manifest is gone, and one that cannot be read may hold it");
}

static void begin(ab_dir *d, ab_dir_file *f, ab_dir_op *op)
{
    ab_dir_entry *e = ab_dir_entry_find(d, op->base.key);
    bool placed = ab_place_of(f->path, &op->place);
    assert(placed);
    (void)placed;
    op->file = f;
    op->digest = f->digest;
    op->documents = f->documents;
    op->exists = e != NULL && !e->missing;
    op->whole = op->exists ? f->documents <= 1 : f->documents == 0 && !f->broken;
    op->now_us = ab_clock_wall_us(d->base.env.clock);
    if (op->base.verb == AB_DIR_FORGET && op->exists)
        op->base.verb = AB_DIR_REFUSE;
    if (e != NULL && e->held)
        refuse_held(op);
    f->busy = true;
    op->work.data = op;
    ab_dir_work(d, &op->work, run, after_run);
}

void ab_dir_dispatch(ab_dir *d, ab_dir_file *f)
{
    if (f->busy)
        return;
    if (f->dirty) {
        d->read_dirty(d);
        return;
    }
    ab_store_op *op = ab_store_line_pop(&f->ops);
    if (op != NULL)
        begin(d, f, (ab_dir_op *)op);
}
