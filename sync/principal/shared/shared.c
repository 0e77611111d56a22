/* SPDX-License-Identifier: Apache-2.0
 *
 * AppProjects, repository Secrets and the GPG keys: an object of the hub goes to every agent that
 * it concerns, to each in its own form. The object itself is not kept: whenever more than what it
 * says itself decides about it (another agent, another project, another certificate), it is read
 * again.
 */
#include "sync/principal/shared/shared_priv.h"

#include "sync/kind/kind.h"
#include "sync/object/project.h"
#include "sync/object/secret.h"
#include "sync/principal/event.h"
#include "sync/principal/lookup.h"
#include "sync/principal/mirror/owner.h"
#include "sync/principal/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_LOG_MS 30000

/* Objects that a tick goes over to count, but for those of the last agent. */
#define COUNTED_MAX 100000

/* --- whom it concerns --- */

/* Is it an AppProject? */
static bool has_rules(const struct shared *s)
{
    return s->kind->audience == AB_FOR_ITS_OWN_RULES;
}

static bool allows(const struct shared *project, const struct peer *peer)
{
    const ab_principal_env *env = &peer->principal->env;
    ab_str kind, namespace, name;
    bool scoped =
        env->is_scoped != NULL &&
        ab_object_key_split(ab_str_of(project->key), &kind, &namespace, &name) == AB_ERR_OK &&
        env->is_scoped(env->scopes, peer->name, name);
    return ab_project_is_for(project->project, peer->name, env->destination_mapping, scoped);
}

static enum verdict judge(const struct shared *s, const struct peer *peer)
{
    const ab_principal *p = s->principal;
    const struct shared *rules = s;
    if (!s->exists)
        return NOT_FOR_IT;
    if (s->kind->audience == AB_FOR_ALL)
        return FOR_IT;
    if (s->kind->audience == AB_FOR_ITS_PROJECT)
        rules = s->scope == NULL ? NULL : ab_principal_shared_find(p, ab_str_of(s->scope));
    bool lacks_project = s->scope != NULL && (rules == NULL || !rules->exists);
    if (lacks_project && (!p->synced || !ab_principal_shared_is_confirmed(s) ||
                          ab_writer_has_key(peer->writer, ab_str_of(s->scope))))
        return NOT_KNOWN_YET; /* it may be new, or what cannot be read, or the store has lost */
    return rules != NULL && rules->exists && allows(rules, peer) ? FOR_IT : NOT_FOR_IT;
}

enum verdict ab_principal_shared_verdict(const struct peer *peer, ab_str key)
{
    const struct shared *s = ab_principal_shared_find(peer->principal, key);
    return s == NULL ? NOT_FOR_IT : judge(s, peer);
}

/* --- what it gets --- */

static void note_unsendable(const struct shared *s, struct peer *peer, ab_err e, ab_error *err)
{
    if (err->text[0] == '\0')
        (void)ab_fail(err, e, "%s", ab_err_text(e));
    AB_ERROR(s->principal->env.log, SYNC, "cannot be sent", AB_KV("agent", peer->name),
             AB_KV("object", s->key), AB_KV("why", err->text));
    ab_principal_shared_note_unsendable(peer, ab_str_of(s->key), err);
}

static void send(const struct shared *s, struct peer *peer, const ab_object *hub)
{
    ab_digest digest;
    ab_error err = {0};
    ab_buf payload = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_principal_shared_render(s, peer, hub, &payload, &digest, &err);
    if (e == AB_ERR_CLOSED)
        ab_principal_shared_count_again(peer);
    else if (e != AB_ERR_OK)
        note_unsendable(s, peer, e, &err);
    else if (!ab_writer_has(peer->writer, ab_str_of(s->key), &digest))
        /* Always a create: no status comes back that would tell when it has been taken over. */
        ab_principal_queue(peer, hub, AB_TYPE_CREATE, ab_buf_str(&payload), &digest);
    ab_buf_wipe(&payload);
}

/* What only the agent has is ended by a resync: one that came too early for that is repeated. */
static void end(const struct shared *s, struct peer *peer)
{
    ab_str key = ab_str_of(s->key);
    ab_principal_shared_note_queued(peer, key);
    if (peer->resync.unsent && !ab_writer_has_key(peer->writer, key))
        ab_resync_queue_again(&peer->resync.turn, "an object that is not for the agent");
    ab_principal_end(peer, key, false);
}

static void send_to(struct shared *s, struct peer *peer, const ab_object *hub)
{
    enum verdict verdict = judge(s, peer);
    if (verdict != FOR_IT && ab_link_is_in_use(&peer->in_waiting))
        ab_principal_shared_count_again(peer);
    if (verdict == NOT_KNOWN_YET)
        return;
    if (verdict == FOR_IT)
        send(s, peer, hub);
    else if (s->principal->listed)
        end(s, peer);
}

static void distribute(struct shared *s, const ab_object *hub)
{
    const ab_principal *p = s->principal;
    if (ab_link_is_in_use(&p->open) && !ab_principal_shared_is_confirmed(s)) {
        ab_principal_shared_seek_project(s);
        return;
    }
    for (ab_list_iter i = ab_list_first(&p->open); i.link != NULL; ab_list_next(&i)) {
        struct peer *peer = AB_LINK_OF(i.link, struct peer, in_open);
        if (!s->for_all && peer->asked <= s->informed_at)
            break; /* so did those that follow */
        send_to(s, peer, hub);
    }
    s->for_all = false;
    s->informed_at = p->asks;
}

/* --- steps --- */

static void count_all_again(const ab_principal *p)
{
    for (ab_list_iter i = ab_list_first(&p->waiting); i.link != NULL; ab_list_next(&i))
        ab_principal_shared_count_again(AB_LINK_OF(i.link, struct peer, in_waiting));
}

/* Nor is there anything that cannot be sent. */
static void forget_unsendable(const struct shared *s)
{
    for (ab_list_iter i = ab_list_first(&s->principal->open); i.link != NULL; ab_list_next(&i))
        ab_principal_shared_note_queued(AB_LINK_OF(i.link, struct peer, in_open),
                                        ab_str_of(s->key));
}

/* Its key ends at every agent. */
static void note_absent(struct shared *s, bool observed)
{
    if (!s->exists)
        return;
    s->exists = s->requeued = false;
    forget_unsendable(s);
    count_all_again(s->principal);
    ab_principal_note_missing(s->principal, NULL, ab_str_of(s->key), false, observed);
    if (has_rules(s))
        ab_principal_shared_requeue_secrets(s->principal, ab_str_of(s->key), true);
}

/* --- facts --- */

static ab_err note_scope(struct shared *s, const ab_object *hub)
{
    char key[AB_OBJECT_KEY_MAX];
    char *project = NULL;
    ab_err e = ab_secret_project(hub, &project);
    if (e != AB_ERR_OK)
        return e;
    if (project == NULL)
        return ab_str_replace(&s->scope, AB_STR_NONE);
    snprintf(key, sizeof(key), "AppProject/%.*s/%s", AB_STR_ARG(ab_object_namespace(hub)), project);
    free(project);
    return ab_str_replace(&s->scope, ab_str_of(key));
}

static ab_err note(struct shared *s, const ab_object *hub)
{
    ab_err e = AB_ERR_OK;
    if (s->kind->audience == AB_FOR_ITS_PROJECT)
        e = note_scope(s, hub);
    else if (has_rules(s))
        e = ab_principal_shared_note_project(s, hub);
    s->exists = s->exists || e == AB_ERR_OK;
    if (s->exists && s->sought)
        ab_reconcile_succeeded(&s->record);
    s->sought = s->sought && !s->exists;
    return e;
}

static void note_deleting(struct shared *s, const ab_object *hub)
{
    bool busy = s->record.step != AB_STEP_IDLE;
    note_absent(s, true); /* its user said so on the object */
    s->requeued = busy;
    if (!busy && ab_span_count(ab_object_meta(hub, "finalizers")) > 0)
        ab_reconcile_edit(&s->record, hub, &(ab_app_edit){.drop_finalizers = true});
}

/* The object as it is. */
static void see(struct shared *s, const ab_object *hub)
{
    bool project = has_rules(s);
    s->deleting = project && ab_object_deleting(hub);
    if (s->deleting) {
        note_deleting(s, hub);
        return;
    }
    ab_err e = note(s, hub);
    if (e != AB_ERR_OK) {
        ab_reconcile_fail(&s->record, e, NULL);
        return;
    }
    bool for_all = s->for_all;
    distribute(s, hub);
    if (project && for_all)
        ab_principal_shared_requeue_secrets(s->principal, ab_str_of(s->key), true);
}

/* --- the engine's questions --- */

static struct shared *shared_of(ab_record *r)
{
    return (struct shared *)r;
}

/* What waits for an agent, or for the store to be listed, is looked at when that comes. */
static bool is_as_desired(const ab_record *r)
{
    const struct shared *s = (const struct shared *)r;
    bool is_due =
        s->requeued && (s->deleting || (s->exists && ab_link_is_in_use(&s->principal->open)));
    return !is_due && !s->sought;
}

static bool reconcile(ab_record *r)
{
    shared_of(r)->requeued = false;
    ab_principal_shared_note_reading(shared_of(r));
    ab_reconcile_get(r);
    return false;
}

/* What was read may be newer, too: said, it would be said before what the store shows next. */
static bool is_as_watched(const struct shared *s, const ab_object *hub)
{
    return (s->exists || s->deleting) && ab_str_is(ab_object_version(hub), s->version);
}

static void got(ab_record *r, ab_object *hub)
{
    struct shared *s = shared_of(r);
    if (s->sought)
        ab_principal_shared_note_sought(s, hub);
    if (hub == NULL || !is_as_watched(s, hub) || !ab_principal_shared_is_read_in_time(s))
        return;
    if (has_rules(s))
        ab_principal_shared_confirm(s);
    see(s, hub);
}

static void look_again(ab_record *r)
{
    shared_of(r)->requeued = true;
}

/* Before synced it is what tells that a project is gone, not unread. */
static bool is_over(const ab_record *r)
{
    const struct shared *s = (const struct shared *)r;
    return !s->exists && !s->deleting && !s->sought && s->principal->synced;
}

static void forget(ab_record *r)
{
    struct shared *s = shared_of(r);
    ab_principal_shared_fini(s);
    ab_map_drop(s->principal->shared, s);
}

static const ab_record_type shared_type = {.is_as_desired = is_as_desired,
                                           .reconcile = reconcile,
                                           .got = got,
                                           .look_again = look_again,
                                           .is_over = is_over,
                                           .free = forget};

/* --- facts --- */

void ab_principal_shared_on_updated(ab_principal *p, ab_object *object)
{
    const ab_kind *kind = ab_kind_of(ab_object_kind(object));
    if (kind == NULL || !kind->shared || !ab_str_is(ab_object_namespace(object), p->env.namespace))
        return;
    if (ab_mirror_is_one(object) || !ab_kind_is_synchronised(object)) {
        ab_principal_shared_on_deleted(p, object, true); /* it is there, and says so itself */
        return;
    }
    struct shared *s = ab_principal_shared_for(p, ab_str_of(ab_object_key(object)), &shared_type);
    bool same = s != NULL && s->version != NULL && ab_str_is(ab_object_version(object), s->version);
    if (s == NULL || ab_str_replace(&s->version, ab_object_version(object)) != AB_ERR_OK) {
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
        return;
    }
    if (!same)
        ab_principal_shared_note_version(s);
    s->for_all = s->record.changed_meanwhile = true;
    see(s, object);
    ab_reconcile_advance(&s->record);
}

void ab_principal_shared_on_deleted(ab_principal *p, const ab_object *object, bool observed)
{
    struct shared *s = ab_principal_shared_find(p, ab_str_of(ab_object_key(object)));
    if (s == NULL)
        return;
    s->deleting = false;
    s->record.changed_meanwhile = true;
    note_absent(s, observed);
    ab_reconcile_tend(&s->record);
}

/* --- time --- */

/* Has the agent no certificate that Secrets can be sealed to? */
static bool lacks_certificate(const struct peer *peer)
{
    const ab_principal_sealing *sealing = &peer->principal->env.sealing;
    return !ab_principal_shared_is_in_clear(peer) && ab_principal_takes_state(peer) &&
           (sealing->recipient == NULL || sealing->recipient(sealing->arg, peer->name) == NULL);
}

/* @param visit  NULL: they are only counted
 *  @return how many Secrets wait for the agent's certificate */
static size_t each_waiting(const struct peer *peer, ab_principal_visitor visit, void *arg)
{
    const ab_principal *p = peer->principal;
    size_t count = 0;
    if (!lacks_certificate(peer))
        return 0;
    for (ab_map_iter i = ab_map_first(p->shared); i.entry != NULL; ab_map_next(&i)) {
        const struct shared *s = i.value;
        if (!s->kind->sealed || judge(s, peer) != FOR_IT)
            continue;
        count++;
        if (visit != NULL)
            visit(arg, i.key, NULL);
    }
    return count;
}

size_t ab_principal_secrets_waiting(const ab_principal *p, const char *agent)
{
    const struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    return peer == NULL ? 0 : peer->waiting;
}

void ab_principal_each_secret_waiting(const ab_principal *p, const char *agent,
                                      ab_principal_visitor visit, void *arg)
{
    const struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer != NULL)
        (void)each_waiting(peer, visit, arg);
}

static void show_waiting(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    size_t count = each_waiting(peer, NULL, NULL);
    ab_label label = {"agent", ab_str_of(peer->name)};
    ab_metric_set(ab_metric_get(p->env.metrics, AB_METRIC_GAUGE, "argobus_secrets_waiting",
                                "Secrets that wait for a certificate to seal them to.", &label, 1),
                  (double)count);
    peer->waiting = count;
    if (count == 0)
        peer->waiting_since = 0;
    else if (peer->waiting_since == 0)
        peer->waiting_since = ab_clock_mono_ms(p->env.clock);
}

/* The agent's hello brings the certificate: not to hear it at once is nothing to tell. */
static void log_waiting(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    bool long_enough =
        peer->waiting > 0 && ab_clock_mono_ms(p->env.clock) - peer->waiting_since >= WAITING_LOG_MS;
    if (long_enough && !peer->waiting_logged)
        AB_WARN(p->env.log, SYNC,
                "Secrets wait: the agent has no certificate that they can be sealed to; to send "
                "them to an argocd-agent in clear, inside of TLS, set secrets: clear for it in "
                "option agents",
                AB_KV("agent", peer->name), AB_KV("secrets", (int64_t)peer->waiting));
    peer->waiting_logged = long_enough;
}

/* One changed Secret may have every agent counted. */
static void count_due(ab_principal *p)
{
    for (size_t counted = 0; counted < COUNTED_MAX && ab_link_is_in_use(&p->counting);) {
        struct peer *peer = AB_LINK_OF(ab_list_pop(&p->counting), struct peer, in_counting);
        counted += lacks_certificate(peer) ? ab_map_count(p->shared) : 1;
        show_waiting(peer);
    }
}

void ab_principal_shared_tick(ab_principal *p)
{
    count_due(p);
    for (ab_list_iter i = ab_list_first(&p->waiting); i.link != NULL; ab_list_next(&i)) {
        struct peer *peer = AB_LINK_OF(i.link, struct peer, in_waiting);
        if (ab_link_is_in_use(&peer->in_counting))
            continue; /* its number is of before */
        log_waiting(peer);
        if (peer->waiting == 0)
            ab_link_remove(&peer->in_waiting);
    }
}
