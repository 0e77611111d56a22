/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared objects as records: found, and looked at again for those agents that ask.
 */
#include "sync/principal/shared/shared_priv.h"

#include "sync/kind/kind.h"
#include "sync/object/project.h"
#include "sync/principal/lookup.h"

#include <stdlib.h>
#include <string.h>

#define GLOB_SHOWN_MAX 100 /* bytes in the log */

void ab_principal_shared_fini(void *value)
{
    struct shared *s = value;
    ab_record_fini(&s->record);
    ab_project_free(s->project);
    free(s->scope);
    free(s->version);
}

struct shared *ab_principal_shared_find(const ab_principal *p, ab_str key)
{
    return ab_map_find(p->shared, key);
}

struct shared *ab_principal_shared_for(ab_principal *p, ab_str key, const ab_record_type *type)
{
    struct shared *s = ab_map_make(p->shared, key, sizeof(*s));
    if (s == NULL || s->principal != NULL)
        return s;
    s->principal = p;
    s->kind = ab_kind_of_key(key);
    s->key = ab_map_at(s).key.ptr;
    ab_record_init(&s->record, type, &p->reconciler, s->key);
    return s;
}

bool ab_principal_shared_exists(const ab_principal *p, ab_str key)
{
    const struct shared *s = ab_principal_shared_find(p, key);
    return s != NULL && s->exists;
}

/* Once for each text of it: the project is read whenever an agent asks. */
static bool is_new(const char *former, const char *glob)
{
    return glob != NULL && (former == NULL || strcmp(former, glob) != 0);
}

static ab_str shown(const char *glob)
{
    return (ab_str){glob, strnlen(glob, GLOB_SHOWN_MAX)};
}

static void log_unclear(const struct shared *s, const ab_project *project)
{
    const ab_project *former = s->project;
    const char *unclear = ab_project_unclear(project);
    const char *undecided = ab_project_undecided(project);
    if (is_new(former == NULL ? NULL : ab_project_unclear(former), unclear))
        AB_WARN(s->principal->env.log, SYNC,
                "cannot evaluate a denied destination: it denies every agent; write a glob of at "
                "most 1024 bytes without nested braces",
                AB_KV("object", s->key), AB_KV("glob", shown(unclear)));
    if (is_new(former == NULL ? NULL : ab_project_undecided(former), undecided))
        AB_WARN(s->principal->env.log, SYNC,
                "cannot tell which agents have an address that this denied server matches; deny "
                "agents by name",
                AB_KV("object", s->key), AB_KV("glob", shown(undecided)));
}

ab_err ab_principal_shared_note_project(struct shared *s, const ab_object *hub)
{
    ab_project *project = NULL;
    ab_err e = ab_project_new(hub, &project);
    if (e != AB_ERR_OK)
        return e;
    log_unclear(s, project);
    ab_project_free(s->project);
    s->project = project;
    return AB_ERR_OK;
}

void ab_principal_shared_count_again(struct peer *peer)
{
    if (!ab_link_is_in_use(&peer->in_waiting))
        ab_list_append(&peer->principal->waiting, &peer->in_waiting);
    if (!ab_link_is_in_use(&peer->in_counting)) /* else it keeps its turn */
        ab_list_append(&peer->principal->counting, &peer->in_counting);
}

void ab_principal_shared_look_again(struct shared *s, bool for_all)
{
    s->requeued = true;
    s->for_all = s->for_all || for_all;
    ab_reconcile_advance(&s->record);
}

void ab_principal_shared_requeue_secrets(const ab_principal *p, ab_str scope, bool for_all)
{
    for (ab_map_iter i = ab_map_first(p->shared); i.entry != NULL; ab_map_next(&i)) {
        struct shared *s = i.value;
        if (s->scope != NULL && ab_str_is(scope, s->scope))
            ab_principal_shared_look_again(s, for_all);
    }
}

/* It is to be told of what is looked at from now on. @return false when it takes nothing */
static bool ask(struct peer *peer)
{
    ab_principal *p = peer->principal;
    if (!ab_principal_takes_state(peer))
        return false;
    peer->asked = ++p->asks;
    ab_list_prepend(&p->open, &peer->in_open);
    return true;
}

void ab_principal_shared_requeue_project(struct peer *peer, ab_str key)
{
    if (ab_str_starts(key, "AppProject/") && ask(peer))
        ab_principal_shared_requeue_secrets(peer->principal, key, false);
}

void ab_principal_shared_requeue(struct peer *peer, ab_str key)
{
    struct shared *s = ab_principal_shared_find(peer->principal, key);
    if (s != NULL && ask(peer))
        ab_principal_shared_look_again(s, false);
}

void ab_principal_shared_requeue_all(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->shared); i.entry != NULL; ab_map_next(&i))
        ab_principal_shared_look_again(i.value, true);
}

void ab_principal_shared_open(struct peer *peer)
{
    if (!ask(peer))
        return;
    for (ab_map_iter i = ab_map_first(peer->principal->shared); i.entry != NULL; ab_map_next(&i))
        ab_principal_shared_look_again(i.value, false);
}

void ab_principal_shared_close(struct peer *peer)
{
    ab_link_remove(&peer->in_open);
    if (ab_link_is_in_use(&peer->in_waiting))
        ab_principal_shared_count_again(peer);
}

void ab_principal_scope_changed(ab_principal *p, const char *agent, ab_str project)
{
    char key[AB_OBJECT_KEY_MAX];
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    int n = snprintf(key, sizeof(key), "AppProject/%s/%.*s", p->env.namespace, AB_STR_ARG(project));
    if (peer == NULL || n < 0 || (size_t)n >= sizeof(key))
        return;
    ab_principal_shared_requeue(peer, ab_str_of(key));
    ab_principal_shared_requeue_project(peer, ab_str_of(key));
}

void ab_principal_recipient_changed(ab_principal *p, const char *agent)
{
    struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    if (peer == NULL)
        return;
    if (ab_link_is_in_use(&peer->in_waiting))
        ab_principal_shared_count_again(peer);
    if (!ask(peer))
        return;
    for (ab_map_iter i = ab_map_first(p->shared); i.entry != NULL; ab_map_next(&i)) {
        struct shared *s = i.value;
        if (s->kind->sealed)
            ab_principal_shared_look_again(s, false);
    }
}
