/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of patterns as Argo CD users write them: globs (`*`, `?`, `[a-z]`, `{a,b}`; `*` matches any
 * characters, `/` too) and, between slashes, POSIX extended regular expressions (`/^team-[0-9]+$/`,
 * matched anywhere unless anchored). Backslash classes of other dialects (\d, \w) are refused,
 * since POSIX would silently take them for letters.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef struct ab_patterns ab_patterns;

/** @return NULL when out of memory. An empty list matches nothing. */
ab_patterns *ab_patterns_new(void);
void ab_patterns_free(ab_patterns *p);
/** Add one. @return INVALID with what is wrong in `err`; NOMEM */
AB_MUST_USE ab_err ab_patterns_add(ab_patterns *p, ab_str pattern, ab_error *err);
/** Whether one of them matches; an expression matches no text of more than 4096 bytes. */
bool ab_patterns_match(const ab_patterns *p, ab_str text);
size_t ab_patterns_count(const ab_patterns *p);
/** One glob, without keeping it. Linear in time: no back-tracking beyond the last `*`. Braces are
 * tried one by one. */
bool ab_glob_match(ab_str glob, ab_str text);
