/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to the server of a principal's fleet page (fleet.listen). It answers what only
 * shows; for the rest there is the control socket.
 */
#pragma once

#include "base/json/document.h"
#include "services/ctl/command.h"

/**
 * Ask `ctl->server`, and wait for the answer. What went wrong is said on standard error.
 *
 * @param request  as it would go to the control socket (services/principal/fleet/operator.c)
 * @param answer   the body; untouched unless AB_CTL_OK is returned
 * @return AB_CTL_OK: the server answered 200; USAGE: it does not take this request, or the address
 *         or the token's file is wrong; UNREACHABLE; NOT_FOUND: no such agent; FAILED: it refused
 */
AB_MUST_USE int ab_ctl_ask_server(const ab_ctl *ctl, const cJSON *request, ab_buf *answer);
