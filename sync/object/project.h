/* SPDX-License-Identifier: Apache-2.0
 *
 * AppProjects: which agents may use one, and what of it they get.
 */
#pragma once

#include "base/json/object.h"

typedef struct ab_project ab_project; /* what routing needs of an AppProject */

/** @param out  owned by the caller. @return NOMEM */
AB_MUST_USE ab_err ab_project_new(const ab_object *hub, ab_project **out);
/** NULL is allowed. */
void ab_project_free(ab_project *project);

/**
 * Is it for this agent: does a destination's name, a glob, match its name (or, without a name, its
 * server: "*", or a URL with a glob as agentName in its query, or after /agents/ in its path), and
 * is none of them a denial ("!glob", "!server") that matches? The denial of a server counts where
 * its namespace is "*": else only these namespaces are denied. In namespace mapping one of the
 * source namespaces, a glob or a /regular expression/, must match too: that is where the agent's
 * Applications live. If the project permits clusters of its own only, the agent's has to be one.
 *
 * A denied server that names no agent, as "!https://" with a "*", denies the agents whose address
 * in their cluster Secrets it matches whatever its host is. A denial whose glob cannot be evaluated
 * (ab_glob_is_valid) denies every agent.
 *
 * @param owns_cluster  the agent's cluster is scoped to the project
 */
bool ab_project_is_for(const ab_project *project, const char *agent, bool destination_mapping,
                       bool owns_cluster);

/** The first glob of a denial that cannot be evaluated, borrowed; NULL: none. */
const char *ab_project_unclear(const ab_project *project);

/** The first glob of denied servers of which the hosts of the agents' addresses decide whom it
 * denies: these are not known here, so it denies the agents that it matches with any host.
 * Borrowed; NULL: none. */
const char *ab_project_undecided(const ab_project *project);

/** Payload for an agent that it is for: the destinations that match, as the agent's own cluster,
 * also those that deny some of its namespaces; its sync windows and its service accounts of
 * destinations, for its own cluster where they match its name or address; no roles, and source
 * namespaces only in destination mapping. That it permits clusters of its own only is left out: no
 * cluster there is scoped to a project.
 * Equal desired states give equal text.
 *  @return what `out` reports */
AB_MUST_USE ab_err ab_project_render(const ab_object *hub, const char *agent,
                                     bool destination_mapping, ab_buf *out);
