/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes from an autonomous agent: its objects and their end, errors, answers to commands.
 */
#include "sync/principal/mirror/mirror_priv.h"

#include "schema/attributes.h"
#include "sync/feedback.h"
#include "sync/object/mirror.h"
#include "sync/principal/inbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- arrival --- */

static bool is_key_of(const ab_event *event, const char *prefix)
{
    return ab_str_starts(ab_event_attr(event, AB_CE_PARTITIONKEY), prefix);
}

/* What the event is, or why it is refused. */
static const char *classify(const ab_event *event, ab_target *target, ab_type *type)
{
    const char *reason = ab_task_classify(event, AB_UP, AB_AUTONOMOUS, target, type);
    if (reason != NULL)
        return reason;
    if (!ab_kind_is_mirrored(*target) && *target != AB_TARGET_EVENT_PROCESSED)
        return "unsupported";
    bool answer = *type == AB_TYPE_PROCESSED;
    return answer == is_key_of(event, AB_KEY_ACK) ? NULL : "key";
}

/* Kind and name of the agent's object: answers name it in their subject, else the key does.
 * @return NULL when it is none of this target */
static const ab_kind *source_of(const ab_event *event, ab_target target, ab_str *out)
{
    ab_str kind, ns, name;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    char text[AB_OBJECT_KEY_MAX];
    if (target == AB_TARGET_EVENT_PROCESSED) {
        ab_str subject = ab_event_attr(event, AB_CE_SUBJECT);
        snprintf(text, sizeof(text), "Application/%.*s", AB_STR_ARG(subject));
        if (ab_object_key_split(ab_str_of(text), &kind, &ns, &name) != AB_ERR_OK)
            return NULL;
        *out = (ab_str){subject.ptr + ns.len + 1, name.len};
        return &ab_kind_application;
    }
    if (is_key_of(event, AB_KEY_ERROR))
        key = (ab_str){key.ptr + sizeof(AB_KEY_ERROR) - 1, key.len - (sizeof(AB_KEY_ERROR) - 1)};
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return NULL;
    const ab_kind *row = ab_kind_of(kind);
    *out = name;
    return row != NULL && row->target == target ? row : NULL;
}

static void set_error(struct mirror *m, char *message, bool ours)
{
    free(m->error);
    m->error = message;
    m->error_ours = ours && message != NULL;
    m->applied_status = (ab_digest){0};
    m->up_to_date = false;
}

/* Another agent's object has the same place here, or had it and is not gone yet. An agent whose
 * the name is not has no place, and one that is not served none but where its mirror was left. */
static bool is_anothers(const struct mirror *m, const struct peer *peer)
{
    bool ended = m->source == MIRROR_ENDED || m->records->peer == NULL;
    bool over = ended && !m->exists && m->record.inbox.head == NULL;
    bool is_free = m->record.step == AB_STEP_IDLE && (over || !ab_mirror_has_name(m));
    return strcmp(m->agent, peer->name) != 0 && !is_free;
}

/* The place of one that is gone, or had no right to it, becomes this agent's. */
static ab_err take_over(struct mirror *m, const struct peer *peer)
{
    if (strcmp(m->agent, peer->name) == 0)
        return AB_ERR_OK;
    if (ab_mirror_enlist(m, ab_str_of(peer->name)) != AB_ERR_OK)
        return AB_ERR_NOMEM;
    ab_reconcile_abandon(&m->record);
    set_error(m, NULL, false);
    ab_mirror_set_conflict(m, false);
    m->source = MIRROR_NONE;
    m->version = (ab_version){0}; /* was another writer's */
    ab_mirror_project_changed(m->principal, ab_str_of(m->key));
    return AB_ERR_OK;
}

static const char *refuse_name(struct peer *peer, const char *key)
{
    if (ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC,
                "project refused: its name at the control plane belongs to another agent, whose "
                "name is a longer match; rename the project",
                AB_KV("agent", peer->name), AB_KV("object", key),
                AB_KV("held_back", peer->lines.held_back));
    return "taken";
}

/* What is refused is said again in the next resync, or sooner when there is room. */
static const char *refuse_more(struct peer *peer)
{
    if (!peer->refused_more && ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC,
                "the agent publishes more objects than are mirrored; more are mirrored when "
                "others are deleted, or with a higher sync.max-mirrors",
                AB_KV("agent", peer->name),
                AB_KV("max_mirrors", (int64_t)peer->principal->env.mirrors_max),
                AB_KV("held_back", peer->lines.held_back));
    peer->refused_more = true;
    return "limit";
}

/* An end does not: an agent could name what never was, and each name would be remembered. What is
 * here, as the store shows, is known also where principal.data was lost. */
static bool makes_mirror(ab_type type)
{
    return type != AB_TYPE_PROCESSED && type != AB_TYPE_ERROR && type != AB_TYPE_DELETE;
}

static const char *take(struct peer *peer, ab_event *event, void *delivery, ab_target target,
                        ab_type type)
{
    ab_principal *p = peer->principal;
    char key[AB_OBJECT_KEY_MAX];
    ab_task task = {.event = event, .delivery = delivery, .type = type};
    ab_str name;
    const ab_kind *kind = source_of(event, target, &name);
    if (!ab_principal_read_version(p, event, &task.version))
        return "version";
    if (kind == NULL)
        return "key";
    if (ab_mirror_key(kind, peer->name, name, p->env.namespace, key) != AB_ERR_OK)
        return "name";
    if (type != AB_TYPE_DELETE && !ab_mirror_may_have(p, ab_str_of(peer->name), ab_str_of(key)))
        return refuse_name(peer, key);
    struct mirror *m = ab_map_find(p->mirrors, ab_str_of(key));
    if (m == NULL && !makes_mirror(type))
        return ab_principal_take_stray(peer, event, delivery, type, key);
    if (m != NULL && is_anothers(m, peer))
        return type == AB_TYPE_DELETE ? ab_principal_take_stray(peer, event, delivery, type, key)
                                      : "taken";
    if (m == NULL && !ab_mirror_has_room(peer->records))
        return refuse_more(peer);
    if (m == NULL)
        m = ab_mirror_for(p, ab_str_of(key), ab_str_of(peer->name));
    if (m == NULL || take_over(m, peer) != AB_ERR_OK)
        return "memory";
    return ab_reconcile_deliver(&m->record, &task) == AB_ERR_OK ? NULL : "memory";
}

/* The end of what was no publication: of a report, when the agent was managed, or of what it has
 * handed over. */
static bool ends_other(const ab_event *event)
{
    ab_str type = ab_event_attr(event, AB_CE_TYPE);
    return ab_str_is(type, ab_type_name(AB_TYPE_STATUS_UPDATE)) ||
           ab_str_is(type, ab_type_name(AB_TYPE_RELEASE));
}

/* What a tombstone means depends on the key that it ends. @return false when it means nothing */
static bool tombstone(const ab_event *event, ab_target *target, ab_type *type)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (ends_other(event))
        return false;
    *type = AB_TYPE_DELETE;
    if (is_key_of(event, AB_KEY_ERROR)) {
        *type = AB_TYPE_ERROR;
        key = (ab_str){key.ptr + sizeof(AB_KEY_ERROR) - 1, key.len - (sizeof(AB_KEY_ERROR) - 1)};
    }
    const ab_kind *kind = ab_kind_of_key(key);
    if (kind != NULL)
        *target = kind->target;
    return kind != NULL && kind->mirroring != AB_NOT_MIRRORED;
}

void ab_mirror_take(struct peer *peer, ab_event *event, void *delivery)
{
    ab_target target;
    ab_type type;
    const char *reason = NULL;
    if (ab_event_data(event).ptr != NULL) {
        reason = classify(event, &target, &type);
    } else if (!tombstone(event, &target, &type)) {
        ab_principal_ack(peer->principal, delivery);
        return;
    }
    if (reason == NULL)
        reason = take(peer, event, delivery, target, type);
    if (reason != NULL)
        ab_principal_refuse_delivery(peer, event, delivery, reason);
}

/* --- the head task: state --- */

static void save(struct mirror *m, enum mirror_source next, const ab_received_state *received)
{
    m->next = next;
    m->next_hash = received->hash;
    ab_err e = ab_str_replace(&m->next_uid, received->uid);
    if (e == AB_ERR_OK)
        ab_reconcile_save(&m->record, received);
    else
        ab_reconcile_fail(&m->record, e, NULL);
}

static ab_received_state row_of(const struct mirror *m)
{
    return (ab_received_state){.version = m->record.inbox.head->version,
                               .owner = ab_str_of(m->agent),
                               .owned = ab_str_of(m->made)};
}

/* Takes the payload, if it is the object that the key names. */
static ab_err parse_published(const ab_event *event, ab_object **out, ab_error *err)
{
    ab_err e = ab_object_parse(ab_event_data(event), out, err);
    if (e != AB_ERR_OK)
        return e;
    bool named = ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), ab_object_key(*out));
    if (named && ab_object_uid(*out).len > 0)
        return AB_ERR_OK;
    e = ab_fail(err, AB_ERR_INVALID,
                named ? "the object in the event has no uid" : "it is another object");
    ab_object_unref(*out);
    return e;
}

static void refuse_publication(const struct mirror *m, const ab_event *event, const ab_error *err)
{
    struct peer *peer = ab_mirror_peer(m);
    if (peer == NULL)
        return;
    if (ab_principal_may_log(peer))
        AB_WARN(m->principal->env.log, SYNC, "cannot use the published object",
                AB_KV("agent", m->agent), AB_KV("object", m->key), AB_KV("why", err->text),
                AB_KV("held_back", peer->lines.held_back));
    ab_principal_refuse(peer, event, "payload");
}

static void begin_publication(struct mirror *m, const ab_task *t)
{
    ab_error err = {0};
    ab_object *source;
    if (parse_published(t->event, &source, &err) != AB_ERR_OK) {
        refuse_publication(m, t->event, &err);
        ab_reconcile_finish_head(&m->record);
        return;
    }
    ab_received_state row = row_of(m);
    row.uid = ab_object_uid(source);
    row.desired = ab_event_data(t->event);
    row.hash = ab_event_content_hash(t->event);
    save(m, MIRROR_LIVE, &row);
    ab_object_unref(source);
}

static void begin_state(struct mirror *m, const ab_task *t)
{
    if (!ab_reconcile_is_newer(&m->record, m->version))
        return;
    if (t->type == AB_TYPE_DELETE) {
        ab_received_state row = row_of(m);
        row.ended = true;
        row.uid = ab_str_of(m->uid);
        save(m, MIRROR_ENDED, &row);
    } else {
        begin_publication(m, t);
    }
}

void ab_mirror_take_effect(struct mirror *m)
{
    m->version = m->record.inbox.head->version;
    m->source = m->next;
    m->hash = m->next_hash;
    free(m->uid);
    m->uid = m->next_uid;
    m->next_uid = NULL;
    m->applied = m->applied_status = (ab_digest){0};
    m->up_to_date = false;
    m->record.inbox.failing_since = 0;
    if (m->error_ours) /* gone with the next change */
        set_error(m, NULL, false);
}

/* --- the head task: errors and answers --- */

static void begin_error(struct mirror *m, const ab_task *t)
{
    struct peer *peer = ab_mirror_peer(m);
    char *message = ab_feedback_text(t->event, "message", "");
    if (message != NULL && peer != NULL && ab_principal_may_log(peer))
        AB_WARN(m->principal->env.log, SYNC, "agent reported an error", AB_KV("agent", m->agent),
                AB_KV("object", m->key), AB_KV("why", message),
                AB_KV("held_back", peer->lines.held_back));
    set_error(m, message, false);
    m->error_hash = ab_event_content_hash(t->event);
    ab_reconcile_finish_head(&m->record);
}

static void begin_answer(struct mirror *m, ab_task *t)
{
    struct peer *peer = ab_mirror_peer(m);
    ab_str id = ab_principal_answered_id(t->event);
    if (peer == NULL || !ab_writer_is_ready(peer->writer)) {
        ab_reconcile_wait(&m->record);
        return;
    }
    char *why = ab_feedback_text(t->event, "error", "the agent refused the request: ");
    struct request *r = ab_requests_answered(&m->requests, id, t->version);
    if (r != NULL) {
        r->refused = why != NULL;
        m->up_to_date = false;
    }
    if (r != NULL && why != NULL)
        set_error(m, why, true);
    else
        free(why);
    if (ab_principal_end_command(peer, ab_str_of(m->key), id, t->delivery) == AB_ERR_OK)
        t->delivery = NULL;
    ab_reconcile_finish_head(&m->record);
}

void ab_mirror_begin(struct mirror *m, ab_task *head)
{
    if (head->type == AB_TYPE_PROCESSED)
        begin_answer(m, head);
    else if (head->type == AB_TYPE_ERROR)
        begin_error(m, head);
    else
        begin_state(m, head);
}
