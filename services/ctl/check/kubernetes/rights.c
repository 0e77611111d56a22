/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kubernetes/rights.h"

#include "services/ctl/check/kubernetes/live_rights.h"
#include "services/ctl/check/kubernetes/review.h"
#include "services/ctl/check/kubernetes/watermark_rights.h"

#include <stdio.h>

#define ALL "get list watch create patch delete"

/* When a rule is needed. */
typedef enum {
    ALWAYS,
    BY_DESTINATION,
    MAKES_NAMESPACES,
    AUTONOMOUS,
    REGISTRATION,
    LIVE,
    LIVE_EXEC
} need;

typedef struct {
    bool agent;   /* else the principal */
    bool cluster; /* in all namespaces; else in Argo CD's */
    need when;
    const char *file; /* in deploy/kubernetes/rbac, without .yaml */
    const char *group;
    const char *resource;
    const char *verbs;
} rule;

static const rule rules[] = {
    {true, false, ALWAYS, "agent", "argoproj.io", "applications", ALL},
    {true, false, ALWAYS, "agent", "argoproj.io", "appprojects", ALL},
    {true, false, ALWAYS, "agent", "", "secrets", ALL},
    {true, false, ALWAYS, "agent", "", "configmaps", ALL},
    {true, true, BY_DESTINATION, "agent-destination", "argoproj.io", "applications", ALL},
    {true, true, MAKES_NAMESPACES, "agent-destination", "", "namespaces", "create"},
    {true, true, LIVE, "agent-live", "*", "*", "get list watch"},
    {true, true, LIVE_EXEC, "agent-live", "", "pods/exec", "get create"},
    {false, true, ALWAYS, "principal", "argoproj.io", "applications", "get list watch patch"},
    {false, true, ALWAYS, "principal", "", "events", "create"},
    {false, false, ALWAYS, "principal", "argoproj.io", "appprojects", "get list watch patch"},
    {false, false, ALWAYS, "principal", "", "secrets", "get list watch"},
    {false, false, ALWAYS, "principal", "", "configmaps", "get list watch create"},
    {false, true, AUTONOMOUS, "principal-autonomous", "argoproj.io", "applications",
     "create delete"},
    {false, false, AUTONOMOUS, "principal-autonomous", "argoproj.io", "appprojects",
     "create delete"},
    {false, true, MAKES_NAMESPACES, "principal-autonomous", "", "namespaces", "create"},
    {false, false, REGISTRATION, "principal-registration", "", "secrets", "create patch"},
};

typedef struct {
    const ab_setup *setup;
    ab_cluster_api *api;
    ab_findings *out;
    const char *namespace_name;
    ab_resource_policy policy; /* of live access, at an agent */
    size_t allowed;
} asking;

/* ----- which rules are needed ----- */

static bool registers_autonomous(const ab_config *c)
{
    if (!ab_config_bool(c, "registration.enabled"))
        return false;
    for (size_t i = 0; i < ab_config_count(c, "registration.modes"); i++)
        if (strcmp(ab_config_item(c, "registration.modes", i), "autonomous") == 0)
            return true;
    return ab_config_is(c, "registration.mode", "autonomous");
}

static bool serves_autonomous(const ab_config *c)
{
    for (size_t i = 0; i < ab_config_count(c, "agents"); i++) {
        const char *mode = ab_config_field(c, "agents", i, "mode");
        if (mode != NULL && strcmp(mode, "autonomous") == 0)
            return true;
    }
    return registers_autonomous(c);
}

static bool is_live(const asking *a)
{
    return a->setup->is_agent && ab_config_bool(a->setup->config, "live.enabled") &&
           a->policy.reach != AB_RESOURCE_OFF;
}

static bool is_needed(const asking *a, const rule *r)
{
    const ab_config *c = a->setup->config;
    if (r->agent != a->setup->is_agent)
        return false;
    switch (r->when) {
    case ALWAYS:
        return true;
    case BY_DESTINATION:
        return ab_config_is(c, "mapping", "destination");
    case MAKES_NAMESPACES:
        return ab_config_count(c, "store.kubernetes.create-namespaces") > 0;
    case AUTONOMOUS:
        return serves_autonomous(c);
    case REGISTRATION:
        return ab_config_bool(c, "registration.enabled");
    case LIVE:
        return is_live(a);
    case LIVE_EXEC:
        return is_live(a) && a->policy.exec;
    }
    return false;
}

/* ----- one question ----- */

/* The rule that grants it, as one would write it into the role. */
static void add_missing(const asking *a, const rule *r, ab_str verb)
{
    char where[256];
    char remedy[512];
    snprintf(where, sizeof(where), "%s%s%s %s%s", r->resource, r->group[0] == '\0' ? "" : ".",
             r->group, r->cluster ? "in all namespaces" : "in namespace ",
             r->cluster ? "" : a->namespace_name);
    snprintf(remedy, sizeof(remedy),
             "add to the %s: {apiGroups: [\"%s\"], resources: [\"%s\"], verbs: [%.*s]}, or apply "
             "deploy/kubernetes/rbac/%s.yaml",
             r->cluster ? "ClusterRole" : "Role", r->group, r->resource, AB_STR_ARG(verb), r->file);
    /* How much live access may see is the operator's choice. */
    bool chosen = r->when == LIVE || r->when == LIVE_EXEC;
    ab_findings_add(a->out, chosen ? AB_FOUND_WARNING : AB_FOUND_ERROR, where, remedy,
                    "not allowed to %.*s", AB_STR_ARG(verb));
}

/* @return false: the API server cannot be asked, which is a finding */
static bool ask_verb(asking *a, const rule *r, ab_str verb)
{
    bool allowed = false;
    ab_review review = {.namespace_name = r->cluster ? NULL : a->namespace_name,
                        .group = r->group,
                        .resource = r->resource};
    if (r->when == LIVE && !ab_live_rights_uses(&a->policy, verb))
        return true;
    if (!ab_review_ask(a->api, &review, verb, &allowed, a->out))
        return false;
    a->allowed += allowed;
    if (!allowed)
        add_missing(a, r, verb);
    return true;
}

static bool ask_rule(asking *a, const rule *r)
{
    ab_str verbs = ab_str_of(r->verbs);
    bool answered = true;
    while (answered && verbs.len > 0)
        answered = ask_verb(a, r, ab_str_cut(&verbs, ' '));
    return answered;
}

static bool ask_rules(asking *a)
{
    bool answered = true;
    for (size_t i = 0; answered && i < sizeof(rules) / sizeof(*rules); i++)
        if (is_needed(a, &rules[i]))
            answered = ask_rule(a, &rules[i]);
    if (answered && is_live(a))
        answered = ab_live_rights_check(&a->policy, a->api, &a->allowed, a->out);
    if (answered && !a->setup->is_agent)
        answered = ab_watermark_rights_check(a->setup, a->api, &a->allowed, a->out);
    return answered;
}

void ab_check_rights(const ab_setup *s, ab_cluster_api *api, ab_findings *out)
{
    ab_error err = {0};
    asking a = {.setup = s,
                .api = api,
                .out = out,
                .namespace_name = ab_config_str(s->config, "store.namespace")};
    if (s->is_agent && ab_resource_policy_load(s->config, &a.policy, &err) != AB_ERR_OK)
        ab_findings_add(out, AB_FOUND_ERROR, "live.kubernetes", "docs/operate/live.md", "%s",
                        err.text);
    else if (ask_rules(&a))
        ab_findings_add(out, AB_FOUND_OK, "rights", NULL, "%zu are granted", a.allowed);
    ab_resource_policy_fini(&a.policy);
}
