/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests need of store/kubernetes/access/access.c beside its interface.
 */
#pragma once

#include "store/kubernetes/access/access.h"
#include "store/kubernetes/access/access_source.h"

/** ab_kube_access_new with other places than the environment's, for tests. */
AB_MUST_USE ab_err ab_kube_access_new_at(const ab_kube_places *places, uv_loop_t *loop,
                                         const ab_config *config, ab_log *log,
                                         const ab_clock *clock, ab_kube_access **out,
                                         ab_error *err);
