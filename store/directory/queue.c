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
#include <stdlib.h>
#include <string.h>

static void op_free(ab_dir_op *op)
{
    ab_object_unref(op->object);
    ab_object_unref(op->result);
    free(op->status);
    free(op->status_version);
    free(op->want_version);
    free(op->want_uid);
    free(op);
}

ab_dir_op *ab_dir_op_new(ab_dir *d, ab_dir_verb verb, ab_str key, ab_store_done done, void *arg)
{
    ab_dir_op *op = calloc(1, sizeof(*op));
    if (op == NULL) {
        /* There is nothing left to report it later with; NOMEM ends the daemon anyway. */
        ab_error err = {0};
        if (done != NULL)
            done(arg, ab_fail(&err, AB_ERR_NOMEM, "out of memory for an operation"), NULL, &err);
        return NULL;
    }
    op->dir = d;
    op->verb = verb;
    op->done = done;
    op->arg = arg;
    if (key.len < sizeof(op->key) && key.len > 0)
        memcpy(op->key, key.ptr, key.len);
    return op;
}

static void append(ab_dir_op **first, ab_dir_op **last, ab_dir_op *op)
{
    op->next = NULL;
    if (*last == NULL)
        *first = op;
    else
        (*last)->next = op;
    *last = op;
}

static ab_dir_op *pop(ab_dir_op **first, ab_dir_op **last)
{
    ab_dir_op *op = *first;
    if (op == NULL)
        return NULL;
    *first = op->next;
    if (*first == NULL)
        *last = NULL;
    op->next = NULL;
    return op;
}

static void report(ab_dir_op *op)
{
    ab_dir *d = op->dir;
    if (op->done != NULL)
        op->done(op->arg, op->code, op->code == AB_ERR_OK && !op->gone ? op->result : NULL,
                 op->code == AB_ERR_OK ? NULL : &op->err);
    else if (op->code != AB_ERR_OK && op->code != AB_ERR_NOTFOUND)
        ab_dir_fault(d, op->key, &op->err);
    op_free(op);
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

static void refuse(ab_dir_op *op, ab_err code, const char *why)
{
    op->verb = AB_DIR_REFUSE;
    op->code = ab_fail(&op->err, code, "%s", why);
    op->work.data = op;
    ab_dir_work(op->dir, &op->work, run_refused, after_refused);
}

static bool is_watched(const ab_dir *d, ab_str kind)
{
    for (const ab_store_watch *w = d->base.env.watches; w->kind != NULL; w++)
        if (ab_str_is(kind, w->kind))
            return true;
    return false;
}

/* The file that an operation is about; NULL with the operation refused. */
static ab_dir_file *file_for(ab_dir *d, ab_dir_op *op)
{
    ab_str kind, ns, name;
    if (ab_object_key_split(ab_str_of(op->key), &kind, &ns, &name) != AB_ERR_OK) {
        refuse(op, AB_ERR_INVALID, "not a key of an object: expected kind/namespace/name");
        return NULL;
    }
    if (!is_watched(d, kind)) {
        refuse(op, AB_ERR_DENIED, "this store does not hold objects of that kind");
        return NULL;
    }
    char path[sizeof(ab_place)];
    if (name.len + strlen(".yaml") > 255) {
        refuse(op, AB_ERR_INVALID, "the name is too long for a file: at most 250 characters");
        return NULL;
    }
    memcpy(op->name, name.ptr, name.len);
    op->name[name.len] = '\0';
    ab_dir_entry *e = ab_dir_entry_find(d, op->key);
    if (e != NULL)
        return e->file;
    (void)snprintf(path, sizeof(path), "%.*s/%.*s/%s.yaml", AB_STR_ARG(ns), AB_STR_ARG(kind),
                   op->name);
    ab_dir_file *f = ab_dir_file_at(d, path);
    if (f == NULL)
        refuse(op, AB_ERR_NOMEM, "out of memory for a file");
    return f;
}

static void enqueue(ab_dir *d, ab_dir_op *op)
{
    ab_dir_file *f = file_for(d, op);
    if (f == NULL)
        return;
    append(&f->first, &f->last, op);
    ab_dir_dispatch(d, f);
}

void ab_dir_submit(ab_dir *d, ab_dir_op *op)
{
    d->ops++;
    if (op->code != AB_ERR_OK)
        refuse(op, op->code, "out of memory for an operation");
    else if (d->stopping || !d->started)
        refuse(op, AB_ERR_CLOSED, "the store is stopped");
    else if (!d->listed)
        append(&d->held_first, &d->held_last, op);
    else
        enqueue(d, op);
}

void ab_dir_release(ab_dir *d)
{
    for (ab_dir_op *op = pop(&d->held_first, &d->held_last); op != NULL;
         op = pop(&d->held_first, &d->held_last)) {
        if (d->stopping)
            refuse(op, AB_ERR_CLOSED, "the store is stopped");
        else
            enqueue(d, op);
    }
}

static void put_back(ab_dir_op *op)
{
    ab_dir_file *f = op->file;
    op->stale = false;
    ab_dir_touch(op->dir, f);
    op->next = f->first;
    f->first = op;
    if (f->last == NULL)
        f->last = op;
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
    if (op->code == AB_ERR_OK || !written)
        return;
    f->must_read = true;
    ab_dir_touch(d, f);
}

static void note_change(ab_dir *d, ab_dir_op *op, ab_dir_entry *e)
{
    if (e == NULL)
        e = ab_dir_entry_add(d, op->file, op->key);
    if (e == NULL) {
        op->code = ab_fail(&op->err, AB_ERR_NOMEM, "out of memory for an object");
        return;
    }
    if (op->verb == AB_DIR_APPLY)
        ab_dir_entry_set_missing(d, e, false);
    ab_dir_report(d, e, op->result);
}

static void take_effect(ab_dir_op *op)
{
    ab_dir *d = op->dir;
    ab_dir_entry *e = ab_dir_entry_find(d, op->key);
    note_file(d, op);
    if (op->code != AB_ERR_OK && op->verb == AB_DIR_FORGET && e != NULL)
        e->missing_since_ms = ab_clock_mono_ms(d->base.env.clock); /* tried again after the grace */
    if (op->code != AB_ERR_OK)
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

static void begin(ab_dir *d, ab_dir_file *f, ab_dir_op *op)
{
    ab_dir_entry *e = ab_dir_entry_find(d, op->key);
    bool placed = ab_place_of(f->path, &op->place);
    assert(placed);
    (void)placed;
    op->file = f;
    op->digest = f->digest;
    op->documents = f->documents;
    op->exists = e != NULL && !e->missing;
    op->whole = op->exists ? f->documents <= 1 : f->documents == 0 && !f->broken;
    op->now_us = ab_clock_wall_us(d->base.env.clock);
    if (op->verb == AB_DIR_FORGET && op->exists)
        op->verb = AB_DIR_REFUSE;
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
    ab_dir_op *op = pop(&f->first, &f->last);
    if (op != NULL)
        begin(d, f, op);
}
