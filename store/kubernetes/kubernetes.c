/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/kubernetes.h"

#include "store/kubernetes/queue.h"
#include "store/kubernetes/watch.h"
#include "store/kubernetes/write.h"

#include <assert.h>
#include <stdlib.h>

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

static void on_interrupted(ab_kube *k, bool interrupted)
{
    const ab_store_events *events = &k->base.env.events;
    size_t before = k->interrupted;
    k->interrupted = interrupted ? before + 1 : before - 1;
    if (before == 0) {
        k->replaced = false;
        events->on_change(events->arg, AB_STORE_INTERRUPTED, NULL);
    } else if (k->interrupted == 0) {
        events->on_change(events->arg, AB_STORE_RESUMED, NULL);
    }
}

/* Each watcher finds it out by itself. */
static void on_replaced(ab_kube *k)
{
    const ab_store_events *events = &k->base.env.events;
    if (k->replaced)
        return;
    k->replaced = true;
    events->on_change(events->arg, AB_STORE_REPLACED, NULL);
}

/* --- init and start --- */

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
    static const ab_kube_watcher_events events = {on_listed, on_interrupted, on_replaced};
    const ab_store_watch *watches = k->base.env.watches;
    size_t count = 0;
    while (watches[count].kind != NULL)
        count++;
    k->watchers = calloc(count + 1, sizeof(ab_kube_watcher *));
    if (k->watchers == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    for (; k->watcher_count < count; k->watcher_count++) {
        k->watchers[k->watcher_count] = ab_kube_watcher_new(k, &watches[k->watcher_count], &events);
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
    ab_err e = ab_config_patterns(k->base.env.config, "store.kubernetes.create-namespaces",
                                  &k->create_namespaces, err);
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

static void kube_submit(ab_store *self, ab_store_op *base)
{
    static const ab_kube_step first[] = {
        [AB_VERB_APPLY] = AB_KUBE_STEP_CREATE,
        [AB_VERB_STATUS] = AB_KUBE_STEP_PATCH,
        [AB_VERB_REMOVE] = AB_KUBE_STEP_DELETE,
        [AB_VERB_GET] = AB_KUBE_STEP_READ,
    };
    ab_kube_op *op = (ab_kube_op *)base;
    op->kube = kube_of(self);
    op->step = first[base->verb];
    if (base->verb == AB_VERB_APPLY &&
        (base->must_exist || base->want_version != NULL || base->want_uid != NULL))
        op->step = AB_KUBE_STEP_PATCH;
    op->resource = ab_kube_resource_of(base->kind);
    if (base->code == AB_ERR_OK && op->resource == NULL)
        (void)ab_store_op_refuse(base, AB_ERR_UNSUPPORTED,
                                 "argobus does not synchronise objects of this kind");
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

const ab_store_ops ab_kubernetes_store = {
    .name = "kubernetes",
    .size = sizeof(ab_kube),
    .op_size = sizeof(ab_kube_op),
    .init = kube_init,
    .start = kube_start,
    .submit = kube_submit,
    .stop = kube_stop,
    .fini = kube_fini,
};
