/* SPDX-License-Identifier: Apache-2.0
 *
 * The chain of owners is followed by what controls each, or its first owner where none does:
 *
 *   OBJECT --not managed, owned--> GROUP --its plural--> OBJECT (the owner) --> ...
 *
 * GROUP reads the resources of the owner's API group, because an owner is named by its kind and
 * read by its plural. An owner counts only with the uid that it was named with, so that nobody
 * claims another's by its name. See managed.h.
 */
#include "live/resource/spoke/managed.h"

#include "base/json/span.h"
#include "live/resource/query.h"
#include "live/resource/status.h"
#include "schema/attributes.h"

#include <stdlib.h>

/* Of an object that is read, and of a list of resources. */
#define ANSWER_MAX (4u * 1024 * 1024)
#define TIMEOUT_MS 10000
#define NOT_MANAGED                                                                                \
    "refused by the agent: Argo CD does not manage the object, and "                               \
    "live.kubernetes.policy is managed"

typedef enum { OBJECT, GROUP } step;

struct ab_resource_question {
    ab_resource_api api;
    ab_resource_call *call;
    void (*done)(void *arg, const ab_resource_verdict *v);
    void *arg;
    step step;
    int status; /* of the answer that is being read */
    unsigned owners;
    ab_buf answer;
    ab_buf path;
    char *ns;                              /* of the first object; NULL: none */
    char *api_version, *kind, *name, *uid; /* of the owner that is looked at; NULL: none */
};

static void forget_owner(ab_resource_question *q)
{
    free(q->api_version);
    free(q->kind);
    free(q->name);
    free(q->uid);
    q->api_version = q->kind = q->name = q->uid = NULL;
}

static void free_question(ab_resource_question *q)
{
    forget_owner(q);
    free(q->ns);
    ab_buf_wipe(&q->answer); /* it may be a Secret */
    ab_buf_fini(&q->path);
    free(q);
}

static void finish(ab_resource_question *q, const ab_resource_verdict *v)
{
    q->done(q->arg, v);
    free_question(q);
}

static void finish_refused(ab_resource_question *q)
{
    finish(q, &(ab_resource_verdict){.why = NOT_MANAGED});
}

/* Answer with a Status of ours, which `answer` holds from now on. */
static void finish_failed(ab_resource_question *q, int status, const char *why)
{
    ab_buf_clear(&q->answer);
    ab_resource_status_put(status, why, &q->answer);
    finish(q, &(ab_resource_verdict){.status = status, .body = ab_buf_str(&q->answer), .why = why});
}

/* --- an object --- */

static bool has_text(ab_spanv object, const char *where, const char *name)
{
    ab_spanv v = ab_span_path(object, "metadata", where, name, NULL);
    return ab_span_typeof(v) == AB_SPAN_STRING && !ab_span_is(v, "");
}

static bool is_managed(ab_spanv object)
{
    return has_text(object, "annotations", AB_ANN_TRACKING_ID) ||
           has_text(object, "labels", AB_LABEL_INSTANCE);
}

static ab_spanv owner_of(ab_spanv object)
{
    ab_spanv owners = ab_span_path(object, "metadata", "ownerReferences", NULL);
    for (ab_spanv o = ab_span_first(owners); ab_span_present(o); o = ab_span_next(o)) {
        if (ab_span_typeof(ab_span_get(o, "controller")) == AB_SPAN_TRUE)
            return o;
    }
    return ab_span_first(owners);
}

/* Remember the owner; false: there is none, it is not named as Kubernetes names one, or memory ran
 * out. */
static bool take_owner(ab_resource_question *q, ab_spanv owner)
{
    forget_owner(q);
    q->api_version = ab_str_dup(ab_span_plain(ab_span_get(owner, "apiVersion")));
    q->kind = ab_str_dup(ab_span_plain(ab_span_get(owner, "kind")));
    q->name = ab_str_dup(ab_span_plain(ab_span_get(owner, "name")));
    q->uid = ab_str_dup(ab_span_plain(ab_span_get(owner, "uid")));
    return q->api_version != NULL && q->kind != NULL && q->name != NULL && q->uid != NULL;
}

static void read_path(ab_resource_question *q, step next);

/* "v1" or "apps/v1"; a slash more would lead elsewhere. */
static void put_group(const char *api_version, ab_buf *out)
{
    const char *slash = strchr(api_version, '/');
    ab_str group = {api_version, slash == NULL ? 0 : (size_t)(slash - api_version)};
    ab_buf_puts(out, slash == NULL ? "/api/" : "/apis/");
    ab_resource_query_encode(group, out);
    if (slash != NULL)
        ab_buf_putc(out, '/');
    ab_resource_query_encode(ab_str_of(slash == NULL ? api_version : slash + 1), out);
}

static void look_at(ab_resource_question *q, ab_spanv object)
{
    ab_spanv owner = owner_of(object);
    ab_spanv uid = ab_span_path(object, "metadata", "uid", NULL);
    if (q->uid != NULL && !ab_span_is(uid, q->uid)) { /* another of the owner's name */
        finish_refused(q);
    } else if (is_managed(object)) {
        finish(q, &(ab_resource_verdict){.managed = true});
    } else if (q->owners++ == AB_RESOURCE_OWNERS_MAX || !take_owner(q, owner)) {
        finish_refused(q);
    } else {
        ab_buf_clear(&q->path);
        put_group(q->api_version, &q->path);
        read_path(q, GROUP);
    }
}

/* --- the resources of a group --- */

static ab_spanv resource_of(ab_spanv list, const char *kind)
{
    ab_spanv v = ab_span_first(ab_span_get(list, "resources"));
    while (ab_span_present(v)) {
        ab_str name = ab_span_plain(ab_span_get(v, "name"));
        if (ab_span_is(ab_span_get(v, "kind"), kind) && ab_str_is_dns_label(name))
            return v;
        v = ab_span_next(v);
    }
    return v;
}

static void look_for_owner(ab_resource_question *q, ab_spanv list)
{
    ab_spanv resource = resource_of(list, q->kind);
    bool namespaced = ab_span_typeof(ab_span_get(resource, "namespaced")) == AB_SPAN_TRUE;
    if (!ab_span_present(resource) || (namespaced && q->ns == NULL)) {
        finish_refused(q);
        return;
    }
    ab_buf_clear(&q->path);
    put_group(q->api_version, &q->path);
    if (namespaced)
        ab_buf_printf(&q->path, "/namespaces/%s", q->ns);
    ab_buf_printf(&q->path, "/%.*s/", AB_STR_ARG(ab_span_plain(ab_span_get(resource, "name"))));
    ab_resource_query_encode(ab_str_of(q->name), &q->path);
    read_path(q, OBJECT);
}

/* --- reading --- */

static void take_json(ab_resource_question *q, ab_str json, int status, const char *unreadable)
{
    ab_span *doc = NULL;
    if (ab_buf_status(&q->answer) != AB_ERR_OK || ab_span_parse(json, &doc, NULL) != AB_ERR_OK) {
        finish_failed(q, status, unreadable);
        return;
    }
    step was = q->step;
    if (was == OBJECT)
        look_at(q, ab_span_root(doc));
    else
        look_for_owner(q, ab_span_root(doc));
    ab_span_wipe(doc);
}

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_resource_question *q = arg;
    (void)fields;
    (void)count;
    q->status = status;
}

static void on_data(void *arg, ab_str piece)
{
    ab_resource_question *q = arg;
    ab_buf_put(&q->answer, piece); /* keeps its failure */
}

/* What the server says of the object itself is passed on; of an owner it says only that the object
 * has none. */
static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_resource_question *q = arg;
    q->call = NULL;
    if (code != AB_ERR_OK)
        finish_failed(q, code == AB_ERR_TIMEOUT ? 504 : 502, err->text);
    else if (q->status == 200)
        take_json(q, ab_buf_str(&q->answer), 502,
                  "the agent's API server gave an object that cannot be read");
    else if (q->owners == 0 && ab_buf_status(&q->answer) == AB_ERR_OK)
        finish(q, &(ab_resource_verdict){.status = q->status, .body = ab_buf_str(&q->answer)});
    else
        finish_refused(q);
}

static const ab_resource_call_handler READER = {on_head, on_data, on_over};

static void read_path(ab_resource_question *q, step next)
{
    static const ab_http_field FIELDS[] = {
        {{"accept", 6}, {"application/json", 16}},
    };
    q->step = next;
    ab_buf_clear(&q->answer);
    if (ab_buf_status(&q->path) == AB_ERR_OK)
        q->call = q->api.ops->begin(q->api.self,
                                    &(ab_resource_call_request){.method = "GET",
                                                                .target = ab_buf_str(&q->path),
                                                                .fields = FIELDS,
                                                                .count = 1,
                                                                .timeout_ms = TIMEOUT_MS},
                                    &READER, q);
    if (q->call == NULL)
        finish_failed(q, 503, "the agent is out of memory");
}

/* --- the question --- */

static void put_object_path(const ab_resource_map *m, ab_buf *out)
{
    size_t extra = m->subresource.len > 0 ? 1 : 0;
    for (size_t i = 0; i + extra < m->part_count; i++) {
        ab_buf_putc(out, '/');
        ab_resource_query_encode(m->parts[i], out);
    }
}

ab_err ab_resource_managed_ask(const ab_resource_api *api, const ab_resource_map *m, ab_str body,
                               void (*done)(void *arg, const ab_resource_verdict *v), void *arg,
                               ab_resource_question **out)
{
    ab_resource_question *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return AB_ERR_NOMEM;
    q->api = *api;
    q->done = done;
    q->arg = arg;
    ab_buf_init_secret(&q->answer, ANSWER_MAX);
    ab_buf_init(&q->path, 16 * 1024);
    q->ns = m->ns.len == 0 ? NULL : ab_str_dup(m->ns);
    if (m->ns.len > 0 && q->ns == NULL) {
        free_question(q);
        return AB_ERR_NOMEM;
    }
    *out = q;
    put_object_path(m, &q->path);
    if (body.ptr != NULL)
        take_json(q, body, 400,
                  "the object to be created is not JSON, which live.kubernetes.policy needs");
    else
        read_path(q, OBJECT);
    return AB_ERR_OK;
}

void ab_resource_managed_cancel(ab_resource_question *q)
{
    if (q == NULL)
        return;
    if (q->call != NULL)
        q->api.ops->cancel(q->call);
    free_question(q);
}
