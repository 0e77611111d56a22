/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/roster.h"

#include "base/map.h"
#include "schema/attributes.h"

#include <stdlib.h>

#define LABEL_AGENT "argocd-agent.argoproj-labs.io/agent-name"

struct entry {
    char *agent;
    bool listed;    /* by the configuration */
    size_t secrets; /* that name it */
};

struct ab_roster {
    ab_roster_events events;
    ab_log *log;
    ab_map *entries; /* by agent */
    ab_map *secrets; /* key -> the agent's struct entry */
};

static void entry_free(void *value)
{
    struct entry *e = value;
    free(e->agent);
    free(e);
}

ab_roster *ab_roster_new(ab_roster_events events, ab_log *log)
{
    ab_roster *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    *r = (ab_roster){events, log, ab_map_new(), ab_map_new()};
    if (r->entries == NULL || r->secrets == NULL) {
        ab_roster_free(r);
        return NULL;
    }
    return r;
}

void ab_roster_free(ab_roster *r)
{
    if (r == NULL)
        return;
    ab_map_free(r->secrets, NULL);
    ab_map_free(r->entries, entry_free);
    free(r);
}

/* The caller makes sure that something names it. */
static struct entry *entry_for(ab_roster *r, ab_str agent)
{
    struct entry *e = ab_map_find(r->entries, agent);
    if (e != NULL)
        return e;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->agent = ab_str_dup(agent);
    if (e->agent == NULL || ab_map_put(r->entries, agent, e, NULL) != AB_ERR_OK) {
        entry_free(e);
        return NULL;
    }
    r->events.added(r->events.arg, e->agent);
    return e;
}

static void drop_unless_named(ab_roster *r, struct entry *e)
{
    if (e->listed || e->secrets > 0)
        return;
    r->events.removed(r->events.arg, e->agent);
    (void)ab_map_take(r->entries, ab_str_of(e->agent));
    entry_free(e);
}

/* --- the configuration --- */

ab_err ab_roster_list(ab_roster *r, const ab_config *config)
{
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i)) {
        struct entry *e = i.value;
        e->listed = false;
    }
    for (size_t i = 0; i < ab_config_count(config, "agents"); i++) {
        struct entry *e = entry_for(r, ab_str_of(ab_config_field(config, "agents", i, "name")));
        if (e == NULL)
            return AB_ERR_NOMEM;
        e->listed = true;
    }
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i))
        drop_unless_named(r, i.value);
    return AB_ERR_OK;
}

/* --- cluster Secrets --- */

/* Argo CD's cluster Secrets of agents carry the agent's name; others name none. */
static ab_str name_in(const ab_object *secret)
{
    ab_jsonv labels = ab_object_meta(secret, "labels");
    ab_str name = ab_json_plain(ab_json_get(labels, LABEL_AGENT));
    bool cluster = ab_json_is(ab_json_get(labels, AB_LABEL_SECRET_TYPE), "cluster");
    return cluster && name.len > 0 ? name : AB_STR_NONE;
}

static void take_over(ab_roster *r, const ab_object *secret, ab_str agent)
{
    struct entry *e = entry_for(r, agent);
    if (e == NULL || ab_map_put(r->secrets, ab_str_of(ab_object_key(secret)), e, NULL)) {
        AB_ERROR(r->log, MAIN, "out of memory", AB_KV("secret", ab_object_key(secret)));
        if (e != NULL)
            drop_unless_named(r, e);
        return;
    }
    e->secrets++;
}

void ab_roster_seen(ab_roster *r, const ab_object *secret)
{
    ab_str agent = name_in(secret);
    const struct entry *before = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (before != NULL && ab_str_is(agent, before->agent))
        return;
    ab_roster_gone(r, secret);
    if (agent.len == 0)
        return;
    if (ab_str_is_dns_label(agent))
        take_over(r, secret, agent);
    else
        AB_WARN(r->log, MAIN, "a cluster Secret names no agent: its label is no DNS label",
                AB_KV("secret", ab_object_key(secret)), AB_KV("label", LABEL_AGENT),
                AB_KV("value", agent));
}

void ab_roster_gone(ab_roster *r, const ab_object *secret)
{
    struct entry *e = ab_map_take(r->secrets, ab_str_of(ab_object_key(secret)));
    if (e == NULL)
        return;
    e->secrets--;
    drop_unless_named(r, e);
}
