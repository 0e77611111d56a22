/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracer and exporter as the options tracing.* say. Loop thread.
 */
#pragma once

#include "base/config/config.h"
#include "tracing/tracer.h"

/** tracing.*, of both daemons. */
extern const ab_options ab_tracing_options;

/* Both NULL when nothing is traced. */
typedef struct {
    ab_exporter *exporter;
    ab_tracer *tracer;
} ab_tracing;

/** Is the configuration usable, with the files that it names? @return CONFIG saying which option,
 * and what to do; NOMEM */
AB_MUST_USE ab_err ab_tracing_check(const ab_config *config, ab_error *err);
/**
 * @param env  all but url, ca and headers, which the configuration says
 * @param out  to be released by ab_tracing_fini
 * @return CONFIG, NOMEM
 */
AB_MUST_USE ab_err ab_tracing_init(const ab_config *config, ab_exporter_env env, ab_tracing *out,
                                   ab_error *err);
/** Also of a zeroed one. */
void ab_tracing_fini(ab_tracing *t);
