/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

/** Report a fault, count and log it. */
void ab_kube_fault(ab_kube *k, const char *where, const ab_error *err);
