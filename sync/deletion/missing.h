/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that are missing: how many they are, and which, without a list of them. An operator
 * confirms the deletion of exactly these: of thousands of agents all may miss all that they have.
 *
 * Pure; any thread.
 */
#pragma once

#include "base/core/digest.h"

#include <stdbool.h>

/* All 0: none. */
typedef struct {
    size_t count;
    ab_digest set; /* of their keys, in any order */
    bool unknown;  /* which ones they are is not known: nobody can confirm them */
} ab_missing;

/** One more. @param key  none of those that are in it */
void ab_missing_add(ab_missing *m, ab_str key);
/** All of both; no key may be in both. */
ab_missing ab_missing_join(const ab_missing *a, const ab_missing *b);
/** Are they the same objects, as far as is known? */
bool ab_missing_is_same(const ab_missing *a, const ab_missing *b);
/** Are there any, and exactly those whose `set` this is? */
bool ab_missing_is_set(const ab_missing *m, const ab_digest *set);
