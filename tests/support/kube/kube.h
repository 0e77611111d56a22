/* SPDX-License-Identifier: Apache-2.0
 *
 * The real Kubernetes API server as tests see it. It was started by kube-dev (KUBE_DEV,
 * KUBE_DEV_HOME). Every failure fails the test.
 */
#pragma once

#include "base/error.h"

/** Path of the kubeconfig of its administrator, from AB_KUBECONFIG. Borrowed; NULL when the server
 * does not run. */
const char *ab_kube_config(void);
/** Run kubectl as its administrator, e.g. "create namespace a". */
void ab_kube_kubectl(const char *fmt, ...) AB_PRINTF(1, 2);
