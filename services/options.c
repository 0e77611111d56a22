/* SPDX-License-Identifier: Apache-2.0 */
#include "services/live.h"
#include "tracing/setup.h"

static const ab_option rows[] = {
    {.name = "sync.set-aside",
     .kind = AB_OPT_DURATION,
     .deflt = "2m",
     .min = 1000,
     .max = 86400000,
     .help = "How long a failing object holds back the offset; after that it is deferred and "
             "retried."},
    {.name = "sync.max-deletions-percent",
     .kind = AB_OPT_INT,
     .deflt = "50",
     .min = 0,
     .max = 100,
     .help = "See sync.max-deletions."},
    {.name = "sync.guard-observed",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Whether the mass-deletion guard also holds back deletions that the running "
             "program observed in its store. By default it checks only inferred deletions: "
             "objects that are missing from a list or a comparison after a gap or at a start."},
    {.name = "sync.deletions-window",
     .kind = AB_OPT_DURATION,
     .deflt = "1m",
     .min = 0,
     .max = 86400000,
     .help = "See sync.max-deletions."},
};
static const ab_options shared = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_service_options(const ab_options *own, ab_options out[AB_SERVICE_OPTIONS_MAX])
{
    size_t n = 0;
    out[n++] = *own;
    out[n++] = shared;
    out[n++] = ab_tracing_options;
    out[n++] = ab_service_live_options;
    out[n++] = ab_daemon_options;
    out[n++] = ab_store_options;
    out[n++] = ab_transport_options;
    for (size_t i = 0; ab_transport_table[i] != NULL; i++)
        for (size_t j = 0; ab_transport_table[i]->options[j] != NULL; j++)
            out[n++] = *ab_transport_table[i]->options[j];
    return n;
}
