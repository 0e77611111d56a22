/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/rights.h"

#include "base/json/document.h"

#include <stdio.h>

#define BODY_MAX   4096
#define ANSWER_MAX ((size_t)1024 * 1024)
#define REVIEWS    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ALL        "get list watch create patch delete"

/* When a rule is needed. */
typedef enum { ALWAYS, BY_DESTINATION, MAKES_NAMESPACES, AUTONOMOUS, LIVE, LIVE_EXEC } need;

typedef struct {
    bool agent;   /* else the principal */
    bool cluster; /* in all namespaces; else in Argo CD's */
    need when;
    const char *file; /* in deploy/kubernetes/rbac, without .yaml */
    const char *group;
    const char *resource;
    const char *verbs;
    const char *name; /* of one object; NULL: of all */
} rule;

static const rule rules[] = {
    {true, false, ALWAYS, "agent", "argoproj.io", "applications", ALL, NULL},
    {true, false, ALWAYS, "agent", "argoproj.io", "appprojects", ALL, NULL},
    {true, false, ALWAYS, "agent", "", "secrets", ALL, NULL},
    {true, false, ALWAYS, "agent", "", "configmaps", ALL, NULL},
    {true, true, BY_DESTINATION, "agent-destination", "argoproj.io", "applications", ALL, NULL},
    {true, true, MAKES_NAMESPACES, "agent-destination", "", "namespaces", "create", NULL},
    {true, true, LIVE, "agent-live", "*", "*", "get list watch", NULL},
    {true, true, LIVE_EXEC, "agent-live", "", "pods/exec", "get create", NULL},
    {false, true, ALWAYS, "principal", "argoproj.io", "applications", "get list watch patch", NULL},
    {false, true, ALWAYS, "principal", "", "events", "create", NULL},
    {false, false, ALWAYS, "principal", "argoproj.io", "appprojects", "get list watch patch", NULL},
    {false, false, ALWAYS, "principal", "", "secrets", "get list watch", NULL},
    {false, false, ALWAYS, "principal", "", "configmaps", "get list watch create", NULL},
    {false, false, ALWAYS, "principal", "", "configmaps", "patch", "argobus-store-mark"},
    {false, true, AUTONOMOUS, "principal-autonomous", "argoproj.io", "applications",
     "create delete", NULL},
    {false, false, AUTONOMOUS, "principal-autonomous", "argoproj.io", "appprojects",
     "create delete", NULL},
    {false, true, MAKES_NAMESPACES, "principal-autonomous", "", "namespaces", "create", NULL},
};

typedef struct {
    const ab_setup *setup;
    ab_cluster_api *api;
    ab_findings *out;
    const char *namespace_name;
    size_t allowed;
} asking;

/* ----- which rules are needed ----- */

static bool serves_autonomous(const ab_config *c)
{
    for (size_t i = 0; i < ab_config_count(c, "agents"); i++) {
        const char *mode = ab_config_field(c, "agents", i, "mode");
        if (mode != NULL && strcmp(mode, "autonomous") == 0)
            return true;
    }
    return false;
}

static bool is_needed(const ab_setup *s, const rule *r)
{
    const ab_config *c = s->config;
    if (r->agent != s->is_agent)
        return false;
    switch (r->when) {
    case ALWAYS:
        return true;
    case BY_DESTINATION:
        return strcmp(ab_config_str(c, "mapping"), "destination") == 0;
    case MAKES_NAMESPACES:
        return ab_config_count(c, "store.kubernetes.create-namespaces") > 0;
    case AUTONOMOUS:
        return serves_autonomous(c);
    case LIVE:
        return ab_config_bool(c, "live.enabled");
    case LIVE_EXEC:
        return ab_config_bool(c, "live.enabled") && ab_config_bool(c, "live.exec");
    }
    return false;
}

/* ----- one question ----- */

static void put_review(const asking *a, const rule *r, ab_str verb, ab_buf *out)
{
    size_t len = strcspn(r->resource, "/");
    ab_buf_puts(out, "{\"apiVersion\":\"authorization.k8s.io/v1\","
                     "\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{");
    if (!r->cluster)
        ab_buf_printf(out, "\"namespace\":\"%s\",", a->namespace_name);
    if (r->name != NULL)
        ab_buf_printf(out, "\"name\":\"%s\",", r->name);
    if (r->resource[len] == '/')
        ab_buf_printf(out, "\"subresource\":\"%s\",", r->resource + len + 1);
    ab_buf_printf(out, "\"group\":\"%s\",\"resource\":\"%.*s\",\"verb\":\"%.*s\"}}}", r->group,
                  (int)len, r->resource, AB_STR_ARG(verb));
}

static bool is_allowed(ab_str text)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(text, ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        return false;
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(doc, "status");
    bool allowed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "allowed"));
    cJSON_Delete(doc);
    return allowed;
}

/* The rule that grants it, as one would write it into the role. */
static void add_missing(const asking *a, const rule *r, ab_str verb)
{
    char where[256];
    char remedy[512];
    char names[96] = "";
    if (r->name != NULL)
        snprintf(names, sizeof(names), ", resourceNames: [%s]", r->name);
    snprintf(where, sizeof(where), "%s%s%s %s%s", r->resource, r->group[0] == '\0' ? "" : ".",
             r->group, r->cluster ? "in all namespaces" : "in namespace ",
             r->cluster ? "" : a->namespace_name);
    snprintf(remedy, sizeof(remedy),
             "add to the %s: {apiGroups: [\"%s\"], resources: [\"%s\"]%s, verbs: [%.*s]}, or apply "
             "deploy/kubernetes/rbac/%s.yaml",
             r->cluster ? "ClusterRole" : "Role", r->group, r->resource, names, AB_STR_ARG(verb),
             r->file);
    /* How much live access may see is the operator's choice. */
    bool chosen = r->when == LIVE || r->when == LIVE_EXEC;
    ab_findings_add(a->out, chosen ? AB_FOUND_WARNING : AB_FOUND_ERROR, where, remedy,
                    "not allowed to %.*s", AB_STR_ARG(verb));
}

/* @return false: the API server cannot be asked, which is a finding */
static bool ask_verb(asking *a, const rule *r, ab_str verb)
{
    ab_buf body;
    ab_cluster_answer answer;
    ab_buf_init(&body, BODY_MAX);
    put_review(a, r, verb, &body);
    ab_err e = ab_cluster_api_ask(a->api, "POST", REVIEWS, ab_buf_str(&body), &answer);
    bool answered = e == AB_ERR_OK && answer.status == 201;
    if (!answered)
        ab_findings_add(a->out, AB_FOUND_ERROR, "SelfSubjectAccessReview",
                        "let the program's user review its rights (every user may by default)",
                        "the API server did not answer: status %d %s", answer.status,
                        answer.err.text);
    else if (is_allowed(ab_buf_str(&answer.body)))
        a->allowed++;
    else
        add_missing(a, r, verb);
    ab_cluster_answer_fini(&answer);
    ab_buf_fini(&body);
    return answered;
}

static bool ask_rule(asking *a, const rule *r)
{
    const char *verbs = r->verbs;
    bool answered = true;
    while (answered && *verbs != '\0') {
        size_t len = strcspn(verbs, " ");
        answered = ask_verb(a, r, (ab_str){verbs, len});
        verbs += len + (verbs[len] == ' ');
    }
    return answered;
}

void ab_check_rights(const ab_setup *s, ab_cluster_api *api, ab_findings *out)
{
    asking a = {.setup = s,
                .api = api,
                .out = out,
                .namespace_name = ab_config_str(s->config, "store.namespace")};
    bool answered = true;
    for (size_t i = 0; answered && i < sizeof(rules) / sizeof(*rules); i++)
        if (is_needed(s, &rules[i]))
            answered = ask_rule(&a, &rules[i]);
    if (answered)
        ab_findings_add(out, AB_FOUND_OK, "rights", NULL, "%zu are granted", a.allowed);
}
