/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the values of Secrets out of an answer of the API server on its way: those of data and
 * stringData become "++++++++", as Argo CD itself shows them, also inside of the annotation
 * kubectl.kubernetes.io/last-applied-configuration, and so do annotations in which other tools keep
 * the whole object. Everything else stays as the server wrote it.
 *
 * What cannot be understood is refused, never passed on: a document of another kind, not JSON, or
 * of more than AB_RESOURCE_MASK_MAX bytes. Loop thread.
 */
#pragma once

#include "base/core/buf.h"

/* Bytes of one answer, or of one event of a watch. */
#define AB_RESOURCE_MASK_MAX (4u * 1024 * 1024)

/* An answer on its way. */
typedef struct {
    ab_buf held;
    bool events; /* a watch: one document a line */
} ab_resource_mask;

/** @param events  the answer of a watch, whose events are passed on one by one */
void ab_resource_mask_init(ab_resource_mask *m, bool events);
/** Wipe and release what is held. */
void ab_resource_mask_fini(ab_resource_mask *m);
/**
 * The next piece of the answer.
 *
 * @param out  receives what is masked by now
 * @return DENIED: not a document with Secrets, or not JSON; TOOBIG, NOMEM. Nothing more may be
 *         passed on then
 */
AB_MUST_USE ab_err ab_resource_mask_feed(ab_resource_mask *m, ab_str piece, ab_buf *out,
                                         ab_error *err);
/** The answer is complete. @return as feed */
AB_MUST_USE ab_err ab_resource_mask_end(ab_resource_mask *m, ab_buf *out, ab_error *err);
