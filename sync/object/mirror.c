/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/mirror.h"

#include "schema/attributes.h"
#include "sync/object/copy.h"
#include "sync/object/mirror_project.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LENGTH 253
/* What Argo CD Image Updater is to do, where, and with which Secret. */
#define IMAGE_UPDATER "argocd-image-updater.argoproj.io/"
/* Whom Argo CD's notifications-controller notifies; may follow "<trigger>." in the older form. */
#define SUBSCRIPTION       "notifications.argoproj.io/"
#define OLDER_SUBSCRIPTION "recipients.argocd-notifications.argoproj.io"

ab_err ab_mirror_key(const ab_kind *kind, const char *agent, ab_str name, const char *namespace,
                     char out[AB_OBJECT_KEY_MAX])
{
    int n = -1;
    size_t length = name.len;
    if (kind->mirroring == AB_MIRROR_BY_NAMESPACE) {
        n = snprintf(out, AB_OBJECT_KEY_MAX, "%s/%s/%.*s", kind->kind, agent, AB_STR_ARG(name));
    } else if (kind->mirroring == AB_MIRROR_BY_PREFIX) {
        length += ab_str_of(agent).len + 1;
        n = snprintf(out, AB_OBJECT_KEY_MAX, "%s/%s/%s-%.*s", kind->kind, namespace, agent,
                     AB_STR_ARG(name));
    }
    if (n < 0)
        return AB_ERR_INVALID;
    return n >= AB_OBJECT_KEY_MAX || length > NAME_MAX_LENGTH ? AB_ERR_TOOBIG : AB_ERR_OK;
}

/* The name behind "<agent>-"; absent when there is none. */
static ab_str without_prefix(ab_str name, const char *agent)
{
    size_t skip = ab_str_of(agent).len + 1;
    bool prefixed = ab_str_starts(name, agent) && name.len > skip && name.ptr[skip - 1] == '-';
    return prefixed ? (ab_str){name.ptr + skip, name.len - skip} : AB_STR_NONE;
}

ab_err ab_mirror_source_key(ab_str key, const char *agent, const char *namespace, const char *local,
                            char out[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return AB_ERR_INVALID;
    const ab_kind *row = ab_kind_of(kind);
    if (row != NULL && row->mirroring == AB_MIRROR_BY_PREFIX && ab_str_is(ns, namespace))
        name = without_prefix(name, agent);
    else if (row == NULL || row->mirroring != AB_MIRROR_BY_NAMESPACE || !ab_str_is(ns, agent))
        return AB_ERR_INVALID;
    int n =
        snprintf(out, AB_OBJECT_KEY_MAX, "%.*s/%s/%.*s", AB_STR_ARG(kind), local, AB_STR_ARG(name));
    return name.len > 0 && n > 0 && n < AB_OBJECT_KEY_MAX ? AB_ERR_OK : AB_ERR_INVALID;
}

/* --- what is published --- */

static void payload_metadata(ab_spanw *w, const ab_object *local)
{
    static const char *const left_out[] = {
        "annotations", "resourceVersion", "generation",        "managedFields",
        "selfLink",    "ownerReferences", "deletionTimestamp", "deletionGracePeriodSeconds",
        NULL};
    static const char *const unpublished[] = {AB_ANN_LAST_APPLIED, AB_ANN_STATUS_VERSION, NULL};
    ab_spanv annotations = ab_object_meta(local, "annotations");
    ab_spanw_key_object(w, "metadata");
    ab_spanw_members(w, ab_span_get(ab_object_json(local), "metadata"), left_out);
    ab_spanw_key_object(w, "annotations");
    ab_spanw_members(w, annotations, unpublished);
    ab_spanw_object_end(w);
    ab_spanw_object_end(w);
}

ab_err ab_mirror_payload(const ab_object *local, ab_buf *out)
{
    static const char *const top[] = {"metadata", NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_json(local), top);
    payload_metadata(&w, local);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

/* --- metadata of the mirror --- */

/* What a controller of the hub would do with the hub's credentials. */
static bool is_order(ab_str name)
{
    size_t older = strlen(OLDER_SUBSCRIPTION);
    return ab_str_starts(name, IMAGE_UPDATER) || ab_str_starts(name, SUBSCRIPTION) ||
           (name.len >= older &&
            ab_str_is(ab_str_skip(name, name.len - older), OLDER_SUBSCRIPTION));
}

/* What of the source's annotations is not the mirror's. */
static bool is_source_own(ab_str name)
{
    return ab_str_is(name, AB_ANN_SOURCE_UID) || ab_str_is(name, AB_ANN_PRINCIPAL_UID) ||
           ab_str_starts(name, AB_ANN_NOTIFIED) || is_order(name);
}

static void copy_source_annotations(ab_spanw *w, const ab_object *source)
{
    static const char *const names[] = {AB_ANN_REFRESH,      AB_ANN_WITH_REFRESH,
                                        AB_ANN_LAST_APPLIED, AB_ANN_LAST_UPDATED,
                                        AB_ANN_TRACKING_ID,  NULL};
    ab_spanv annotations = ab_object_meta(source, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v); /* absent: with escapes, which no annotation needs */
        if (name.ptr != NULL && !ab_str_is_one_of(name, names) &&
            !ab_str_starts(name, AB_ANN_PREFIX) && !is_source_own(name))
            ab_spanw_member(w, v);
    }
}

static void copy_hub_annotations(ab_spanw *w, const ab_object *hub)
{
    ab_spanv annotations = hub == NULL ? (ab_spanv){0} : ab_object_meta(hub, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
        if (ab_str_starts(ab_span_plain_key(v), AB_ANN_NOTIFIED))
            ab_spanw_member(w, v);
}

static void keep_or_set(ab_spanw *w, const ab_object *hub, const char *name, ab_str value)
{
    if (value.len > 0)
        ab_spanw_key_str(w, name, value);
    else if (hub != NULL)
        ab_spanw_member(w, ab_span_get(ab_object_meta(hub, "annotations"), name));
}

static void keep_refresh(ab_spanw *w, const ab_object *hub, ab_str id)
{
    static const char *const names[] = {AB_ANN_REFRESH, AB_ANN_WITH_REFRESH, NULL};
    for (const char *const *n = names; *n != NULL; n++)
        keep_or_set(w, hub, *n, AB_STR_NONE);
    keep_or_set(w, hub, AB_ANN_REFRESH_ID, id);
}

static void render_annotations(ab_spanw *w, const ab_object *source, const ab_object *hub,
                               ab_str name, const ab_mirror_params *m)
{
    ab_spanw_key_object(w, "annotations");
    copy_source_annotations(w, source);
    copy_hub_annotations(w, hub);
    if (!m->drop_operation)
        keep_or_set(w, hub, AB_ANN_OPERATION_ID, m->operation_id);
    if (!m->drop_refresh)
        keep_refresh(w, hub, m->refresh_id);
    ab_spanw_key_str(w, AB_ANN_SOURCE_UID, m->uid);
    ab_spanw_key_str(w, AB_ANN_MIRROR, m->stamp);
    ab_spanw_key_str(w, AB_ANN_NAME, name);
    keep_or_set(w, hub, AB_ANN_STATUS_VERSION, AB_STR_NONE);
    ab_spanw_object_end(w);
}

static ab_err render_metadata(ab_spanw *w, const ab_object *source, const ab_object *hub,
                              const ab_mirror_params *m)
{
    ab_str kind, namespace, name;
    ab_err e = ab_object_key_split(m->key, &kind, &namespace, &name);
    if (e != AB_ERR_OK)
        return e;
    ab_spanw_key_object(w, "metadata");
    ab_spanw_key_str(w, "name", name);
    ab_spanw_key_str(w, "namespace", namespace);
    /* Those of a project could let Argo CD add what a global project allows. */
    if (ab_str_is(kind, "Application"))
        ab_copy_labels(w, ab_object_meta(source, "labels"));
    render_annotations(w, source, hub, name, m);
    ab_spanw_object_end(w);
    return AB_ERR_OK;
}

/* --- Application --- */

void ab_mirror_project_name(const ab_object *source, const char *agent, ab_buf *out)
{
    ab_buf_printf(out, "%s-", agent);
    size_t prefix = out->len;
    ab_spanv project = ab_span_get(ab_object_field(source, "spec"), "project");
    /* Argo CD takes an Application without project to be of project default. */
    if (ab_span_copy(project, out) != AB_ERR_OK || out->len == prefix)
        ab_buf_puts(out, "default");
}

static void render_project(ab_spanw *w, const ab_object *source, const ab_mirror_params *m)
{
    ab_buf name = ab_buf_up_to(4096);
    ab_mirror_project_name(source, m->agent, &name);
    size_t separator = ab_str_of(m->agent).len;
    if (m->project_refused && name.len > separator)
        name.ptr[separator] = '_';
    ab_spanw_key_str(w, "project", ab_buf_str(&name));
    ab_buf_fini(&name);
}

static void render_destination(ab_spanw *w, ab_spanv destination, const char *agent)
{
    static const char *const replaced[] = {"name", "server", NULL};
    ab_spanw_key_object(w, "destination");
    ab_spanw_members(w, destination, replaced);
    ab_spanw_key_str(w, "name", ab_str_of(agent));
    ab_spanw_object_end(w);
}

static void render_application(ab_spanw *w, const ab_object *source, const ab_object *hub,
                               const ab_mirror_params *m)
{
    static const char *const replaced[] = {"project", "destination", NULL};
    ab_spanv spec = ab_object_field(source, "spec");
    ab_spanw_key_object(w, "spec");
    ab_spanw_members(w, spec, replaced);
    render_project(w, source, m);
    render_destination(w, ab_span_get(spec, "destination"), m->agent);
    ab_spanw_object_end(w);
    if (hub != NULL && !m->drop_operation)
        ab_spanw_member(w, ab_object_field(hub, "operation"));
}

ab_err ab_mirror_render(const ab_object *source, const ab_object *hub, const ab_mirror_params *m,
                        ab_buf *out)
{
    static const char *const replaced[] = {"metadata", "spec", "status", "operation", NULL};
    ab_err e = AB_ERR_OK;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_json(source), replaced);
    e = render_metadata(&w, source, hub, m);
    if (e != AB_ERR_OK)
        return e;
    if (ab_str_is(ab_object_kind(source), "Application"))
        render_application(&w, source, hub, m);
    else
        e = ab_mirror_project_spec(&w, source, m->agent);
    ab_spanw_object_end(&w);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

/* --- status --- */

static void render_resource(ab_spanw *w, ab_spanv resource, const char *agent)
{
    static const char *const replaced[] = {"namespace", NULL};
    bool child = ab_span_is(ab_span_get(resource, "kind"), "Application") &&
                 ab_span_is(ab_span_get(resource, "group"), "argoproj.io");
    if (!child) {
        ab_spanw_value(w, resource);
        return;
    }
    ab_spanw_object(w);
    ab_spanw_members(w, resource, replaced);
    ab_spanw_key_str(w, "namespace", ab_str_of(agent));
    ab_spanw_object_end(w);
}

ab_err ab_mirror_status(const ab_object *source, const char *agent, ab_buf *out)
{
    static const char *const replaced[] = {"resources", NULL};
    ab_spanv status = ab_object_field(source, "status");
    ab_spanv resources = ab_span_get(status, "resources");
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, status, replaced);
    if (ab_span_typeof(resources) == AB_SPAN_ARRAY) {
        ab_spanw_key_array(&w, "resources");
        for (ab_spanv v = ab_span_first(resources); ab_span_present(v); v = ab_span_next(v))
            render_resource(&w, v, agent);
        ab_spanw_array_end(&w);
    }
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

/* --- comparing --- */

static void copy_filled(ab_spanw *w, const ab_object *o, const char *name)
{
    ab_spanv v = ab_object_meta(o, name);
    if (ab_span_count(v) > 0)
        ab_spanw_member(w, v);
}

static ab_err compared_text(const ab_object *o, ab_buf *out)
{
    static const char *const top[] = {"metadata", "status", NULL};
    static const char *const annotations[] = {AB_ANN_MIRROR, AB_ANN_STATUS_VERSION, NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_json(o), top);
    ab_spanw_key_object(&w, "metadata");
    copy_filled(&w, o, "labels");
    copy_filled(&w, o, "finalizers");
    copy_filled(&w, o, "ownerReferences");
    ab_spanw_key_object(&w, "annotations");
    ab_spanw_members(&w, ab_object_meta(o, "annotations"), annotations);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_mirror_digest(const ab_object *o, ab_digest *out)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = compared_text(o, &text);
    if (e == AB_ERR_OK)
        e = ab_span_digest_text(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}
