/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal_priv.h"

#include "schema/attributes.h"
#include "sync/kind.h"

#include <stdio.h>
#include <stdlib.h>

static void wake(const struct peer *peer)
{
    const ab_principal_effects *fx = &peer->principal->env.effects;
    fx->wake(fx->arg, peer->name);
}

static void queued(const struct peer *peer, ab_str key, ab_err e)
{
    if (e == AB_ERR_OK)
        wake(peer);
    else
        AB_ERROR(peer->principal->env.log, SYNC, "cannot queue an event",
                 AB_KV("agent", peer->name), AB_KV("key", key), AB_KV("why", ab_err_text(e)));
}

void ab_principal_address(const ab_principal *p, ab_str key, ab_event_draft *draft,
                          char subject[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return;
    const ab_kind *row = ab_kind_of(kind);
    if (row == NULL)
        return;
    snprintf(subject, AB_OBJECT_KEY_MAX, "%.*s/%.*s", AB_STR_ARG(ns), AB_STR_ARG(name));
    ab_event_set_text(draft, AB_CE_DATASCHEMA, ab_target_name(row->target));
    ab_event_set_text(draft, AB_CE_SUBJECT, subject);
    if (!row->shared && p->env.destination_mapping && ab_str_is(ns, p->env.namespace))
        ab_event_set_text(draft, AB_CE_REMAPPED, "true");
}

void ab_principal_queue(struct peer *peer, const ab_object *hub, ab_type type, ab_str payload,
                        const ab_digest *digest)
{
    char subject[AB_OBJECT_KEY_MAX], resource[AB_OBJECT_KEY_MAX], event[AB_OBJECT_KEY_MAX + 64];
    ab_str key = ab_str_of(ab_object_key(hub));
    snprintf(resource, sizeof(resource), "%.*s_%.*s", AB_STR_ARG(ab_object_name(hub)),
             AB_STR_ARG(ab_object_uid(hub)));
    snprintf(event, sizeof(event), "%s_%.*s", resource, AB_STR_ARG(ab_object_version(hub)));
    ab_event_draft draft = {.data = payload};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_principal_address(peer->principal, key, &draft, subject);
    ab_event_set_text(&draft, AB_CE_RESOURCEID, resource);
    ab_event_set_text(&draft, AB_CE_EVENTID, event);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    queued(peer, key, ab_writer_state(peer->writer, key, key, &draft, digest, NULL));
}

/* What kept the former content from being sent need not keep this one. */
static void forget_own_error(ab_principal_app *app)
{
    if (!app->error_ours)
        return;
    free(app->error);
    app->error = NULL;
    app->error_ours = false;
    app->error_due = true;
}

void ab_principal_state(ab_principal_app *app, const ab_object *hub)
{
    ab_buf wish;
    ab_digest before = app->wish;
    /* A create may adopt what stands at the agent; until a status came back nobody has done so. */
    bool create = ab_version_is_none(app->status_version);
    ab_buf_init(&wish, AB_JSON_SIZE_MAX);
    ab_err e = ab_app_wish(hub, &wish);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&wish), &app->wish);
    if (e == AB_ERR_OK && !ab_digest_eq(&before, &app->wish))
        forget_own_error(app);
    if (e == AB_ERR_OK && ab_principal_is_open(app) &&
        !ab_writer_has(app->peer->writer, ab_str_of(app->key), &app->wish))
        ab_principal_queue(app->peer, hub, create ? AB_TYPE_CREATE : AB_TYPE_SPEC_UPDATE,
                           ab_buf_str(&wish), &app->wish);
    ab_buf_fini(&wish);
    ab_principal_settle_move(app);
}

void ab_principal_end(struct peer *peer, ab_str key)
{
    if (ab_writer_has_key(peer->writer, key))
        ab_principal_end_anyway(peer, key);
}

void ab_principal_end_anyway(struct peer *peer, ab_str key)
{
    char subject[AB_OBJECT_KEY_MAX];
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_DELETE));
    ab_principal_address(peer->principal, key, &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    queued(peer, key, ab_writer_end_anyway(peer->writer, key, key, &draft, NULL));
}

/* The log holds commands too. */
static bool is_object(ab_str key)
{
    ab_str kind, ns, name;
    return ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && ab_kind_of(kind) != NULL;
}

void ab_principal_give_up(struct peer *peer, ab_str key)
{
    char subject[AB_OBJECT_KEY_MAX];
    ab_event_draft draft = {0};
    if (!is_object(key))
        return;
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_RELEASE));
    ab_principal_address(peer->principal, key, &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    queued(peer, key, ab_writer_end(peer->writer, key, key, &draft, NULL));
}

struct sweep {
    struct peer *peer;
    size_t total;
    size_t missing;
    bool end;
};

static void sweep_key(void *arg, ab_str key)
{
    struct sweep *s = arg;
    const ab_principal *p = s->peer->principal;
    const ab_principal_app *app = ab_principal_find(p, key);
    if (!is_object(key))
        return;
    s->total++;
    if ((app != NULL && app->here) || ab_principal_shared_is_here(p, key) ||
        ab_mirror_is_here(p, key))
        return;
    s->missing++;
    if (s->end)
        ab_principal_end(s->peer, key);
}

static int64_t now_ms(const struct peer *peer)
{
    return ab_clock_mono_ms(peer->principal->env.clock);
}

static void show_held(const struct peer *peer)
{
    const ab_principal_env *env = &peer->principal->env;
    ab_label label = {"agent", ab_str_of(peer->name)};
    ab_metric_set(ab_metric_get(env->metrics, AB_METRIC_GAUGE, "argobus_deletions_held",
                                "Deletions that the mass-deletion guard holds back.", &label, 1),
                  (double)peer->guard.held);
}

static void say_held(const struct peer *peer)
{
    AB_ERROR(peer->principal->env.log, SYNC,
             "mass deletion held back: the store has lost most objects that the agent has; "
             "if that is meant: argobusctl resync --confirm",
             AB_KV("agent", peer->name), AB_KV("missing", (int64_t)peer->guard.held));
}

bool ab_principal_may_end(struct peer *peer, size_t missing, size_t total)
{
    bool may = ab_guard_all(&peer->guard, now_ms(peer), missing, total);
    show_held(peer);
    if (!may)
        say_held(peer);
    return may;
}

void ab_principal_note_held(struct peer *peer, size_t held)
{
    bool more = held > peer->guard.held;
    peer->guard.held = held;
    show_held(peer);
    if (more)
        AB_ERROR(peer->principal->env.log, SYNC,
                 "mass deletion held back by the agent: its store has lost most objects that are "
                 "mirrored here; if that is meant: argobusctl resync --confirm",
                 AB_KV("agent", peer->name), AB_KV("missing", (int64_t)held));
}

size_t ab_principal_held(const ab_principal *p, const char *agent)
{
    size_t held = 0;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        const struct peer *peer = i.value;
        if (agent == NULL || ab_str_is(i.key, agent))
            held += peer->guard.held;
    }
    return held;
}

static void count_object(void *arg, ab_str key)
{
    *(size_t *)arg += is_object(key);
}

void ab_principal_end_gone(struct peer *peer, ab_str key)
{
    size_t total = 0;
    if (!ab_writer_has_key(peer->writer, key))
        return;
    if (ab_guard_is_idle(&peer->guard, now_ms(peer)))
        ab_writer_each(peer->writer, "", count_object, &total);
    if (ab_guard_one(&peer->guard, now_ms(peer), total)) {
        ab_principal_end(peer, key);
        return;
    }
    show_held(peer);
    if (peer->guard.held == 1)
        say_held(peer);
    peer->swept = false; /* a sweep finds it, when it is allowed to */
}

void ab_principal_guard_tick(struct peer *peer)
{
    if (ab_guard_is_due(&peer->guard, now_ms(peer)))
        ab_principal_sweep(peer); /* the objects may be back */
}

ab_err ab_principal_confirm(ab_principal *p, const char *agent)
{
    if (agent != NULL && ab_principal_peer(p, ab_str_of(agent)) == NULL)
        return AB_ERR_NOTFOUND;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        struct peer *peer = i.value;
        if (agent != NULL && !ab_str_is(i.key, agent))
            continue;
        ab_principal_resync_stop(peer); /* one that was begun without it would use it up */
        peer->guard.confirmed = true;
        peer->swept = false;
        ab_principal_sweep(peer);
    }
    return ab_principal_resync(p, agent, "confirmed");
}

static void end_missing(struct peer *peer)
{
    struct sweep s = {.peer = peer};
    ab_writer_each(peer->writer, "", sweep_key, &s);
    if (!ab_principal_may_end(peer, s.missing, s.total))
        return;
    s = (struct sweep){.peer = peer, .end = true};
    ab_writer_each(peer->writer, "", sweep_key, &s);
    peer->swept = true;
}

static void note_moved(void *arg, ab_str key)
{
    const struct peer *peer = arg;
    ab_principal_app *app = ab_principal_find(peer->principal, key);
    if (app != NULL && app->here && app->peer != peer)
        app->moved = true;
}

void ab_principal_sweep(struct peer *peer)
{
    ab_principal *p = peer->principal;
    if (!p->listed || !ab_principal_takes_state(peer) || peer->swept)
        return;
    ab_writer_each(peer->writer, "Application/", note_moved, peer);
    for (ab_map_iter i = ab_map_first(p->apps); i.entry != NULL; ab_map_next(&i))
        ab_principal_settle_move(i.value);
    if (p->synced)
        end_missing(peer);
}
