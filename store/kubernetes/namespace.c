/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/namespace.h"

#include "base/json/document.h"

static bool add_labels(const ab_config *config, cJSON *metadata)
{
    static const char option[] = "store.kubernetes.namespace-labels";
    cJSON *labels = cJSON_AddObjectToObject(metadata, "labels");
    bool complete = labels != NULL;
    for (size_t i = 0; i < ab_config_count(config, option); i++) {
        const char *key = NULL;
        const char *value = NULL;
        ab_config_pair(config, option, i, &key, &value);
        complete = complete && ab_doc_add_str(labels, key, ab_str_of(value));
    }
    return complete;
}

ab_err ab_kube_namespace_text(const ab_kube *k, ab_str ns, ab_buf *out, ab_error *err)
{
    if (!ab_patterns_match(k->create_namespaces, ns))
        return ab_fail(err, AB_ERR_DENIED,
                       "namespace %.*s does not exist: create it, or allow it in "
                       "store.kubernetes.create-namespaces",
                       AB_STR_ARG(ns));
    cJSON *doc = cJSON_CreateObject();
    cJSON *metadata = cJSON_AddObjectToObject(doc, "metadata");
    bool complete = ab_doc_add_str(doc, "apiVersion", AB_STR("v1")) &&
                    ab_doc_add_str(doc, "kind", AB_STR("Namespace")) &&
                    ab_doc_add_str(metadata, "name", ns) &&
                    add_labels(k->base.env.config, metadata);
    return ab_doc_finish(doc, complete, out);
}
