/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C library keeps of freed memory. A principal over Kafka has a hundred threads of
 * librdkafka. By default glibc gives each an arena of its own, up to eight for each core, and once
 * a block of some MiB was freed it takes all blocks of that size from the arenas, which then hold
 * what a start needed for as long as the program runs (docs/decisions/0055).
 */
#pragma once

/** Bound what is kept. Once, before there is another thread; other C libraries stay as they are. */
void ab_memory_bound(void);
