/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records of one partition have been dealt with: they arrive in order, are dealt with in any
 * order, and the position is where a restart must begin so that none is missed. A pure little
 * machine; no Kafka in it.
 */
#pragma once

#include "base/core/error.h"

#include <stdint.h>

typedef struct {
    int64_t offset;
    bool done;
} ab_offsets_slot;

typedef struct {
    ab_offsets_slot *ring; /* of those not below the position, `count` from `first` on */
    size_t room;           /* a power of two, or 0 */
    size_t count;
    uint64_t first; /* number of the oldest; slot n is ring[n & (room - 1)] */
    size_t open;    /* of `count`, not done */
    int64_t next;   /* everything below it has arrived, or is known not to exist */
} ab_offsets;

/** Begin at `start`: nothing open. `o` may hold anything; call fini on an old one first. */
void ab_offsets_init(ab_offsets *o, int64_t start);
void ab_offsets_fini(ab_offsets *o);
/**
 * A record has arrived and is open until done.
 * @param offset  higher than any before; lower ones are INVALID (it arrived already)
 * @param number  what to give to ab_offsets_done
 * @return INVALID, NOMEM
 */
AB_MUST_USE ab_err ab_offsets_open(ab_offsets *o, int64_t offset, uint64_t *number);
/** Nothing below `next` will come any more: a record that needs no work, or holes that compaction
 * left. */
void ab_offsets_pass(ab_offsets *o, int64_t next);
/** The record has been dealt with. Once per number (asserted). */
void ab_offsets_done(ab_offsets *o, uint64_t number);
/** The lowest offset that is still open; when none is, the next to arrive. */
int64_t ab_offsets_position(const ab_offsets *o);
