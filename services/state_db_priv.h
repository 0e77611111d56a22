/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of the state database: SQLite, one table. One thread at a time; each call blocks as long
 * as the disk does.
 */
#pragma once

#include "sync/received_state.h"

typedef struct ab_state_file ab_state_file;

/** How many rows one call of ab_state_file_prune removes at most. */
#define AB_STATE_FILE_PRUNE_MAX 2000

/**
 * Open or make the file.
 *
 * @param fresh  set when there was nothing in it
 * @param out    owned by the caller: ab_state_file_close
 * @return as ab_state_db_open
 */
AB_MUST_USE ab_err ab_state_file_open(const char *path, ab_state_file **out, bool *fresh,
                                      ab_error *err);
/** NULL is allowed. */
void ab_state_file_close(ab_state_file *db);

/** As ab_state_db_each. */
AB_MUST_USE ab_err ab_state_file_each(ab_state_file *db,
                                      ab_err (*fn)(void *arg, ab_str key,
                                                   const ab_received_state *received),
                                      void *arg, ab_error *err);
/** As ab_state_db_release. @param now_s  wall clock */
AB_MUST_USE ab_err ab_state_file_release(ab_state_file *db, int64_t now_s, ab_error *err);

/** Begin a transaction. @return the errors of ab_state_db_open */
AB_MUST_USE ab_err ab_state_file_begin(ab_state_file *db, ab_error *err);
/** Commit it: on return, its rows survive a power cut. @return the errors of ab_state_db_open */
AB_MUST_USE ab_err ab_state_file_commit(ab_state_file *db, ab_error *err);
/** Undo it, also after a failed commit. */
void ab_state_file_rollback(ab_state_file *db);

/** Write one row. @param now_s  wall clock @return the errors of ab_state_db_open */
AB_MUST_USE ab_err ab_state_file_put(ab_state_file *db, ab_str key,
                                     const ab_received_state *received, int64_t now_s,
                                     ab_error *err);
/** Remove the oldest rows of deleted objects that are past their time (30 days), a bounded number.
 *  @param now_s  wall clock @return the errors of ab_state_db_open */
AB_MUST_USE ab_err ab_state_file_prune(ab_state_file *db, int64_t now_s, ab_error *err);
/**
 * Read one row.
 *
 * @param out    points into *texts
 * @param texts  owned by the caller: free
 * @return NOTFOUND, NOMEM, and the errors of ab_state_db_open
 */
AB_MUST_USE ab_err ab_state_file_get(ab_state_file *db, ab_str key, ab_received_state *out,
                                     char **texts, ab_error *err);

/** Size of all texts of a row, in bytes. */
size_t ab_received_state_bytes(const ab_received_state *received);
/** A copy of the row, with its texts copied to `at`, which has room for ab_received_state_bytes. */
ab_received_state ab_received_state_copy(const ab_received_state *received, char *at);
