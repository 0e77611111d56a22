/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/kubernetes.h"

#include "store/kubernetes/kubernetes_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static ab_kube *kube_of(ab_store *self)
{
    return (ab_kube *)self;
}

/* --- what is watched --- */

static bool all_whole(const ab_kube *k)
{
    for (size_t i = 0; i < k->watcher_count; i++)
        if (!ab_kube_watcher_is_whole(k->watchers[i]))
            return false;
    return true;
}

/* A watcher has its first list, or a whole one after it: the next one begins. */
static void on_listed(ab_kube *k)
{
    const ab_store_events *events = &k->base.env.events;
    if (k->listed < k->watcher_count) {
        k->listed++;
        if (k->listed < k->watcher_count) {
            ab_kube_watcher_start(k->watchers[k->listed]);
            return;
        }
        events->on_change(events->arg, AB_STORE_LIST_DONE, NULL);
    }
    if (k->synced || k->stopping || !all_whole(k))
        return;
    k->synced = true;
    events->on_change(events->arg, AB_STORE_SYNCED, NULL);
}

/* --- init and start --- */

static ab_err init_patterns(ab_kube *k, ab_error *err)
{
    static const char option[] = "store.kubernetes.create-namespaces";
    const ab_config *config = k->base.env.config;
    k->create_namespaces = ab_patterns_new();
    if (k->create_namespaces == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    for (size_t i = 0; i < ab_config_count(config, option); i++) {
        ab_str pattern = ab_str_of(ab_config_item(config, option, i));
        if (ab_patterns_add(k->create_namespaces, pattern, err) != AB_ERR_OK) {
            ab_error_prefix(err, "%s", option);
            return AB_ERR_CONFIG;
        }
    }
    return AB_ERR_OK;
}

static ab_err init_client(ab_kube *k, ab_error *err)
{
    const ab_store_env *env = &k->base.env;
    ab_err e = ab_kube_access_new(env->loop, env->config, env->log, env->clock, &k->access, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_kube_client_env client = {
        .loop = env->loop,
        .access = k->access,
        .log = env->log,
        .metrics = env->metrics,
        .body_max = AB_KUBE_OBJECT_MAX,
    };
    return ab_kube_client_new(&client, &k->client, err);
}

static ab_err init_watchers(ab_kube *k, ab_error *err)
{
    const ab_store_watch *watches = k->base.env.watches;
    size_t count = 0;
    while (watches[count].kind != NULL)
        count++;
    k->watchers = calloc(count + 1, sizeof(ab_kube_watcher *));
    if (k->watchers == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    for (; k->watcher_count < count; k->watcher_count++) {
        k->watchers[k->watcher_count] =
            ab_kube_watcher_new(k, &watches[k->watcher_count], on_listed);
        if (k->watchers[k->watcher_count] == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    }
    return AB_ERR_OK;
}

static ab_err kube_init(ab_store *self, const ab_store_env *env, ab_error *err)
{
    ab_kube *k = kube_of(self);
    k->timeout_ms = ab_config_int(env->config, "store.kubernetes.timeout");
    k->objects = ab_metric_get(env->metrics, AB_METRIC_GAUGE, "argobus_store_objects",
                               "Objects in the store.", NULL, 0);
    ab_err e = init_patterns(k, err);
    if (e == AB_ERR_OK)
        e = init_client(k, err);
    if (e == AB_ERR_OK)
        e = init_watchers(k, err);
    if (e != AB_ERR_OK)
        return e;
    k->queue = ab_kube_queue_new(k, ab_kube_op_run);
    return k->queue == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for the store") : AB_ERR_OK;
}

static ab_err kube_start(ab_store *self, ab_error *err)
{
    ab_kube *k = kube_of(self);
    (void)err;
    assert(k->watcher_count > 0);
    ab_kube_watcher_start(k->watchers[0]);
    return AB_ERR_OK;
}

/* --- calls --- */

static char *dup_of(ab_kube_op *op, ab_str text)
{
    char *copy = ab_str_dup(text);
    if (text.ptr != NULL && copy == NULL)
        op->code = ab_fail(&op->err, AB_ERR_NOMEM, "out of memory for an operation");
    return copy;
}

static void set_condition(ab_kube_op *op, const ab_store_condition *c)
{
    if (c == NULL)
        return;
    op->want_version = dup_of(op, c->version);
    op->want_uid = dup_of(op, c->uid);
    op->must_exist = c->must_exist;
    op->must_not_exist = c->must_not_exist;
}

/* An operation on an object of a kind that we know; NULL has been reported. */
static ab_kube_op *new_op(ab_store *self, ab_kube_verb verb, ab_str key, ab_kube_step step,
                          ab_store_done done, void *arg)
{
    ab_str kind, ns, name;
    ab_kube_op *op = ab_kube_op_new(kube_of(self), verb, key, done, arg);
    if (op == NULL)
        return NULL;
    op->step = step;
    if (op->code == AB_ERR_OK && ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        op->code = ab_fail(&op->err, AB_ERR_INVALID, "%s is not a key", op->key);
    if (op->code != AB_ERR_OK)
        return op;
    op->resource = ab_kube_resource_of(kind);
    if (op->resource == NULL)
        op->code = ab_fail(&op->err, AB_ERR_UNSUPPORTED,
                           "%s is of a kind that argobus does not synchronise", op->key);
    return op;
}

static void kube_apply(ab_store *self, ab_object *object, const ab_store_condition *condition,
                       ab_store_done done, void *arg)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_kube_op *op = new_op(self, AB_KUBE_APPLY, key, AB_KUBE_STEP_CREATE, done, arg);
    if (op == NULL)
        return;
    op->object = ab_object_ref(object);
    set_condition(op, condition);
    if (op->must_exist || op->want_version != NULL || op->want_uid != NULL)
        op->step = AB_KUBE_STEP_PATCH;
    ab_kube_submit(op);
}

static void check_status(ab_kube_op *op, ab_str status)
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

static void kube_patch_status(ab_store *self, ab_str key, ab_str status, ab_str version,
                              const ab_store_condition *condition, ab_store_done done, void *arg)
{
    ab_kube_op *op = new_op(self, AB_KUBE_STATUS, key, AB_KUBE_STEP_PATCH, done, arg);
    if (op == NULL)
        return;
    op->status = dup_of(op, status);
    op->status_version = dup_of(op, version);
    set_condition(op, condition);
    check_status(op, status);
    ab_kube_submit(op);
}

static void kube_remove(ab_store *self, ab_str key, const ab_store_condition *condition,
                        ab_propagation propagation, ab_store_done done, void *arg)
{
    ab_kube_op *op = new_op(self, AB_KUBE_REMOVE, key, AB_KUBE_STEP_DELETE, done, arg);
    if (op == NULL)
        return;
    op->foreground = propagation == AB_PROPAGATE_FOREGROUND;
    set_condition(op, condition);
    ab_kube_submit(op);
}

static void kube_get(ab_store *self, ab_str key, ab_store_done done, void *arg)
{
    ab_kube_op *op = new_op(self, AB_KUBE_GET, key, AB_KUBE_STEP_READ, done, arg);
    if (op != NULL)
        ab_kube_submit(op);
}

/* --- stop --- */

static void on_idle(ab_kube *k)
{
    k->stopped(k->stopped_arg);
}

static void kube_stop(ab_store *self, void (*stopped)(void *arg), void *arg)
{
    ab_kube *k = kube_of(self);
    assert(!k->stopping);
    k->stopping = true;
    k->stopped = stopped;
    k->stopped_arg = arg;
    for (size_t i = 0; i < k->watcher_count; i++)
        ab_kube_watcher_stop(k->watchers[i]);
    ab_kube_queue_drain(k->queue, on_idle);
}

static void kube_fini(ab_store *self)
{
    ab_kube *k = kube_of(self);
    ab_kube_access_free(k->access);
    ab_kube_client_free(k->client);
    for (size_t i = 0; i < k->watcher_count; i++)
        ab_kube_watcher_free(k->watchers[i]);
    free((void *)k->watchers);
    ab_kube_queue_free(k->queue);
    ab_patterns_free(k->create_namespaces);
}

static const ab_option rows[] = {AB_KUBERNETES_OPTION_ROWS};
static const ab_options options = {rows, sizeof(rows) / sizeof(rows[0])};

const ab_store_ops ab_kubernetes_store = {
    .name = "kubernetes",
    .options = &options,
    .size = sizeof(ab_kube),
    .init = kube_init,
    .start = kube_start,
    .apply = kube_apply,
    .patch_status = kube_patch_status,
    .remove = kube_remove,
    .get = kube_get,
    .stop = kube_stop,
    .fini = kube_fini,
};
