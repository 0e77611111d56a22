/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

/** Append the text of a namespace to be created. @return DENIED when that is not allowed, NOMEM */
AB_MUST_USE ab_err ab_kube_namespace_text(const ab_kube *k, ab_str ns, ab_buf *out, ab_error *err);
