/* SPDX-License-Identifier: Apache-2.0
 *
 * One kind of object: list, watch, list again. Loop thread.
 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

/* What a watcher tells its store. */
typedef struct {
    /** It has its first list, or a whole one after it. */
    void (*listed)(ab_kube *k);
    /** Its watch broke off: what it asks next may be another store. Or it goes on: the server knows
     * the version that was seen last, or a whole new list was reported. In turns, the first is
     * true. */
    void (*interrupted)(ab_kube *k, bool interrupted);
    /** The server's data is older than what was seen last. Then all is listed again. */
    void (*replaced)(ab_kube *k);
} ab_kube_watcher_events;

/** @param events  copied  @return NULL when out of memory */
ab_kube_watcher *ab_kube_watcher_new(ab_kube *k, const ab_store_watch *watch,
                                     const ab_kube_watcher_events *events);
void ab_kube_watcher_free(ab_kube_watcher *w);
/** Begin with the list. */
void ab_kube_watcher_start(ab_kube_watcher *w);
/** End what is under way; no upcall follows. */
void ab_kube_watcher_stop(ab_kube_watcher *w);
/** Its last list was read to the end and nothing in it was unreadable. */
bool ab_kube_watcher_is_whole(const ab_kube_watcher *w);
