/* SPDX-License-Identifier: Apache-2.0
 *
 * What the link sends, as argocd-agent says it.
 */
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* ----- one event ----- */

static ab_compat_item *new_item(ab_event *event, ab_target target, ab_type type)
{
    ab_compat_item *item = calloc(1, sizeof(*item));
    if (item == NULL)
        return NULL;
    item->event = ab_event_ref(event);
    if (ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &item->epoch) != AB_ERR_OK ||
        ab_event_attr_u64(event, AB_CE_OBJVERSION, &item->version) != AB_ERR_OK)
        item->epoch = item->version = 0; /* the link lets no such state in */
    item->go.target = target;
    item->go.type = type;
    ab_buf_init(&item->data, AB_EVENT_DATA_MAX);
    return item;
}

/* argocd-agent tells whose an object is with all but the start of an operation and GPG keys. */
static bool has_owner(const ab_go_event *go)
{
    return go->type != AB_TYPE_SET_OPERATION && go->target != AB_TARGET_GPGKEY;
}

static void copy_attributes(ab_go_event *go, const ab_event *event)
{
    snprintf(go->subject, sizeof(go->subject), "%.*s",
             AB_STR_ARG(ab_event_attr(event, AB_CE_SUBJECT)));
    if (has_owner(go))
        snprintf(go->principaluid, sizeof(go->principaluid), "%.*s",
                 AB_STR_ARG(ab_event_attr(event, AB_CE_PRINCIPALUID)));
}

/* Where the object is at the peer, if not where it is here. */
static const char *namespace_of(const ab_compat *d, const ab_event *event)
{
    bool remapped = ab_str_is(ab_event_attr(event, AB_CE_REMAPPED), "true");
    return remapped && !ab_compat_is_principal(d) && d->namespace[0] != '\0' ? d->namespace : NULL;
}

static void note_uid(ab_compat_resource *r, ab_str uid)
{
    if (uid.len == 0 || (r->uid != NULL && ab_str_is(uid, r->uid)))
        return;
    free(r->uid);
    r->uid = ab_str_dup(uid);
}

static void name_item(ab_compat_item *item, ab_compat_resource *r, ab_spanv metadata)
{
    ab_str version = ab_span_plain(ab_span_get(metadata, "resourceVersion"));
    ab_str uid = ab_span_plain(ab_span_get(metadata, "uid"));
    note_uid(r, uid);
    if (version.len == 0)
        version = ab_event_attr(item->event, AB_CE_OBJVERSION);
    ab_compat_name(&item->go, ab_span_plain(ab_span_get(metadata, "name")), uid, version);
}

static ab_err fill(const ab_compat *d, ab_compat_item *item, ab_compat_resource *r, ab_error *err)
{
    ab_span *doc = NULL;
    const ab_compat_edit edit = {.drop_operation = item->go.type == AB_TYPE_SPEC_UPDATE &&
                                                   item->go.target == AB_TARGET_APPLICATION &&
                                                   ab_compat_is_principal(d),
                                 .namespace = namespace_of(d, item->event)};
    ab_err e = ab_span_parse(ab_event_data(item->event), &doc, err);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv root = ab_span_root(doc);
    if (ab_span_present(ab_span_get(root, "sealed"))) {
        ab_span_free(doc);
        return ab_fail(err, AB_ERR_DENIED,
                       "it is sealed, and argocd-agent cannot open seals: if it may travel "
                       "unsealed inside TLS, set secrets: clear for this agent in option agents");
    }
    copy_attributes(&item->go, item->event);
    name_item(item, r, ab_span_get(root, "metadata"));
    ab_compat_payload(root, &edit, &item->data);
    item->summed =
        ab_compat_checksum(root, ab_span_plain(ab_span_get(root, "kind")), item->checksum);
    ab_span_free(doc);
    return ab_buf_status(&item->data);
}

static void put(ab_compat *d, ab_compat_resource *r, ab_event *event, ab_target target,
                ab_type type, bool newest)
{
    ab_error err = {0};
    ab_compat_item *item = new_item(event, target, type);
    if (item == NULL) {
        ab_compat_fatal(d, "an event for the peer");
        return;
    }
    item->newest = newest;
    if (fill(d, item, r, &err) == AB_ERR_OK) {
        ab_compat_put(d, r, item, false);
        return;
    }
    ab_compat_drop(d, "payload", event, &err);
    ab_compat_acknowledge(d, event);
    ab_compat_item_free(item);
}

/* ----- an object's end ----- */

static void put_end(ab_compat *d, ab_compat_resource *r, ab_event *event, ab_target target)
{
    ab_str kind, ns, name;
    ab_compat_item *item = new_item(event, target, AB_TYPE_DELETE);
    if (item == NULL || ab_object_key_split(ab_str_of(r->key), &kind, &ns, &name) != AB_ERR_OK) {
        ab_compat_fatal(d, "the end of an object");
        return;
    }
    copy_attributes(&item->go, event);
    ab_compat_name(&item->go, name, ab_str_of(r->uid), ab_event_attr(event, AB_CE_OBJVERSION));
    ab_compat_snapshot(ab_str_of(r->key), r->uid, namespace_of(d, event), &item->data);
    ab_compat_put(d, r, item, true);
}

/* ----- which is it ----- */

/* Requests are about the object that their subject names: they keep their place in its order. */
static void carry_command(ab_compat *d, ab_event *event, ab_type type)
{
    char key[AB_OBJECT_KEY_MAX];
    snprintf(key, sizeof(key), "Application/%.*s", AB_STR_ARG(ab_event_attr(event, AB_CE_SUBJECT)));
    ab_compat_resource *r = ab_compat_resource_for(d, ab_str_of(key));
    if (r == NULL)
        ab_compat_fatal(d, "a request");
    else
        put(d, r, event, AB_TARGET_APPLICATION,
            type == AB_TYPE_REFRESH ? AB_TYPE_SPEC_UPDATE : type, false);
}

/* What argocd-agent's own state push sends: it makes and updates. A create of what is there already
 * is an error to it. */
static ab_type type_told(ab_target target, ab_type type)
{
    return target != AB_TARGET_APPLICATION && type == AB_TYPE_CREATE ? AB_TYPE_SPEC_UPDATE : type;
}

static void carry_object(ab_compat *d, ab_event *event, ab_target target, ab_type type)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    ab_compat_resource *r = ab_compat_resource_for(d, key);
    bool follows = ab_compat_is_source(d) || !ab_compat_is_principal(d);
    if (!follows) /* an autonomous agent's objects are its own */
        ab_compat_acknowledge(d, event);
    else if (r == NULL)
        ab_compat_fatal(d, "an object");
    else if (ab_event_data(event).ptr == NULL)
        put_end(d, r, event, target);
    else
        put(d, r, event, target, type_told(target, type), true);
}

/* argocd-agent knows of errors of Applications only. */
static void carry_error(ab_compat *d, ab_event *event, ab_target target)
{
    char id[37];
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    bool said = ab_event_data(event).ptr != NULL && target == AB_TARGET_APPLICATION;
    ab_compat_resource *r = said ? ab_compat_resource_for(d, key) : NULL;
    ab_compat_item *item = said ? new_item(event, target, AB_TYPE_ERROR) : NULL;
    if (!said) {
        ab_compat_acknowledge(d, event);
        return;
    }
    if (r == NULL || item == NULL || ab_uuid(id) != AB_ERR_OK) {
        ab_compat_item_free(item);
        ab_compat_fatal(d, "an error");
        return;
    }
    copy_attributes(&item->go, event);
    snprintf(item->go.resourceid, sizeof(item->go.resourceid), "%s", id);
    snprintf(item->go.eventid, sizeof(item->go.eventid), "%s", id);
    ab_buf_put(&item->data, ab_event_data(event));
    item->newest = true;
    ab_compat_put(d, r, item, false);
}

/* It is answered by an acknowledgement there; here the one who asks ends it. */
static void end_command(ab_compat *d, const ab_event *answer)
{
    ab_str key = ab_event_attr(answer, AB_CE_PARTITIONKEY);
    char command[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX];
    size_t skip = sizeof(AB_KEY_ACK) - 1;
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.*s", (int)(key.len - skip),
             key.ptr + skip);
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SET_OPERATION));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set(&draft, AB_CE_SUBJECT, ab_event_attr(answer, AB_CE_SUBJECT));
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, command);
    ab_compat_report(d, ab_compat_make(d, &draft, NULL));
}

static void take_answer(ab_compat *d, const ab_event *answer)
{
    ab_compat_acknowledge(d, answer);
    if (ab_event_data(answer).ptr != NULL)
        end_command(d, answer);
}

static bool is_carried(const ab_event *event, ab_target *target, ab_type *type)
{
    ab_str target_name = ab_event_attr(event, AB_CE_DATASCHEMA);
    ab_str type_name = ab_event_attr(event, AB_CE_TYPE);
    return ab_target_parse(target_name.ptr, target_name.len, target) &&
           ab_type_parse(type_name.ptr, type_name.len, type) && *type != AB_TYPE_RELEASE;
}

void ab_compat_carry(ab_compat *d, ab_event *event)
{
    ab_target target;
    ab_type type;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    bool has_data = ab_event_data(event).ptr != NULL;
    if (ab_str_starts(key, AB_KEY_ACK))
        take_answer(d, event);
    else if (ab_str_starts(key, AB_KEY_CONTROL))
        ab_compat_take_control(d, event);
    else if (!is_carried(event, &target, &type))
        ab_compat_acknowledge(d, event);
    else if (ab_str_starts(key, AB_KEY_ERROR))
        carry_error(d, event, target);
    else if (!ab_str_starts(key, AB_KEY_COMMAND))
        carry_object(d, event, target, type);
    else if (has_data)
        carry_command(d, event, type);
    else
        ab_compat_acknowledge(d, event);
}
