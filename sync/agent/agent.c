/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdlib.h>

static void safe(void *arg, void *token)
{
    ab_agent_ack(arg, token);
}

static void make_metrics(ab_agent *a)
{
    a->metrics.commands = ab_metric_get(a->env.metrics, AB_METRIC_COUNTER, "argobus_commands_total",
                                        "Commands executed: sync, terminate, refresh.", NULL, 0);
    a->metrics.out_of_date =
        ab_metric_get(a->env.metrics, AB_METRIC_GAUGE, "argobus_unsettled",
                      "Objects that are not yet in the desired state.", NULL, 0);
}

ab_err ab_agent_new(const ab_agent_env *env, ab_agent **out)
{
    ab_agent *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AB_ERR_NOMEM;
    a->env = *env;
    ab_reconciler_init(&a->reconciler, &a->env.effects, env->clock, env->log, env->metrics,
                       env->policy.defer_after_ms, AB_DOWN);
    a->object_type = &ab_agent_object_type;
    ab_inbox_init(&a->early);
    ab_sweep_init(&a->sweep, env->policy.guard);
    a->objects = ab_map_new();
    a->published = ab_map_new();
    a->sources = ab_map_new();
    a->writer = ab_writer_new(
        &(ab_writer_env){env->clock, env->source, env->policy.name, safe, a, env->effects.trace});
    if (a->objects == NULL || a->published == NULL || a->sources == NULL || a->writer == NULL) {
        ab_agent_free(a);
        return AB_ERR_NOMEM;
    }
    make_metrics(a);
    ab_agent_resync_init(a);
    *out = a;
    return AB_ERR_OK;
}

void ab_agent_free(ab_agent *a)
{
    if (a == NULL)
        return;
    ab_resync_stop(&a->resync.engine);
    ab_inbox_fini(&a->early);
    ab_map_free(a->objects, ab_agent_object_fini);
    ab_map_free(a->published, NULL);
    ab_map_free(a->sources, NULL);
    ab_map_free(a->resync.names, NULL);
    ab_writer_free(a->writer);
    free(a);
}

ab_err ab_agent_restore(ab_agent *a, ab_str key, const ab_received_state *received)
{
    if (ab_kind_of_key(key) == NULL)
        return AB_ERR_OK; /* kept by another version */
    ab_agent_object *o = ab_agent_object_for(a, key);
    if (o == NULL)
        return AB_ERR_NOMEM;
    ab_err e = ab_agent_recall(o, received);
    if (e == AB_ERR_OK && received->uid.len > 0)
        e = ab_digest_of(received->uid, &o->kept_uid);
    o->restored = true;
    return e;
}

/* --- facts --- */

/* Without a source, the annotations say whose object it is. */
static void note_whose(ab_agent_object *o, const ab_object *object)
{
    ab_str principal = ab_object_annotation(object, AB_ANN_PRINCIPAL_UID);
    bool was_managed = principal.len > 0 && ab_object_annotation(object, AB_ANN_SOURCE_UID).len > 0;
    if (o->source != SOURCE_NONE)
        return;
    o->remapped = ab_str_is(ab_object_annotation(object, AB_ANN_REMAPPED), "true");
    if (!was_managed || ab_digest_of(principal, &o->principal) != AB_ERR_OK)
        o->principal = (ab_digest){0};
}

static void note_updated(ab_agent_object *o, const ab_object *object)
{
    ab_agent_note_start(o, object);
    ab_agent_check_reservation(o, object);
    o->exists = true;
    o->end_observed = false;
    o->deleting = ab_object_deleting(object);
    ab_agent_note_own(o, object);
    o->lost = false;
    o->record.changed_meanwhile = true;
    /* Without a digest it counts as changed, and is looked at again. */
    if (ab_desired_digest(object, &o->digest) != AB_ERR_OK)
        o->digest = (ab_digest){0};
    ab_agent_take_snapshot(o, object);
    note_whose(o, object);
}

/* A store may show more than is asked for. What is known concerns us also when it has lost its
 * label. */
static bool concerns_us(const ab_agent *a, const ab_object *object)
{
    const ab_kind *kind = ab_kind_of(ab_object_kind(object));
    if (kind == NULL)
        return false;
    return ab_map_find(a->objects, ab_str_of(ab_object_key(object))) != NULL ||
           (ab_agent_allows_namespace(a, kind, ab_object_namespace(object)) &&
            ab_kind_is_synchronised(object));
}

/* What is here was read before the store told of this one, which may be the older of the two: what
 * is here is read again. */
static void reconcile_again(ab_agent_object *o)
{
    o->record.changed_meanwhile = o->report_due = true;
    ab_reconcile_advance(&o->record);
}

void ab_agent_on_updated(ab_agent *a, ab_object *object)
{
    if (!concerns_us(a, object))
        return;
    ab_agent_object *o = ab_agent_object_for(a, ab_str_of(ab_object_key(object)));
    if (o == NULL) {
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
        return;
    }
    if (ab_agent_is_another(o, object)) {
        reconcile_again(o);
        return;
    }
    note_updated(o, object);
    if (ab_agent_has_source(o) || ab_agent_publishes(o))
        ab_agent_report_state(o, object);
    bool idle = ab_reconcile_may_advance(&o->record) && o->record.inbox.head == NULL;
    if (idle && !ab_agent_is_up_to_date(o))
        ab_agent_decide(o, object);
    ab_reconcile_advance(&o->record);
}

void ab_agent_on_deleted(ab_agent *a, ab_object *object, bool observed)
{
    ab_agent_object *o = ab_map_find(a->objects, ab_str_of(ab_object_key(object)));
    if (o == NULL)
        return;
    if (ab_agent_is_another(o, object)) {
        reconcile_again(o);
        return;
    }
    ab_agent_note_lost(o, object);
    bool meant = o->deleting; /* its user said so on the object: the guard has nothing to ask */
    o->exists = o->deleting = o->removing = o->was_managed = o->excluded = false;
    o->record.changed_meanwhile = true;
    ab_agent_drop_snapshot(o);
    o->digest = o->reconciled = (ab_digest){0};
    ab_agent_note_went(o);
    if (ab_agent_publishes(o) && !meant)
        ab_agent_note_missing(o, observed);
    else if (o->source == SOURCE_ENDED || o->source == SOURCE_NONE)
        ab_agent_end_up(o);
    o->record.inbox.retry_at = 0;
    ab_reconcile_advance(&o->record);
}

static void catch_up_published(ab_agent_object *o)
{
    const ab_writer *w = o->agent->writer;
    bool existed = !ab_digest_is_none(&o->report);
    o->report_due |= o->exists && !o->excluded && !ab_writer_has(w, ab_str_of(o->key), &o->report);
    if (!o->exists && existed)
        ab_agent_note_missing(o, o->end_observed);
    if (o->error != NULL)
        ab_agent_repeat_error(o);
}

/* Queue what our log should say and does not. */
static void catch_up(ab_agent_object *o)
{
    const ab_writer *w = o->agent->writer;
    if (!ab_writer_is_ready(w))
        return;
    if (ab_agent_is_autonomous(o->agent)) {
        catch_up_published(o);
        return;
    }
    o->report_due = o->kind->reports && o->exists && ab_agent_has_source(o) &&
                    !ab_writer_has(w, ab_str_of(o->key), &o->report);
    if (o->source == SOURCE_ENDED && !o->exists && o->agent->listed)
        ab_agent_end_up(o);
    if (ab_agent_is_refused(o) && o->error == NULL)
        ab_agent_refuse_namespace(o, NULL);
    ab_agent_report_conflict(o);
    if (o->error != NULL || (o->source != SOURCE_NONE && ab_agent_is_up_to_date(o)))
        ab_agent_repeat_error(o);
}

static void advance_all(ab_agent *a)
{
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        catch_up(i.value);
        ab_reconcile_advance(i.value);
    }
}

void ab_agent_on_list_done(ab_agent *a)
{
    a->listed = true;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_object *o = i.value;
        o->record.inbox.retry_at = 0;
    }
    advance_all(a);
    ab_resync_go(&a->resync.engine);
}

void ab_agent_on_synced(ab_agent *a)
{
    a->synced = true;
    ab_agent_on_list_done(a);
    ab_agent_sweep(a);
}

void ab_agent_written(ab_agent *a, const ab_event *head)
{
    ab_agent_note_published(a, head);
    if (ab_writer_learn(a->writer, head) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory");
}

void ab_agent_ready(ab_agent *a, uint64_t epoch)
{
    ab_writer_ready(a->writer, epoch);
    ab_agent_deliver_early(a);
    ab_agent_release_published(a);
    a->sweep.done = false;
    ab_agent_sweep(a); /* before what went meanwhile is ended one by one */
    advance_all(a);
    ab_resync_ask(&a->resync.engine, "start");
}

void ab_agent_log_lost(ab_agent *a)
{
    ab_resync_stop(&a->resync.engine);
    ab_writer_forget(a->writer);
}

void ab_agent_unsendable(ab_agent *a, const ab_event *event, const ab_error *err)
{
    ab_digest hash = ab_event_content_hash(event);
    ab_agent_object *o = ab_map_find(a->objects, ab_event_attr(event, AB_CE_PARTITIONKEY));
    AB_ERROR(a->env.log, SYNC, "cannot be sent",
             AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)), AB_KV("why", err->text));
    if (o == NULL || (!ab_digest_is_none(&hash) && !ab_digest_eq(&hash, &o->report)))
        return; /* of nobody any more: something newer was said meanwhile */
    ab_agent_report_error(o, err);
    o->unsent = o->report;
}

/* Once all is saved: else a crash would leave what is over to be carried out. */
void ab_agent_end_replay(ab_agent *a)
{
    if (!a->replaying || !a->caught_up || a->unsaved > 0)
        return;
    a->replaying = false;
    advance_all(a);
    ab_resync_stop(&a->resync.engine); /* commands behind a begin were dropped too */
    ab_resync_ask(&a->resync.engine, "replayed");
}

void ab_agent_caught_up(ab_agent *a)
{
    a->caught_up = true;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_note_log_read(i.value);
        ab_agent_end_wait(i.value);
    }
    ab_agent_end_replay(a);
}

void ab_agent_pause(ab_agent *a, bool paused)
{
    a->reconciler.stopped = paused;
    for (ab_map_iter i = ab_map_first(a->objects); !paused && i.entry != NULL; ab_map_next(&i))
        ab_reconcile_advance(i.value);
    if (!paused)
        ab_resync_ask(&a->resync.engine, "displaced");
}

void ab_agent_tick(ab_agent *a)
{
    ab_agent_end_replay(a);
    ab_agent_guard_tick(a);
    ab_agent_resync_report_held(a);
    ab_reconciler_tick(&a->reconciler);
}

ab_outbox *ab_agent_outbox(ab_agent *a)
{
    return ab_writer_outbox(a->writer);
}
