/* SPDX-License-Identifier: Apache-2.0
 *
 * Kafka's request ApiVersions in version 3 (KIP-511, KIP-584): which requests a broker knows, and
 * up to which level of the feature metadata.version. librdkafka sends it, too, and keeps the answer
 * to itself. A broker answers it before any login.
 */
#pragma once

#include "base/core/buf.h"

#define AB_API_KEYS         128 /* further ones are passed over */
#define AB_API_VERSIONS_MAX ((size_t)64 * 1024)

typedef struct {
    bool is_refused;             /* the broker is older than Kafka 2.4: all else is not told */
    int16_t newest[AB_API_KEYS]; /* version of each request, by its key; -1: the broker lacks it */
    int16_t supported;           /* highest metadata.version of the broker; 0: it does not tell */
    int16_t finalized;           /* metadata.version of the cluster; 0: it does not tell */
} ab_api_versions;

/** Append the request, with its length. */
void ab_api_versions_put_request(ab_buf *out);
/**
 * Read an answer.
 * @param answer  without its length
 * @return PARSE: it is none, or says that the broker failed
 */
AB_MUST_USE ab_err ab_api_versions_read(ab_str answer, ab_api_versions *out, ab_error *err);
