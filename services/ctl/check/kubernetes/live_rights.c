/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kubernetes/live_rights.h"

#include "live/resource/map.h"
#include "services/ctl/check/kubernetes/review.h"

#include <stdio.h>

#define KINDS_MAX 2048

static const ab_review kinds[] = {
    {.group = "", .resource = "configmaps"},
    {.group = "batch", .resource = "cronjobs"},
    {.group = "apps", .resource = "daemonsets"},
    {.group = "apps", .resource = "deployments"},
    {.group = "apps", .resource = "deployments/scale"},
    {.group = "autoscaling", .resource = "horizontalpodautoscalers"},
    {.group = "networking.k8s.io", .resource = "ingresses"},
    {.group = "batch", .resource = "jobs"},
    {.group = "networking.k8s.io", .resource = "networkpolicies"},
    {.group = "", .resource = "persistentvolumeclaims"},
    {.group = "policy", .resource = "poddisruptionbudgets"},
    {.group = "", .resource = "pods"},
    {.group = "apps", .resource = "replicasets"},
    {.group = "apps", .resource = "replicasets/scale"},
    {.group = "", .resource = "secrets"},
    {.group = "", .resource = "serviceaccounts"},
    {.group = "", .resource = "services"},
    {.group = "apps", .resource = "statefulsets"},
    {.group = "apps", .resource = "statefulsets/scale"},
};

bool ab_live_rights_uses(const ab_resource_policy *policy, ab_str verb)
{
    for (int v = AB_RESOURCE_GET; v < AB_RESOURCE_CONNECT; v++)
        if (policy->verbs[v] && ab_str_is(verb, ab_resource_map_verb((ab_resource_verb)v)))
            return true;
    return false;
}

static void put_kind(const ab_review *kind, ab_buf *out)
{
    ab_buf_printf(out, "%s%s%s%s", ab_buf_str(out).len == 0 ? "" : ", ", kind->resource,
                  kind->group[0] == '\0' ? "" : ".", kind->group);
}

static void add_missing(const char *verb, const ab_buf *missing, ab_findings *out)
{
    char remedy[256];
    snprintf(remedy, sizeof(remedy),
             "add these kinds with verbs: [%s] to the ClusterRole, or apply "
             "deploy/kubernetes/rbac/agent-live.yaml, or leave %s out of live.kubernetes.verbs",
             verb, verb);
    ab_findings_add(out, AB_FOUND_WARNING, "live access in all namespaces", remedy,
                    "not allowed to %s %.*s", verb, AB_STR_ARG(ab_buf_str(missing)));
}

static bool ask_verb(ab_cluster_api *api, const char *verb, size_t *allowed, ab_findings *out)
{
    bool answered = true;
    ab_buf missing = ab_buf_up_to(KINDS_MAX);
    for (size_t i = 0; answered && i < sizeof(kinds) / sizeof(*kinds); i++) {
        bool granted = false;
        answered = ab_review_ask(api, &kinds[i], ab_str_of(verb), &granted, out);
        *allowed += granted;
        if (answered && !granted)
            put_kind(&kinds[i], &missing);
    }
    if (answered && ab_buf_str(&missing).len > 0)
        add_missing(verb, &missing, out);
    ab_buf_fini(&missing);
    return answered;
}

bool ab_live_rights_check(const ab_resource_policy *policy, ab_cluster_api *api, size_t *allowed,
                          ab_findings *out)
{
    static const char *const verbs[] = {"create", "update", "patch", "delete"};
    bool answered = true;
    for (size_t i = 0; answered && i < sizeof(verbs) / sizeof(*verbs); i++)
        if (ab_live_rights_uses(policy, ab_str_of(verbs[i])))
            answered = ask_verb(api, verbs[i], allowed, out);
    return answered;
}
