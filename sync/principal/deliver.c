/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that arrive from an agent: which of them mean something, and what they are about.
 */
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <string.h>

static const char *classify(const ab_event *event, ab_type *type)
{
    ab_target target;
    const char *reason = ab_task_classify(event, AB_UP, AB_MANAGED, &target, type);
    if (reason != NULL)
        return reason;
    bool supported = target == ab_kind_application.target || target == AB_TARGET_EVENT_PROCESSED;
    return supported ? NULL : "unsupported";
}

/* The name of the Application that the event is about, from its subject "<namespace>/<name>". */
static ab_str subject_name(const ab_event *event)
{
    ab_str subject = ab_event_attr(event, AB_CE_SUBJECT);
    const char *slash = subject.ptr == NULL ? NULL : memchr(subject.ptr, '/', subject.len);
    if (slash == NULL)
        return AB_STR_NONE;
    ab_str name = {slash + 1, subject.len - (size_t)(slash + 1 - subject.ptr)};
    return ab_str_is_dns_subdomain(name) ? name : AB_STR_NONE;
}

/* What a tombstone means depends on the key that it ends. @return false when it means nothing to us
 */
static bool tombstone_type(const ab_event *event, ab_type *type)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_RELEASE)))
        return false; /* of the time when the agent was autonomous */
    if (ab_str_starts(key, AB_KEY_ERROR))
        *type = AB_TYPE_ERROR;
    else if (ab_str_starts(key, "Application/"))
        *type = AB_TYPE_DELETE;
    else
        return false;
    return true;
}

/* The object of the hub that the event is about. @return false when it names none */
static bool name_object(const struct peer *peer, const ab_event *event, char key[AB_OBJECT_KEY_MAX])
{
    const ab_principal_env *env = &peer->principal->env;
    ab_str subject = ab_event_attr(event, AB_CE_SUBJECT);
    ab_str name = subject_name(event);
    if (name.ptr == NULL)
        return false;
    ab_str ns = {subject.ptr, subject.len - name.len - 1};
    if (!env->destination_mapping)
        ns = ab_str_of(peer->name);
    else if (ab_str_is(ab_event_attr(event, AB_CE_REMAPPED), "true"))
        ns = ab_str_of(env->namespace);
    if (!ab_str_is_dns_label(ns))
        return false;
    snprintf(key, AB_OBJECT_KEY_MAX, "Application/%.*s/%.*s", AB_STR_ARG(ns), AB_STR_ARG(name));
    return true;
}

/* A state of an Application that is not, or no more, the sender's. */
static void note_dropped(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    peer->resync.dropped = peer->resync.dropped || !p->synced;
    ab_metric_add(p->reconciler.metrics.stale, 1);
}

static const char *take(struct peer *peer, ab_event *event, void *delivery, ab_type type)
{
    char key[AB_OBJECT_KEY_MAX];
    ab_task task = {.event = event, .delivery = delivery, .type = type};
    if (!ab_principal_read_version(peer->principal, event, &task.version))
        return "version";
    if (!name_object(peer, event, key))
        return "subject";
    if (type == AB_TYPE_PROCESSED &&
        !ab_str_starts(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_ACK))
        return "key";
    ab_principal_app *app = ab_principal_find(peer->principal, ab_str_of(key));
    if (app != NULL && app->peer == peer)
        return ab_reconcile_deliver(&app->record, &task) == AB_ERR_OK ? NULL : "memory";
    if (type != AB_TYPE_PROCESSED)
        note_dropped(peer);
    return ab_principal_take_stray(peer, event, delivery, type, key);
}

void ab_principal_take(struct peer *peer, ab_event *event, void *delivery)
{
    ab_type type;
    const char *reason = NULL;
    if (ab_resync_is_about(event)) {
        ab_resync_take(&peer->resync.turn.resync, event);
        ab_principal_ack(peer->principal, delivery);
        return;
    }
    if (peer->mode == AB_AUTONOMOUS) {
        ab_mirror_take(peer, event, delivery);
        return;
    }
    if (ab_principal_shared_is_error(event)) {
        ab_principal_shared_note_error(peer, event);
        ab_principal_ack(peer->principal, delivery);
        return;
    }
    if (ab_event_data(event).ptr == NULL) {
        if (!tombstone_type(event, &type)) {
            ab_principal_ack(peer->principal, delivery);
            return;
        }
    } else {
        reason = classify(event, &type);
    }
    if (reason == NULL)
        reason = take(peer, event, delivery, type);
    if (reason != NULL)
        ab_principal_refuse_delivery(peer, event, delivery, reason);
}

void ab_principal_deliver(ab_principal *p, const char *agent, ab_event *event, void *delivery)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        ab_principal_ack(p, delivery);
    else if (p->listed && peer->mode != 0)
        ab_principal_take(peer, event, delivery);
    else if (ab_principal_hold(peer, event, delivery) != AB_ERR_OK)
        ab_principal_refuse(peer, event, "memory");
}
