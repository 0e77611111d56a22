/* SPDX-License-Identifier: Apache-2.0 */
#include "store/op.h"

#include <stdlib.h>
#include <string.h>

const char *const ab_store_server_set[AB_STORE_SERVER_SET_COUNT + 1] = {
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    NULL};

ab_err ab_store_op_refuse(ab_store_op *op, ab_err code, const char *why)
{
    op->code = ab_fail(&op->err, code, "%s", why);
    return code;
}

static void set_key(ab_store_op *op, ab_str key)
{
    if (key.len < sizeof(op->key) && key.len > 0)
        memcpy(op->key, key.ptr, key.len);
    if (ab_object_key_split(ab_str_of(op->key), &op->kind, &op->ns, &op->name) != AB_ERR_OK)
        (void)ab_store_op_refuse(op, AB_ERR_INVALID,
                                 "not a key of an object: expected kind/namespace/name");
}

ab_store_op *ab_store_op_new(size_t size, unsigned verb, ab_str key, ab_store_done done, void *arg)
{
    ab_store_op *op = calloc(1, size);
    if (op == NULL) {
        /* There is nothing left to report it later with; NOMEM ends the daemon anyway. */
        ab_error err = {0};
        if (done != NULL)
            done(arg, ab_fail(&err, AB_ERR_NOMEM, "out of memory for an operation"), NULL, &err);
        return NULL;
    }
    op->verb = verb;
    op->done = done;
    op->arg = arg;
    set_key(op, key);
    return op;
}

static char *dup_of(ab_store_op *op, ab_str text)
{
    char *copy = ab_str_dup(text);
    if (text.ptr != NULL && copy == NULL)
        (void)ab_store_op_refuse(op, AB_ERR_NOMEM, "out of memory for an operation");
    return copy;
}

void ab_store_op_set_condition(ab_store_op *op, const ab_store_condition *c)
{
    if (c == NULL)
        return;
    op->want_version = dup_of(op, c->version);
    op->want_uid = dup_of(op, c->uid);
    op->must_exist = c->must_exist;
    op->must_not_exist = c->must_not_exist;
}

void ab_store_op_set_status(ab_store_op *op, ab_str status, ab_str version)
{
    ab_span *doc = NULL;
    op->status = dup_of(op, status);
    op->status_version = dup_of(op, version);
    if (op->code != AB_ERR_OK)
        return;
    op->code = ab_span_parse(status, &doc, &op->err);
    if (op->code == AB_ERR_OK && ab_span_typeof(ab_span_root(doc)) != AB_SPAN_OBJECT)
        (void)ab_store_op_refuse(op, AB_ERR_INVALID, "the status is not an object");
    else if (op->code == AB_ERR_PARSE)
        op->code = AB_ERR_INVALID;
    ab_span_free(doc);
}

void ab_store_op_free(ab_store_op *op)
{
    ab_object_unref(op->object);
    free(op->status);
    free(op->status_version);
    free(op->want_version);
    free(op->want_uid);
    free(op);
}

void ab_store_line_append(ab_store_line *line, ab_store_op *op)
{
    op->next = NULL;
    if (line->last == NULL)
        line->first = op;
    else
        line->last->next = op;
    line->last = op;
}

void ab_store_line_prepend(ab_store_line *line, ab_store_op *op)
{
    op->next = line->first;
    line->first = op;
    if (line->last == NULL)
        line->last = op;
}

ab_store_op *ab_store_line_pop(ab_store_line *line)
{
    ab_store_op *op = line->first;
    if (op == NULL)
        return NULL;
    line->first = op->next;
    if (line->first == NULL)
        line->last = NULL;
    op->next = NULL;
    return op;
}
