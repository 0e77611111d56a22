/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server knows of an object, kept beside the manifests as
 * <namespace>/<kind>/.argobus/<name>.json so that a person's file is never rewritten to record it.
 * Pure functions, any thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/core/digest.h"
#include "base/json/span.h"

typedef struct {
    char uid[40];
    char created[AB_TIME_TEXT]; /* RFC 3339 */
    char file[256];             /* name of the manifest that holds the object */
    char deleted[AB_TIME_TEXT]; /* when removal was asked for; empty: it was not */
    uint64_t generation;
    uint64_t version;     /* resourceVersion */
    ab_digest content;    /* of the normalised manifest that the fields above belong to */
    ab_digest spec;       /* of its .spec */
    ab_digest taken;      /* of the manifest's own .status when it was last taken over; or none */
    char *status;         /* JSON text, NULL when there is none */
    char *status_version; /* annotation argobus.io/status-version, NULL when there is none */
} ab_sidecar;

/**
 * @param out  owned by the caller: ab_sidecar_fini
 * @return PARSE, INVALID (a field is missing or wrong), NOMEM
 */
AB_MUST_USE ab_err ab_sidecar_parse(ab_str text, ab_sidecar *out, ab_error *err);
/** Append the JSON text. @return NOMEM, TOOBIG, INVALID (status_version is not UTF-8) */
AB_MUST_USE ab_err ab_sidecar_format(const ab_sidecar *s, ab_buf *out);
/** Release what a sidecar holds; a zeroed one is allowed. */
void ab_sidecar_fini(ab_sidecar *s);
