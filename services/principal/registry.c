/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registry.h"

#include "base/core/base64.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "schema/attributes.h"
#include "services/principal/registration/secret.h"

#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"managed", "autonomous"};
#define MODES       (sizeof(modes) / sizeof(modes[0]))
#define PROJECT_MAX 253

struct entry {
    const char *agent;
    size_t row;           /* of option agents, from 1; 0: it is not listed there */
    bool was_listed;      /* there, before the option was read last */
    size_t secrets;       /* that name it */
    ab_link namings;      /* these */
    size_t saying[MODES]; /* of these, those that say so */
    const char *mode;     /* what that comes to; NULL: nothing */
};

/* A cluster Secret that names an agent. */
struct naming {
    struct entry *entry;
    ab_link link;  /* in entry->namings */
    size_t mode;   /* index in modes; MODES: it says nothing, or nonsense */
    char *project; /* whose own cluster it is; NULL: no project's */
};

struct ab_registry {
    ab_registry_events events;
    ab_log *log;
    ab_map *entries; /* by agent */
    ab_map *secrets; /* key -> struct naming */
};

ab_registry *ab_registry_new(ab_registry_events events, ab_log *log)
{
    ab_registry *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    *r = (ab_registry){events, log, ab_map_new(), ab_map_new()};
    if (r->entries == NULL || r->secrets == NULL) {
        ab_registry_free(r);
        return NULL;
    }
    return r;
}

static void fini_naming(void *value)
{
    struct naming *n = value;
    free(n->project);
}

void ab_registry_free(ab_registry *r)
{
    if (r == NULL)
        return;
    ab_map_free(r->secrets, fini_naming);
    ab_map_free(r->entries, NULL);
    free(r);
}

/* The caller makes sure that something names it. @param row  for a new one */
static struct entry *entry_for(ab_registry *r, ab_str agent, size_t row)
{
    struct entry *e = ab_map_make(r->entries, agent, sizeof(*e));
    if (e == NULL || e->agent != NULL)
        return e;
    e->agent = ab_map_at(e).key.ptr;
    e->row = row;
    ab_link_init(&e->namings);
    r->events.added(r->events.arg, e->agent);
    return e;
}

static void drop_unless_named(ab_registry *r, struct entry *e)
{
    if (e->row > 0 || e->secrets > 0)
        return;
    r->events.removed(r->events.arg, e->agent);
    ab_map_drop(r->entries, e);
}

/* --- the configuration --- */

ab_err ab_registry_list(ab_registry *r, const ab_config *config)
{
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i)) {
        struct entry *e = i.value;
        e->was_listed = e->row > 0;
        e->row = 0;
    }
    for (size_t i = 0; i < ab_config_count(config, "agents"); i++) {
        struct entry *e =
            entry_for(r, ab_str_of(ab_config_field(config, "agents", i, "name")), i + 1);
        if (e == NULL)
            return AB_ERR_NOMEM;
        if (e->row == 0)
            e->row = i + 1;
    }
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i))
        drop_unless_named(r, i.value);
    return AB_ERR_OK;
}

const char *ab_registry_listed(const ab_registry *r, const ab_config *config, const char *agent,
                               const char *field)
{
    const struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    return e == NULL || e->row == 0 ? NULL : ab_config_field(config, "agents", e->row - 1, field);
}

bool ab_registry_is_configured(const ab_registry *r, const char *agent)
{
    const struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    return e != NULL && (e->row > 0 || e->was_listed);
}

/* --- cluster Secrets --- */

/* Argo CD's cluster Secrets of agents carry the agent's name; others name none. */
ab_str ab_registry_agent_of(const ab_object *secret)
{
    ab_spanv labels = ab_object_meta(secret, "labels");
    ab_str name = ab_span_plain(ab_span_get(labels, AB_LABEL_AGENT_NAME));
    bool cluster = ab_span_is(ab_span_get(labels, AB_LABEL_SECRET_TYPE), "cluster");
    return cluster && name.len > 0 && !ab_registration_is_waiting(secret) ? name : AB_STR_NONE;
}

/* @return MODES when it says nothing, or nonsense */
static size_t mode_in(const ab_registry *r, const ab_object *secret)
{
    ab_spanv annotation = ab_span_get(ab_object_meta(secret, "annotations"), AB_ANN_MODE);
    for (size_t i = 0; i < MODES; i++)
        if (ab_span_is(annotation, modes[i]))
            return i;
    if (ab_span_present(annotation))
        AB_ERROR(r->log, MAIN,
                 "annotation of a cluster Secret ignored: neither managed nor autonomous; the "
                 "agent counts as managed",
                 AB_KV("secret", ab_object_key(secret)), AB_KV("annotation", AB_ANN_MODE),
                 AB_KV("value", ab_span_plain(annotation)));
    return MODES;
}

/* The Secrets that name the agent have changed. */
static void weigh(const ab_registry *r, struct entry *e)
{
    const char *mode = NULL;
    size_t said = 0;
    for (size_t i = 0; i < MODES; i++) {
        mode = e->saying[i] > 0 ? modes[i] : mode;
        said += e->saying[i] > 0;
    }
    if (said > 1) {
        AB_ERROR(r->log, MAIN,
                 "cluster Secrets of one agent have different modes; it counts as managed",
                 AB_KV("agent", e->agent), AB_KV("annotation", AB_ANN_MODE));
        mode = NULL;
    }
    if (mode == e->mode)
        return;
    e->mode = mode;
    r->events.changed(r->events.arg, e->agent);
}

static struct naming *take_over(ab_registry *r, const ab_object *secret, ab_str agent)
{
    struct entry *e = entry_for(r, agent, 0);
    struct naming *n =
        e == NULL ? NULL : ab_map_make(r->secrets, ab_str_of(ab_object_key(secret)), sizeof(*n));
    if (n == NULL) {
        AB_ERROR(r->log, MAIN, "out of memory", AB_KV("secret", ab_object_key(secret)));
        if (e != NULL)
            drop_unless_named(r, e);
        return NULL;
    }
    *n = (struct naming){.entry = e, .mode = MODES};
    ab_link_init(&n->link);
    ab_list_append(&e->namings, &n->link);
    e->secrets++;
    return n;
}

static void note_mode(const ab_registry *r, struct naming *n, size_t mode)
{
    if (n->mode == mode)
        return;
    if (n->mode < MODES)
        n->entry->saying[n->mode]--;
    if (mode < MODES)
        n->entry->saying[mode]++;
    n->mode = mode;
    weigh(r, n->entry);
}

/* @param out  owned by the caller; NULL: it is no project's. @return NOMEM */
static ab_err project_in(const ab_object *secret, char **out)
{
    ab_buf name = ab_buf_up_to(PROJECT_MAX);
    ab_str encoded = ab_span_plain(ab_span_get(ab_object_field(secret, "data"), "project"));
    bool has = encoded.len > 0 && ab_base64_decode(encoded, &name) &&
               ab_buf_status(&name) == AB_ERR_OK && ab_str_is_dns_subdomain(ab_buf_str(&name));
    *out = has ? ab_str_dup(ab_buf_str(&name)) : NULL;
    ab_buf_fini(&name);
    return has && *out == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

/* @param project  taken over; NULL: none */
static void note_project(const ab_registry *r, struct naming *n, char *project)
{
    char *before = n->project;
    bool same =
        before == NULL || project == NULL ? before == project : strcmp(before, project) == 0;
    n->project = project;
    if (!same && before != NULL)
        r->events.scope_changed(r->events.arg, n->entry->agent, ab_str_of(before));
    if (!same && project != NULL)
        r->events.scope_changed(r->events.arg, n->entry->agent, ab_str_of(project));
    free(before);
}

/* @return NULL when it names none, or there is no memory for it */
static struct naming *take_name(ab_registry *r, const ab_object *secret)
{
    ab_str agent = ab_registry_agent_of(secret);
    struct naming *before = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (before != NULL && ab_str_is(agent, before->entry->agent))
        return before;
    ab_registry_on_deleted(r, secret);
    if (agent.len == 0)
        return NULL;
    if (!ab_str_is_dns_label(agent)) {
        AB_WARN(r->log, MAIN, "a cluster Secret names no agent: its label is not a DNS label",
                AB_KV("secret", ab_object_key(secret)), AB_KV("label", AB_LABEL_AGENT_NAME),
                AB_KV("value", agent));
        return NULL;
    }
    if (ab_str_is(agent, AB_NAME_LOCAL_CLUSTER)) {
        AB_WARN(r->log, MAIN,
                "a cluster Secret names no agent: in-cluster is Argo CD's name of the control "
                "plane's own cluster",
                AB_KV("secret", ab_object_key(secret)), AB_KV("label", AB_LABEL_AGENT_NAME));
        return NULL;
    }
    return take_over(r, secret, agent);
}

void ab_registry_on_updated(ab_registry *r, const ab_object *secret)
{
    struct naming *n = take_name(r, secret);
    char *project = NULL;
    if (n == NULL)
        return;
    note_mode(r, n, mode_in(r, secret));
    if (project_in(secret, &project) != AB_ERR_OK)
        AB_ERROR(r->log, MAIN, "out of memory", AB_KV("secret", ab_object_key(secret)));
    note_project(r, n, project);
}

void ab_registry_on_deleted(ab_registry *r, const ab_object *secret)
{
    struct naming *n = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (n == NULL)
        return;
    struct entry *e = n->entry;
    e->secrets--;
    ab_link_remove(&n->link);
    if (e->row > 0 || e->secrets > 0)
        note_mode(r, n, MODES);
    note_project(r, n, NULL);
    ab_map_drop(r->secrets, n);
    drop_unless_named(r, e);
}

const char *ab_registry_mode(const ab_registry *r, const char *agent)
{
    const struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    return e == NULL ? NULL : e->mode;
}

bool ab_registry_is_scoped(const ab_registry *r, const char *agent, ab_str project)
{
    const struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    if (e == NULL)
        return false;
    for (ab_list_iter i = ab_list_first(&e->namings); i.link != NULL; ab_list_next(&i)) {
        const struct naming *n = AB_LINK_OF(i.link, struct naming, link);
        if (n->project != NULL && ab_str_is(project, n->project))
            return true;
    }
    return false;
}
