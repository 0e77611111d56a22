/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of objects that are synchronised, one row each. Any thread.
 */
#pragma once

#include "base/json/object.h"
#include "schema/catalogue.h"

typedef struct {
    const char *kind;
    ab_target target;
    bool shared; /* goes to every agent that may use it; lives in Argo CD's own namespace on both
                    sides */
    bool sealed; /* its data is for the receiving agent's eyes only */
} ab_kind;

/** @return NULL when objects of this kind are not synchronised */
const ab_kind *ab_kind_of(ab_str kind);
/** Is it an object to synchronise: of a kind above; a Secret only with the label of a repository or
 * of repository credentials, a ConfigMap only the one of the GPG keys; none with the label
 * ignore-sync=true? */
bool ab_kind_is_synchronised(const ab_object *o);
