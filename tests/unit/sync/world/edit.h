/* SPDX-License-Identifier: Apache-2.0
 *
 * What users and controllers do to an object in a fake store. The object must be there.
 */
#pragma once

#include "tests/unit/sync/world/fake_store.h"

#define MARK "ConfigMap/argocd/argobus-store-mark"

/** Put an Application. @param meta  more members of metadata, `rest` more of the object: JSON text
 *  that begins with a comma, or "" */
void put_app(fake_store *s, const char *ns, const char *name, int n, const char *meta,
             const char *rest);
/** The watermark of a store that has had all that was ever said to any agent of the tests, unless
 * there is one. */
void put_mark(fake_store *s);
/** The watermark as former versions wrote it: one ConfigMap, however many agents there are. It has
 * so many more, "x0" and so on, behind those that the first part has already. */
void crowd_mark(fake_store *s, size_t agents);
/** Is it a part of that? */
bool is_mark(const ab_object *o);
/** How many Applications and AppProjects are in it. */
size_t count_objects(const fake_store *s);
/** Set a member of the object to this JSON text; NULL removes it. */
void set_field(fake_store *s, const char *key, const char *member, const char *json);
/** spec.n, by which tests tell one spec from another. */
void set_spec(fake_store *s, const char *key, int n);
/** Set a label or annotation; NULL removes it. `map`: "labels" or "annotations". */
void set_in(fake_store *s, const char *key, const char *map, const char *name, const char *value);
/** Remove all finalizers, as a controller that has done its work. */
void drop_finalizers(fake_store *s, const char *key);

/** spec.n; -1 when there is none. */
int spec_of(const ab_object *o);
/** status.n; -1 when there is none. */
int status_of(const ab_object *o);
/** Does it have this label or annotation with this value? NULL: is it absent? */
bool has_in(const ab_object *o, const char *map, const char *name, const char *value);
