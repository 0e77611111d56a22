/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_REFUSED_MS 300000

void ab_principal_ack(const ab_principal *p, void *delivery)
{
    p->env.effects.ack(p->env.effects.arg, delivery);
}

static ab_metric *counter(ab_principal *p, const char *name, const char *help)
{
    return ab_metric_get(p->env.metrics, AB_METRIC_COUNTER, name, help, NULL, 0);
}

ab_err ab_principal_new(const ab_principal_env *env, ab_principal **out)
{
    ab_principal *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    p->env = *env;
    ab_reconciler_init(&p->reconciler, &p->env.effects, env->clock, env->log, env->metrics,
                       env->defer_after_ms);
    p->reconciler.stopped = true; /* until the store is listed */
    p->peers = ab_map_new();
    p->apps = ab_map_new();
    p->shared = ab_map_new();
    p->mirrors = ab_map_new();
    p->records_by_agent = ab_map_new();
    p->own_projects = ab_map_new();
    ab_link_init(&p->moved);
    ab_link_init(&p->tended_apps);
    ab_link_init(&p->tended_shared);
    ab_link_init(&p->open);
    ab_link_init(&p->watched);
    ab_link_init(&p->waiting);
    ab_resync_queue_init(&p->resyncs, env->clock, env->resync_ms, env->resyncs_max);
    ab_err e = ab_principal_watermark_init(p);
    if (e != AB_ERR_OK || p->peers == NULL || p->apps == NULL || p->shared == NULL ||
        p->mirrors == NULL || p->records_by_agent == NULL || p->own_projects == NULL) {
        ab_principal_free(p);
        return AB_ERR_NOMEM;
    }
    p->metrics.writes = counter(p, "argobus_store_writes_total", "Writes sent to the local store.");
    p->metrics.resyncs = counter(p, "argobus_resyncs_total", "Completed resyncs with agents.");
    p->metrics.stale =
        counter(p, "argobus_events_stale_total", "Events older than the state in effect.");
    p->metrics.deferred =
        counter(p, "argobus_set_aside_total",
                "Events whose object cannot be written at the moment; it is retried later.");
    p->metrics.reverts =
        counter(p, "argobus_reverts_total", "Local changes and deletions that were reverted.");
    *out = p;
    return AB_ERR_OK;
}

static void app_free(void *value)
{
    ab_principal_app *app = value;
    ab_inbox_fini(&app->inbox);
    ab_link_remove(&app->in_moved);
    ab_link_remove(&app->in_tended);
    ab_link_remove(&app->in_records);
    if (app->records != NULL)
        ab_agent_records_count(app->records, &app->unfinished, false);
    ab_agent_records_leave(app->records);
    free(app->error);
    free(app->newest);
    free(app->version);
    free(app->uid);
    free(app->key);
    free(app);
}

void ab_principal_free(ab_principal *p)
{
    if (p == NULL)
        return;
    ab_map_free(p->apps, app_free);
    ab_map_free(p->shared, ab_principal_shared_free);
    ab_map_free(p->mirrors, ab_mirror_free);
    ab_map_free(p->peers, ab_principal_peer_free);
    ab_map_free(p->records_by_agent, NULL);
    ab_map_free(p->own_projects, NULL);
    ab_principal_watermark_fini(p);
    free(p);
}

static void app_done(ab_principal_record *record, ab_err code, ab_object *object,
                     const ab_error *err);

ab_principal_app *ab_principal_find(const ab_principal *p, ab_str key)
{
    return ab_map_find(p->apps, key);
}

static ab_principal_app *app_new(ab_principal *p, ab_str key, ab_str agent)
{
    ab_principal_app *app = calloc(1, sizeof(*app));
    if (app == NULL)
        return NULL;
    app->record.done = app_done;
    app->principal = p;
    app->key = ab_str_dup(key);
    ab_link_init(&app->in_records);
    ab_link_init(&app->in_moved);
    ab_link_init(&app->in_tended);
    ab_inbox_init(&app->inbox);
    if (app->key == NULL || ab_principal_assign(app, agent) != AB_ERR_OK ||
        ab_map_put(p->apps, key, app, NULL) != AB_ERR_OK) {
        app_free(app);
        return NULL;
    }
    return app;
}

/* This agent's from now on. @return NULL when out of memory */
static ab_principal_app *app_of(ab_principal *p, ab_str key, ab_str agent)
{
    ab_principal_app *app = ab_principal_find(p, key);
    if (app == NULL)
        return app_new(p, key, agent);
    return ab_principal_assign(app, agent) == AB_ERR_OK ? app : NULL;
}

/* --- steps --- */

static int64_t now_ms(const ab_principal_app *app)
{
    return ab_clock_mono_ms(app->principal->env.clock);
}

/* Nothing is known of an object that is gone, and nothing is under way for it. */
static bool is_over(const ab_principal_app *app)
{
    return !app->exists && app->step == PSTEP_IDLE && app->inbox.head == NULL;
}

void ab_principal_tend(ab_principal_app *app)
{
    const ab_task *head = app->inbox.head;
    ab_agent_records_count(app->records, &app->unfinished, head != NULL && head->delivery != NULL);
    if (app->inbox.retry_at != 0 || is_over(app))
        ab_list_append(&app->principal->tended_apps, &app->in_tended);
}

void ab_principal_get(ab_principal_app *app)
{
    const ab_effects *fx = &app->principal->env.effects;
    app->step = PSTEP_GET;
    app->changed_meanwhile = false;
    fx->get(fx->arg, ab_str_of(app->key), &app->record);
}

void ab_principal_apply(ab_principal_app *app, const ab_object *hub, const ab_app_edit *edit,
                        enum principal_step step)
{
    const ab_effects *fx = &app->principal->env.effects;
    ab_buf text;
    ab_error err = {0};
    ab_object *object = NULL;
    ab_buf_init(&text, AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_edited(hub, edit, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), &object, &err);
    ab_buf_fini(&text);
    if (e != AB_ERR_OK) {
        ab_principal_fail(app, e, &err);
        return;
    }
    app->step = step;
    ab_metric_add(app->principal->metrics.writes, 1);
    fx->apply(fx->arg, object, ab_object_version(hub), &app->record);
    ab_object_unref(object);
}

ab_task *ab_principal_head(const ab_principal_app *app)
{
    ab_task *head = app->inbox.head;
    return head != NULL && head->begun ? head : NULL;
}

void ab_principal_finish_head(ab_principal_app *app)
{
    void *delivery = ab_inbox_pop(&app->inbox);
    app->cleared = false;
    if (delivery != NULL)
        ab_principal_ack(app->principal, delivery);
    ab_principal_tend(app);
}

/* The head goes on being tried, but no longer holds the offset. */
static void defer(ab_principal_app *app, const char *why)
{
    ab_task *head = ab_principal_head(app);
    AB_WARN(app->principal->env.log, SYNC,
            "write deferred: the object cannot be written at the moment",
            AB_KV("object", (const char *)app->key), AB_KV("why", why));
    if (head == NULL || head->delivery == NULL)
        return;
    ab_metric_add(app->principal->metrics.deferred, 1);
    ab_principal_ack(app->principal, head->delivery);
    head->delivery = NULL;
}

void ab_principal_fail(ab_principal_app *app, ab_err code, const ab_error *err)
{
    const char *why = err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text;
    app->cleared = false;
    if (ab_principal_head(app) == NULL)
        app->requeued = app->exists;
    switch (ab_err_class_of(code)) {
    case AB_CLASS_PERMANENT:
        defer(app, why);
        ab_inbox_retry_after(&app->inbox, now_ms(app), RETRY_REFUSED_MS);
        return;
    case AB_CLASS_NONE:
    case AB_CLASS_STALE: /* what changes whenever we write holds nothing back for ever, too */
    case AB_CLASS_TRANSIENT:
    case AB_CLASS_FATAL:
        break;
    }
    ab_inbox_back_off(&app->inbox, now_ms(app));
    if (ab_inbox_failing_ms(&app->inbox, now_ms(app)) >= app->principal->env.defer_after_ms)
        defer(app, why);
}

static bool may_advance(const ab_principal_app *app)
{
    return app->step == PSTEP_IDLE && app->inbox.retry_at <= now_ms(app) && app->principal->listed;
}

static bool advance_once(ab_principal_app *app)
{
    if (!may_advance(app))
        return false;
    if (ab_inbox_head_superseded(&app->inbox)) {
        ab_principal_finish_head(app);
        return true;
    }
    if (app->inbox.head != NULL) {
        ab_principal_begin(app);
        return may_advance(app);
    }
    bool due = app->error_due || (app->requeued && ab_principal_is_open(app));
    if (due && app->exists)
        ab_principal_get(app);
    return false;
}

void ab_principal_advance(ab_principal_app *app)
{
    while (advance_once(app))
        ;
    if (app->step == PSTEP_IDLE && app->inbox.head == NULL && !app->requeued && !app->error_due)
        app->inbox.failing_since = 0; /* nothing is tried */
    ab_principal_tend(app);
}

/* --- facts --- */

static void forget_newest(ab_principal_app *app)
{
    free(app->newest);
    app->newest = NULL;
}

void ab_principal_note_newest(ab_principal_app *app, const ab_object *object)
{
    forget_newest(app);
    app->outdated = false;
    /* Out of memory, the one that was shown last makes the write be refused, and read again. */
    if (app->version == NULL || !ab_str_is(ab_object_version(object), app->version))
        app->newest = ab_str_dup(ab_object_version(object));
}

ab_str ab_principal_newest(const ab_principal_app *app)
{
    return ab_str_of(app->newest != NULL ? app->newest : app->version);
}

/* What is seen may be older than what we wrote last. */
void ab_principal_note_status(ab_principal_app *app, const ab_object *object)
{
    ab_stamp stamp;
    bool same = app->uid != NULL && ab_str_is(ab_object_uid(object), app->uid);
    if (!same) {
        app->status_version = (ab_version){0};
        app->status_hash = (ab_digest){0};
    }
    if (!ab_principal_stamp_parse(app, ab_object_annotation(object, AB_ANN_STATUS_VERSION),
                                  &stamp) ||
        ab_version_cmp(stamp.version, app->status_version) < 0)
        return;
    app->status_version = stamp.version;
    app->status_hash = stamp.hash;
}

static ab_err note_updated(ab_principal_app *app, const ab_object *object)
{
    char *uid = ab_str_dup(ab_object_uid(object));
    char *version = ab_str_dup(ab_object_version(object));
    if (uid == NULL || version == NULL) {
        free(uid);
        free(version);
        return AB_ERR_NOMEM;
    }
    ab_principal_note_status(app, object);
    bool other = app->uid != NULL && strcmp(app->uid, uid) != 0;
    if (other || (app->newest != NULL && strcmp(app->newest, version) == 0))
        forget_newest(app);
    free(app->uid);
    free(app->version);
    app->uid = uid;
    app->version = version;
    app->exists = app->changed_meanwhile = true;
    app->deleting = ab_object_deleting(object);
    app->has_status = ab_span_count(ab_object_field(object, "status")) > 0;
    ab_requests_note(&app->requests, object);
    return AB_ERR_OK;
}

static void app_deleted(ab_principal *p, const ab_object *object, bool observed)
{
    ab_principal_app *app = ab_principal_find(p, ab_str_of(ab_object_key(object)));
    if (app == NULL || !app->exists)
        return;
    bool queued =
        ab_principal_is_open(app) && ab_writer_has_key(app->peer->writer, ab_str_of(app->key));
    bool meant = app->deleting; /* its user said so on the object: the guard has nothing to ask */
    app->exists = app->deleting = app->requeued = false;
    app->changed_meanwhile = true;
    forget_newest(app);
    app->status_version = (ab_version){0};
    app->status_hash = (ab_digest){0};
    if (meant && queued)
        ab_principal_end(app->peer, ab_str_of(app->key));
    else
        ab_principal_note_missing(p, ab_str_of(app->key), observed);
    ab_principal_finish_move(app);
    app->requests = (struct requests){0};
    ab_principal_advance(app);
}

static void app_updated(ab_principal *p, ab_object *object)
{
    ab_str agent = ab_principal_route(p, object);
    if (agent.len == 0) {
        app_deleted(p, object, true); /* it is there, and says itself that it is nobody's */
        return;
    }
    ab_principal_app *app = app_of(p, ab_str_of(ab_object_key(object)), agent);
    if (app == NULL || note_updated(app, object) != AB_ERR_OK) {
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
        return;
    }
    ab_principal_state(app, object);
    bool busy = app->step != PSTEP_IDLE || app->inbox.head != NULL;
    bool unmarked = !app->deleting && ab_requests_need_ids(&app->requests);
    app->requeued = app->peer == NULL || (busy && unmarked);
    ab_principal_ask(app, object, !busy && app->peer != NULL);
    ab_principal_advance(app);
}

void ab_principal_on_updated(ab_principal *p, ab_object *object)
{
    ab_mirror_on_updated(p, object);
    ab_principal_watermark_note(p, object);
    if (ab_str_is(ab_object_kind(object), "Application"))
        app_updated(p, object);
    else
        ab_principal_shared_on_updated(p, object);
}

void ab_principal_on_deleted(ab_principal *p, ab_object *object, bool observed)
{
    ab_mirror_on_deleted(p, object, observed);
    if (ab_str_is(ab_object_kind(object), "Application"))
        app_deleted(p, object, observed);
    else
        ab_principal_shared_on_deleted(p, object, observed);
}

void ab_principal_on_list_done(ab_principal *p)
{
    p->listed = true;
    p->reconciler.stopped = false;
    ab_principal_watermark_assign(p);
    ab_principal_watermark_advance(p);
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        ab_principal_sweep(i.value);
        ab_principal_take_held(i.value);
    }
    for (ab_map_iter i = ab_map_first(p->apps); i.entry != NULL; ab_map_next(&i))
        ab_principal_advance(i.value);
    ab_principal_shared_requeue_all(p);
    ab_mirror_requeue_all(p);
    ab_resync_queue_go(&p->resyncs);
}

void ab_principal_on_synced(ab_principal *p)
{
    p->synced = true;
    ab_principal_watermark_read_all(p);
    if (!p->listed)
        ab_principal_on_list_done(p);
    ab_principal_watermark_advance(p);
    ab_principal_shared_requeue_all(p);
}

void ab_principal_unsendable(ab_principal *p, const char *agent, const ab_event *event,
                             const ab_error *err)
{
    ab_principal_app *app = ab_principal_find(p, ab_event_attr(event, AB_CE_PARTITIONKEY));
    AB_ERROR(p->env.log, SYNC, "cannot be sent", AB_KV("agent", agent),
             AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)),
             AB_KV("why", (const char *)err->text));
    if (app == NULL || app->peer == NULL || strcmp(app->peer->name, agent) != 0)
        return;
    free(app->error);
    app->error = ab_str_dup(ab_str_of(err->text));
    app->error_ours = app->error_due = true;
    ab_principal_defer(app, DEFERRED_UNSENDABLE, true);
    ab_principal_advance(app);
}

/* --- answers --- */

static void got(ab_principal_app *app, ab_err code, ab_object *hub, const ab_error *err)
{
    if (app->changed_meanwhile && (code == AB_ERR_OK || code == AB_ERR_NOTFOUND))
        return; /* which of the two is newer is not known: it is read again if need be */
    if (code == AB_ERR_NOTFOUND) {
        app->requeued = app->error_due = false;
        if (ab_principal_head(app) != NULL)
            ab_principal_without(app);
    } else if (code != AB_ERR_OK) {
        ab_principal_fail(app, code, err);
    } else {
        ab_principal_note_newest(app, hub);
        ab_principal_with(app, hub);
    }
}

static void status_written(ab_principal_app *app)
{
    const ab_task *head = ab_principal_head(app);
    app->error_due = false;
    if (head == NULL)
        return;
    if (head->type == AB_TYPE_STATUS_UPDATE)
        app->status_version = head->version;
    ab_principal_finish_head(app);
}

static void app_done(ab_principal_record *record, ab_err code, ab_object *object,
                     const ab_error *err)
{
    ab_principal_app *app = (ab_principal_app *)record;
    enum principal_step step = app->step;
    app->step = PSTEP_IDLE;
    if (app->abandoned) {
        app->abandoned = false;
        app->requeued = app->exists;
    } else if (step == PSTEP_GET) {
        got(app, code, object, err);
    } else if (code == AB_ERR_NOTFOUND && ab_principal_head(app) != NULL) {
        ab_principal_without(app);
    } else if (code != AB_ERR_OK) {
        app->outdated = app->outdated || ab_err_class_of(code) == AB_CLASS_STALE;
        ab_principal_fail(app, code, err);
    } else {
        ab_inbox_succeeded(&app->inbox);
        if (object != NULL)
            ab_principal_note_newest(app, object);
        app->cleared = step == PSTEP_CLEAR;
        if (step == PSTEP_STATUS)
            status_written(app);
    }
    ab_principal_advance(app);
}

static void forget(ab_principal_app *app)
{
    ab_principal_defer(app, DEFERRED_BY_AGENT, false);
    ab_principal_defer(app, DEFERRED_UNSENDABLE, false);
    app_free(ab_map_take(app->principal->apps, ab_str_of(app->key)));
}

static void tick_app(ab_principal_app *app)
{
    if (app->inbox.retry_at != 0 && app->inbox.retry_at <= now_ms(app)) {
        app->inbox.retry_at = 0;
        ab_principal_advance(app);
    }
    if (is_over(app))
        forget(app);
    else
        ab_principal_tend(app);
}

static void tick_apps(ab_principal *p)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(&p->tended_apps, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due))
        tick_app(AB_LINK_OF(l, ab_principal_app, in_tended));
}

void ab_principal_tick(ab_principal *p)
{
    tick_apps(p);
    ab_principal_watermark_advance(p);
    ab_principal_peers_tick(p);
    ab_principal_shared_tick(p);
    ab_reconciler_tick(&p->reconciler);
    ab_resync_queue_tick(&p->resyncs);
}
