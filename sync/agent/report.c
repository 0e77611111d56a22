/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent says upwards: state, errors, answers to commands.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/feedback.h"

#include <stdio.h>
#include <stdlib.h>

#define STATUS_WAIT_MS   30000
#define REFUSAL_SHOWN_MS 10000

/* What goes up under one key. */
struct report {
    ab_str key;
    ab_str lane;
    ab_target target;
    ab_type type;
    bool remapped;
    void *token;
};

/* Queue a small JSON document as state; unchanged content is not sent again. */
static void state_up(ab_agent_object *o, const struct report *s, ab_buf *data)
{
    ab_event_draft draft;
    ab_digest digest;
    char subject[AB_OBJECT_KEY_MAX];
    ab_err e = ab_buf_status(data);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(data), &digest);
    if (e == AB_ERR_OK) {
        ab_agent_name_event(o, s->remapped, &draft, s->target, s->type, subject);
        draft.data = ab_buf_str(data);
        e = ab_writer_state(o->agent->writer, s->key, s->lane, &draft, &digest, s->token);
    }
    ab_buf_fini(data);
    ab_agent_sent(o, e);
}

void ab_agent_report_error(ab_agent_object *o, const ab_error *err)
{
    free(o->error);
    o->error = err == NULL ? NULL : ab_str_dup(ab_str_of(err->text));
    o->unsent = (ab_digest){0};
    ab_agent_repeat_error(o);
}

void ab_agent_error_key(const ab_agent_object *o, bool remapped, char out[AB_ERROR_KEY_MAX])
{
    snprintf(out, AB_ERROR_KEY_MAX, "%s%s", remapped ? AB_KEY_ERROR_REMAPPED : AB_KEY_ERROR,
             o->key);
}

/* What keeps a source of this object from being as desired; NULL: nothing does. */
static void send_error(ab_agent_object *o, bool remapped, const char *message)
{
    char key[AB_ERROR_KEY_MAX];
    ab_str kind, ns, name;
    ab_agent_error_key(o, remapped, key);
    if (message == NULL) {
        ab_agent_end_key(o, ab_str_of(key), AB_TYPE_ERROR, remapped);
        return;
    }
    if (!ab_writer_is_ready(o->agent->writer) ||
        ab_object_key_split(ab_str_of(o->key), &kind, &ns, &name) != AB_ERR_OK)
        return;
    ab_buf data = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    (void)ab_feedback_error(name, ns, message, &data); /* `data` keeps the error */
    const struct report s = {.key = ab_str_of(key),
                             .lane = ab_str_of(key),
                             .target = o->kind->target,
                             .type = AB_TYPE_ERROR,
                             .remapped = remapped};
    state_up(o, &s, &data);
}

void ab_agent_end_error(ab_agent_object *o)
{
    char key[AB_ERROR_KEY_MAX];
    ab_agent_error_key(o, o->remapped, key);
    (void)ab_agent_end_anyway(o, ab_str_of(key), AB_TYPE_ERROR, o->remapped);
}

void ab_agent_repeat_error(ab_agent_object *o)
{
    send_error(o, o->remapped, o->error);
}

void ab_agent_report_conflict(ab_agent_object *o)
{
    char key[AB_ERROR_KEY_MAX];
    if (o->conflict.state == CONFLICT_NONE || !ab_writer_is_ready(o->agent->writer))
        return;
    ab_agent_error_key(o, o->conflict.remapped, key);
    ab_writer_repeat(o->agent->writer, ab_str_of(key)); /* our log may have it of a former object */
    /* The key of its report is the other one's. */
    if (o->conflict.state == CONFLICT_GONE)
        (void)ab_agent_end_anyway(o, ab_str_of(key), AB_TYPE_STATUS_UPDATE, o->conflict.remapped);
    else
        send_error(
            o, o->conflict.remapped,
            o->conflict.state == CONFLICT_ENDED
                ? NULL
                : "the agent already has an Application of this name from another namespace of "
                  "the control plane: rename one, or delete the other and then change this one");
    o->conflict.state = CONFLICT_NONE;
}

void ab_agent_note_conflict(ab_agent_object *o, bool remapped)
{
    o->conflict.state = CONFLICT_REFUSED;
    o->conflict.waits = true;
    o->conflict.remapped = remapped;
    ab_agent_report_conflict(o);
}

/* It has nothing that the principal would want to know. */
static bool is_bare(const ab_object *local)
{
    return ab_object_annotation(local, AB_ANN_LAST_OPERATION).ptr == NULL &&
           ab_object_annotation(local, AB_ANN_LAST_REFRESH).ptr == NULL &&
           ab_span_count(ab_object_field(local, "status")) == 0 &&
           !ab_span_present(ab_object_field(local, "operation"));
}

/* What was just made has no status yet, and Argo CD is about to give it one. */
static bool waits_for_status(ab_agent_object *o, const ab_object *local)
{
    int64_t now = ab_clock_mono_ms(o->agent->env.clock);
    if (!o->report_waits || !is_bare(local))
        return false;
    if (o->record.rest_at == 0)
        o->record.rest_at = now + STATUS_WAIT_MS;
    return now < o->record.rest_at;
}

void ab_agent_report_again(ab_agent_object *o)
{
    ab_writer_repeat(o->agent->writer, ab_str_of(o->key));
    o->report_due = true;
    o->report_waits = false;
    o->record.rest_at = 0;
}

void ab_agent_report_later(ab_agent_object *o)
{
    ab_agent_report_again(o);
    o->record.rest_at = ab_clock_mono_ms(o->agent->env.clock) + REFUSAL_SHOWN_MS;
}

/* What the object has to say was queued: if it is not what could not be sent, that error is over.
 */
static void note_said(ab_agent_object *o)
{
    if (!ab_digest_is_none(&o->unsent) && !ab_digest_eq(&o->unsent, &o->report))
        ab_agent_report_error(o, NULL);
}

void ab_agent_report_state(ab_agent_object *o, const ab_object *local)
{
    o->report_due = false;
    if (ab_agent_publishes(o)) {
        ab_agent_publish(o, local);
        note_said(o);
        return;
    }
    if (!o->kind->reports || ab_object_annotation(local, AB_ANN_SOURCE_UID).len == 0)
        return; /* not ours to tell about */
    if (waits_for_status(o, local)) {
        o->report_due = o->report_empty = true;
        return;
    }
    o->report_waits = false;
    o->record.rest_at = 0;
    ab_buf data = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    o->report_empty = ab_span_count(ab_object_field(local, "status")) == 0;
    if (ab_app_report(local, &data) != AB_ERR_OK ||
        ab_digest_of(ab_buf_str(&data), &o->report) != AB_ERR_OK ||
        !ab_writer_is_ready(o->agent->writer)) {
        ab_buf_fini(&data);
        return;
    }
    const struct report s = {.key = ab_str_of(o->key),
                             .lane = ab_str_of(o->key),
                             .target = o->kind->target,
                             .type = AB_TYPE_STATUS_UPDATE,
                             .remapped = o->remapped};
    state_up(o, &s, &data);
    note_said(o);
}

void ab_agent_command_answer(ab_agent_object *o, const char *why)
{
    /* Our log went meanwhile: the command is taken up again when there is one, and only answered.
     */
    if (!ab_writer_is_ready(o->agent->writer))
        return;
    ab_str id = ab_event_attr(o->record.inbox.head->event, AB_CE_ID);
    char key[sizeof(AB_KEY_ACK) + AB_EVENT_ATTR_NAME_MAX];
    snprintf(key, sizeof(key), AB_KEY_ACK "%.*s", AB_STR_ARG(id));
    if (why != NULL && ab_agent_may_log(o->agent))
        AB_WARN(o->agent->env.log, SYNC, "command refused", AB_KV("object", o->key),
                AB_KV("why", why), AB_KV("held_back", o->agent->lines.held_back));
    ab_buf data = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    (void)ab_feedback_answer(id, why, &data); /* `data` keeps the error */
    bool remapped = ab_agent_is_remapped(o->agent, o->record.inbox.head->event);
    /* Whoever asks again has not heard. In the object's lane: a report behind it is of after the
     * command. */
    ab_writer_repeat(o->agent->writer, ab_str_of(key));
    const struct report s = {.key = ab_str_of(key),
                             .lane = ab_str_of(o->key),
                             .target = AB_TARGET_EVENT_PROCESSED,
                             .type = AB_TYPE_PROCESSED,
                             .remapped = remapped,
                             .token = ab_inbox_pop(&o->record.inbox)};
    state_up(o, &s, &data);
}
