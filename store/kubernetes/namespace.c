/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/kubernetes_priv.h"

static void put_labels(const ab_config *config, ab_jsonw *w)
{
    static const char option[] = "store.kubernetes.namespace-labels";
    ab_jsonw_key(w, AB_STR("labels"));
    ab_jsonw_object(w);
    for (size_t i = 0; i < ab_config_count(config, option); i++) {
        const char *key = NULL;
        const char *value = NULL;
        ab_config_pair(config, option, i, &key, &value);
        ab_jsonw_key_str(w, key, ab_str_of(value));
    }
    ab_jsonw_object_end(w);
}

ab_err ab_kube_namespace_text(const ab_kube *k, ab_str ns, ab_buf *out, ab_error *err)
{
    if (!ab_patterns_match(k->create_namespaces, ns))
        return ab_fail(err, AB_ERR_DENIED,
                       "namespace %.*s does not exist: create it, or allow it in "
                       "store.kubernetes.create-namespaces",
                       AB_STR_ARG(ns));
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "apiVersion", AB_STR("v1"));
    ab_jsonw_key_str(&w, "kind", AB_STR("Namespace"));
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "name", ns);
    put_labels(k->base.env.config, &w);
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}
