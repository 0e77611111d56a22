/* SPDX-License-Identifier: Apache-2.0
 *
 * What a manifest says and what the world sees of it. A manifest holds what a person wrote; the
 * members that the server sets live in the sidecar. Normalising takes the latter out of an object,
 * viewing puts them back. Pure functions, any thread.
 */
#pragma once

#include "base/json/object.h"
#include "base/yaml/yaml.h"
#include "store/directory/manifest/sidecar.h"

/* One document of a manifest file. */
typedef struct {
    ab_span
        *json; /* normalised: metadata.namespace is there, .status and server-set members are not */
    size_t line; /* where it begins in its file */
    ab_digest content;
    ab_digest spec;
    char *status;    /* the manifest's own .status as JSON text, NULL when it has none */
    bool finalizers; /* metadata.finalizers holds at least one */
    char name[254];
} ab_manifest;

/**
 * Take a document as an object of this namespace and kind.
 *
 * @param root  the object; borrowed for the call
 * @param out   owned by the caller: ab_manifest_fini
 * @return INVALID (says which field and why), NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_manifest_take(ab_spanv root, ab_str kind, ab_str ns, ab_manifest *out,
                                    ab_error *err);
/** Release what a manifest holds; a zeroed one is allowed. */
void ab_manifest_fini(ab_manifest *m);
/**
 * The object as the world sees it: manifest and sidecar in one.
 * @param out  one reference, owned by the caller
 * @return INVALID, NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_manifest_view(const ab_manifest *m, const ab_sidecar *s, ab_object **out,
                                    ab_error *err);
/**
 * What is kept of an object to report its deletion: apiVersion, kind and metadata, without the copy
 * of the whole object that kubectl keeps in an annotation.
 * @param out  JSON text, owned by the caller
 */
AB_MUST_USE ab_err ab_manifest_head(const ab_object *object, char **out);
