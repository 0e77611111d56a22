/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows when the certificates expire that the configuration names:
 * argobus_certificate_expiry_timestamp_seconds, by the name of the option. Every option for a file
 * whose name ends in ca, cert or certificate counts, so none can be forgotten here. The files are
 * looked at when the metrics are read, and read again when they have changed. Loop thread.
 */
#pragma once

#include "base/config/config.h"
#include "base/observe/metrics.h"

typedef struct ab_certificates ab_certificates;

/**
 * Show the certificates of all options that are set.
 * @param tables   borrowed for the call; the texts in them for as long as the result lives
 * @param config   borrowed for as long as the result lives
 * @param metrics  must not be rendered after ab_certificates_free
 * @param out      owned by the caller
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_certificates_new(const ab_options *tables, size_t table_count,
                                       const ab_config *config, ab_metrics *metrics,
                                       ab_certificates **out);
/** NULL is allowed. */
void ab_certificates_free(ab_certificates *c);
