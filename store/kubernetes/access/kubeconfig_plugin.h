/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kubeconfig says of a credential plugin.
 */
#pragma once

#include "store/kubernetes/access/kubeconfig_entry.h"

/** A user's "exec". @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kubeconfig_take_plugin(const ab_kubeconfig_entry *exec, ab_kube_plugin *out);
/** The part of a cluster that is for plugins. @return NOMEM */
AB_MUST_USE ab_err ab_kubeconfig_take_extension(const ab_kubeconfig_entry *cluster,
                                                ab_kube_plugin *out);
