/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a kubeconfig. Each function that takes one leaves `out` as it is where none is set.
 */
#pragma once

#include "base/json/span.h"
#include "store/kubernetes/access/kubeconfig.h"

/* What stands under a name in one of the lists. */
typedef struct {
    const char *path; /* of the file it is in */
    ab_spanv map;
    ab_error *err;
} ab_kubeconfig_entry;

bool ab_kubeconfig_is_set(ab_spanv v);
/** The content of `v`, called `name` in an error. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kubeconfig_take_text(ab_spanv v, const char *name, char **out, ab_error *err);
/** The member's content. @return as ab_kubeconfig_take_text */
AB_MUST_USE ab_err ab_kubeconfig_take(const ab_kubeconfig_entry *from, const char *name,
                                      char **out);
/** A path that was meant from the folder of the file it stands in. @return NOMEM */
AB_MUST_USE ab_err ab_kubeconfig_resolve(const ab_kubeconfig_entry *from, char **path);
/** Both. */
AB_MUST_USE ab_err ab_kubeconfig_take_path(const ab_kubeconfig_entry *from, const char *name,
                                           char **out);
/** "<name>-data", in base64, goes before the file "<name>". @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kubeconfig_take_pem(const ab_kubeconfig_entry *from, const char *name,
                                          ab_kube_text *out);
/** False where it is not set. @return CONFIG */
AB_MUST_USE ab_err ab_kubeconfig_take_flag(const ab_kubeconfig_entry *from, const char *name,
                                           bool *out);
