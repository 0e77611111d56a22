/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of transports, set as on a command line.
 */
#pragma once

#include "base/config/config.h"

#include <limits.h>

#define AB_BENCH_SETTINGS_MAX 12

typedef struct {
    char text[AB_BENCH_SETTINGS_MAX][PATH_MAX + 64]; /* name=value */
    size_t count;
} ab_bench_settings;

/** Add one. @param fmt  printf-like, name=value */
void ab_bench_set(ab_bench_settings *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/**
 * Add what an end of the gRPC transport needs.
 *
 * @param certs  folder (certs.h)
 * @param port   of the principal
 * @param agent  NULL: for the principal
 */
void ab_bench_set_grpc(ab_bench_settings *s, const char *certs, int port, const char *agent);
/** @return CONFIG and others of ab_config_load */
AB_MUST_USE ab_err ab_bench_settings_load(const ab_bench_settings *s, ab_config **out,
                                          ab_error *err);
