/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/agent_priv.h"

#include "schema/attributes.h"

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
    a->metrics.writes =
        counter(a, "argobus_store_writes_total", "Writes asked of the local store.");
    a->metrics.reverts =
        counter(a, "argobus_reverts_total", "Local changes and deletions that were reverted.");
    a->metrics.stale =
        counter(a, "argobus_events_stale_total", "Events that were older than what is in effect.");
    a->metrics.set_aside =
        counter(a, "argobus_set_aside_total",
                "Events whose object cannot be written now; retried without them.");
    a->metrics.commands =
        counter(a, "argobus_commands_total", "Commands executed: sync, terminate, refresh.");
    a->metrics.unsettled =
        ab_metric_get(a->env.metrics, AB_METRIC_GAUGE, "argobus_unsettled",
                      "Applications that are not yet as the principal wishes.", NULL, 0);
}

ab_err ab_agent_new(const ab_agent_env *env, ab_agent **out)
{
    ab_agent *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AB_ERR_NOMEM;
    a->env = *env;
    ab_inbox_init(&a->early);
    a->apps = ab_map_new();
    a->writer = ab_writer_new(&(ab_writer_env){env->clock, env->source, safe, a});
    if (a->apps == NULL || a->writer == NULL) {
        ab_agent_free(a);
        return AB_ERR_NOMEM;
    }
    make_metrics(a);
    *out = a;
    return AB_ERR_OK;
}

static void app_free(void *value)
{
    ab_agent_app *app = value;
    ab_inbox_fini(&app->inbox);
    free(app->next_uid);
    free(app->error);
    free(app->uid);
    free(app->key);
    free(app);
}

void ab_agent_free(ab_agent *a)
{
    if (a == NULL)
        return;
    ab_inbox_fini(&a->early);
    ab_map_free(a->apps, app_free);
    ab_writer_free(a->writer);
    free(a);
}

ab_agent_app *ab_agent_app_for(ab_agent *a, ab_str key)
{
    ab_agent_app *app = ab_map_find(a->apps, key);
    if (app != NULL)
        return app;
    app = calloc(1, sizeof(*app));
    if (app == NULL)
        return NULL;
    app->agent = a;
    app->key = ab_str_dup(key);
    ab_inbox_init(&app->inbox);
    if (app->key == NULL || ab_map_put(a->apps, key, app, NULL) != AB_ERR_OK) {
        app_free(app);
        return NULL;
    }
    return app;
}

ab_err ab_agent_restore(ab_agent *a, ab_str key, const ab_kept *kept)
{
    ab_agent_app *app = ab_agent_app_for(a, key);
    if (app == NULL)
        return AB_ERR_NOMEM;
    if (kept->uid.len > 0) {
        app->uid = ab_str_dup(kept->uid);
        if (app->uid == NULL)
            return AB_ERR_NOMEM;
    }
    app->version = kept->version;
    app->source = kept->ended ? SOURCE_ENDED : kept->deleting ? SOURCE_DELETING : SOURCE_LIVE;
    return AB_ERR_OK;
}

/* --- waiting and failing --- */

static int64_t now_ms(const ab_agent_app *app)
{
    return ab_clock_mono_ms(app->agent->env.clock);
}

static void settle_count(ab_agent_app *app)
{
    bool unsettled = app->inbox.head != NULL || !ab_agent_converged(app);
    if (unsettled != app->unsettled) {
        app->unsettled = unsettled;
        app->agent->unsettled += unsettled ? 1 : (size_t)-1;
        ab_metric_set(app->agent->metrics.unsettled, (double)app->agent->unsettled);
    }
}

static bool has_begun_head(const ab_agent_app *app)
{
    return app->inbox.head != NULL && app->inbox.head->begun;
}

/* The head state can not come into effect now: it no longer holds the offset, its object goes on
 * trying. */
static void set_aside(ab_agent_app *app, const ab_error *err)
{
    AB_WARN(app->agent->env.log, SYNC, "set aside", AB_KV("object", (const char *)app->key),
            AB_KV("why", (const char *)err->text));
    ab_agent_report_error(app, err);
    if (has_begun_head(app)) {
        ab_metric_add(app->agent->metrics.set_aside, 1);
        ab_agent_finish_head(app);
    } else if (app->inbox.head != NULL && ab_task_is_command(app->inbox.head->type)) {
        ab_agent_command_answer(app, err->text);
    }
}

static bool failing_too_long(ab_agent_app *app)
{
    return ab_inbox_failing_ms(&app->inbox, now_ms(app)) >= app->agent->env.policy.set_aside_ms;
}

void ab_agent_wait(ab_agent_app *app)
{
    ab_inbox_wait(&app->inbox, now_ms(app), RETRY_WAIT_MS);
    if (failing_too_long(app) && app->inbox.head != NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_TIMEOUT,
                      "the object that is being deleted here does not go: look "
                      "at its finalizers");
        set_aside(app, &err);
    }
}

void ab_agent_fail(ab_agent_app *app, ab_err code, const ab_error *err)
{
    ab_error text = {.code = code};
    if (err != NULL)
        text = *err;
    if (text.text[0] == '\0')
        (void)ab_fail(&text, code, "%s", ab_err_text(code));
    app->settled = (ab_digest){0};
    switch (ab_err_class_of(code)) {
    case AB_CLASS_STALE:
        ab_inbox_back_off(&app->inbox, now_ms(app));
        return;
    case AB_CLASS_PERMANENT:
        set_aside(app, &text);
        ab_inbox_wait(&app->inbox, now_ms(app), RETRY_REFUSED_MS);
        return;
    case AB_CLASS_NONE:
    case AB_CLASS_TRANSIENT:
    case AB_CLASS_FATAL:
        break;
    }
    AB_DEBUG(app->agent->env.log, SYNC, "will try again", AB_KV("object", (const char *)app->key),
             AB_KV("why", (const char *)text.text));
    ab_inbox_back_off(&app->inbox, now_ms(app));
    if (failing_too_long(app))
        set_aside(app, &text);
}

static void finish_converged_head(ab_agent_app *app)
{
    ab_inbox_succeeded(&app->inbox);
    ab_agent_report_error(app, NULL);
    ab_agent_finish_head(app);
}

static bool may_advance(const ab_agent_app *app)
{
    return app->step == STEP_IDLE && app->inbox.retry_at <= now_ms(app);
}

/* One round; true when another may follow at once. */
static bool advance_once(ab_agent_app *app)
{
    ab_task *t = app->inbox.head;
    bool writer_ready = ab_writer_is_ready(app->agent->writer);
    if (!may_advance(app))
        return false;
    if (ab_inbox_head_superseded(&app->inbox)) {
        ab_agent_finish_head(app);
        return true;
    }
    if (t != NULL && !t->begun && !ab_task_is_command(t->type)) {
        ab_agent_begin_state(app, t);
        return may_advance(app);
    }
    if (!ab_agent_converged(app)) {
        ab_agent_converge(app);
        return app->step == STEP_IDLE && ab_agent_converged(app);
    }
    if (t != NULL && t->begun) {
        finish_converged_head(app);
        return true;
    }
    if (t != NULL && writer_ready) {
        ab_agent_command(app);
        return app->step == STEP_IDLE;
    }
    if (t == NULL && app->report_due && app->here && writer_ready)
        ab_agent_get(app);
    return false;
}

void ab_agent_advance(ab_agent_app *app)
{
    while (advance_once(app))
        ;
    settle_count(app);
}

/* --- facts --- */

static void note_seen(ab_agent_app *app, const ab_object *object)
{
    app->here = true;
    app->leaving = ab_object_deleting(object);
    app->lost = false;
    app->seen_meanwhile = true;
    /* Without a digest it counts as changed, and is looked at again. */
    if (ab_app_digest(object, &app->digest) != AB_ERR_OK)
        app->digest = (ab_digest){0};
}

static bool has_source(const ab_agent_app *app)
{
    return app->source == SOURCE_LIVE || app->source == SOURCE_DELETING;
}

void ab_agent_seen(ab_agent *a, ab_object *object)
{
    if (!ab_str_is(ab_object_kind(object), "Application") ||
        !ab_str_is(ab_object_namespace(object), a->env.policy.namespace))
        return;
    ab_agent_app *app = ab_agent_app_for(a, ab_str_of(ab_object_key(object)));
    if (app == NULL) {
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
        return;
    }
    note_seen(app, object);
    if (has_source(app))
        ab_agent_report_state(app, object);
    bool idle = app->step == STEP_IDLE && app->inbox.head == NULL;
    if (idle && !ab_agent_converged(app))
        ab_agent_decide(app, object);
    ab_agent_advance(app);
}

void ab_agent_gone(ab_agent *a, ab_object *object)
{
    ab_agent_app *app = ab_map_find(a->apps, ab_str_of(ab_object_key(object)));
    if (app == NULL)
        return;
    bool asked = app->removing || app->step == STEP_REMOVE;
    app->lost = app->source == SOURCE_LIVE && !asked;
    app->here = app->leaving = app->removing = false;
    app->seen_meanwhile = true;
    app->digest = app->settled = (ab_digest){0};
    if (app->source == SOURCE_ENDED || app->source == SOURCE_NONE)
        ab_agent_end_up(app, ab_str_of(app->key));
    app->inbox.retry_at = 0;
    ab_agent_advance(app);
}

/* Queue what our log should say and does not. */
static void catch_up(ab_agent_app *app)
{
    const ab_writer *w = app->agent->writer;
    if (!ab_writer_is_ready(w))
        return;
    app->report_due =
        app->here && has_source(app) && !ab_writer_has(w, ab_str_of(app->key), &app->report);
    if (app->source == SOURCE_ENDED && !app->here && app->agent->synced)
        ab_agent_end_up(app, ab_str_of(app->key));
    if (app->error != NULL || (app->source != SOURCE_NONE && ab_agent_converged(app)))
        ab_agent_say_error(app);
}

static void advance_all(ab_agent *a)
{
    for (ab_map_iter i = ab_map_first(a->apps); i.entry != NULL; ab_map_next(&i)) {
        catch_up(i.value);
        ab_agent_advance(i.value);
    }
}

void ab_agent_synced(ab_agent *a)
{
    a->synced = true;
    for (ab_map_iter i = ab_map_first(a->apps); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_app *app = i.value;
        app->inbox.retry_at = 0;
    }
    advance_all(a);
}

void ab_agent_written(ab_agent *a, const ab_event *head)
{
    if (ab_writer_learn(a->writer, head) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory");
}

void ab_agent_ready(ab_agent *a, uint64_t epoch)
{
    ab_writer_ready(a->writer, epoch);
    ab_agent_deliver_early(a);
    advance_all(a);
}

void ab_agent_log_lost(ab_agent *a)
{
    ab_writer_forget(a->writer);
}

void ab_agent_unsendable(ab_agent *a, const ab_event *event, const ab_error *err)
{
    ab_agent_app *app = ab_map_find(a->apps, ab_event_attr(event, AB_CE_PARTITIONKEY));
    AB_ERROR(a->env.log, SYNC, "cannot be sent",
             AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)),
             AB_KV("why", (const char *)err->text));
    if (app != NULL)
        ab_agent_report_error(app, err);
}

void ab_agent_tick(ab_agent *a)
{
    int64_t now = ab_clock_mono_ms(a->env.clock);
    for (ab_map_iter i = ab_map_first(a->apps); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_app *app = i.value;
        if (app->inbox.retry_at != 0 && app->inbox.retry_at <= now) {
            app->inbox.retry_at = 0;
            ab_agent_advance(app);
        }
    }
}

ab_outbox *ab_agent_outbox(ab_agent *a)
{
    return ab_writer_outbox(a->writer);
}

size_t ab_agent_unsettled(const ab_agent *a)
{
    return a->unsettled;
}
