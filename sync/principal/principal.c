/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/app/app.h"
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"

#include <stdlib.h>
#include <string.h>

static void checked(void *owner)
{
    struct peer *peer = owner;
    ab_principal_sweep(peer);
    bool again = peer->proof.again;
    peer->proof.again = false;
    if (again)
        ab_resync_queue_due(&peer->resync.turn, "the store's watermark was read");
}

static void distrusted(void *owner)
{
    struct peer *peer = owner;
    ab_writer_begin_epoch(peer->writer);
    if (ab_writer_is_ready(peer->writer)) /* else its epoch is not known yet */
        ab_watermark_note_epoch(&peer->line->run, ab_writer_newest(peer->writer).epoch);
}

static ab_err init_watermark(ab_principal *p)
{
    return ab_watermark_store_init(&p->watermark,
                                   &(ab_watermark_store_env){.effects = &p->env.effects,
                                                             .clock = p->env.clock,
                                                             .log = p->env.log,
                                                             .namespace = p->env.namespace,
                                                             .checked = checked,
                                                             .distrusted = distrusted});
}

ab_err ab_principal_new(const ab_principal_env *env, ab_principal **out)
{
    ab_principal *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    p->env = *env;
    ab_reconciler_init(&p->reconciler, &p->env.effects, env->clock, env->log, env->metrics,
                       env->defer_after_ms, AB_UP);
    p->mirror_type = &ab_mirror_type;
    p->reconciler.stopped = true; /* until the store is listed */
    p->peers = ab_map_new();
    p->apps = ab_map_new();
    p->shared = ab_map_new();
    p->mirrors = ab_map_new();
    p->over = ab_map_new();
    p->records_by_agent = ab_map_new();
    p->own_projects = ab_map_new();
    p->copies = ab_map_new();
    ab_link_init(&p->open);
    ab_link_init(&p->watched);
    ab_link_init(&p->waiting);
    ab_link_init(&p->counting);
    ab_resync_queue_init(&p->resyncs,
                         &(ab_resync_env){.role = &ab_principal_resync_role,
                                          .clock = env->clock,
                                          .log = env->log,
                                          .principal_uid = env->uid},
                         env->resync_ms, env->resyncs_max);
    ab_err e = init_watermark(p);
    if (e != AB_ERR_OK || p->peers == NULL || p->apps == NULL || p->shared == NULL ||
        p->mirrors == NULL || p->over == NULL || p->records_by_agent == NULL ||
        p->own_projects == NULL || p->copies == NULL) {
        ab_principal_free(p);
        return AB_ERR_NOMEM;
    }
    p->metrics.resyncs = ab_metric_get(env->metrics, AB_METRIC_COUNTER, "argobus_resyncs_total",
                                       "Completed resyncs with agents.", NULL, 0);
    *out = p;
    return AB_ERR_OK;
}

void ab_principal_free(ab_principal *p)
{
    if (p == NULL)
        return;
    ab_map_free(p->apps, ab_principal_app_fini);
    ab_map_free(p->shared, ab_principal_shared_fini);
    ab_map_free(p->mirrors, ab_mirror_fini);
    ab_map_free(p->peers, ab_principal_peer_free);
    ab_map_free(p->over, NULL);
    ab_map_free(p->records_by_agent, NULL);
    ab_map_free(p->own_projects, NULL);
    ab_map_free(p->copies, NULL);
    ab_watermark_store_fini(&p->watermark);
    free(p);
}

void ab_principal_on_updated(ab_principal *p, ab_object *object)
{
    ab_mirror_on_updated(p, object);
    ab_watermark_store_note(&p->watermark, object);
    if (ab_str_is(ab_object_kind(object), "Application"))
        ab_principal_app_on_updated(p, object);
    else
        ab_principal_shared_on_updated(p, object);
}

void ab_principal_on_deleted(ab_principal *p, ab_object *object, bool observed)
{
    ab_mirror_on_deleted(p, object, observed);
    if (ab_str_is(ab_object_kind(object), "Application"))
        ab_principal_app_on_deleted(p, object, observed);
    else
        ab_principal_shared_on_deleted(p, object, observed);
}

void ab_principal_on_list_done(ab_principal *p)
{
    p->listed = true;
    p->reconciler.stopped = false;
    ab_watermark_store_listed(&p->watermark);
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        ab_principal_sweep(i.value);
        ab_principal_take_held(i.value);
    }
    for (ab_map_iter i = ab_map_first(p->apps); i.entry != NULL; ab_map_next(&i))
        ab_reconcile_advance(i.value);
    ab_principal_shared_requeue_all(p);
    ab_mirror_requeue_all(p);
    ab_resync_queue_go(&p->resyncs);
}

void ab_principal_on_synced(ab_principal *p)
{
    p->synced = true;
    ab_watermark_store_check_all(&p->watermark);
    if (!p->listed)
        ab_principal_on_list_done(p);
    ab_principal_shared_requeue_all(p);
}

void ab_principal_on_interrupted(ab_principal *p)
{
    ab_watermark_store_interrupt(&p->watermark);
}

void ab_principal_on_replaced(ab_principal *p)
{
    ab_watermark_store_replace(&p->watermark);
}

void ab_principal_on_resumed(ab_principal *p)
{
    ab_watermark_store_resume(&p->watermark);
}

void ab_principal_unsendable(ab_principal *p, const char *agent, const ab_event *event,
                             const ab_error *err)
{
    ab_principal_app *app = ab_principal_find(p, ab_event_attr(event, AB_CE_PARTITIONKEY));
    AB_ERROR(p->env.log, SYNC, "cannot be sent", AB_KV("agent", agent),
             AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)), AB_KV("why", err->text));
    if (app == NULL)
        ab_principal_shared_note_unsendable(ab_principal_peer(p, ab_str_of(agent)),
                                            ab_event_attr(event, AB_CE_PARTITIONKEY), err);
    if (app == NULL || app->peer == NULL || strcmp(app->peer->name, agent) != 0)
        return;
    free(app->error);
    app->error = ab_str_dup(ab_str_of(err->text));
    app->error_ours = app->error_due = true;
    ab_principal_defer(app, DEFERRED_UNSENDABLE, true);
    ab_reconcile_advance(&app->record);
}

void ab_principal_tick(ab_principal *p)
{
    ab_watermark_store_advance(&p->watermark);
    ab_principal_peers_tick(p);
    ab_principal_shared_tick(p);
    ab_reconciler_tick(&p->reconciler);
    ab_resync_queue_tick(&p->resyncs);
}
