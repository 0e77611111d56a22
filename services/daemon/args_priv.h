/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line that all daemons share.
 */
#pragma once

#include "base/config/config.h"

typedef enum {
    AB_RUN_DAEMON,
    AB_RUN_CHECK_CONFIG,
    AB_RUN_PRINT_CONFIG,
    AB_RUN_PRINT_OPTIONS,
    AB_RUN_PRINT_VERSION,
    AB_RUN_PRINT_HELP,
} ab_run_mode;

typedef struct {
    ab_run_mode mode;
    const char *file; /* -c; NULL = none */
    const char **set; /* --set, in order; the array is owned */
    size_t set_count;
} ab_daemon_args;

/** Read the command line. @return CONFIG with what is wrong in `err`; NOMEM */
AB_MUST_USE ab_err ab_daemon_args_parse(int argc, char **argv, ab_daemon_args *out, ab_error *err);
void ab_daemon_args_fini(ab_daemon_args *a);
/** The text of --help. */
void ab_daemon_args_help(const char *program, ab_buf *out);
