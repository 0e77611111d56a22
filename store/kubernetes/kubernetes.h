/* SPDX-License-Identifier: Apache-2.0
 *
 * The store behind a Kubernetes API server.
 */
#pragma once

#include "store/kubernetes/access/access.h"
#include "store/store.h"

/* The rows of the option table. */
#define AB_KUBERNETES_OPTION_ROWS                                                                  \
    AB_KUBE_ACCESS_OPTION_ROWS,                                                                    \
        {.name = "store.kubernetes.selector",                                                      \
         .kind = AB_OPT_STRING,                                                                    \
         .help = "Label selector: Applications that do not match are ignored."},                   \
        {.name = "store.kubernetes.create-namespaces",                                             \
         .kind = AB_OPT_LIST,                                                                      \
         .help = "Patterns (globs, /regex/) of namespaces to create if an object needs one "       \
                 "that does not exist."},                                                          \
        {.name = "store.kubernetes.namespace-labels",                                              \
         .kind = AB_OPT_MAP,                                                                       \
         .help = "Labels of the namespaces that argobus creates."},                                \
        {.name = "store.kubernetes.concurrency",                                                   \
         .kind = AB_OPT_INT,                                                                       \
         .deflt = "64",                                                                            \
         .min = 1,                                                                                 \
         .max = 256,                                                                               \
         .help = "Maximum number of concurrent writes, each of a different object."},              \
        {.name = "store.kubernetes.page",                                                          \
         .kind = AB_OPT_INT,                                                                       \
         .deflt = "500",                                                                           \
         .min = 1,                                                                                 \
         .max = 10000,                                                                             \
         .help = "Objects per list request."},                                                     \
    {                                                                                              \
        .name = "store.kubernetes.timeout", .kind = AB_OPT_DURATION, .deflt = "30s", .min = 1000,  \
        .max = 600000, .help = "How long the API server may take to answer.",                      \
    }

extern const ab_store_ops ab_kubernetes_store;
