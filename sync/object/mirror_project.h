/* SPDX-License-Identifier: Apache-2.0
 *
 * The AppProject of an autonomous agent as it stands at the principal. Pure.
 */
#pragma once

#include "base/object.h"

/**
 * Member "spec": source namespace and destinations are the agent's, and the policies of its roles
 * are about the mirrors. A destination that denies is left out: what it is about cannot be told
 * at the principal, where the project only governs what users may ask for.
 *
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_mirror_project_spec(ab_jsonw *w, const ab_object *source, const char *agent);

/**
 * One policy line of a role of project `project`: "p, proj:P:R, RESOURCE, ACTION, P/OBJECT, EFFECT"
 * becomes one about proj:<agent>-P:R and <agent>-P/<agent>/OBJECT. A line of another form, about
 * another project, or about no Application is left as it is.
 *
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_mirror_policy(ab_str line, ab_str project, const char *agent, ab_buf *out);
