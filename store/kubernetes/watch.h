/* SPDX-License-Identifier: Apache-2.0
 *
 * One kind of object: list, watch, list again. Loop thread.
 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

/** @param listed  called when it has its first list, or a whole one after it
 *  @return NULL when out of memory */
ab_kube_watcher *ab_kube_watcher_new(ab_kube *k, const ab_store_watch *watch,
                                     void (*listed)(ab_kube *k));
void ab_kube_watcher_free(ab_kube_watcher *w);
/** Begin with the list. */
void ab_kube_watcher_start(ab_kube_watcher *w);
/** End what is under way; no upcall follows. */
void ab_kube_watcher_stop(ab_kube_watcher *w);
/** Its last list was read to the end and nothing in it was unreadable. */
bool ab_kube_watcher_is_whole(const ab_kube_watcher *w);
