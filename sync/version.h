/* SPDX-License-Identifier: Apache-2.0
 *
 * The version gate's pair. A writer's epoch rises at each of its starts, its version with each
 * event; an older pair never overwrites a newer one.
 */
#pragma once

#include "event/event.h"

typedef struct {
    uint64_t epoch;
    uint64_t version;
} ab_version;

/* "<epoch>.<version>" and the NUL. */
#define AB_VERSION_TEXT 44

/** <0, 0 or >0 as `a` is older than, equal to or newer than `b`. */
int ab_version_cmp(ab_version a, ab_version b);
/** Neither part set. */
bool ab_version_is_none(ab_version v);
void ab_version_format(ab_version v, char out[AB_VERSION_TEXT]);
/** @return PARSE unless the text is "<epoch>.<version>" */
AB_MUST_USE ab_err ab_version_parse(ab_str text, ab_version *out);
/** The pair an event carries. @return INVALID when an attribute is missing or no number */
AB_MUST_USE ab_err ab_version_of(const ab_event *e, ab_version *out, ab_error *err);
