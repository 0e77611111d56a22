/* SPDX-License-Identifier: Apache-2.0
 *
 * What argobus makes of an Application on its way: pure functions from JSON to JSON. Everything
 * that is not named here passes through with its text unchanged.
 */
#pragma once

#include "base/json/object.h"

/** Payload of create and spec-update: the hub's object without .status, .operation, server-set
 * metadata and the annotations that are not what the user wants (refresh, last-applied, ours).
 * Equal desired states give equal text.
 *  @return what `out` reports */
AB_MUST_USE ab_err ab_app_desired(const ab_object *hub, ab_buf *out);

/** Payload of status-update: identity, .operation, .status and the annotations that answer
 * requests. */
AB_MUST_USE ab_err ab_app_report(const ab_object *local, ab_buf *out);

/* Changes to one object; zero-initialised = none. */
typedef struct {
    struct {
        const char *name;
        ab_str value; /* absent: removed */
    } annotations[6];
    size_t annotation_count;
    ab_str operation; /* JSON text; absent: see drop_operation */
    bool drop_operation;
    bool drop_finalizers;
    bool set_cascade; /* of the finalizers that ab_app_cascade looks for, have those of `cascade` */
    ab_spanv cascade; /* a list; absent: have none of them */
} ab_app_edit;
/** The first of these finalizers with which Argo CD deletes what an Application deployed. Argo CD
 * takes one; it says how, too. @return absent when there is none, as in an absent list */
ab_str ab_app_cascade(ab_spanv finalizers);
/** Has it a finalizer with which Argo CD deletes what it deployed? */
bool ab_app_deletes_resources(const ab_object *o);
/** Is it being deleted, and has a user approved that since? As Argo CD sees it: an approval from
 * before the deletion is one of something else. */
bool ab_app_is_deletion_approved(const ab_object *o);
/** The object with these changes, all else as it is. */
AB_MUST_USE ab_err ab_app_edited(const ab_object *o, const ab_app_edit *edit, ab_buf *out);

/** .status with operationState.phase = Terminating. Of an .operation that has not begun a run is
 * made, which began at `time` (RFC 3339). @return NOTFOUND when there is neither */
AB_MUST_USE ab_err ab_app_status_terminating(const ab_object *o, ab_str time, ab_buf *out);

/** .status with an operationState that says that .operation has failed: phase Error, with `why`.
 * The run is as old as .status.reconciledAt, or began at `time` (RFC 3339): Argo CD's command line
 * waits for Argo CD to compare after a run. */
AB_MUST_USE ab_err ab_app_status_refused(const ab_object *o, ab_str why, ab_str time, ab_buf *out);

/** .status without operationState. */
AB_MUST_USE ab_err ab_app_status_without_run(const ab_object *o, ab_buf *out);

/** .status with condition AgentError carrying `message`, and health Degraded where no health
 * status is reported; an absent `message` removes the condition. `status` may be absent. `time` is
 * RFC 3339.
 */
AB_MUST_USE ab_err ab_app_status_with_error(ab_spanv status, ab_str message, ab_str time,
                                            ab_buf *out);
