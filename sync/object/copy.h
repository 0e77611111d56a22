/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying parts of objects, their text unchanged.
 */
#pragma once

#include "base/json/span.h"

/** Is the name in this list, which ends with NULL? */
bool ab_copy_is_one_of(ab_str name, const char *const *list);
/** The members of `object` but these; `left_out` ends with NULL. An absent object has none. */
void ab_copy_except(ab_spanw *w, ab_spanv object, const char *const *left_out);
/** Member "annotations" with those that are what the user wants: not requests (refresh), not
 * bookkeeping (last-applied, ours). Nothing when there are none: bookkeeping that comes first must
 * not look like a change of the desired state. */
void ab_copy_desired_annotations(ab_spanw *w, ab_spanv annotations);
