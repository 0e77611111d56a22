/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kubernetes/versions.h"

#include "base/json/document.h"
#include "services/ctl/check/kubernetes/versions_priv.h"

#include <stdio.h>

#define ANSWER_MAX  ((size_t)4 * 1024 * 1024)
#define REQUEST_MAX 512
#define WHERE_MAX   320

/* As kubeVersion in deploy/kubernetes/chart/Chart.yaml. */
#define KUBERNETES_MINOR 27

#define LABEL "app.kubernetes.io/version"
#define SELECTOR                                                                                   \
    "app.kubernetes.io%%2Fpart-of%%3Dargocd%%2C"                                                   \
    "app.kubernetes.io%%2Fcomponent%%20in%%20%%28server%%2Capplication-controller%%29"

/* ----- texts ----- */

bool ab_version_kubernetes_is_old(ab_str version)
{
    char text[32];
    unsigned major = 0;
    unsigned minor = 0;
    snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(version));
    if (sscanf(text, "v%u.%u", &major, &minor) != 2)
        return false;
    return major < 1 || (major == 1 && minor < KUBERNETES_MINOR);
}

ab_str ab_version_image_tag(ab_str image)
{
    ab_str tag = AB_STR_NONE;
    for (size_t i = 0; i < image.len && image.ptr[i] != '@'; i++) {
        if (image.ptr[i] == '/')
            tag = AB_STR_NONE;
        else if (image.ptr[i] == ':')
            tag = (ab_str){image.ptr + i + 1, 0};
        else if (tag.ptr != NULL)
            tag.len++;
    }
    return tag.len > 0 ? tag : AB_STR_NONE;
}

static bool is_shown(ab_str text)
{
    return text.len > 0 && ab_str_is_printable(text);
}

/* ----- questions ----- */

/* @return what was answered, the caller's to delete; NULL: no document, `status` says why */
static cJSON *ask(ab_cluster_api *api, const char *path, int *status)
{
    cJSON *doc = NULL;
    ab_cluster_answer answer;
    ab_err e = ab_cluster_api_ask(api, "GET", path, AB_STR_NONE, &answer);
    *status = answer.status;
    if (e == AB_ERR_OK && answer.status == 200)
        e = ab_doc_parse(ab_buf_str(&answer.body), ANSWER_MAX, &doc, NULL);
    ab_cluster_answer_fini(&answer);
    return e == AB_ERR_OK ? doc : NULL;
}

void ab_check_kubernetes_version(ab_cluster_api *api, ab_findings *out)
{
    int status = 0;
    cJSON *doc = ask(api, "/version", &status);
    ab_str version = ab_doc_text(doc, "gitVersion");
    if (!is_shown(version))
        ab_findings_add(out, AB_FOUND_OK, "Kubernetes", NULL,
                        "version not known: /version answered with status %d", status);
    else
        ab_findings_add_version(out, "Kubernetes", version, "version %.*s", AB_STR_ARG(version));
    if (ab_version_kubernetes_is_old(version))
        ab_findings_add(out, AB_FOUND_WARNING, "Kubernetes",
                        "upgrade this cluster before you rely on argobus in it",
                        "older than 1.%d, the oldest version that argobus supports",
                        KUBERNETES_MINOR);
    cJSON_Delete(doc);
}

/* ----- Argo CD ----- */

static ab_str label_of(const cJSON *object)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    return ab_doc_text(cJSON_GetObjectItemCaseSensitive(metadata, "labels"), LABEL);
}

static ab_str image_of(const cJSON *workload)
{
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(workload, "spec");
    const cJSON *pod = cJSON_GetObjectItemCaseSensitive(spec, "template");
    const cJSON *pod_spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pod_spec, "containers");
    return ab_doc_text(cJSON_GetArrayItem(list, 0), "image");
}

static bool add_workload(const cJSON *workload, ab_findings *out)
{
    char where[WHERE_MAX];
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(workload, "metadata");
    ab_str image = image_of(workload);
    ab_str tag = ab_version_image_tag(image);
    ab_str version = tag.ptr == NULL ? label_of(workload) : tag;
    if (!is_shown(version) || !is_shown(image))
        return false;
    snprintf(where, sizeof(where), "Argo CD, %.*s", AB_STR_ARG(ab_doc_text(metadata, "name")));
    ab_findings_add_version(out, where, version, "version %.*s, by its %s (image %.*s)",
                            AB_STR_ARG(version), tag.ptr == NULL ? "label " LABEL : "image's tag",
                            AB_STR_ARG(image));
    return true;
}

/* @return how many versions were added */
static size_t add_workloads(ab_cluster_api *api, const char *namespace_name, const char *kind,
                            int *status, ab_findings *out)
{
    char path[REQUEST_MAX];
    size_t count = 0;
    const cJSON *item;
    snprintf(path, sizeof(path), "/apis/apps/v1/namespaces/%s/%s?labelSelector=" SELECTOR,
             namespace_name, kind);
    cJSON *doc = ask(api, path, status);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "items"))
    {
        count += add_workload(item, out);
    }
    cJSON_Delete(doc);
    return count;
}

/* @return false: the ConfigMap may not be read, or has no such label */
static bool add_label(ab_cluster_api *api, const char *namespace_name, ab_findings *out)
{
    int status = 0;
    char path[REQUEST_MAX];
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/argocd-cm", namespace_name);
    cJSON *doc = ask(api, path, &status);
    ab_str version = label_of(doc);
    bool found = is_shown(version);
    if (found)
        ab_findings_add_version(out, "Argo CD", version,
                                "version %.*s, by label " LABEL " of ConfigMap argocd-cm",
                                AB_STR_ARG(version));
    cJSON_Delete(doc);
    return found;
}

void ab_check_argocd_version(ab_cluster_api *api, const char *namespace_name, ab_findings *out)
{
    int status = 0;
    size_t count = add_workloads(api, namespace_name, "deployments", &status, out);
    count += add_workloads(api, namespace_name, "statefulsets", &status, out);
    if (count == 0 && !add_label(api, namespace_name, out))
        ab_findings_add(out, AB_FOUND_OK, "Argo CD", NULL,
                        "version not known: %s, and ConfigMap argocd-cm has no label " LABEL,
                        status == 403 ? "this user may not read Deployments and StatefulSets, "
                                        "and argobus does not need that right"
                                      : "no argocd-server or application-controller with the "
                                        "labels of Argo CD's manifests runs in its namespace");
}
