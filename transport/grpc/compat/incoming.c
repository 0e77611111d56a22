/* SPDX-License-Identifier: Apache-2.0
 *
 * What the peer sends, as argobus says it. Its versions are given here, in the order of arrival.
 */
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* ----- what the link deals with ----- */

/* Of the event only what its acknowledgement says: the data may be large, and is not the link's. */
static ab_event *without_data(ab_event *go)
{
    ab_event *head = NULL;
    ab_event_draft d = {0};
    for (size_t i = 0; i < ab_event_attr_count(go); i++) {
        ab_attr attr = ab_event_attr_at(go, i);
        ab_event_set_typed(&d, attr.name, attr.value, attr.type);
    }
    return ab_event_new(&d, &head, NULL) == AB_ERR_OK ? head : NULL;
}

static size_t size_of(const ab_compat_pending *p)
{
    return sizeof(*p) + ab_event_size(p->go);
}

static ab_compat_pending *pending_new(ab_compat *d, ab_event *go)
{
    ab_compat_pending *p = calloc(1, sizeof(*p));
    if (p == NULL || (p->go = without_data(go)) == NULL) {
        free(p);
        return NULL;
    }
    d->owed_bytes += size_of(p);
    return p;
}

static void pending_free(ab_compat *d, ab_compat_pending *p)
{
    d->owed_bytes -= size_of(p);
    for (size_t i = 0; i < p->count; i++)
        ab_event_unref(p->parts[i]);
    ab_event_unref(p->go);
    free(p);
}

static void free_list(ab_compat *d, struct ab_compat_pendings *list)
{
    while (!TAILQ_EMPTY(list)) {
        ab_compat_pending *p = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, p, at);
        pending_free(d, p);
    }
}

void ab_compat_forget_pending(ab_compat *d)
{
    free_list(d, &d->pending);
    free_list(d, &d->acked);
}

static bool is_returned(const ab_compat_pending *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->parts[i] != NULL && ab_event_is_shared(p->parts[i]))
            return false;
    return true;
}

void ab_compat_forget_returned(ab_compat *d)
{
    ab_compat_pending *next = NULL;
    for (ab_compat_pending *p = TAILQ_FIRST(&d->pending); p != NULL; p = next) {
        next = TAILQ_NEXT(p, at);
        if (!is_returned(p))
            continue;
        TAILQ_REMOVE(&d->pending, p, at);
        pending_free(d, p);
    }
}

static bool is_same(const ab_event *a, const ab_event *b, const char *name)
{
    return ab_str_eq(ab_event_attr(a, name), ab_event_attr(b, name));
}

static bool is_in(const struct ab_compat_pendings *list, const ab_event *go)
{
    const ab_compat_pending *p = NULL;
    TAILQ_FOREACH(p, list, at)
    {
        if (ab_event_attr(go, AB_CE_EVENTID).len > 0 && is_same(p->go, go, AB_CE_TYPE) &&
            is_same(p->go, go, AB_CE_RESOURCEID) && is_same(p->go, go, AB_CE_EVENTID))
            return true;
    }
    return false;
}

static bool is_dealt_with(const ab_compat_pending *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->parts[i] != NULL)
            return false;
    return true;
}

void ab_compat_part_done(ab_compat *d, const ab_event *ack)
{
    ab_compat_pending *p = NULL;
    TAILQ_FOREACH(p, &d->pending, at)
    {
        for (size_t i = 0; i < p->count; i++) {
            if (p->parts[i] == NULL || !is_same(p->parts[i], ack, AB_CE_OBJVERSION))
                continue;
            ab_event_unref(p->parts[i]);
            p->parts[i] = NULL;
            if (is_dealt_with(p)) {
                TAILQ_REMOVE(&d->pending, p, at);
                TAILQ_INSERT_TAIL(&d->acked, p, at);
            }
            return;
        }
    }
}

ab_err ab_compat_send_acks(ab_compat *d)
{
    const char *source = ab_compat_is_principal(d) ? AB_GO_SOURCE_PRINCIPAL : AB_GO_SOURCE_AGENT;
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && !TAILQ_EMPTY(&d->acked)) {
        ab_compat_pending *p = TAILQ_FIRST(&d->acked);
        ab_buf message = ab_buf_up_to(AB_EVENT_DATA_MAX);
        ab_go_ack_write(p->go, source, &message);
        e = ab_buf_status(&message);
        if (e == AB_ERR_OK)
            e = d->ops->send(d->stream, ab_buf_str(&message), NULL);
        ab_buf_fini(&message);
        if (e != AB_ERR_OK)
            break;
        TAILQ_REMOVE(&d->acked, p, at);
        pending_free(d, p);
    }
    return e;
}

void ab_compat_repeat_pending(ab_compat *d)
{
    const ab_compat_pending *p = NULL;
    TAILQ_FOREACH(p, &d->pending, at)
    {
        for (size_t i = 0; i < p->count; i++)
            if (p->parts[i] != NULL)
                ab_compat_report(d, ab_event_ref(p->parts[i]));
    }
}

/* ----- parts ----- */

/* One event of theirs, taken apart. */
typedef struct {
    ab_compat *d;
    ab_compat_pending *pending;
    ab_event *go;
    ab_target target;
    ab_type type;
    ab_object *object; /* that is in it */
    ab_buf text;       /* of that object */
    bool remapped;
    char subject[AB_OBJECT_KEY_MAX];
} taking;

static void note_owner(const taking *t)
{
    ab_str owner = ab_event_attr(t->go, AB_CE_PRINCIPALUID);
    if (owner.len > 0 && !ab_compat_is_principal(t->d))
        snprintf(t->d->owner, sizeof(t->d->owner), "%.*s", AB_STR_ARG(owner));
}

static void add_part(taking *t, ab_event_draft *draft, const char *key, const char *id)
{
    ab_event_set_text(draft, AB_CE_PARTITIONKEY, key);
    ab_event_set_text(draft, AB_CE_SUBJECT, t->subject);
    ab_event_set_text(draft, AB_CE_DATASCHEMA, ab_target_name(t->target));
    ab_event_set(draft, AB_CE_RESOURCEID, ab_event_attr(t->go, AB_CE_RESOURCEID));
    ab_event_set(draft, AB_CE_EVENTID, ab_event_attr(t->go, AB_CE_EVENTID));
    ab_event_set(draft, AB_CE_PRINCIPALUID, ab_event_attr(t->go, AB_CE_PRINCIPALUID));
    note_owner(t);
    if (t->remapped)
        ab_event_set_text(draft, AB_CE_REMAPPED, "true");
    ab_event *part = ab_compat_make(t->d, draft, id);
    if (part == NULL) {
        ab_compat_fatal(t->d, "an event of the peer");
        return;
    }
    t->pending->parts[t->pending->count++] = part;
    ab_compat_report(t->d, ab_event_ref(part));
}

static void add_typed(taking *t, ab_type type, const char *key, ab_str data, const char *id)
{
    ab_event_draft draft = {.data = data};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    add_part(t, &draft, key, id);
}

/* The same request has the same name however often it comes: it is executed once. */
static void add_command(taking *t, ab_type type)
{
    char id[AB_DIGEST_HEX], key[sizeof(AB_KEY_COMMAND) + AB_DIGEST_HEX];
    ab_digest digest;
    ab_buf text = ab_buf_up_to(4096);
    ab_buf_printf(&text, "%s %.*s", ab_type_name(type),
                  AB_STR_ARG(ab_event_attr(t->go, AB_CE_EVENTID)));
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&text), &digest);
    ab_buf_fini(&text);
    if (e != AB_ERR_OK) {
        ab_compat_fatal(t->d, "a request of the peer");
        return;
    }
    ab_digest_format(&digest, id);
    snprintf(key, sizeof(key), AB_KEY_COMMAND "%s", id);
    add_typed(t, type, key, ab_buf_str(&t->text), id);
}

static ab_compat_resource *resource_of(const taking *t)
{
    ab_compat_resource *r = ab_compat_resource_for(t->d, ab_str_of(ab_object_key(t->object)));
    if (r == NULL)
        ab_compat_fatal(t->d, "a resource of the peer");
    return r;
}

/* argocd-agent's errors last until the next status. */
static void end_error(taking *t)
{
    char key[sizeof(AB_KEY_ERROR) + AB_OBJECT_KEY_MAX];
    ab_compat_resource *r = resource_of(t);
    if (r == NULL || !r->failed)
        return;
    r->failed = false;
    snprintf(key, sizeof(key), AB_KEY_ERROR "%s", r->key);
    add_typed(t, AB_TYPE_ERROR, key, AB_STR_NONE, NULL);
}

/* What the peer has of its own. */
static void note_state(const taking *t)
{
    ab_compat_resource *r = ab_compat_is_source(t->d) ? NULL : resource_of(t);
    if (r == NULL)
        return;
    r->present = t->type != AB_TYPE_DELETE;
    r->summed =
        ab_compat_checksum(ab_object_json(t->object), ab_object_kind(t->object), r->checksum);
    free(r->uid);
    r->uid = ab_str_dup(ab_object_uid(t->object));
}

static void take_state(taking *t)
{
    const char *key = ab_object_key(t->object);
    bool asks = ab_object_annotation(t->object, AB_ANN_REFRESH).len > 0;
    note_state(t);
    if (t->type == AB_TYPE_STATUS_UPDATE)
        end_error(t);
    if (t->type == AB_TYPE_DELETE) {
        add_typed(t, AB_TYPE_DELETE, key, AB_STR_NONE, NULL);
        return;
    }
    /* To an autonomous agent a principal tells requests only. */
    bool follows = ab_compat_is_principal(t->d) || strcmp(t->d->env->env->mode, "managed") == 0;
    if (follows)
        add_typed(t, t->type, key, ab_buf_str(&t->text), NULL);
    if (!ab_compat_is_principal(t->d) && t->target == AB_TARGET_APPLICATION && asks)
        add_command(t, AB_TYPE_REFRESH);
}

/* ----- objects ----- */

static const char *kind_of(ab_target target)
{
    switch (target) {
    case AB_TARGET_APPLICATION:
        return "Application";
    case AB_TARGET_APPPROJECT:
        return "AppProject";
    case AB_TARGET_REPOSITORY:
        return "Secret";
    case AB_TARGET_GPGKEY:
        return "ConfigMap";
    default:
        return NULL;
    }
}

static ab_err read_object(taking *t, ab_error *err)
{
    ab_span *doc = NULL;
    const ab_compat_edit edit = {.kind = kind_of(t->target)};
    ab_err e = ab_span_parse(ab_event_data(t->go), &doc, err);
    if (e != AB_ERR_OK)
        return e;
    ab_compat_payload(ab_span_root(doc), &edit, &t->text);
    ab_span_free(doc);
    e = ab_buf_status(&t->text);
    return e == AB_ERR_OK ? ab_object_parse(ab_buf_str(&t->text), &t->object, err) : e;
}

static bool is_remapped(const taking *t)
{
    const ab_transport_env *env = t->d->env->env;
    bool said = ab_str_is(ab_object_annotation(t->object, AB_ANN_REMAPPED), "true");
    bool own = !ab_compat_is_principal(t->d) && t->d->namespace[0] != '\0' &&
               ab_str_is(ab_object_namespace(t->object), t->d->namespace);
    return env->by_destination && t->target == AB_TARGET_APPLICATION && (said || own);
}

static void name_object(taking *t)
{
    t->remapped = is_remapped(t);
    snprintf(t->subject, sizeof(t->subject), "%.*s/%.*s",
             AB_STR_ARG(ab_object_namespace(t->object)), AB_STR_ARG(ab_object_name(t->object)));
}

static void take_object(taking *t)
{
    ab_error err = {0};
    if (read_object(t, &err) != AB_ERR_OK) {
        ab_compat_drop(t->d, "payload", t->go, &err);
        return;
    }
    if (!ab_compat_may_name(t->d, ab_str_of(ab_object_key(t->object)))) {
        ab_compat_drop(t->d, "names", t->go, NULL);
        return;
    }
    name_object(t);
    if (t->type == AB_TYPE_SET_OPERATION || t->type == AB_TYPE_TERMINATE_OPERATION)
        add_command(t, t->type);
    else
        take_state(t);
}

/* ----- errors ----- */

static ab_err read_failed(taking *t, ab_spanv said, ab_error *err)
{
    char key[AB_OBJECT_KEY_MAX];
    ab_str ns = ab_span_plain(ab_span_get(said, "resourceNamespace"));
    snprintf(key, sizeof(key), "Application/%.*s/%.*s", AB_STR_ARG(ns),
             AB_STR_ARG(ab_span_plain(ab_span_get(said, "resourceName"))));
    ab_compat_snapshot(ab_str_of(key), NULL, NULL, &t->text);
    ab_err e = ab_buf_status(&t->text);
    return e == AB_ERR_OK ? ab_object_parse(ab_buf_str(&t->text), &t->object, err) : e;
}

static void take_error(taking *t)
{
    char key[sizeof(AB_KEY_ERROR) + AB_OBJECT_KEY_MAX];
    ab_error err = {0};
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(ab_event_data(t->go), &doc, &err);
    if (e == AB_ERR_OK)
        e = read_failed(t, ab_span_root(doc), &err);
    ab_span_free(doc);
    bool named = e == AB_ERR_OK && ab_compat_may_name(t->d, ab_str_of(ab_object_key(t->object)));
    if (!named) {
        ab_compat_drop(t->d, e == AB_ERR_OK ? "names" : "payload", t->go, &err);
        return;
    }
    name_object(t);
    ab_compat_resource *r = resource_of(t);
    if (r == NULL)
        return;
    r->failed = true;
    snprintf(key, sizeof(key), AB_KEY_ERROR "%s", r->key);
    add_typed(t, AB_TYPE_ERROR, key, ab_event_data(t->go), NULL);
}

/* ----- which is it ----- */

/* What only argobus peers say to each other. */
static bool is_ours(ab_type type)
{
    return type == AB_TYPE_RELEASE || type == AB_TYPE_REFRESH || type == AB_TYPE_RESYNC ||
           type == AB_TYPE_INVENTORY || type == AB_TYPE_FRAME || type == AB_TYPE_CLOSE;
}

static bool is_allowed(const taking *t)
{
    bool up = ab_compat_is_principal(t->d);
    const char *mode = up ? t->d->mode : t->d->env->env->mode;
    const ab_catalogue_row *row = ab_catalogue_find(t->target, t->type);
    return row != NULL && !is_ours(t->type) &&
           ab_catalogue_allows(row, up ? AB_UP : AB_DOWN,
                               strcmp(mode, "autonomous") == 0 ? AB_AUTONOMOUS : AB_MANAGED);
}

static void take_allowed(taking *t)
{
    if (ab_catalogue_find(t->target, t->type)->carry == AB_CARRY_LIVE)
        ab_compat_live_take(t->d, t->go);
    else if (t->type == AB_TYPE_ERROR)
        take_error(t);
    else if (kind_of(t->target) != NULL)
        take_object(t);
    else if (t->target == AB_TARGET_RESYNC)
        ab_compat_take_resync(t->d, t->type, t->go);
    ab_object_unref(t->object);
    ab_buf_wipe(&t->text);
}

/* Acknowledged also when it cannot be used: it would only come again. */
static void take_new(taking *t)
{
    ab_compat *d = t->d;
    t->pending = pending_new(d, t->go);
    if (t->pending == NULL) {
        ab_compat_fatal(d, "an event of the peer");
        return;
    }
    ab_buf_init(&t->text, AB_EVENT_DATA_MAX);
    if (is_allowed(t))
        take_allowed(t);
    else
        ab_compat_drop(d, "type", t->go, NULL);
    if (t->pending->count > 0)
        TAILQ_INSERT_TAIL(&d->pending, t->pending, at);
    else
        TAILQ_INSERT_TAIL(&d->acked, t->pending, at);
    ab_compat_wake(d);
}

void ab_compat_take(ab_compat *d, ab_event *go)
{
    taking t = {.d = d, .go = go};
    ab_str target = ab_event_attr(go, AB_CE_DATASCHEMA);
    ab_str type = ab_event_attr(go, AB_CE_TYPE);
    bool known = ab_target_parse(target.ptr, target.len, &t.target) &&
                 ab_type_parse(type.ptr, type.len, &t.type);
    if (!known) {
        t.target = AB_TARGET_COUNT;
        t.type = AB_TYPE_COUNT;
    }
    if (t.target == AB_TARGET_EVENT_PROCESSED)
        ab_compat_acknowledged(d, go);
    else if (t.target != AB_TARGET_HEARTBEAT && !is_in(&d->pending, go) && !is_in(&d->acked, go))
        take_new(&t);
}
