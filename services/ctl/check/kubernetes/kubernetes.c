/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/document.h"
#include "services/ctl/check/kubernetes/rights.h"
#include "services/ctl/check/kubernetes/versions.h"
#include "services/ctl/check/parts.h"
#include "services/ctl/cluster/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ANSWER_MAX  ((size_t)4 * 1024 * 1024)
#define CLOCK_MAX_S 30 /* what tokens allow: auth/jwt.h */
#define ARGOCD      "/apis/argoproj.io/v1alpha1"

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    ab_cluster_api api;
} checking;

static void check_clock(const checking *c, int64_t server_s)
{
    long long off_s = (long long)((int64_t)time(NULL) - server_s);
    if (server_s == 0)
        return;
    if (llabs(off_s) > CLOCK_MAX_S)
        ab_findings_add(c->out, AB_FOUND_ERROR, "clock",
                        "synchronise the clocks (NTP): certificates and tokens depend on them",
                        "this host is %lld seconds %s the API server", llabs(off_s),
                        off_s > 0 ? "ahead of" : "behind");
    else
        ab_findings_add(c->out, AB_FOUND_OK, "clock", NULL, "within %d seconds of the API server's",
                        CLOCK_MAX_S);
}

/* ----- Argo CD ----- */

static bool has_kind(const cJSON *doc, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "resources"))
    {
        if (ab_doc_is(item, "name", name))
            return true;
    }
    return false;
}

static void check_kinds(const checking *c, const ab_cluster_answer *answer)
{
    static const char *const kinds[] = {"applications", "appprojects"};
    cJSON *doc = NULL;
    if (answer->status == 200 &&
        ab_doc_parse(ab_buf_str(&answer->body), ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        doc = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        char where[64];
        snprintf(where, sizeof(where), "%s.argoproj.io", kinds[i]);
        if (has_kind(doc, kinds[i]))
            ab_findings_add(c->out, AB_FOUND_OK, where, NULL, "the CRD is installed");
        else
            ab_findings_add(c->out, AB_FOUND_ERROR, where,
                            "install Argo CD, or at least its CRDs, in this cluster",
                            "the API server does not have this CRD");
    }
    cJSON_Delete(doc);
}

/* @return false: the API server cannot be reached, or does not know us; further questions would
 * only say the same */
static bool check_server(checking *c)
{
    ab_cluster_answer answer;
    ab_err e = ab_cluster_api_ask(&c->api, "GET", ARGOCD, AB_STR_NONE, &answer);
    const char *server = ab_kube_access_server(c->api.access);
    bool reached = e == AB_ERR_OK && answer.status != 401;
    if (e != AB_ERR_OK)
        ab_findings_add(c->out, AB_FOUND_ERROR, server,
                        "look at the kubeconfig (store.kubernetes.*) and the network", "%s",
                        answer.err.text[0] == '\0' ? ab_err_text(e) : answer.err.text);
    else if (!reached)
        ab_findings_add(c->out, AB_FOUND_ERROR, server,
                        "replace the token or certificate in the kubeconfig",
                        "the API server does not accept these credentials (401)");
    else {
        ab_findings_add(c->out, AB_FOUND_OK, server, NULL, "the API server answers");
        check_clock(c, answer.date_s);
        check_kinds(c, &answer);
    }
    ab_cluster_answer_fini(&answer);
    return reached;
}

static bool has_namespaces_setting(const ab_cluster_answer *answer)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(ab_buf_str(&answer->body), ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        return false;
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(doc, "data");
    bool set = ab_doc_text(data, "application.namespaces").len > 0;
    cJSON_Delete(doc);
    return set;
}

/* docs/operate/argocd.md: where Applications are elsewhere than in Argo CD's namespace. */
static void check_settings(checking *c)
{
    char path[256];
    ab_cluster_answer answer;
    bool by_destination = ab_config_is(c->setup->config, "mapping", "destination");
    if (c->setup->is_agent == !by_destination)
        return;
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/argocd-cmd-params-cm",
             ab_config_str(c->setup->config, "store.namespace"));
    ab_err e = ab_cluster_api_ask(&c->api, "GET", path, AB_STR_NONE, &answer);
    if (e != AB_ERR_OK || (answer.status != 200 && answer.status != 404))
        ab_findings_add(c->out, AB_FOUND_WARNING, "argocd-cmd-params-cm",
                        "grant the rights below, or look yourself: docs/operate/argocd.md",
                        "cannot read Argo CD's settings: status %d", answer.status);
    else if (answer.status == 404 || !has_namespaces_setting(&answer))
        ab_findings_add(c->out, AB_FOUND_WARNING, "application.namespaces in argocd-cmd-params-cm",
                        "list the namespaces of Applications there, and restart Argo CD: "
                        "docs/operate/argocd.md",
                        "not set: Argo CD does not serve Applications outside its own namespace");
    else
        ab_findings_add(c->out, AB_FOUND_OK, "application.namespaces in argocd-cmd-params-cm", NULL,
                        "set");
    ab_cluster_answer_fini(&answer);
}

void ab_check_kubernetes(const ab_setup *s, ab_findings *out)
{
    ab_error err = {0};
    checking c = {.setup = s, .out = out};
    if (!ab_config_is(s->config, "store.kind", "kubernetes"))
        return;
    if (ab_cluster_api_init(&c.api, s->config, &err) != AB_ERR_OK)
        ab_findings_add(out, AB_FOUND_ERROR, "store.kubernetes", "docs/operate/kubernetes.md", "%s",
                        err.text);
    else if (check_server(&c)) {
        ab_check_kubernetes_version(&c.api, out);
        ab_check_argocd_version(&c.api, ab_config_str(s->config, "store.namespace"), out);
        check_settings(&c);
        ab_check_rights(s, &c.api, out);
    }
    ab_cluster_api_fini(&c.api);
}
