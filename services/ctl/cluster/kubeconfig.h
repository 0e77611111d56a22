/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cluster a command works in: the flags --kubeconfig and --context, which mean what they mean
 * to kubectl. Without them: the variable KUBECONFIG or ~/.kube/config, and its current-context.
 */
#pragma once

#include "base/config/config.h"
#include "services/ctl/command.h"

#define AB_CLUSTER_FLAG_KUBECONFIG                                                                 \
    {                                                                                              \
        "kubeconfig", "FILE", "of the cluster (default: $KUBECONFIG, or ~/.kube/config)"           \
    }
#define AB_CLUSTER_FLAG_CONTEXT                                                                    \
    {                                                                                              \
        "context", "NAME", "of the kubeconfig (default: its current-context)"                      \
    }

/* These flags as settings, "key=value" each. */
typedef struct {
    char *set[2];
    size_t count;
} ab_cluster_settings;

/** What the flags of this command say, as settings of a configuration with store.kubernetes.*.
 *  @param out  owned by the caller: ab_cluster_settings_fini, also after a failure @return NOMEM */
AB_MUST_USE ab_err ab_cluster_settings_init(const ab_ctl *ctl, ab_cluster_settings *out,
                                            ab_error *err);
void ab_cluster_settings_fini(ab_cluster_settings *s);

/** The configuration of the API server that the flags name, and nothing else.
 *  @param out  owned by the caller: ab_config_free
 *  @return CONFIG: the file cannot be read; NOMEM */
AB_MUST_USE ab_err ab_cluster_config(const ab_ctl *ctl, ab_config **out, ab_error *err);

/** The names of the contexts that flag --context can have, a line each, for completion; nothing
 * when they cannot be read.
 *  @param kubeconfig  value of flag --kubeconfig, perhaps with a "~/" that no shell has replaced;
 *                     NULL: not given */
void ab_cluster_put_contexts(const char *kubeconfig, ab_buf *out);
