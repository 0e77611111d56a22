/* SPDX-License-Identifier: Apache-2.0
 *
 * Attribute values of the types that are not plain text, as CloudEvents §3.1 writes them down.
 */
#pragma once

#include "event/event.h"

/* "0001-01-01T00:00:00.000000000Z" and the NUL. */
#define AB_VALUE_TIME_MAX 32

/** Is this the text of a value of this type? Any UTF-8 without control characters is a string or a
 * URI. */
bool ab_value_is_valid(ab_attr_type type, ab_str value);

/** The canonical decimal text of an int32: no plus sign, no leading zero. @return false when it is
 * none */
bool ab_value_integer_parse(ab_str text, int32_t *out);

/** RFC 3339, any offset. @return false when it is none; `nanos` is 0 to 999,999,999 */
bool ab_value_time_parse(ab_str text, int64_t *seconds, int32_t *nanos);
/** In UTC with 0, 3, 6 or 9 digits of fraction. @return false outside the years 1 to 9999 */
bool ab_value_time_format(int64_t seconds, int32_t nanos, char out[AB_VALUE_TIME_MAX]);
