/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a received event, told to whoever records traces (sync/trace.h). Without him all
 * of this does nothing.
 */
#pragma once

#include "sync/reconcile/reconcile.h"

/** The event is received now. */
void ab_reconcile_trace_received(const ab_record *r, ab_task *task);
/** The store is asked to write, for the head if there is one. */
void ab_reconcile_trace_asked(const ab_record *r);
/** It has answered. */
void ab_reconcile_trace_answered(const ab_record *r);
/** The head was written, or its object is deferred. @param err  why; NULL: it was written */
void ab_reconcile_trace_end(const ab_record *r, const ab_error *err);
