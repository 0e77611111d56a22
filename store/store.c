/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "store/directory/directory.h"
#include "store/kubernetes/kubernetes.h"
#include "store/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const ab_store_ops *const ab_store_table[] = {&ab_kubernetes_store, &ab_directory_store, NULL};

static const ab_option rows[] = {
    {
        .name = "store.kind",
        .kind = AB_OPT_ENUM,
        .deflt = "kubernetes",
        .choices = "kubernetes|directory",
        .help = "Where objects are stored: in a Kubernetes API server, or in a folder of "
                "manifests.",
    },
    AB_KUBERNETES_OPTION_ROWS,
    AB_DIRECTORY_OPTION_ROWS,
};
const ab_options ab_store_options = {rows, sizeof(rows) / sizeof(rows[0])};

static const ab_store_ops *find_ops(const char *name)
{
    for (const ab_store_ops *const *ops = ab_store_table; *ops != NULL; ops++)
        if (strcmp((*ops)->name, name) == 0)
            return *ops;
    return NULL;
}

ab_err ab_store_new(const ab_store_env *env, ab_store **out, ab_error *err)
{
    const ab_store_ops *ops = find_ops(ab_config_str(env->config, "store.kind"));
    assert(ops != NULL);
    ab_store *s = calloc(1, ops->size);
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the store");
    s->ops = ops;
    s->env = *env;
    ab_err e = ops->init(s, env, err);
    if (e != AB_ERR_OK) {
        ab_store_free(s);
        return e;
    }
    *out = s;
    return AB_ERR_OK;
}

void ab_store_free(ab_store *s)
{
    if (s == NULL)
        return;
    s->ops->fini(s);
    free(s);
}

ab_err ab_store_start(ab_store *s, ab_error *err)
{
    return s->ops->start(s, err);
}

static ab_store_op *new_op(const ab_store *s, ab_store_verb verb, ab_str key,
                           const ab_store_condition *condition, ab_store_done done, void *arg)
{
    ab_store_op *op = ab_store_op_new(s->ops->op_size, verb, key, done, arg);
    if (op != NULL)
        ab_store_op_set_condition(op, condition);
    return op;
}

void ab_store_apply(ab_store *s, ab_object *object, const ab_store_condition *condition,
                    ab_store_done done, void *arg)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_store_op *op = new_op(s, AB_VERB_APPLY, key, condition, done, arg);
    if (op == NULL)
        return;
    op->object = ab_object_ref(object);
    s->ops->submit(s, op);
}

void ab_store_patch_status(ab_store *s, ab_str key, ab_str status, ab_str version,
                           const ab_store_condition *condition, ab_store_done done, void *arg)
{
    ab_store_op *op = new_op(s, AB_VERB_STATUS, key, condition, done, arg);
    if (op == NULL)
        return;
    ab_store_op_set_status(op, status, version);
    s->ops->submit(s, op);
}

void ab_store_remove(ab_store *s, ab_str key, const ab_store_condition *condition,
                     ab_propagation propagation, ab_store_done done, void *arg)
{
    ab_store_op *op = new_op(s, AB_VERB_REMOVE, key, condition, done, arg);
    if (op == NULL)
        return;
    op->foreground = propagation == AB_PROPAGATE_FOREGROUND;
    s->ops->submit(s, op);
}

void ab_store_get(ab_store *s, ab_str key, ab_store_done done, void *arg)
{
    ab_store_op *op = new_op(s, AB_VERB_GET, key, NULL, done, arg);
    if (op != NULL)
        s->ops->submit(s, op);
}

void ab_store_stop(ab_store *s, void (*stopped)(void *arg), void *arg)
{
    s->ops->stop(s, stopped, arg);
}

void ab_store_fault(const ab_store *s, const char *reason, const char *where, const ab_error *err)
{
    ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(
        ab_metric_get(s->env.metrics, AB_METRIC_COUNTER, "argobus_store_faults_total",
                      "Lists, watches, objects and files of the store that could not be read.",
                      &label, 1),
        1);
    AB_WARN(s->env.log, STORE, "cannot read", AB_KV("where", where), AB_KV("reason", err->text));
    s->env.events.on_fault(s->env.events.arg, where, err);
}
