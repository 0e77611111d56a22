/* SPDX-License-Identifier: Apache-2.0
 *
 * The state database: the last received state of each object, durable, in an SQLite file in
 * agent.data or principal.data. Local changes are reverted to it, also while the other side cannot
 * be reached, and those that were made while this process was down.
 *
 * One worker thread owns the file, so a disk that hangs delays only what needs it. The loop thread
 * hands the worker one batch at a time. What is asked for while a batch is under way forms the next
 * one: either reads, or all writes in one transaction, so that a thousand events cost a few fsyncs.
 * Read and write batches alternate.
 *
 * Callers rely on the following, also across kill -9 and a power cut:
 *  - A write is answered after its commit has reached the disk (synchronous=FULL). Callers write
 * the object, and acknowledge the event, only after that answer: an acknowledged event is in the
 *    file. The reverse is not promised: the file may have a row whose event was not acknowledged.
 *    That event is delivered again, with a version that is not newer than the row.
 *  - Writes are committed in the order of the calls, across all keys.
 *  - A read that is asked for after the answer to a write of the same key returns that row or a
 *    later one. A read and a write that are under way together may overtake each other: the state
 *    machines have one effect under way per object.
 *  - All rows of one transaction are committed, or none is, and all get the same answer.
 *  - `fresh` tells that the file is new: events that were acknowledged earlier are not in it.
 *
 * Loop thread only.
 */
#pragma once

#include "base/core/clock.h"
#include "sync/received_state.h"

#include <uv.h>

typedef struct ab_state_db ab_state_db;

/**
 * Open or create the file; its folder must exist. Blocks, so it is for the start only.
 *
 * @param fresh  set when the file was created: earlier state is not known
 * @return IO, NOSPACE, DENIED, PARSE (damaged: says to remove it), UNSUPPORTED (written by a newer
 * argobus), NOMEM
 */
AB_MUST_USE ab_err ab_state_db_open(uv_loop_t *loop, const char *path, const ab_clock *clock,
                                    ab_state_db **out, bool *fresh, ab_error *err);
/** Wait for the batch that is under way, then close. What is still pending is dropped, and its
 * `done` is never called. The loop must run once more to release the handle. NULL is allowed. */
void ab_state_db_close(ab_state_db *c);

/** Call `fn` for every row, desired state included. Blocks, so it is for the start only: before the
 * first ab_state_db_save and ab_state_db_load. `fn` returns an error to stop. */
AB_MUST_USE ab_err ab_state_db_each(ab_state_db *c,
                                    ab_err (*fn)(void *arg, ab_str key,
                                                 const ab_received_state *received),
                                    void *arg, ab_error *err);
/** The received state no longer applies: keep only the version of each row, for 30 days from now.
 * For the start only, as ab_state_db_each. @return IO, NOSPACE */
AB_MUST_USE ab_err ab_state_db_release(ab_state_db *c, ab_error *err);

/** The answer: called once, never from inside the call that asked. `received` is the row as it is
 * in the file, borrowed; NULL unless `code` is OK. `err` is never NULL. */
typedef void (*ab_state_db_done)(void *arg, ab_err code, const ab_received_state *received,
                                 const ab_error *err);

/** Write one row; answered when it is on disk, or with an error of ab_state_db_open, but for
 * DENIED, which is IO: a file that could be written is tried again soon.
 * @return NOMEM, and then there is no answer */
AB_MUST_USE ab_err ab_state_db_save(ab_state_db *c, ab_str key, const ab_received_state *received,
                                    ab_state_db_done done, void *arg);
/** Read one row; answered with the row, or with NOTFOUND or IO.
 * @return NOMEM, and then there is no answer */
AB_MUST_USE ab_err ab_state_db_load(ab_state_db *c, ab_str key, ab_state_db_done done, void *arg);
/** Why the last writes failed; of code OK when they did not, or when there were none yet. Borrowed.
 */
const ab_error *ab_state_db_failure(const ab_state_db *c);
/** How many calls are not answered yet. */
size_t ab_state_db_pending(const ab_state_db *c);
