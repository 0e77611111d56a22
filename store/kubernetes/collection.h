/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of one kind: what lists and watches show of them is compared with what is known, and
 * reported. Loop thread.
 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

typedef struct {
    ab_kube *kube;
    const ab_kube_resource *resource;
    char *path;     /* of the collection */
    char *where;    /* for people: `path`, and the name when only one is watched */
    char *selector; /* query "&labelSelector=..." and "&fieldSelector=...", may be empty */
    ab_kube_known *known;
    bool unreadable; /* something of this list could not be read */
    bool unnamed;    /* nor which object it is */
    bool stopped;    /* nothing is reported any more */
} ab_kube_collection;

/** @return NOMEM; to be ended with fini all the same */
AB_MUST_USE ab_err ab_kube_collection_init(ab_kube_collection *c, ab_kube *k,
                                           const ab_store_watch *watched);
void ab_kube_collection_fini(ab_kube_collection *c);
/** Report a fault, count and log it. */
void ab_kube_collection_fault(const ab_kube_collection *c, const ab_error *err);
/** A list begins. */
void ab_kube_collection_list_begin(ab_kube_collection *c);
/** It was read to its end: what it did not show is ABSENT, unless it may be what is unnamed. */
void ab_kube_collection_list_end(ab_kube_collection *c);
/** An object exists. One that cannot be read does not keep the others from being seen.
 *  @return CLOSED: it was stopped meanwhile; NOMEM */
AB_MUST_USE ab_err ab_kube_collection_see(ab_kube_collection *c, ab_str json);
/** The watch told of a deletion. @return CLOSED; PARSE and others when it cannot be told of what;
 * NOMEM */
AB_MUST_USE ab_err ab_kube_collection_see_deleted(ab_kube_collection *c, ab_str json);
