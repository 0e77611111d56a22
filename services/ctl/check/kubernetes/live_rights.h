/* SPDX-License-Identifier: Apache-2.0
 *
 * What live access changes, by deploy/kubernetes/rbac/agent-live.yaml. An operator chooses which
 * kinds these are, so a missing right is a warning, and one for all kinds of a verb.
 */
#pragma once

#include "live/resource/spoke/policy.h"
#include "services/ctl/check/findings.h"
#include "services/ctl/cluster/api.h"

/** Whether live.kubernetes.verbs lets live access use the verb. */
bool ab_live_rights_uses(const ab_resource_policy *policy, ab_str verb);
/**
 * Ask for each verb that changes objects, unless the policy leaves it out.
 * @param allowed  the number of rights that are granted is added
 * @return false: the API server cannot be asked, which is a finding
 */
bool ab_live_rights_check(const ab_resource_policy *policy, ab_cluster_api *api, size_t *allowed,
                          ab_findings *out);
