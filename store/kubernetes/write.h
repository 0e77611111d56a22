/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation, and the requests that it makes. Loop thread.
 */
#pragma once

#include "store/kubernetes/kubernetes_priv.h"

/* The request that an operation makes now. */
typedef enum {
    AB_KUBE_STEP_READ,
    AB_KUBE_STEP_CREATE,
    AB_KUBE_STEP_PATCH,
    AB_KUBE_STEP_PATCH_FIRST, /* status of an object without annotations */
    AB_KUBE_STEP_DELETE,
    AB_KUBE_STEP_NAMESPACE,
} ab_kube_step;

struct ab_kube_op {
    ab_store_op base;
    ab_kube *kube;
    ab_kube_lane *lane; /* NULL once it has ended */
    /* How far it is. */
    const ab_kube_resource *resource;
    ab_kube_step step;
    bool begun;
    bool namespace_made;
    unsigned turns; /* answers after which another request could follow */
    uint64_t begun_ms;
};

/** For the queue's `run`. */
void ab_kube_op_run(ab_kube_op *op);
