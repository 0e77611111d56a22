/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects as an API server gives them back: what a client wrote, with what the server sets.
 */
#pragma once

#include "base/json/object.h"

/* Strings are borrowed. */
typedef struct {
    const char *namespace; /* NULL: the object has one */
    ab_str uid;
    uint64_t version; /* resourceVersion */
    int64_t generation;
    ab_str stamp;    /* annotation argobus.io/status-version; absent: what the object has */
    ab_spanv status; /* absent: none */
} ab_bench_server_side;

/** The object; one reference, the caller's. Ends the process when it cannot be.
 * @param content  what the client wrote; its status does not count */
ab_object *ab_bench_server_compose(ab_spanv content, const ab_bench_server_side *set);
/** metadata.generation of such an object. */
int64_t ab_bench_server_generation(const ab_object *object);
