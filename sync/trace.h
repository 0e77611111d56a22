/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sync machines tell of an event on its way, for whoever records traces. Loop thread.
 */
#pragma once

#include "base/core/error.h"
#include "event/event.h"

/* An event is dealt with: the store was written for it, or it is given up for now. Borrowed; times
 * are of the wall clock. */
typedef struct {
    const ab_event *event;
    const char *key; /* of the object here */
    int64_t received_us;
    int64_t asked_us, answered_us; /* the last write to the store; 0: there was none */
    const ab_error *err;           /* why its object was deferred; NULL: it is in effect */
} ab_trace_outcome;

typedef struct {
    /**
     * An event is about to be queued under this key.
     * @return what attribute traceparent is to say, borrowed until the next call; NULL: it has none
     */
    const char *(*begin)(void *arg, ab_str key);
    void (*end)(void *arg, const ab_trace_outcome *outcome);
    void *arg;
} ab_trace;
