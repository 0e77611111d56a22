/* SPDX-License-Identifier: Apache-2.0
 *
 * What was last received for each object, durably beside the store: an SQLite file in agent.data or
 * principal.data. From it local changes are reverted, also while the other side is cut off and for
 * changes made while this one was down.
 *
 * Reads are on the loop thread; writes are gathered and committed together on a worker thread, so
 * that a thousand events cost a few fsyncs.
 */
#pragma once

#include "base/clock.h"
#include "sync/kept.h"

#include <uv.h>

typedef struct ab_cache ab_cache;

/**
 * Open or make the file; its folder must exist.
 *
 * @param fresh  set when there was nothing in it: what was received before is not known
 * @return IO, NOSPACE, DENIED, PARSE (damaged: says to remove it), UNSUPPORTED (written by a newer
 * argobus)
 */
AB_MUST_USE ab_err ab_cache_open(uv_loop_t *loop, const char *path, const ab_clock *clock,
                                 ab_cache **out, bool *fresh, ab_error *err);
/** Close; nothing may be pending (ab_cache_pending). NULL is allowed. */
void ab_cache_close(ab_cache *c);

/** Every row, wish included. `fn` returns an error to stop. */
AB_MUST_USE ab_err ab_cache_each(ab_cache *c,
                                 ab_err (*fn)(void *arg, ab_str key, const ab_kept *kept),
                                 void *arg, ab_error *err);
/** One row; valid until the next call. @return NOTFOUND, IO */
AB_MUST_USE ab_err ab_cache_recall(ab_cache *c, ab_str key, ab_kept *out);

/** What was received is followed no more: of every row only the version stays. Before anything is
 * kept. @return IO, NOSPACE */
AB_MUST_USE ab_err ab_cache_release(ab_cache *c, ab_error *err);

typedef void (*ab_cache_done)(void *arg, ab_err code, const ab_error *err);
/** Write one row; `done` runs once, later, when it is on disk or has failed. @return NOMEM, and no
 * `done` */
AB_MUST_USE ab_err ab_cache_keep(ab_cache *c, ab_str key, const ab_kept *kept, ab_cache_done done,
                                 void *arg);
/** Rows that are not on disk yet. */
size_t ab_cache_pending(const ab_cache *c);
