/* SPDX-License-Identifier: Apache-2.0
 *
 * The AppProject of an autonomous agent as it is at the principal. Pure.
 */
#pragma once

#include "base/json/object.h"

/**
 * Member "spec": source namespace and destinations are the agent's, and the policies of its roles
 * are about the mirrors. A destination that denies is left out: what it is about cannot be told
 * at the principal, where the project only governs what users may ask for. So is what a role says
 * about anything but Applications and extensions, and a role or group that Argo CD would not take.
 *
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_mirror_project_spec(ab_spanw *w, const ab_object *source, const char *agent);

/* The role whose policies are rewritten; everything borrowed. */
typedef struct {
    ab_str project; /* name at the agent */
    ab_str name;    /* of the role */
    const char *agent;
} ab_mirror_role;

/**
 * One policy line of role R of project P: "p, proj:P:R, RESOURCE, ACTION, P/OBJECT, EFFECT"
 * becomes one about proj:<agent>-P:R and <agent>-P/<agent>/OBJECT. A line of another form, about
 * another project or role, or about no Application is left as it is.
 *
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_mirror_policy(ab_str line, const ab_mirror_role *role, ab_buf *out);
