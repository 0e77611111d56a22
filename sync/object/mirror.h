/* SPDX-License-Identifier: Apache-2.0
 *
 * What an autonomous agent publishes of an object, and how that stands at the principal: pure
 * functions from JSON to JSON. What is not named here passes through with its text unchanged.
 *
 * Application a of agent w1 is mirrored as w1/a, its project p as project w1-p; AppProject p as
 * w1-p in the principal's own namespace. The mirror's destination is the agent.
 */
#pragma once

#include "base/json/object.h"
#include "sync/kind/kind.h"

/** Payload of what is published: the object without what a server sets again at each write, without
 * owners and without deletionTimestamp. Equal objects give equal text.
 *  @return what `out` reports */
AB_MUST_USE ab_err ab_mirror_payload(const ab_object *local, ab_buf *out);

/**
 * Key of the mirror of the agent's object `name`.
 * @param namespace  the principal's own
 * @return INVALID: nothing of this kind is mirrored; TOOBIG: the mirror's name would be too long
 */
AB_MUST_USE ab_err ab_mirror_key(const ab_kind *kind, const char *agent, ab_str name,
                                 const char *namespace, char out[AB_OBJECT_KEY_MAX]);

/** The other way: key at the agent of the object whose mirror has this key.
 *  @param local  Argo CD's namespace there
 *  @return INVALID: it is not a mirror of this agent */
AB_MUST_USE ab_err ab_mirror_source_key(ab_str key, const char *agent, const char *namespace,
                                        const char *local, char out[AB_OBJECT_KEY_MAX]);

typedef struct {
    const char *agent;
    ab_str key;          /* of the mirror */
    ab_str uid;          /* of the source; becomes annotation source-uid */
    ab_str stamp;        /* becomes annotation argobus.io/mirror-version */
    ab_str operation_id; /* becomes annotation argobus.io/operation-id; empty: the old one stays */
    ab_str refresh_id;
    bool project_refused; /* "<agent>-<project>" is not the agent's: it becomes "<agent>_<project>"
                           */
    bool drop_operation;  /* .operation and its id go; else those of the hub stay */
    bool drop_refresh;
} ab_mirror_params;

/**
 * The mirror as it is to be written: as the source is, but what users of the hub ask for
 * (.operation, refresh) and what notifications recorded is the hub's own. No finalizers: nothing
 * depends on a mirror.
 *
 * @param hub  as it is; NULL to create
 * @return INVALID when the payload is none (no key); what `out` reports
 */
AB_MUST_USE ab_err ab_mirror_render(const ab_object *source, const ab_object *hub,
                                    const ab_mirror_params *m, ab_buf *out);

/** The project of the mirror of an Application: "<agent>-<project>". What goes wrong, `out`
 * reports. */
void ab_mirror_project_name(const ab_object *source, const char *agent, ab_buf *out);

/** .status of the mirror; "{}" when the source has none. Child Applications among its resources
 * are where their mirrors are. @return what `out` reports */
AB_MUST_USE ab_err ab_mirror_status(const ab_object *source, const char *agent, ab_buf *out);

/** Digest of all that ab_mirror_render decides: not .status, not what the store sets, no
 * stamp. An empty map or list counts as an absent one. */
AB_MUST_USE ab_err ab_mirror_digest(const ab_object *o, ab_digest *out);
