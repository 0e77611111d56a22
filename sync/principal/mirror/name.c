/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the name of a mirrored project is. Project p of agent w1 is mirrored as "w1-p", so two
 * agents may come to one name: project b-c of a, and project c of a-b. The name belongs to the
 * served agent with the longest name that fits, whether or not it has such a project, and whatever
 * its mode is. So neither the order of arrival nor a restart changes the answer, and no agent can
 * take a name before its owner comes: only the control plane decides which agents are served.
 *
 * An Application is never mirrored into a project that is not its agent's: its project is
 * "a_b-c" then, a name that no AppProject can have.
 */
#include "sync/principal/mirror/mirror_priv.h"

#include "sync/principal/lookup.h"
#include "sync/principal/mirror/owner.h"

#include <stdio.h>
#include <string.h>

#define AGENT_MAX 63

/* The first `len` bytes of a project's name, if they may be an agent's; else absent. */
static ab_str prefix(ab_str name, size_t len)
{
    bool fits = len > 0 && len + 1 < name.len && name.ptr[len] == '-';
    return fits ? (ab_str){name.ptr, len} : AB_STR_NONE;
}

static bool is_served(const ab_principal *p, ab_str agent)
{
    return agent.len > 0 && ab_principal_peer(p, agent) != NULL;
}

/* NULL: there are none. */
static const struct agent_records *records_of(const ab_principal *p, ab_str agent)
{
    return agent.len == 0 ? NULL : ab_map_find(p->records_by_agent, agent);
}

static bool may_name(const ab_principal *p, ab_str agent, ab_str name)
{
    for (size_t i = agent.len + 1; i < name.len && i <= AGENT_MAX; i++)
        if (is_served(p, prefix(name, i)))
            return false;
    return true;
}

/* The project's name at the hub; absent when the key is of another kind. */
static ab_str project_in(ab_str key)
{
    ab_str kind, ns, name;
    bool is_project =
        ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && ab_str_is(kind, "AppProject");
    return is_project ? name : AB_STR_NONE;
}

bool ab_mirror_may_have(const ab_principal *p, ab_str agent, ab_str key)
{
    return may_name(p, agent, project_in(key));
}

bool ab_mirror_has_name(const struct mirror *m)
{
    return ab_mirror_may_have(m->principal, ab_str_of(m->agent), ab_str_of(m->key));
}

bool ab_mirror_is_project_refused(const struct mirror *m, ab_str name)
{
    const ab_principal *p = m->principal;
    char key[AB_OBJECT_KEY_MAX];
    int n = snprintf(key, sizeof(key), "AppProject/%s/%.*s", p->env.namespace, AB_STR_ARG(name));
    if (n < 0 || n >= (int)sizeof(key) || !may_name(p, ab_str_of(m->agent), name))
        return true;
    const struct mirror *project = ab_map_find(p->mirrors, ab_str_of(key));
    bool anothers = project != NULL && project->exists &&
                    (project->conflict || strcmp(project->agent, m->agent) != 0);
    return anothers || ab_map_find(p->own_projects, ab_str_of(key)) != NULL;
}

bool ab_mirror_is_project_judged(const struct mirror *m)
{
    return m->project == NULL ||
           ab_mirror_is_project_refused(m, ab_str_of(m->project)) == m->project_refused;
}

/* It is looked at again, an Application only if its project is another's than it was. */
static void check_one(struct mirror *m)
{
    bool is_project = m->kind == &ab_kind_appproject;
    if (!is_project && ab_mirror_is_project_judged(m))
        return;
    if (!is_project)
        m->applied = m->applied_status = (ab_digest){0};
    m->up_to_date = false;
    m->record.inbox.retry_at = 0;
    ab_reconcile_advance(&m->record);
}

/* @param project  only what is in this one at the hub; absent: in any */
static void check(const struct agent_records *r, const ab_kind *kind, ab_str project)
{
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i)) {
        struct mirror *m = AB_LINK_OF(i.link, struct mirror, in_records);
        bool other = project.ptr != NULL && (m->project == NULL || !ab_str_is(project, m->project));
        if (m->kind == kind && !other)
            check_one(m);
    }
}

void ab_mirror_project_changed(const ab_principal *p, ab_str key)
{
    ab_str name = project_in(key);
    for (size_t i = 1; p->listed && i < name.len && i <= AGENT_MAX; i++) {
        const struct agent_records *r = records_of(p, prefix(name, i));
        if (r != NULL) /* served or not: it may be again */
            check(r, &ab_kind_application, name);
    }
}

void ab_mirror_agents_changed(const ab_principal *p, const char *agent)
{
    ab_str name = ab_str_of(agent);
    for (size_t i = 1; p->listed && i < name.len; i++) {
        const struct agent_records *r = records_of(p, prefix(name, i));
        if (r == NULL)
            continue;
        check(r, &ab_kind_appproject, AB_STR_NONE);
        check(r, &ab_kind_application, AB_STR_NONE);
        if (r->peer != NULL)
            ab_resync_queue_due(&r->peer->resync.turn, "names of mirrored projects changed");
    }
}

void ab_mirror_name_freed(const struct mirror *m)
{
    ab_str name = project_in(ab_str_of(m->key));
    for (size_t i = name.len; i > 0; i--) {
        const struct agent_records *r = records_of(m->principal, prefix(name, i));
        if (r == NULL || r->peer == NULL)
            continue;
        ab_resync_queue_due(&r->peer->resync.turn, "name of a mirrored project is free");
        return;
    }
}

void ab_mirror_note_own_project(ab_principal *p, const ab_object *object, bool exists)
{
    ab_str key = ab_str_of(ab_object_key(object));
    if (project_in(key).ptr == NULL || !ab_str_is(ab_object_namespace(object), p->env.namespace))
        return;
    bool own = exists && !ab_mirror_is_one(object);
    if (own == (ab_map_find(p->own_projects, key) != NULL))
        return;
    if (!own)
        (void)ab_map_take(p->own_projects, key);
    else if (ab_map_put(p->own_projects, key, p, NULL) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
    ab_mirror_project_changed(p, key);
}
