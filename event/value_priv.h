/* SPDX-License-Identifier: Apache-2.0
 *
 * Attribute values of the types that are not plain text, as CloudEvents §3.1 writes them down.
 */
#pragma once

#include "event/event.h"

/** Is this the text of a value of this type? Any UTF-8 without control characters is a string or a
 * URI. */
bool ab_value_is_valid(ab_attr_type type, ab_str value);

/** The canonical decimal text of an int32: no plus sign, no leading zero. @return false when it is
 * none */
bool ab_value_integer_parse(ab_str text, int32_t *out);
