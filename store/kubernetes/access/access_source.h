/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a kubeconfig is looked for.
 */
#pragma once

#include "base/config/config.h"
#include "store/kubernetes/access/kubeconfig.h"

/* Where to look. */
typedef struct {
    const char *kubeconfigs;     /* the variable KUBECONFIG; NULL: not set */
    const char *home;            /* NULL: none */
    const char *service_account; /* folder of a pod's token, ca.crt */
    const char *host, *port;     /* KUBERNETES_SERVICE_HOST, _PORT; NULL: in no pod */
} ab_kube_places;

/** Fill `out` from the first place that has something. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kube_find(const ab_kube_places *places, const ab_config *config,
                                ab_kubeconfig *out, ab_error *err);
/** Append the names of the contexts in that place, a line each; a pod has none.
 *  @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kube_find_contexts(const ab_kube_places *places, const ab_config *config,
                                         ab_buf *names, ab_error *err);
