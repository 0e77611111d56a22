/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scarce.h"

#include <stdbool.h>
#include <stddef.h>

/* The linker puts these before those of the C library. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

long scarce_allocations_left = -1;

static bool is_refused(void)
{
    return scarce_allocations_left >= 0 && scarce_allocations_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __real_realloc(old, size);
}
