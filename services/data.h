/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder that a daemon keeps its data in, and the mapping and the agent that they belong to.
 * With another mapping the same objects have other places, so that what was kept would leave
 * objects behind, or delete them. An agent of another name would make the objects of the former
 * one, and the principal would delete at it what it says to have of that one's. Either change is
 * refused.
 */
#pragma once

#include "base/config/config.h"

/**
 * Would a start find the folder that this option names, where it is set, and the one of a store of
 * manifests, or read the kubeconfig? Nothing is made or changed.
 *
 * @param option  names a folder that a start makes where its parent folder exists
 * @return CONFIG, with the option, the folder and what is wrong
 */
AB_MUST_USE ab_err ab_data_check(const ab_config *config, const char *option, ab_error *err);
/**
 * Make the folder unless it is there, and see that it was used with this mapping, or with none yet:
 * then it is noted.
 *
 * @param option  the one that names the folder, for the message
 * @return CONFIG (it cannot be made, or was used with another mapping), else as ab_file_read and
 *         ab_file_replace
 */
AB_MUST_USE ab_err ab_data_claim(const char *folder, const char *mapping, const char *option,
                                 ab_error *err);
/**
 * The same of agent.data and the agent's name.
 * @return CONFIG (it cannot be made, or was used by another agent), else as ab_data_claim
 */
AB_MUST_USE ab_err ab_data_claim_agent(const char *folder, const char *agent, ab_error *err);
