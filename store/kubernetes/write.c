/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that an operation makes. None reads before it writes: conditions travel with the
 * write. A second request follows only what the first one found out:
 *
 *   apply     POST; where the object exists already PATCH. With must_exist, a version or a uid
 * PATCH status    PATCH; where the object has no annotations yet another PATCH, which makes them
 *   remove    DELETE
 *   any POST  into a namespace that is missing: POST the namespace, if allowed, and again
 */
#include "store/kubernetes/write.h"

#include "base/json/document.h"
#include "store/kubernetes/patch.h"
#include "store/kubernetes/queue.h"

#define JSON          "application/json"
#define JSON_PATCH    "application/json-patch+json"
#define FIELD_MANAGER "?fieldManager=argobus"
#define NAMESPACES    "/api/v1/namespaces" FIELD_MANAGER
#define PATIENCE_MS   1000 /* when the server does not say how long */
#define TURNS_MAX     6    /* of one operation, when others create and delete its object */

static void on_answer(void *arg, const ab_kube_answer *answer);

static ab_kube_guard guard_of(const ab_kube_op *op)
{
    return (ab_kube_guard){ab_str_of(op->base.want_uid), ab_str_of(op->base.want_version)};
}

/* --- what is sent --- */

typedef struct {
    const char *method;
    const char *type;
    ab_buf path;
    ab_buf body;
} message;

static void put_object_path(const ab_kube_op *op, bool collection, message *m)
{
    ab_kube_path(op->resource, op->base.ns, collection ? AB_STR_NONE : op->base.name, &m->path);
}

static void put_change(const ab_kube_op *op, message *m)
{
    const ab_kube_guard guard = guard_of(op);
    m->method = "PATCH";
    m->type = JSON_PATCH;
    put_object_path(op, false, m);
    ab_buf_puts(&m->path, FIELD_MANAGER);
    if (op->base.verb == AB_VERB_APPLY)
        ab_kube_put_patch(op->resource, op->base.object, &guard, &m->body);
    else
        ab_kube_put_status(ab_str_of(op->base.status), ab_str_of(op->base.status_version),
                           op->step == AB_KUBE_STEP_PATCH_FIRST, &guard, &m->body);
}

static void put_create(const ab_kube_op *op, message *m)
{
    m->method = "POST";
    m->type = JSON;
    put_object_path(op, true, m);
    ab_buf_puts(&m->path, FIELD_MANAGER);
    ab_kube_put_new(op->base.object, &m->body);
}

static void put_delete(const ab_kube_op *op, message *m)
{
    const ab_kube_guard guard = guard_of(op);
    m->method = "DELETE";
    m->type = JSON;
    put_object_path(op, false, m);
    ab_kube_put_delete(op->base.foreground ? "Foreground" : "Background", &guard, &m->body);
}

static bool add_labels(const ab_config *config, cJSON *metadata)
{
    static const char option[] = "store.kubernetes.namespace-labels";
    cJSON *labels = cJSON_AddObjectToObject(metadata, "labels");
    bool complete = labels != NULL;
    for (size_t i = 0; i < ab_config_count(config, option); i++) {
        const char *key = NULL;
        const char *value = NULL;
        ab_config_pair(config, option, i, &key, &value);
        complete = complete && ab_doc_add_str(labels, key, ab_str_of(value));
    }
    return complete;
}

static ab_err put_namespace_text(const ab_kube *k, ab_str ns, ab_buf *out, ab_error *err)
{
    if (!ab_patterns_match(k->create_namespaces, ns))
        return ab_fail(err, AB_ERR_DENIED,
                       "namespace %.*s does not exist: create it, or allow it in "
                       "store.kubernetes.create-namespaces",
                       AB_STR_ARG(ns));
    cJSON *doc = cJSON_CreateObject();
    cJSON *metadata = cJSON_AddObjectToObject(doc, "metadata");
    bool complete = ab_doc_add_str(doc, "apiVersion", AB_STR("v1")) &&
                    ab_doc_add_str(doc, "kind", AB_STR("Namespace")) &&
                    ab_doc_add_str(metadata, "name", ns) &&
                    add_labels(k->base.env.config, metadata);
    return ab_doc_finish(doc, complete, out);
}

static ab_err put_namespace(const ab_kube_op *op, message *m, ab_error *err)
{
    m->method = "POST";
    m->type = JSON;
    ab_buf_puts(&m->path, NAMESPACES);
    return put_namespace_text(op->kube, ab_object_namespace(op->base.object), &m->body, err);
}

static ab_err put_message(const ab_kube_op *op, message *m, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    switch (op->step) {
    case AB_KUBE_STEP_READ:
        m->method = "GET";
        put_object_path(op, false, m);
        break;
    case AB_KUBE_STEP_CREATE:
        put_create(op, m);
        break;
    case AB_KUBE_STEP_PATCH:
    case AB_KUBE_STEP_PATCH_FIRST:
        put_change(op, m);
        break;
    case AB_KUBE_STEP_DELETE:
        put_delete(op, m);
        break;
    case AB_KUBE_STEP_NAMESPACE:
        e = put_namespace(op, m, err);
        break;
    }
    if (e == AB_ERR_OK)
        e = ab_buf_status(&m->path);
    if (e == AB_ERR_OK && (e = ab_buf_status(&m->body)) != AB_ERR_OK)
        (void)ab_fail(err, e, "%s: the request: %s", op->base.key, ab_err_text(e));
    return e;
}

static ab_err send_step(ab_kube_op *op, ab_error *err)
{
    message m = {0};
    ab_buf_init(&m.path, 4096);
    ab_buf_init_secret(&m.body, AB_KUBE_OBJECT_MAX);
    ab_err e = put_message(op, &m, err);
    if (e == AB_ERR_OK) {
        const ab_kube_request request = {
            .what = op->base.key,
            .method = m.method,
            .path = m.path.ptr,
            .type = m.type,
            .body = m.type == NULL ? AB_STR_NONE : ab_buf_str(&m.body),
            .timeout_ms = op->kube->timeout_ms,
            .done = on_answer,
            .arg = op,
        };
        if (ab_kube_send(op->kube->client, &request) == NULL)
            e = ab_fail(err, AB_ERR_NOMEM, "%s: out of memory for the request", op->base.key);
    }
    ab_buf_fini(&m.path);
    ab_buf_wipe(&m.body);
    return e;
}

static void go_on(ab_kube_op *op, ab_kube_step step)
{
    ab_error err = {0};
    op->step = step;
    ab_err e = send_step(op, &err);
    if (e != AB_ERR_OK)
        ab_kube_op_end(op, e, NULL, &err);
}

void ab_kube_op_run(ab_kube_op *op)
{
    op->base.code = send_step(op, &op->base.err);
    if (op->base.code != AB_ERR_OK)
        ab_kube_op_refuse(op);
}

/* --- what comes back --- */

/* The last finalizer was removed: what the answer shows is gone. */
static bool is_gone(const ab_object *object)
{
    return ab_object_deleting(object) && ab_span_count(ab_object_meta(object, "finalizers")) == 0;
}

static void succeed(ab_kube_op *op, const ab_kube_answer *answer)
{
    ab_span *doc = NULL;
    ab_object *object = NULL;
    ab_error err = {0};
    ab_err e = ab_span_parse(answer->body, &doc, &err);
    bool is_status = ab_span_is(ab_span_get(ab_span_root(doc), "kind"), "Status");
    if (e == AB_ERR_OK && !is_status)
        e = ab_object_from(doc, &object, &err);
    if (object == NULL)
        ab_span_free(doc);
    if (e != AB_ERR_OK) {
        ab_error_prefix(&err, "%s: the API server's response", op->base.key);
        ab_kube_op_end(op, AB_ERR_PARSE, NULL, &err);
        return;
    }
    ab_kube_op_end(op, AB_ERR_OK, object == NULL || is_gone(object) ? NULL : object, NULL);
    ab_object_unref(object);
}

/* True when another request follows. */
static bool follow_create(ab_kube_op *op, const ab_kube_answer *answer)
{
    if (answer->code == AB_ERR_EXISTS && !op->base.must_not_exist) {
        go_on(op, AB_KUBE_STEP_PATCH);
        return true;
    }
    if (answer->why == AB_KUBE_WHY_NAMESPACE && !op->namespace_made) {
        go_on(op, AB_KUBE_STEP_NAMESPACE);
        return true;
    }
    return false;
}

static bool follow_patch(ab_kube_op *op, const ab_kube_answer *answer)
{
    bool unconditional =
        !op->base.must_exist && op->base.want_uid == NULL && op->base.want_version == NULL;
    if (op->base.verb == AB_VERB_APPLY && answer->code == AB_ERR_NOTFOUND && unconditional) {
        go_on(op, AB_KUBE_STEP_CREATE);
        return true;
    }
    if (op->base.verb == AB_VERB_STATUS && answer->why == AB_KUBE_WHY_PATCH &&
        op->base.status_version != NULL) {
        go_on(op, AB_KUBE_STEP_PATCH_FIRST);
        return true;
    }
    return false;
}

static bool follow(ab_kube_op *op, const ab_kube_answer *answer)
{
    if (op->turns++ >= TURNS_MAX)
        return false;
    switch (op->step) {
    case AB_KUBE_STEP_CREATE:
        return follow_create(op, answer);
    case AB_KUBE_STEP_PATCH:
        return follow_patch(op, answer);
    case AB_KUBE_STEP_NAMESPACE:
        /* Another object's operation may have been quicker. */
        if (answer->code != AB_ERR_OK && answer->code != AB_ERR_EXISTS)
            return false;
        op->namespace_made = true;
        go_on(op, AB_KUBE_STEP_CREATE);
        return true;
    case AB_KUBE_STEP_READ:
    case AB_KUBE_STEP_PATCH_FIRST:
    case AB_KUBE_STEP_DELETE:
        return false;
    }
    return false;
}

/* The server did nothing and asks to come again. */
static bool hold(ab_kube_op *op, const ab_kube_answer *answer)
{
    bool busy = answer->status == 429 || (answer->status == 503 && answer->retry_after_ms >= 0);
    int64_t pause = answer->retry_after_ms < 0 ? PATIENCE_MS : answer->retry_after_ms;
    uint64_t spent = uv_now(op->kube->base.env.loop) - op->begun_ms;
    if (!busy || op->kube->stopping || (int64_t)spent + pause > op->kube->timeout_ms)
        return false;
    ab_kube_op_hold(op, pause);
    return true;
}

/* A missing object has another version and another uid than any. */
static ab_err final_code(const ab_kube_op *op, ab_err code)
{
    bool versioned = op->base.want_version != NULL || op->base.want_uid != NULL;
    if (code == AB_ERR_NOTFOUND && op->base.verb == AB_VERB_APPLY && versioned &&
        !op->base.must_exist)
        return AB_ERR_CONFLICT;
    return code;
}

static void on_answer(void *arg, const ab_kube_answer *answer)
{
    ab_kube_op *op = arg;
    if (hold(op, answer))
        return;
    if (answer->status > 0 && answer->status < 500)
        ab_kube_queue_relax(op->kube->queue);
    if (follow(op, answer))
        return;
    if (answer->code == AB_ERR_OK)
        succeed(op, answer);
    else
        ab_kube_op_end(op, final_code(op, answer->code), NULL, answer->err);
}
