/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_REFUSED_MS 300000
#define RETRY_WAIT_MS    1000

static void safe(void *arg, void *token)
{
    ab_agent *a = arg;
    a->env.effects.ack(a->env.effects.arg, token);
}

static ab_metric *counter(ab_agent *a, const char *name, const char *help)
{
    return ab_metric_get(a->env.metrics, AB_METRIC_COUNTER, name, help, NULL, 0);
}

static void make_metrics(ab_agent *a)
{
    a->metrics.writes = counter(a, "argobus_store_writes_total", "Writes sent to the local store.");
    a->metrics.reverts =
        counter(a, "argobus_reverts_total", "Local changes and deletions that were reverted.");
    a->metrics.stale =
        counter(a, "argobus_events_stale_total", "Events older than the state in effect.");
    a->metrics.deferred =
        counter(a, "argobus_set_aside_total",
                "Events whose object cannot be written at the moment; it is retried later.");
    a->metrics.commands =
        counter(a, "argobus_commands_total", "Commands executed: sync, terminate, refresh.");
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
    ab_inbox_init(&a->early);
    ab_guard_init(&a->guard, env->policy.guard);
    a->objects = ab_map_new();
    a->published = ab_map_new();
    a->writer = ab_writer_new(&(ab_writer_env){env->clock, env->source, env->policy.name, safe, a});
    if (a->objects == NULL || a->published == NULL || a->writer == NULL) {
        ab_agent_free(a);
        return AB_ERR_NOMEM;
    }
    make_metrics(a);
    *out = a;
    return AB_ERR_OK;
}

static void object_free(void *value)
{
    ab_agent_object *o = value;
    ab_inbox_fini(&o->inbox);
    ab_agent_drop_snapshot(o);
    ab_agent_forget_lost(o);
    ab_object_unref(o->after_load);
    free(o->next_uid);
    free(o->next_hub_key);
    free(o->hub_key);
    free(o->error);
    free(o->uid);
    free(o->key);
    free(o);
}

void ab_agent_free(ab_agent *a)
{
    if (a == NULL)
        return;
    ab_agent_resync_stop(a);
    ab_inbox_fini(&a->early);
    ab_map_free(a->objects, object_free);
    ab_map_free(a->published, NULL);
    ab_writer_free(a->writer);
    free(a);
}

static bool take_key(ab_agent_object *o, ab_str key)
{
    ab_str kind, ns, name;
    o->key = ab_str_dup(key);
    if (o->key == NULL || ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return false;
    o->kind = ab_kind_of(kind);
    assert(o->kind != NULL);
    o->allowed = ab_agent_allows_namespace(o->agent, o->kind, ns);
    return true;
}

ab_agent_object *ab_agent_object_for(ab_agent *a, ab_str key)
{
    ab_agent_object *o = ab_map_find(a->objects, key);
    if (o != NULL)
        return o;
    o = calloc(1, sizeof(*o));
    if (o == NULL)
        return NULL;
    o->agent = a;
    ab_inbox_init(&o->inbox);
    if (!take_key(o, key) || ab_map_put(a->objects, key, o, NULL) != AB_ERR_OK) {
        object_free(o);
        return NULL;
    }
    return o;
}

static bool is_of_known_kind(ab_str key)
{
    ab_str kind, ns, name;
    return ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && ab_kind_of(kind) != NULL;
}

ab_err ab_agent_restore(ab_agent *a, ab_str key, const ab_received_state *received)
{
    if (!is_of_known_kind(key))
        return AB_ERR_OK; /* kept by another version */
    ab_agent_object *o = ab_agent_object_for(a, key);
    if (o == NULL)
        return AB_ERR_NOMEM;
    if (received->uid.len > 0) {
        o->uid = ab_str_dup(received->uid);
        if (o->uid == NULL)
            return AB_ERR_NOMEM;
    }
    if (received->source.len > 0) {
        o->hub_key = ab_str_dup(received->source);
        if (o->hub_key == NULL)
            return AB_ERR_NOMEM;
    }
    o->hash = received->hash;
    if (received->owner.len > 0 && !received->ended) {
        ab_err e = ab_digest_of(received->owner, &o->principal);
        if (e != AB_ERR_OK)
            return e;
    }
    o->version = received->version;
    o->remapped = received->remapped;
    if (received->released)
        o->source = SOURCE_NONE;
    else
        o->source = received->ended      ? SOURCE_ENDED
                    : received->deleting ? SOURCE_DELETING
                                         : SOURCE_LIVE;
    return AB_ERR_OK;
}

/* --- waiting and failing --- */

static int64_t now_ms(const ab_agent_object *o)
{
    return ab_clock_mono_ms(o->agent->env.clock);
}

static void count_out_of_date(ab_agent_object *o)
{
    bool out_of_date = o->inbox.head != NULL || !ab_agent_is_up_to_date(o);
    if (out_of_date != o->out_of_date) {
        o->out_of_date = out_of_date;
        o->agent->out_of_date += out_of_date ? 1 : (size_t)-1;
        ab_metric_set(o->agent->metrics.out_of_date, (double)o->agent->out_of_date);
    }
    if (!out_of_date)
        o->inbox.failing_since = 0; /* also where no write made it so */
    const ab_task *head = o->inbox.head;
    bool unsaved =
        head != NULL && !ab_task_is_command(head->type) && (!head->begun || o->step == STEP_SAVE);
    if (unsaved != o->unsaved) {
        o->unsaved = unsaved;
        o->agent->unsaved += unsaved ? 1 : (size_t)-1;
    }
}

static bool has_begun_head(const ab_agent_object *o)
{
    return o->inbox.head != NULL && o->inbox.head->begun;
}

/* The head state can not come into effect now: it no longer holds the offset, its object goes on
 * trying. */
static void defer(ab_agent_object *o, const ab_error *err)
{
    AB_WARN(o->agent->env.log, SYNC, "write deferred: the object cannot be written at the moment",
            AB_KV("object", (const char *)o->key), AB_KV("why", (const char *)err->text));
    ab_agent_report_error(o, err);
    if (has_begun_head(o)) {
        ab_metric_add(o->agent->metrics.deferred, 1);
        ab_agent_finish_head(o);
    } else if (o->inbox.head != NULL && ab_task_is_command(o->inbox.head->type)) {
        ab_agent_command_answer(o, err->text);
    }
}

static bool failing_too_long(ab_agent_object *o)
{
    return ab_inbox_failing_ms(&o->inbox, now_ms(o)) >= o->agent->env.policy.defer_after_ms;
}

void ab_agent_await_change(ab_agent_object *o)
{
    ab_inbox_retry_after(&o->inbox, now_ms(o), RETRY_WAIT_MS);
    if (failing_too_long(o) && o->inbox.head != NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_TIMEOUT, "deletion is stuck: check the object's finalizers");
        defer(o, &err);
    }
}

void ab_agent_fail(ab_agent_object *o, ab_err code, const ab_error *err)
{
    ab_error text = {.code = code};
    if (err != NULL)
        text = *err;
    if (text.text[0] == '\0')
        (void)ab_fail(&text, code, "%s", ab_err_text(code));
    o->reconciled = (ab_digest){0};
    ab_agent_drop_snapshot(o);
    switch (ab_err_class_of(code)) {
    case AB_CLASS_PERMANENT:
        defer(o, &text);
        ab_inbox_retry_after(&o->inbox, now_ms(o), RETRY_REFUSED_MS);
        return;
    case AB_CLASS_NONE:
    case AB_CLASS_STALE: /* what changes whenever we write holds nothing back for ever, too */
    case AB_CLASS_TRANSIENT:
    case AB_CLASS_FATAL:
        break;
    }
    AB_DEBUG(o->agent->env.log, SYNC, "will try again", AB_KV("object", (const char *)o->key),
             AB_KV("why", (const char *)text.text));
    ab_inbox_back_off(&o->inbox, now_ms(o));
    if (failing_too_long(o))
        defer(o, &text);
}

static void finish_reconciled_head(ab_agent_object *o)
{
    ab_inbox_succeeded(&o->inbox);
    if (!ab_agent_is_refused(o))
        ab_agent_report_error(o, NULL);
    ab_agent_finish_head(o);
}

static bool may_advance(const ab_agent_object *o)
{
    return !o->agent->paused && o->step == STEP_IDLE && o->inbox.retry_at <= now_ms(o);
}

/* What is not here may only not be listed yet. */
static bool is_known(const ab_agent_object *o)
{
    return o->exists || o->agent->listed;
}

/* One round; true when another may follow at once. */
static bool advance_once(ab_agent_object *o)
{
    ab_task *t = o->inbox.head;
    bool writer_ready = ab_writer_is_ready(o->agent->writer);
    if (!may_advance(o))
        return false;
    if (ab_inbox_head_superseded(&o->inbox)) {
        ab_agent_finish_head(o);
        return true;
    }
    if (t != NULL && !t->begun && !ab_task_is_command(t->type)) {
        ab_agent_begin_state(o, t);
        return may_advance(o);
    }
    if (!ab_agent_is_up_to_date(o)) {
        ab_agent_reconcile(o);
        return o->step == STEP_IDLE && ab_agent_is_up_to_date(o);
    }
    if (t != NULL && t->begun) {
        finish_reconciled_head(o);
        return true;
    }
    if (t != NULL && writer_ready && is_known(o)) {
        ab_agent_command(o);
        return o->step == STEP_IDLE;
    }
    if (t == NULL && o->report_due && o->report_at <= now_ms(o) && o->exists && writer_ready)
        ab_agent_get(o);
    return false;
}

void ab_agent_advance(ab_agent_object *o)
{
    while (advance_once(o))
        ;
    count_out_of_date(o);
    if (o->agent->resync.begin != NULL)
        ab_agent_resync_go(o->agent);
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
    o->exists = true;
    o->end_observed = false;
    o->deleting = ab_object_deleting(object);
    ab_agent_note_own(o, object);
    o->lost = false;
    o->changed_meanwhile = true;
    /* Without a digest it counts as changed, and is looked at again. */
    if (ab_desired_digest(object, &o->digest) != AB_ERR_OK)
        o->digest = (ab_digest){0};
    ab_agent_take_snapshot(o, object);
    note_whose(o, object);
}

bool ab_agent_reports(const ab_agent_object *o)
{
    return o->kind->target == AB_TARGET_APPLICATION;
}

bool ab_agent_has_source(const ab_agent_object *o)
{
    return o->source == SOURCE_LIVE || o->source == SOURCE_DELETING;
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
    o->changed_meanwhile = o->report_due = true;
    ab_agent_advance(o);
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
    bool idle = o->step == STEP_IDLE && o->inbox.head == NULL;
    if (idle && !ab_agent_is_up_to_date(o))
        ab_agent_decide(o, object);
    ab_agent_advance(o);
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
    o->changed_meanwhile = true;
    ab_agent_drop_snapshot(o);
    o->digest = o->reconciled = (ab_digest){0};
    if (ab_agent_publishes(o) && !meant)
        ab_agent_note_missing(o, observed);
    else if (o->source == SOURCE_ENDED || o->source == SOURCE_NONE)
        ab_agent_end_up(o);
    o->inbox.retry_at = 0;
    ab_agent_advance(o);
}

/* Queue what our log should say and does not. */
static void catch_up(ab_agent_object *o)
{
    const ab_writer *w = o->agent->writer;
    if (!ab_writer_is_ready(w))
        return;
    if (ab_agent_is_autonomous(o->agent)) {
        ab_agent_catch_up_published(o);
        return;
    }
    o->report_due = ab_agent_reports(o) && o->exists && ab_agent_has_source(o) &&
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
        ab_agent_advance(i.value);
    }
}

void ab_agent_on_list_done(ab_agent *a)
{
    a->listed = true;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_object *o = i.value;
        o->inbox.retry_at = 0;
    }
    advance_all(a);
    ab_agent_resync_go(a);
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
    a->swept = false;
    ab_agent_sweep(a); /* before what went meanwhile is ended one by one */
    advance_all(a);
    ab_agent_resync(a, "start");
}

void ab_agent_log_lost(ab_agent *a)
{
    ab_agent_resync_stop(a);
    ab_writer_forget(a->writer);
}

void ab_agent_unsendable(ab_agent *a, const ab_event *event, const ab_error *err)
{
    ab_agent_object *o = ab_map_find(a->objects, ab_event_attr(event, AB_CE_PARTITIONKEY));
    AB_ERROR(a->env.log, SYNC, "cannot be sent",
             AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)),
             AB_KV("why", (const char *)err->text));
    if (o != NULL)
        ab_agent_report_error(o, err);
}

void ab_agent_pause(ab_agent *a, bool paused)
{
    a->paused = paused;
    for (ab_map_iter i = ab_map_first(a->objects); !paused && i.entry != NULL; ab_map_next(&i))
        ab_agent_advance(i.value);
    if (!paused)
        ab_agent_resync(a, "displaced");
}

void ab_agent_tick(ab_agent *a)
{
    int64_t now = ab_clock_mono_ms(a->env.clock);
    ab_agent_guard_tick(a);
    ab_agent_report_held(a);
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_object *o = i.value;
        bool retry = o->inbox.retry_at != 0 && o->inbox.retry_at <= now;
        if (retry)
            o->inbox.retry_at = 0;
        if (retry || (o->report_at != 0 && o->report_at <= now))
            ab_agent_advance(o);
    }
}

ab_outbox *ab_agent_outbox(ab_agent *a)
{
    return ab_writer_outbox(a->writer);
}

size_t ab_agent_out_of_date_count(const ab_agent *a)
{
    return a->out_of_date;
}
