/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent daemon: a store, the agent's decisions, a state database, a transport.
 */
#pragma once

#include "services/service.h"

/** The agent's option tables. @return how many */
size_t ab_agent_options(ab_options out[AB_SERVICE_OPTIONS_MAX]);

/* The callbacks of its ab_daemon_program. */
ab_err ab_agent_check(const ab_config *config, ab_error *err);
ab_err ab_agent_check_files(const ab_config *config, ab_error *err);
ab_err ab_agent_start(ab_daemon *d, ab_error *err);
void ab_agent_stop(ab_daemon *d);
void ab_agent_release(ab_daemon *d);
bool ab_agent_is_ready(ab_daemon *d, ab_buf *why);
bool ab_agent_is_healthy(ab_daemon *d, ab_buf *why);
