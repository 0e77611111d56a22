/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents as the page was last told of them, each a text of JSON. A few are looked at in a turn;
 * one whose text has changed moves to the end of the order of changes and gets the next number, so
 * that a viewer who knows everything up to a number finds what follows without passing over the
 * rest. Loop thread.
 */
#pragma once

#include "base/core/buf.h"

typedef struct ab_page_rows ab_page_rows;
typedef struct ab_page_row ab_page_row;

/** Append the JSON of an agent, by its name. */
typedef void (*ab_page_write)(void *arg, const char *agent, ab_buf *out);

/** @return NULL when out of memory */
ab_page_rows *ab_page_rows_new(ab_page_write write, void *arg);
/** NULL is allowed. */
void ab_page_rows_free(ab_page_rows *r);
/** An agent that is known already is left as it is. @return NOMEM */
AB_MUST_USE ab_err ab_page_rows_add(ab_page_rows *r, ab_str agent);
/** Unknown agents are ignored. */
void ab_page_rows_remove(ab_page_rows *r, ab_str agent);
size_t ab_page_rows_count(const ab_page_rows *r);
/** Look at the next `count` agents, each once at most. One that cannot be written for want of
 * memory stays as it was. */
void ab_page_rows_refresh(ab_page_rows *r, size_t count);

/** The first row that changed after number `seen`; NULL: none did. 0 is before all. Costs as many
 * steps as there are such rows. Borrowed until the next call that is not const. */
const ab_page_row *ab_page_rows_after(const ab_page_rows *r, uint64_t seen);
/** The row that changed next; NULL: it was the last. */
const ab_page_row *ab_page_row_next(const ab_page_row *row);
uint64_t ab_page_row_number(const ab_page_row *row);
ab_str ab_page_row_text(const ab_page_row *row);
