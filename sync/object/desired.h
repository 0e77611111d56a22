/* SPDX-License-Identifier: Apache-2.0
 *
 * How an object that the principal wants is to stand at the agent: pure functions from JSON to
 * JSON, for every synchronised kind.
 */
#pragma once

#include "base/json/object.h"

/* Where it is to stand, whose it is, and what goes into it beside the desired state. */
typedef struct {
    ab_str namespace;
    ab_str source_uid;    /* becomes annotation source-uid */
    ab_str principal_uid; /* becomes annotation principal-uid; absent: not touched */
    bool remapped;        /* annotation namespace-remapped stands, or does not */
    ab_spanv owned;       /* what the source said before (ab_merge_owned); may be absent */
    ab_str operation;     /* Application: becomes .operation; absent: the local one is kept */
    ab_str opened;        /* sealed kinds: the JSON object whose members member "sealed" stands for;
                             absent: the desired state came unsealed */
} ab_desired_params;

/**
 * The object as the agent is to write it: labels, annotations and finalizers merged into what
 * stands there, without ownerReferences; all else but .status as desired. An Application has
 * destination in-cluster.
 *
 * @param desired   received payload
 * @param local  the object as it is; NULL to create
 * @param out    holds secrets when `opened` does
 * @return INVALID when `opened` is not a JSON object as far as its braces tell (the rest shows when
 *         `out` is parsed); what `out` reports
 */
AB_MUST_USE ab_err ab_desired_render(const ab_object *desired, const ab_object *local,
                                     const ab_desired_params *params, ab_buf *out);

/**
 * What ab_place reads of `local`: it serves in its stead, and is a fraction of its size.
 * @return what `out` reports
 */
AB_MUST_USE ab_err ab_desired_snapshot(const ab_object *local, ab_buf *out);

/** Digest over all that the source governs: neither .status nor .operation nor annotations that
 * pass between Argo CD and us (refresh, argobus.io/...). */
AB_MUST_USE ab_err ab_desired_digest(const ab_object *o, ab_digest *out);

/** UID of the source: annotation source-uid, else metadata.uid. */
ab_str ab_source_uid(const ab_object *o);

/** Does it say that argobus wrote it under another name? Then a user has copied it, with all its
 * annotations. What former versions and other programs wrote does not say it. */
bool ab_is_renamed_copy(const ab_object *o);
/** Does it say under which name argobus wrote it? Else a former version did, or another program. */
bool ab_names_itself(const ab_object *o);
