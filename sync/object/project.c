/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/project.h"

#include "base/core/hex.h"
#include "base/core/pattern.h"
#include "schema/attributes.h"
#include "sync/object/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_SERVER "https://kubernetes.default.svc"
#define ACCOUNTS     "destinationServiceAccounts"
#define OWN_CLUSTERS "permitOnlyProjectScopedClusters"
/* In place of what is not known of an agent's address: nothing but a wildcard matches it. */
#define ANY "\x01"

/* A destination as far as routing goes. */
struct rule {
    char *glob;    /* of agent names; NULL: it is for no agent */
    char *address; /* of servers, denied, that name no agent; NULL: none */
    bool deny;
    bool in_part; /* it denies some namespaces only */
    bool unclear; /* a denial whose glob cannot be evaluated: it denies every agent */
};

struct ab_project {
    struct rule *rules;
    size_t count;
    ab_patterns *namespaces;
    bool own_clusters_only;
};

/* --- one destination --- */

/* Content of a JSON string, for the caller to free; NULL when it is none. */
static ab_err content(ab_spanv v, char **out)
{
    *out = NULL;
    if (ab_span_typeof(v) != AB_SPAN_STRING)
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_span_copy(v, &text);
    ab_buf_putc(&text, '\0');
    if (e == AB_ERR_OK)
        e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        *out = ab_buf_take(&text);
    else
        ab_buf_fini(&text);
    return e;
}

/* Percent-decode in place, up to a character that ends it. */
static void decode(char *value, const char *ends)
{
    char *out = value;
    for (const char *in = value; *in != '\0' && strchr(ends, *in) == NULL; in++) {
        bool coded = in[0] == '%' && ab_hex_digit(in[1]) >= 0 && ab_hex_digit(in[2]) >= 0;
        *out++ = coded ? (char)(ab_hex_digit(in[1]) * 16 + ab_hex_digit(in[2])) : *in;
        in += coded ? 2 : 0;
    }
    *out = '\0';
}

/* "https://proxy:9090?agentName=GLOB", as argocd-agent has it: where the glob begins. */
static char *agent_in_query(char *server)
{
    static const char name[] = "agentName=";
    char *at = strchr(server, '?');
    while (at != NULL && strncmp(at + 1, name, sizeof(name) - 1) != 0)
        at = strchr(at + 1, '&');
    return at == NULL ? NULL : at + sizeof(name);
}

/* "https://principal:9090/agents/GLOB", as live access has it. */
static char *agent_in_path(char *server)
{
    static const char name[] = "/agents/";
    char *scheme = strstr(server, "://");
    char *path = strchr(scheme == NULL ? server : scheme + 3, '/');
    return path == NULL || strncmp(path, name, sizeof(name) - 1) != 0 ? NULL
                                                                      : path + sizeof(name) - 1;
}

/* The glob in the address of a cluster Secret, in place; NULL when there is none. */
static char *agent_in_url(char *server)
{
    char *value = agent_in_query(server);
    const char *ends = value != NULL ? "&#" : "/#";
    if (value == NULL)
        value = agent_in_path(server);
    if (value == NULL)
        return NULL;
    decode(value, ends);
    return value[0] == '\0' ? NULL : value;
}

static char *server_glob(char *server)
{
    return server == NULL || strcmp(server, "*") == 0 ? server : agent_in_url(server);
}

static void free_rule(struct rule *r)
{
    free(r->glob);
    free(r->address);
}

static ab_err make_rule(ab_spanv destination, char *name, char *server, struct rule *out)
{
    bool named = name != NULL && name[0] != '\0';
    char *pattern = named ? name : server;
    bool deny = pattern != NULL && pattern[0] == '!';
    if (deny)
        pattern++;
    const char *glob = named ? pattern : server_glob(pattern);
    /* For Argo CD before 3.6 a name denies in every namespace, a server in those of its
     * destination. Which version the hub has is not known here: the stricter meaning stands. */
    *out = (struct rule){.deny = deny,
                         .in_part = deny && !named &&
                                    !ab_span_is(ab_span_get(destination, "namespace"), "*")};
    bool address = glob == NULL && deny;
    const char *kept = address ? pattern : glob;
    if (kept == NULL)
        return AB_ERR_OK;
    out->unclear = deny && !address && !ab_glob_is_valid(ab_str_of(kept));
    char *copy = ab_str_dup(ab_str_of(kept));
    *(address ? &out->address : &out->glob) = copy;
    return copy == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static ab_err read_rule(ab_spanv destination, struct rule *out)
{
    char *name = NULL, *server = NULL;
    *out = (struct rule){0};
    ab_err e = content(ab_span_get(destination, "name"), &name);
    if (e == AB_ERR_OK)
        e = content(ab_span_get(destination, "server"), &server);
    if (e == AB_ERR_OK)
        e = make_rule(destination, name, server, out);
    free(name);
    free(server);
    return e;
}

/* An agent's address in its cluster Secret has one of these forms: ours, and argocd-agent's. */
static bool matches_address(const char *glob, const char *agent)
{
    static const char *const before[] = {"https://" ANY "/agents/", "https://" ANY "?agentName="};
    bool matches = false;
    for (size_t i = 0; glob != NULL && i < sizeof(before) / sizeof(*before); i++) {
        char address[128]; /* a name is a DNS label */
        snprintf(address, sizeof(address), "%s%s", before[i], agent);
        matches |= ab_glob_match(ab_str_of(glob), ab_str_of(address));
    }
    return matches;
}

/* Is it for another host than any? */
static bool is_undecided(const struct rule *r)
{
    return r->address != NULL && strpbrk(r->address, "*?[{") != NULL &&
           !matches_address(r->address, ANY);
}

static bool matches(const struct rule *r, const char *agent)
{
    return r->unclear || matches_address(r->address, agent) ||
           (r->glob != NULL && ab_glob_match(ab_str_of(r->glob), ab_str_of(agent)));
}

/* --- a project's rules --- */

static ab_err read_rules(ab_project *p, ab_spanv destinations)
{
    size_t count = ab_span_count(destinations);
    p->rules = calloc(count + 1, sizeof(*p->rules));
    if (p->rules == NULL)
        return AB_ERR_NOMEM;
    for (ab_spanv v = ab_span_first(destinations); ab_span_present(v); v = ab_span_next(v)) {
        ab_err e = read_rule(v, &p->rules[p->count++]);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

/* A pattern that is none matches nothing, as in Argo CD. */
static ab_err read_namespaces(ab_project *p, ab_spanv list)
{
    p->namespaces = ab_patterns_new();
    if (p->namespaces == NULL)
        return AB_ERR_NOMEM;
    for (ab_spanv v = ab_span_first(list); ab_span_present(v); v = ab_span_next(v)) {
        char *pattern = NULL;
        ab_err e = content(v, &pattern);
        if (pattern != NULL)
            e = ab_patterns_add(p->namespaces, ab_str_of(pattern), NULL);
        free(pattern);
        if (e == AB_ERR_NOMEM)
            return e;
    }
    return AB_ERR_OK;
}

ab_err ab_project_new(const ab_object *hub, ab_project **out)
{
    ab_spanv spec = ab_object_field(hub, "spec");
    ab_project *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    p->own_clusters_only = ab_span_typeof(ab_span_get(spec, OWN_CLUSTERS)) == AB_SPAN_TRUE;
    ab_err e = read_rules(p, ab_span_get(spec, "destinations"));
    if (e == AB_ERR_OK)
        e = read_namespaces(p, ab_span_get(spec, "sourceNamespaces"));
    if (e != AB_ERR_OK) {
        ab_project_free(p);
        return e;
    }
    *out = p;
    return AB_ERR_OK;
}

void ab_project_free(ab_project *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++)
        free_rule(&p->rules[i]);
    free(p->rules);
    ab_patterns_free(p->namespaces);
    free(p);
}

const char *ab_project_unclear(const ab_project *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->rules[i].unclear)
            return p->rules[i].glob;
    return NULL;
}

const char *ab_project_undecided(const ab_project *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (is_undecided(&p->rules[i]))
            return p->rules[i].address;
    return NULL;
}

bool ab_project_is_for(const ab_project *p, const char *agent, bool destination_mapping,
                       bool owns_cluster)
{
    bool allowed = false;
    if (p->own_clusters_only && !owns_cluster)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const struct rule *r = &p->rules[i];
        if (!matches(r, agent) || r->in_part)
            continue;
        if (r->deny)
            return false;
        allowed = true;
    }
    return allowed && (destination_mapping || ab_patterns_match(p->namespaces, ab_str_of(agent)));
}

/* --- what the agent gets --- */

static ab_err render_destination(ab_spanw *w, ab_spanv destination, const char *agent)
{
    static const char *const replaced[] = {"name", "server", NULL};
    struct rule rule;
    ab_err e = read_rule(destination, &rule);
    if (e == AB_ERR_OK && matches(&rule, agent)) {
        ab_spanw_object(w);
        ab_spanw_members(w, destination, replaced);
        if (!rule.deny)
            ab_spanw_key_str(w, "name", AB_STR(AB_NAME_LOCAL_CLUSTER));
        ab_spanw_key_str(w, "server", rule.deny ? AB_STR("!" LOCAL_SERVER) : AB_STR(LOCAL_SERVER));
        ab_spanw_object_end(w);
    }
    free_rule(&rule);
    return e;
}

/* Is it the agent's cluster, as the hub calls it? @param cluster  a glob, which this changes */
static bool names_cluster_of(char *cluster, const char *agent)
{
    if (matches_address(cluster, agent) || ab_glob_match(ab_str_of(cluster), ab_str_of(agent)))
        return true;
    const char *in_url = agent_in_url(cluster);
    return in_url != NULL && ab_glob_match(ab_str_of(in_url), ab_str_of(agent));
}

/* Does it match the destination that an Application of the agent has at the hub? What cannot be
 * evaluated does: a window that is missing at the agent blocks nothing. */
static bool is_of_agent(char *cluster, const char *agent, bool destination_mapping)
{
    ab_str glob = ab_str_of(cluster);
    bool local = ab_glob_match(glob, AB_STR(AB_NAME_LOCAL_CLUSTER)) ||
                 ab_glob_match(glob, AB_STR(LOCAL_SERVER));
    return (local && !destination_mapping) || !ab_glob_is_valid(glob) ||
           names_cluster_of(cluster, agent);
}

static ab_err find_cluster(ab_spanv clusters, const char *agent, bool destination_mapping,
                           bool *found)
{
    ab_err e = AB_ERR_OK;
    *found = false;
    for (ab_spanv v = ab_span_first(clusters); ab_span_present(v) && !*found && e == AB_ERR_OK;
         v = ab_span_next(v)) {
        char *cluster = NULL;
        e = content(v, &cluster);
        *found = cluster != NULL && is_of_agent(cluster, agent, destination_mapping);
        free(cluster);
    }
    return e;
}

/* Argo CD there looks for the name that the agent's Applications have as their destination. */
static ab_err render_window(ab_spanw *w, ab_spanv window, const char *agent,
                            bool destination_mapping)
{
    static const char *const replaced[] = {"clusters", NULL};
    ab_spanv clusters = ab_span_get(window, "clusters");
    bool all_count = ab_span_typeof(ab_span_get(window, "andOperator")) == AB_SPAN_TRUE;
    bool found;
    ab_err e = find_cluster(clusters, agent, destination_mapping, &found);
    if (e != AB_ERR_OK || (all_count && !found && ab_span_count(clusters) > 0))
        return e;
    ab_spanw_object(w);
    ab_spanw_members(w, window, replaced);
    if (found) {
        ab_spanw_key_array(w, "clusters");
        ab_spanw_str(w, AB_STR(AB_NAME_LOCAL_CLUSTER));
        ab_spanw_array_end(w);
    }
    ab_spanw_object_end(w);
    return AB_ERR_OK;
}

static ab_err render_windows(ab_spanw *w, ab_spanv windows, const char *agent,
                             bool destination_mapping)
{
    ab_err e = AB_ERR_OK;
    if (ab_span_typeof(windows) != AB_SPAN_ARRAY)
        return AB_ERR_OK;
    ab_spanw_key_array(w, "syncWindows");
    for (ab_spanv v = ab_span_first(windows); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v))
        e = render_window(w, v, agent, destination_mapping);
    ab_spanw_array_end(w);
    return e;
}

/* Argo CD there knows one address of the cluster. What it understands as it is stays. */
static ab_err render_account(ab_spanw *w, ab_spanv account, const char *agent)
{
    static const char *const replaced[] = {"server", NULL};
    char *server = NULL;
    ab_err e = content(ab_span_get(account, "server"), &server);
    if (e == AB_ERR_OK && server != NULL && ab_glob_is_valid(ab_str_of(server)) &&
        !ab_glob_match(ab_str_of(server), AB_STR(LOCAL_SERVER)) &&
        names_cluster_of(server, agent)) {
        ab_spanw_object(w);
        ab_spanw_members(w, account, replaced);
        ab_spanw_key_str(w, "server", AB_STR(LOCAL_SERVER));
        ab_spanw_object_end(w);
    } else {
        ab_spanw_value(w, account);
    }
    free(server);
    return e;
}

static ab_err render_accounts(ab_spanw *w, ab_spanv accounts, const char *agent)
{
    ab_err e = AB_ERR_OK;
    if (ab_span_typeof(accounts) != AB_SPAN_ARRAY)
        return AB_ERR_OK;
    ab_spanw_key_array(w, ACCOUNTS);
    for (ab_spanv v = ab_span_first(accounts); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v))
        e = render_account(w, v, agent);
    ab_spanw_array_end(w);
    return e;
}

static ab_err render_spec(ab_spanw *w, ab_spanv spec, const char *agent, bool destination_mapping)
{
    const char *const replaced[] = {"destinations",
                                    "roles",
                                    "syncWindows",
                                    ACCOUNTS,
                                    OWN_CLUSTERS,
                                    destination_mapping ? NULL : "sourceNamespaces",
                                    NULL};
    ab_err e = AB_ERR_OK;
    ab_spanw_key_object(w, "spec");
    ab_spanw_members(w, spec, replaced);
    ab_spanw_key_array(w, "destinations");
    for (ab_spanv v = ab_span_first(ab_span_get(spec, "destinations"));
         ab_span_present(v) && e == AB_ERR_OK; v = ab_span_next(v))
        e = render_destination(w, v, agent);
    ab_spanw_array_end(w);
    if (e == AB_ERR_OK)
        e = render_windows(w, ab_span_get(spec, "syncWindows"), agent, destination_mapping);
    if (e == AB_ERR_OK)
        e = render_accounts(w, ab_span_get(spec, ACCOUNTS), agent);
    ab_spanw_object_end(w);
    return e;
}

ab_err ab_project_render(const ab_object *hub, const char *agent, bool destination_mapping,
                         ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_member(&w, ab_object_field(hub, "apiVersion"));
    ab_spanw_member(&w, ab_object_field(hub, "kind"));
    ab_render_metadata(&w, hub);
    ab_err e = render_spec(&w, ab_object_field(hub, "spec"), agent, destination_mapping);
    ab_spanw_object_end(&w);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}
