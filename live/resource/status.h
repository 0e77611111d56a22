/* SPDX-License-Identifier: Apache-2.0
 *
 * Refusals of argobus itself, in the form that every Kubernetes client reads: a Status object
 * (apiVersion v1). Any thread.
 */
#pragma once

#include "base/core/buf.h"

/* What a Status is sent as. */
#define AB_RESOURCE_STATUS_TYPE "application/json"

/**
 * Append a Status of failure.
 *
 * @param code     HTTP status: 400, 401, 403 to 405, 409, 413, 415, 429, 500, 502 to 504; others
 * give no reason
 * @param message  for people; bytes that are not UTF-8 are replaced by a text of the code
 */
void ab_resource_status_put(int code, const char *message, ab_buf *out);
