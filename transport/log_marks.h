/* SPDX-License-Identifier: Apache-2.0
 *
 * When the records of a log were written, kept while it is not known which of them matter. Of a
 * long log every second record is kept, or every fourth and so on, so that the memory is bounded.
 * Pure; one thread.
 */
#pragma once

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many are kept. */
#define AB_LOG_MARKS_MAX 256

typedef struct {
    int64_t offset;
    int64_t written_ms; /* wall clock */
} ab_log_mark;

/* Zeroed: none. */
typedef struct {
    ab_log_mark *rows; /* by offset; NULL until the first */
    size_t count;
    size_t stride; /* one in so many is kept */
    size_t seen;
} ab_log_marks;

/** @param offset  higher than any before. Without memory nothing is kept. */
void ab_log_marks_add(ab_log_marks *m, int64_t offset, int64_t written_ms);
/** The record of this offset does not matter in any case. */
void ab_log_marks_drop(ab_log_marks *m, int64_t offset);
/** The first that is kept at or after this offset. @return NULL: none; borrowed until the next call
 */
const ab_log_mark *ab_log_marks_find(const ab_log_marks *m, int64_t offset);
/** Release everything; it may be used again. */
void ab_log_marks_clear(ab_log_marks *m);
