/* SPDX-License-Identifier: Apache-2.0
 *
 * An answer that costs work over all agents: it is kept for a moment, so that however many ask,
 * that work is done once in it. Nothing is kept after that moment. Loop thread.
 */
#pragma once

#include "base/core/buf.h"

#include <uv.h>

typedef struct ab_page_answer ab_page_answer;

typedef struct {
    unsigned keep_ms; /* how old an answer may be */
    size_t most;      /* bytes that it may have */
    void (*write)(void *arg, ab_buf *out);
    void *arg;
} ab_page_answer_source;

/** @param source  copied @return NULL when out of memory */
ab_page_answer *ab_page_answer_new(uv_loop_t *loop, const ab_page_answer_source *source);
/** NULL is allowed. The loop must be run afterwards. */
void ab_page_answer_free(ab_page_answer *a);
/** The answer, written now or up to `keep_ms` ago; a failure to write sticks in it, and is not
 * kept.
 * @return borrowed until the loop is run, or the next call */
const ab_buf *ab_page_answer_get(ab_page_answer *a);
/** It is not right any more: the next one is written again. */
void ab_page_answer_forget(ab_page_answer *a);
