/* SPDX-License-Identifier: Apache-2.0
 *
 * The stores that the suite runs over. A further one is a row in places.c.
 */
#pragma once

#include <stddef.h>

/* An empty store to be used by one test. */
typedef struct {
    const char *name;
    /* Make one; NULL when this machine cannot, and the tests are skipped. */
    void *(*make)(void);
    /* The i-th "key=value" of its configuration, NULL after the last. Borrowed. */
    const char *(*setting)(void *place, size_t i);
    void (*destroy)(void *place);
} store_place;

extern const store_place *const store_places[];

/** The folder of a directory store's place. Borrowed. */
const char *directory_place_path(void *place);
extern const store_place directory_place;
