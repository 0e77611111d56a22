/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of sync/ need again and again: a clock that stands still until it is moved, and
 * short ways to make events and objects. A sample that cannot be made fails the test.
 */
#pragma once

#include "base/core/clock.h"
#include "base/json/object.h"
#include "event/event.h"

/** A clock whose both times are `*ms`, which the caller owns and moves. */
ab_clock sample_clock(int64_t *ms);

/** An event under `key`; `data` NULL makes a tombstone. Owned by the caller. */
ab_event *sample_event(const char *key, const char *data, uint64_t version);
/** As sample_event, for one command. */
ab_event *sample_command(const char *id, uint64_t version);

/** Owned by the caller. */
ab_object *sample_object(const char *json);
/** Owned by the caller. */
ab_span *sample_json(const char *text);
