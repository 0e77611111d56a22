/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of objects that are synchronised: one file each, and one row in kind.c. What a kind
 * says of itself here is all that the rest of sync/ knows of it. Any thread.
 */
#pragma once

#include "base/json/object.h"
#include "schema/catalogue.h"

/* When an agent may take over an object that stands there already and is nobody's. */
typedef enum {
    AB_ADOPT_BY_POLICY, /* by the agent's policy, or when the object asks for it; only when it comes
                           as new, or was the source's before */
    AB_ADOPT_IF_ASKED,  /* only when the object asks for it */
    AB_ADOPT_ALWAYS
} ab_adoption;

/* Which agents a shared object of the control plane is for. */
typedef enum {
    AB_FOR_ALL,
    AB_FOR_ITS_OWN_RULES, /* it says itself: an AppProject */
    AB_FOR_ITS_PROJECT    /* those that its project is for */
} ab_audience;

/* How the mirror of an autonomous agent's object is called at the control plane. */
typedef enum {
    AB_NOT_MIRRORED,
    AB_MIRROR_BY_NAMESPACE, /* its own name, in a namespace of the agent's name */
    AB_MIRROR_BY_PREFIX     /* "<agent>-<name>", in the control plane's own namespace */
} ab_mirroring;

typedef struct {
    const char *kind;
    ab_target target;
    bool shared;  /* goes to every agent that may use it; lives in Argo CD's own namespace on both
                     sides. Else it belongs to one agent */
    bool sealed;  /* its data is for the receiving agent's eyes only */
    bool reports; /* its status goes to the control plane, it takes commands, and is deleted in two
                     steps, its workload first */
    ab_adoption adoption;
    ab_audience audience; /* of a shared kind */
    ab_mirroring mirroring;
    /** Is this object of the kind one to synchronise? NULL: each is. */
    bool (*is_selected)(const ab_object *object);
    /** Of a shared kind that is not sealed: what this agent is to have of it. Equal desired states
     * give equal text. @return what `out` reports */
    ab_err (*render)(const ab_object *hub, const char *agent, bool destination_mapping,
                     ab_buf *out);
} ab_kind;

extern const ab_kind ab_kind_application;
extern const ab_kind ab_kind_appproject;
extern const ab_kind ab_kind_repository;
extern const ab_kind ab_kind_gpgkeys;

/** @return NULL when objects of this kind are not synchronised */
const ab_kind *ab_kind_of(ab_str kind);
/** The kind that a key "<kind>/<namespace>/<name>" names; NULL as in ab_kind_of, or it is no key.
 */
const ab_kind *ab_kind_of_key(ab_str key);
/** Is it an object to synchronise: of a kind above, selected by it, and without the label
 * ignore-sync=true? */
bool ab_kind_is_synchronised(const ab_object *o);
/** Are objects about this target published and mirrored? */
bool ab_kind_is_mirrored(ab_target target);
