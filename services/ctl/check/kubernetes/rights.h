/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program must be allowed to do in its cluster: the rules of deploy/kubernetes/rbac, which a
 * test compares with this.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/setup.h"
#include "services/ctl/cluster/api.h"

/** Ask the API server about each right. A missing one is an error that names the rule to add. */
void ab_check_rights(const ab_setup *s, ab_cluster_api *api, ab_findings *out);
