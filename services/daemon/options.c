/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/daemon.h"

static const ab_option option_rows[] = {
    {.name = "log.level",
     .kind = AB_OPT_STRING,
     .deflt = "info",
     .reloadable = true,
     .help = "Log level (error, warn, info, debug), optionally with levels for areas: "
             "info,kafka=debug."},
    {.name = "log.format",
     .kind = AB_OPT_ENUM,
     .deflt = "text",
     .choices = "text|json",
     .help = "Form of the log lines on standard error."},
    {.name = "http.address",
     .kind = AB_OPT_STRING,
     .deflt = "127.0.0.1:8080",
     .help = "Where /healthz, /readyz and /metrics are served, host:port; :8080 is all addresses, "
             "\"\" is off."},
    {.name = "stop.timeout",
     .kind = AB_OPT_DURATION,
     .deflt = "30s",
     .min = 100,
     .max = 3600000,
     .help = "How long an orderly stop may take; after that the process exits at once."},
    {.name = "core-dumps",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Whether a crash may write a core dump, and debuggers of the same user may attach. A "
             "dump contains private keys, passwords and the Secrets that were opened."},
};

const ab_options ab_daemon_options = {option_rows, sizeof(option_rows) / sizeof(option_rows[0])};
