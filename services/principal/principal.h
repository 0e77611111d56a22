/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal daemon: a store, the principal's decisions, a transport with a queue per agent.
 */
#pragma once

#include "services/service.h"

/** The principal's option tables. @return how many */
size_t ab_principal_options(ab_options out[AB_SERVICE_OPTIONS_MAX]);

/* The callbacks of its ab_daemon_program. */
ab_err ab_principal_check(const ab_config *config, ab_error *err);
ab_err ab_principal_check_files(const ab_config *config, ab_error *err);
ab_err ab_principal_start(ab_daemon *d, ab_error *err);
void ab_principal_stop(ab_daemon *d);
void ab_principal_reload(ab_daemon *d, const ab_config *before);
void ab_principal_release(ab_daemon *d);
bool ab_principal_is_ready(ab_daemon *d, ab_buf *why);
