/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/memory.h"

#include <malloc.h>

#define ARENAS_MAX 4
/* Larger blocks come from the kernel and go back to it: glibc's default, which it raises by itself
 * unless it is set. */
#define MAPPED_FROM_BYTES (128 * 1024)

void ab_memory_bound(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, ARENAS_MAX);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
#endif
}
