/* SPDX-License-Identifier: Apache-2.0
 *
 * What the receiver of an object's state keeps of it, durably: at an agent of what the principal
 * desired states, at a principal of what an autonomous agent published.
 */
#pragma once

#include "base/core/digest.h"
#include "sync/version.h"

/* Everything borrowed. */
typedef struct {
    ab_version version;
    bool ended;     /* deleted at the source; only version, uid, owned and orphan count then */
    bool released;  /* followed no more (the agent's mode has changed): only version counts then */
    bool deleting;  /* has a deletionTimestamp at the source */
    bool orphan;    /* ended or deleting, and what it deployed stays (AB_CE_ORPHAN) */
    bool adoptable; /* its last event was a create, which may adopt */
    bool remapped;  /* the source is in the principal's own namespace (AB_CE_REMAPPED) */
    ab_str uid;     /* of the source */
    ab_str owner;   /* uid of the principal; of a mirror, name of the agent */
    ab_str owned;   /* ab_merge_owned; of a mirror, uid of the object that was made for it */
    ab_str desired; /* payload of the event, sealed as it came */
    ab_str source;  /* agent: key of the object at the principal */
    ab_digest hash; /* attribute contenthash of the event; none: it had no readable one */
} ab_received_state;
