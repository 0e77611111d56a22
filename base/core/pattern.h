/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of patterns as Argo CD users write them: globs (`*`, `?`, `[a-z]`, `{a,b}`; `*` matches any
 * characters, `/` too) and, between slashes, POSIX extended regular expressions (`/^team-[0-9]+$/`,
 * matched anywhere unless anchored). Backslash classes of other dialects (\d, \w) are refused,
 * since POSIX would silently take them for letters.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

typedef struct ab_patterns ab_patterns;

/** @return NULL when out of memory. An empty list matches nothing. */
ab_patterns *ab_patterns_new(void);
void ab_patterns_free(ab_patterns *p);
/** Add one. @return INVALID with what is wrong in `err`; NOMEM */
AB_MUST_USE ab_err ab_patterns_add(ab_patterns *p, ab_str pattern, ab_error *err);
/** Whether one of them matches; an expression matches no text of more than 4096 bytes. */
bool ab_patterns_match(const ab_patterns *p, ab_str text);
/* One POSIX extended expression, as between the slashes above, of which the first group is wanted.
 */
typedef struct ab_expression ab_expression;

/** @param out  owned by the caller: ab_expression_free
 *  @return INVALID with what is wrong in `err`, also when it has no group; NOMEM */
AB_MUST_USE ab_err ab_expression_new(ab_str text, ab_expression **out, ab_error *err);
void ab_expression_free(ab_expression *e);
/** What the first group has taken, borrowed from `text`. Absent when the expression matches
 * nowhere, when that group had no part in it, and when `text` has more than 4096 bytes. */
ab_str ab_expression_first_group(const ab_expression *e, ab_str text);

/** One glob, without keeping it. Linear in time: no back-tracking beyond the last `*`. Braces are
 * tried one by one. */
bool ab_glob_match(ab_str glob, ab_str text);
/** Whether it can be evaluated: well-formed, with braces that are not nested, and of at most 1024
 * bytes. If not, it matches nothing. */
bool ab_glob_is_valid(ab_str glob);
