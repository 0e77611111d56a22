/* SPDX-License-Identifier: Apache-2.0
 *
 * One right, asked at the API server: whether the program's own user has it.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/cluster/api.h"

typedef struct {
    const char *namespace_name; /* NULL: in all */
    const char *group;
    const char *resource; /* with its subresource, "pods/exec" */
    const char *name;     /* of one object; NULL: of all */
} ab_review;

/**
 * Ask.
 * @param allowed  set when the API server answered
 * @return false: it did not, which is added as a finding
 */
bool ab_review_ask(ab_cluster_api *api, const ab_review *r, ab_str verb, bool *allowed,
                   ab_findings *out);
