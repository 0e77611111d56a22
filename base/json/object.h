/* SPDX-License-Identifier: Apache-2.0
 *
 * One Kubernetes object: its identity, taken out of the metadata once, and its JSON. Immutable and
 * shared by reference count; used on the loop thread only.
 */
#pragma once

#include "base/json/span.h"

typedef struct ab_object ab_object;

/* Longest key "<kind>/<namespace>/<name>", NUL included: 63 + 63 + 253 and two slashes. */
#define AB_OBJECT_KEY_MAX 384

/**
 * Take an object from its JSON text: kind, metadata.namespace and metadata.name must be there and
 * be names as Kubernetes has them (namespace a DNS label, name a DNS subdomain, kind letters and
 * digits).
 *
 * @param out  one reference, owned by the caller
 * @return PARSE, INVALID (says which field and why), TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_object_parse(ab_str json, ab_object **out, ab_error *err);
/** As ab_object_parse, for a document already parsed; takes `doc` over on success only. */
AB_MUST_USE ab_err ab_object_from(ab_span *doc, ab_object **out, ab_error *err);
ab_object *ab_object_ref(ab_object *o);
/** NULL is allowed. */
void ab_object_unref(ab_object *o);

/** "<kind>/<namespace>/<name>", NUL-terminated, borrowed. */
const char *ab_object_key(const ab_object *o);
ab_str ab_object_kind(const ab_object *o);
ab_str ab_object_namespace(const ab_object *o);
ab_str ab_object_name(const ab_object *o);
/** metadata.uid, empty when there is none. */
ab_str ab_object_uid(const ab_object *o);
/** metadata.resourceVersion, empty when there is none. */
ab_str ab_object_version(const ab_object *o);
ab_spanv ab_object_json(const ab_object *o);
/** Top-level member, e.g. "spec". */
ab_spanv ab_object_field(const ab_object *o, const char *name);
/** Member of metadata, e.g. "finalizers". */
ab_spanv ab_object_meta(const ab_object *o, const char *name);
/** Value of an annotation when it is a string without escapes, else absent. */
ab_str ab_object_annotation(const ab_object *o, const char *name);
/** Has metadata.deletionTimestamp. */
bool ab_object_deleting(const ab_object *o);
/** Split "<kind>/<namespace>/<name>" into borrowed parts. @return INVALID when it is no such key */
AB_MUST_USE ab_err ab_object_key_split(ab_str key, ab_str *kind, ab_str *ns, ab_str *name);
