/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as RFC 3339 writes them, without the time zones of libc. Pure; any thread.
 */
#pragma once

#include "base/core/buf.h"

#include <stdint.h>

/* "0001-01-01T00:00:00.000000000Z" and the NUL. */
#define AB_RFC3339_MAX 32

/**
 * Any offset, any number of digits of fraction.
 *
 * @param seconds  since 1970; years 1 to 9999
 * @param nanos    0 to 999,999,999
 * @return false when `text` is no such time; both are undefined then
 */
bool ab_rfc3339_parse(ab_str text, int64_t *seconds, int32_t *nanos);
/** In UTC with 0, 3, 6 or 9 digits of fraction. @return false outside the years 1 to 9999 */
bool ab_rfc3339_format(int64_t seconds, int32_t nanos, char out[AB_RFC3339_MAX]);
