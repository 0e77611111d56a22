/* SPDX-License-Identifier: Apache-2.0
 *
 * Events from the principal: checked, put in order per object, coalesced.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <string.h>

/* The key of the local object an event is about. Commands name it in their subject, state in its
 * key. */
static ab_err local_key(const ab_agent *a, const ab_event *event, ab_target target, bool command,
                        char out[AB_OBJECT_KEY_MAX])
{
    char from[AB_OBJECT_KEY_MAX];
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (command) {
        ab_str subject = ab_event_attr(event, AB_CE_SUBJECT);
        snprintf(from, sizeof(from), "Application/%.*s", AB_STR_ARG(subject));
        key = ab_str_of(from);
    }
    return ab_agent_local_key(a, key, target, ab_agent_is_remapped(a, event), out);
}

/* What the event is, or why it is refused. */
static const char *classify(const ab_agent *a, const ab_event *event, ab_target *target,
                            ab_type *type)
{
    bool autonomous = ab_agent_is_autonomous(a);
    const char *reason =
        ab_task_classify(event, AB_DOWN, autonomous ? AB_AUTONOMOUS : AB_MANAGED, target, type);
    return reason == NULL && autonomous && !ab_task_is_command(*type) ? "not_allowed" : reason;
}

/* The principal has read our answer and ended its command: our answer is no longer needed either.
 */
static ab_err end_answer(ab_agent *a, const ab_event *end, void *delivery)
{
    ab_str key = ab_event_attr(end, AB_CE_PARTITIONKEY);
    char object[AB_OBJECT_KEY_MAX];
    char answer[sizeof(AB_KEY_ACK) + AB_EVENT_ATTR_NAME_MAX];
    size_t skip = sizeof(AB_KEY_COMMAND) - 1;
    snprintf(answer, sizeof(answer), AB_KEY_ACK "%.*s", (int)(key.len - skip), key.ptr + skip);
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    if (ab_agent_is_remapped(a, end))
        ab_event_set_text(&draft, AB_CE_REMAPPED, "true");
    /* Behind the answer, should that still be on its way. */
    ab_str lane;
    if (local_key(a, end, AB_TARGET_APPLICATION, true, object) == AB_ERR_OK)
        lane = ab_str_of(object);
    else
        lane = ab_outbox_lane_of(ab_writer_outbox(a->writer), ab_str_of(answer));
    ab_err e = ab_writer_end(a->writer, ab_str_of(answer),
                             lane.ptr == NULL ? ab_str_of(answer) : lane, &draft, delivery);
    ab_agent_wake(a);
    return e;
}

static ab_err deliver_command_end(ab_agent *a, ab_event *event, void *delivery)
{
    void *superseded;
    if (ab_writer_is_ready(a->writer))
        return end_answer(a, event, delivery);
    ab_task task = {.event = event, .delivery = delivery, .begun = true};
    return ab_inbox_push(&a->early, &task, &superseded);
}

void ab_agent_deliver_early(ab_agent *a)
{
    while (a->early.head != NULL) {
        ab_event *event = ab_event_ref(a->early.head->event);
        void *delivery = ab_inbox_pop(&a->early);
        if (end_answer(a, event, delivery) != AB_ERR_OK)
            ab_agent_ack(a, delivery);
        ab_event_unref(event);
    }
}

/* What is being deleted and was never here is gone: the principal need not wait for the other one.
 */
static bool is_gone(const ab_agent_object *o, const ab_event *event)
{
    ab_object *desired = NULL;
    if (ab_object_parse(ab_event_data(event), &desired, NULL) != AB_ERR_OK)
        return false;
    bool deleting = ab_object_deleting(desired);
    ab_object_unref(desired);
    return deleting && ab_agent_is_elsewhere(o, ab_agent_source_uid(event));
}

/* A state of another source than the one that stands here: it is not followed. @return why */
static const char *refuse_conflict(ab_agent_object *o, const ab_event *event, ab_error *err)
{
    bool desired = ab_event_data(event).ptr != NULL;
    o->conflict.state = !desired            ? CONFLICT_ENDED
                        : is_gone(o, event) ? CONFLICT_GONE
                                            : CONFLICT_REFUSED;
    o->conflict.waits = desired;
    o->conflict.remapped = ab_agent_is_remapped(o->agent, event);
    if (!desired && o->conflict.remapped == o->remapped)
        o->conflict.state = CONFLICT_NONE; /* the hub's own namespace has changed */
    ab_agent_report_conflict(o);
    (void)ab_fail(err, AB_ERR_DENIED,
                  "the workload cluster already has another Application of the control plane under "
                  "this name");
    return "taken";
}

/* Give an accepted event to its object. @return why it is refused, NULL when it is not */
static const char *give(ab_agent *a, ab_target target, ab_task *task, ab_error *err)
{
    char key[AB_OBJECT_KEY_MAX];
    bool command = ab_task_is_command(task->type);
    if (ab_version_of(task->event, &task->version, err) != AB_ERR_OK)
        return "version";
    if (local_key(a, task->event, target, command, key) != AB_ERR_OK) {
        (void)ab_fail(err, AB_ERR_INVALID, "key or subject does not name an object of this agent");
        return "key";
    }
    ab_agent_object *o = ab_agent_object_for(a, ab_str_of(key));
    if (o == NULL)
        return "memory";
    bool newer_state = !command && ab_version_cmp(task->version, o->version) > 0;
    if (newer_state && ab_agent_is_anothers(o, task->event))
        return refuse_conflict(o, task->event, err);
    if (newer_state && !ab_agent_has_source(o))
        o->remapped = ab_agent_is_remapped(a, task->event);
    if (!command)
        ab_agent_note_replayed(o, task);
    return ab_reconcile_deliver(&o->record, task) == AB_ERR_OK ? NULL : "memory";
}

static bool is_release(const ab_event *event)
{
    return ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_RELEASE));
}

void ab_agent_deliver(ab_agent *a, ab_event *event, void *delivery)
{
    ab_target target;
    ab_error err = {0};
    ab_task task = {.event = event, .delivery = delivery};
    const char *reason;
    if (ab_resync_is_about(event)) {
        ab_resync_take(&a->resync.engine, event);
        ab_agent_ack(a, delivery);
        return;
    }
    bool ends_command = ab_event_data(event).ptr == NULL &&
                        ab_str_starts(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_COMMAND);
    if (ends_command) {
        reason = deliver_command_end(a, event, delivery) == AB_ERR_OK ? NULL : "memory";
    } else if (ab_agent_is_autonomous(a) && is_release(event)) {
        ab_agent_ack(a, delivery); /* it is ours already */
        return;
    } else {
        reason = classify(a, event, &target, &task.type);
        if (reason == NULL)
            reason = give(a, target, &task, &err);
    }
    if (reason == NULL)
        return;
    ab_agent_note_refused(a, event, reason, err.text);
    /* Short of memory it is not dealt with: unacknowledged, it comes again after a restart. */
    if (strcmp(reason, "memory") != 0)
        ab_agent_ack(a, delivery);
}
