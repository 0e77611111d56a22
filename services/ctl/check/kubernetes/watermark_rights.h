/* SPDX-License-Identifier: Apache-2.0
 *
 * The ConfigMaps of the store's watermark, of which a role must name each: one for every 500
 * agents, and deploy/kubernetes/rbac/principal.yaml has as many as AB_WATERMARK_RIGHTS.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/setup.h"
#include "services/ctl/cluster/api.h"

#define AB_WATERMARK_RIGHTS 20

/**
 * Ask whether a principal may patch each of them. Those that it may not are one finding: an error
 * if the agents of option `agents` need one of them, else a warning.
 * @param allowed  the number of rights that are granted is added
 * @return false: the API server cannot be asked, which is a finding
 */
bool ab_watermark_rights_check(const ab_setup *s, ab_cluster_api *api, size_t *allowed,
                               ab_findings *out);
