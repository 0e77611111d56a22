/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/collection.h"

#include "store/kubernetes/stream.h"

#include <assert.h>
#include <stdlib.h>

#define IGNORED "argocd-agent.argoproj-labs.io/ignore-sync!=true"

static const char *reason_of(ab_err code)
{
    switch (code) {
    case AB_ERR_PARSE:
    case AB_ERR_INVALID:
        return "parse";
    case AB_ERR_TOOBIG:
        return "too_big";
    case AB_ERR_DENIED:
        return "denied";
    case AB_ERR_NOTFOUND:
        return "not_served";
    case AB_ERR_TIMEOUT:
        return "timeout";
    default:
        return "unavailable";
    }
}

void ab_kube_collection_fault(const ab_kube_collection *c, const ab_error *err)
{
    ab_store_fault(&c->kube->base, reason_of(err->code), c->where, err);
}

static void report(ab_kube_collection *c, ab_store_change change, ab_object *object)
{
    const ab_store_events *events = &c->kube->base.env.events;
    events->on_change(events->arg, change, object);
}

static ab_err see(ab_kube_collection *c, ab_object *object)
{
    ab_object *last = NULL;
    size_t before = ab_kube_known_count(c->known);
    ab_kube_news news = ab_kube_known_compare(c->known, object);
    ab_err e = AB_ERR_OK;
    if (news == AB_KUBE_REPLACED)
        e = ab_kube_known_last(c->known, ab_str_of(ab_object_key(object)), c->resource->api, &last);
    if (e == AB_ERR_OK)
        e = ab_kube_known_note(c->known, object);
    if (e != AB_ERR_OK)
        return e;
    ab_metric_add(c->kube->objects, (double)(ab_kube_known_count(c->known) - before));
    if (last != NULL) /* its own deletion was not told */
        report(c, AB_STORE_ABSENT, last);
    ab_object_unref(last);
    if (news != AB_KUBE_SAME && !c->stopped)
        report(c, AB_STORE_UPDATED, object);
    return AB_ERR_OK;
}

static void lose(ab_kube_collection *c, ab_store_change how, ab_object *last)
{
    if (!ab_kube_known_forget(c->known, ab_str_of(ab_object_key(last))))
        return;
    ab_metric_add(c->kube->objects, -1);
    if (!c->stopped)
        report(c, how, last);
}

static void lose_old(void *arg, ab_str key)
{
    ab_kube_collection *c = arg;
    ab_object *last = NULL;
    ab_error err = {0};
    if (c->stopped)
        return;
    ab_err e = ab_kube_known_last(c->known, key, c->resource->api, &last);
    if (e != AB_ERR_OK) {
        (void)ab_fail(&err, e, "%.*s was deleted: %s", AB_STR_ARG(key), ab_err_text(e));
        ab_kube_collection_fault(c, &err);
        return;
    }
    lose(c, AB_STORE_ABSENT, last);
    ab_object_unref(last);
}

/* Lists of the built-in kinds do not say in each item what it is. */
static ab_err add_kind(const ab_kube_collection *c, ab_span **doc)
{
    ab_spanv root = ab_span_root(*doc);
    if (ab_span_present(ab_span_get(root, "kind")))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(AB_KUBE_OBJECT_MAX + 256);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_key_str(&w, "apiVersion", ab_str_of(c->resource->api));
    ab_spanw_key_str(&w, "kind", ab_str_of(c->resource->kind));
    for (ab_spanv m = ab_span_first(root); ab_span_present(m); m = ab_span_next(m))
        ab_spanw_member(&w, m);
    ab_spanw_object_end(&w);
    ab_span *full = NULL;
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_span_parse(ab_buf_str(&text), &full, NULL);
    ab_buf_wipe(&text);
    if (e != AB_ERR_OK)
        return e;
    ab_span_free(*doc);
    *doc = full;
    return AB_ERR_OK;
}

static ab_err parse_item(const ab_kube_collection *c, ab_str json, ab_object **out, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, err);
    if (e == AB_ERR_OK)
        e = add_kind(c, &doc);
    if (e == AB_ERR_OK)
        e = ab_object_from(doc, out, err);
    if (e == AB_ERR_OK)
        return e;
    ab_str name = ab_kube_member(ab_kube_member(json, "metadata"), "name");
    ab_error_prefix(err, "%s %.*s", c->resource->plural, AB_STR_ARG(name));
    ab_span_free(doc);
    return e;
}

/* Which object it is, of one that is nested too deeply to be read. */
static ab_err identify(const ab_kube_collection *c, ab_str json, ab_object **out)
{
    static const char *const names[] = {"name", "namespace", "uid", "resourceVersion"};
    ab_str meta = ab_kube_member(json, "metadata");
    ab_buf text = ab_buf_up_to(8192);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_key_str(&w, "apiVersion", ab_str_of(c->resource->api));
    ab_spanw_key_str(&w, "kind", ab_str_of(c->resource->kind));
    ab_spanw_key_object(&w, "metadata");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ab_spanw_key_raw(&w, names[i], ab_kube_member(meta, names[i]));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, NULL);
    ab_buf_fini(&text);
    return e;
}

static void note_unreadable(ab_kube_collection *c, ab_str json)
{
    ab_object *named = NULL;
    c->unreadable = true;
    if (identify(c, json, &named) == AB_ERR_OK)
        ab_kube_known_keep(c->known, named);
    else
        c->unnamed = true;
    ab_object_unref(named);
}

/* One object that cannot be read does not keep the others from being seen. */
ab_err ab_kube_collection_see(ab_kube_collection *c, ab_str json)
{
    ab_object *object = NULL;
    ab_error err = {0};
    ab_err e = parse_item(c, json, &object, &err);
    if (e == AB_ERR_NOMEM)
        return e;
    if (e != AB_ERR_OK) {
        note_unreadable(c, json);
        ab_kube_collection_fault(c, &err);
        return AB_ERR_OK;
    }
    e = see(c, object);
    ab_object_unref(object);
    return c->stopped ? AB_ERR_CLOSED : e;
}

ab_err ab_kube_collection_see_deleted(ab_kube_collection *c, ab_str json)
{
    ab_object *object = NULL;
    ab_error err = {0};
    ab_err e = parse_item(c, json, &object, &err);
    if (e == AB_ERR_TOOBIG)
        e = identify(c, json, &object);
    if (e != AB_ERR_OK) {
        ab_kube_collection_fault(c, &err);
        return e;
    }
    lose(c, AB_STORE_DELETED, object);
    ab_object_unref(object);
    return c->stopped ? AB_ERR_CLOSED : AB_ERR_OK;
}

static void put_selector(const ab_kube *k, const ab_kube_resource *r, const ab_store_watch *watched,
                         ab_buf *out)
{
    const char *ours = ab_config_str(k->base.env.config, "store.kubernetes.selector");
    ab_buf labels = ab_buf_up_to(16 * 1024);
    if (r->ignorable)
        ab_buf_puts(&labels, IGNORED);
    if (watched->selector != NULL)
        ab_buf_printf(&labels, "%s%s", labels.len > 0 ? "," : "", watched->selector);
    if (ours != NULL && ours[0] != '\0' && ab_str_is(AB_STR("Application"), r->kind))
        ab_buf_printf(&labels, "%s%s", labels.len > 0 ? "," : "", ours);
    if (labels.len > 0)
        ab_kube_query(out, '&', "labelSelector", ab_buf_str(&labels));
    if (watched->name != NULL) {
        ab_buf_puts(out, "&fieldSelector=metadata.name");
        ab_buf_puts(out, "%3D");
        ab_buf_puts(out, watched->name);
    }
    ab_buf_fini(&labels);
}

ab_err ab_kube_collection_init(ab_kube_collection *c, ab_kube *k, const ab_store_watch *watched)
{
    ab_buf path = ab_buf_up_to(1024);
    ab_buf where = ab_buf_up_to(1024);
    ab_buf selector = ab_buf_up_to(64 * 1024);
    *c = (ab_kube_collection){.kube = k,
                              .resource = ab_kube_resource_of(ab_str_of(watched->kind)),
                              .known = ab_kube_known_new()};
    assert(c->resource != NULL);
    ab_kube_path(c->resource, ab_str_of(watched->namespace), AB_STR_NONE, &path);
    ab_kube_path(c->resource, ab_str_of(watched->namespace), ab_str_of(watched->name), &where);
    put_selector(k, c->resource, watched, &selector);
    c->path = ab_buf_take(&path);
    c->where = ab_buf_take(&where);
    c->selector = selector.len == 0 ? ab_str_dup(AB_STR("")) : ab_buf_take(&selector);
    ab_buf_fini(&path);
    ab_buf_fini(&where);
    ab_buf_fini(&selector);
    bool made = c->path != NULL && c->where != NULL && c->selector != NULL && c->known != NULL;
    return made ? AB_ERR_OK : AB_ERR_NOMEM;
}

void ab_kube_collection_fini(ab_kube_collection *c)
{
    ab_kube_known_free(c->known);
    free(c->path);
    free(c->where);
    free(c->selector);
}

void ab_kube_collection_list_begin(ab_kube_collection *c)
{
    c->unreadable = c->unnamed = false;
    ab_kube_known_begin(c->known);
}

void ab_kube_collection_list_end(ab_kube_collection *c)
{
    if (!c->unnamed)
        ab_kube_known_each_old(c->known, lose_old, c);
}
