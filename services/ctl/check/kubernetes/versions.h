/* SPDX-License-Identifier: Apache-2.0
 *
 * The versions in a cluster, with the rights that the program has anyway: what it may not read is
 * said, and is no error.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/cluster/api.h"

/** The API server's own, by /version. One that is older than what argobus supports is a warning. */
void ab_check_kubernetes_version(ab_cluster_api *api, ab_findings *out);
/**
 * Argo CD's, of argocd-server and application-controller by their images. Whoever may not read them
 * learns it from a label that Helm sets at ConfigMap argocd-cm.
 * @param namespace_name  Argo CD's
 */
void ab_check_argocd_version(ab_cluster_api *api, const char *namespace_name, ab_findings *out);
