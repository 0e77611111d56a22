/* SPDX-License-Identifier: Apache-2.0
 *
 * What a watcher remembers of the objects that exist, so that a new list shows what was deleted
 * meanwhile: key, uid and resourceVersion, no content. An object costs 166 bytes with a key of 33
 * bytes and a uid of 36 (tests/unit/store/kubernetes/known_test.c measures it).
 */
#pragma once

#include "base/json/object.h"

typedef struct ab_kube_known ab_kube_known;

typedef enum {
    AB_KUBE_SAME,     /* this state was noted before */
    AB_KUBE_NEWER,    /* a new object or a new state of a known one */
    AB_KUBE_REPLACED, /* another object of the same name: the one before was deleted */
} ab_kube_news;

/** @return NULL when out of memory */
ab_kube_known *ab_kube_known_new(void);
void ab_kube_known_free(ab_kube_known *k);
size_t ab_kube_known_count(const ab_kube_known *k);
/** A new list begins: what is not noted from now on is old. */
void ab_kube_known_begin(ab_kube_known *k);
/** What was noted until now is of another store, where the same version may be another state.
 * Before a list begins. */
void ab_kube_known_distrust(ab_kube_known *k);
/** What was noted for it before, as an object of kind, namespace, name, uid and resourceVersion.
 * @param api  apiVersion
 * @param out  owned by the caller
 * @return NOTFOUND, NOMEM */
AB_MUST_USE ab_err ab_kube_known_last(const ab_kube_known *k, ab_str key, const char *api,
                                      ab_object **out);
/** What `object` would be; nothing is noted. */
ab_kube_news ab_kube_known_compare(const ab_kube_known *k, const ab_object *object);
/** @return NOMEM */
AB_MUST_USE ab_err ab_kube_known_note(ab_kube_known *k, const ab_object *object);
/** It is there still, in a state that cannot be read: it is not old. */
void ab_kube_known_keep(ab_kube_known *k, const ab_object *object);
/** @return whether it was known */
bool ab_kube_known_forget(ab_kube_known *k, ab_str key);
/** Visit each that is old; `visit` may forget it. */
void ab_kube_known_each_old(ab_kube_known *k, void (*visit)(void *arg, ab_str key), void *arg);
/** Number of a resourceVersion; 0 when it is none. */
uint64_t ab_kube_version(ab_str text);
