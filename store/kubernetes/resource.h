/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds that are synchronised, as the API names them, and their URLs.
 */
#pragma once

#include "base/core/buf.h"

#include <stdbool.h>

/* What the API calls a kind. */
typedef struct {
    const char *kind;   /* "Application" */
    const char *api;    /* "argoproj.io/v1alpha1", "v1" */
    const char *base;   /* "/apis/argoproj.io/v1alpha1" */
    const char *plural; /* "applications" */
    const char *const
        *optional;  /* members beside metadata that an object may lack, .status apart */
    bool ignorable; /* objects with the ignore-sync label are not watched */
} ab_kube_resource;

/** NULL for a kind that we do not know. */
const ab_kube_resource *ab_kube_resource_of(ab_str kind);
/** Append the path of a collection (`name` absent) or an object; `ns` absent: every namespace. */
void ab_kube_path(const ab_kube_resource *r, ab_str ns, ab_str name, ab_buf *out);
/** Append a parameter after `before` ('?' or '&'), the value percent-encoded (RFC 3986). */
void ab_kube_query(ab_buf *out, char before, const char *name, ab_str value);
