/* SPDX-License-Identifier: Apache-2.0
 *
 * The stores that the suite runs over. A further one is a row in places.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* An empty store to be used by one test. */
typedef struct {
    const char *name;
    /* Why this machine has none, NULL when it has: the tests are skipped. */
    const char *(*missing)(void);
    /* Make one; NULL when that fails. */
    void *(*make)(void);
    /* The i-th "key=value" of its configuration, NULL after the last. Borrowed. */
    const char *(*setting)(void *place, size_t i);
    /* The namespace that a test may write to, and watches; NULL: any. Borrowed. */
    const char *(*namespace)(void *place);
    void (*destroy)(void *place);
    /* Writing the status of an Application raises its generation: it is no subresource there. */
    bool status_counts;
    /* Objects have a schema: unknown members are dropped, numbers are 64-bit integers or doubles.
     */
    bool has_schema;
    /* A garbage collector removes the finalizer that a removal in the foreground adds. */
    bool has_collector;
} store_place;

extern const store_place *const store_places[];

/** The folder of a directory store's place. Borrowed. */
const char *directory_place_path(void *place);
extern const store_place directory_place;
