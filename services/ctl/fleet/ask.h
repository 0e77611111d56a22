/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to a running principal and its answer: over its control socket a line of JSON each
 * way (services/control.h), or as server.h says.
 */
#pragma once

#include "base/json/document.h"
#include "services/ctl/command.h"

/* Longest answer: the state of 10,000 agents. */
#define AB_CTL_ANSWER_MAX (64u * 1024 * 1024)

/**
 * Ask, and wait for the answer. What went wrong is said on standard error.
 *
 * @param request  freed; NULL: it could not be made
 * @param answer   owned by the caller: cJSON_Delete; untouched unless AB_CTL_OK is returned
 * @return AB_CTL_OK; UNREACHABLE; NOT_FOUND and FAILED as the principal says
 */
AB_MUST_USE int ab_ctl_ask(const ab_ctl *ctl, cJSON *request, cJSON **answer);
