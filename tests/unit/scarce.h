/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs short: allocations of the whole program, of which one fails. The program is
 * linked with --wrap of malloc, calloc and realloc.
 */
#pragma once

/* How many allocations succeed before one fails, which makes it negative; negative: all succeed. */
extern long scarce_allocations_left;
