/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that writes send: a new object, JSON patches (RFC 6902), DeleteOptions. Patches need no
 * reading before: what must be absent is set to null and then removed, which succeeds whether it
 * was there or not. A patch that leaves the object as it is makes no write at the server. Failures
 * stick in the buffer.
 */
#pragma once

#include "base/json/object.h"
#include "store/kubernetes/resource.h"

/* What the object must be; absent strings are not checked. */
typedef struct {
    ab_str uid;
    ab_str version;
} ab_kube_guard;

/** The object without .status and what only the server sets. */
void ab_kube_put_new(const ab_object *object, ab_buf *out);
/** Replaces everything but .status, identity and what only the server sets. */
void ab_kube_put_patch(const ab_kube_resource *r, const ab_object *object,
                       const ab_kube_guard *guard, ab_buf *out);
/**
 * Replaces .status and sets the annotation AB_STORE_STATUS_VERSION (not when `version` is absent).
 * @param first_annotation  the patch for an object that has no annotations, and does not fit any
 *                          other; the other one does not fit an object without
 */
void ab_kube_put_status(ab_str status, ab_str version, bool first_annotation,
                        const ab_kube_guard *guard, ab_buf *out);
/** @param policy  "Background", "Foreground" */
void ab_kube_put_delete(const char *policy, const ab_kube_guard *guard, ab_buf *out);
