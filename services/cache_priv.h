/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of the state database: SQLite, one table. One thread at a time; each call blocks as long
 * as the disk does.
 */
#pragma once

#include "sync/kept.h"

typedef struct ab_cache_db ab_cache_db;

/** How many rows one call of ab_cache_db_prune removes at most. */
#define AB_CACHE_PRUNE_MAX 2000

/**
 * Open or make the file.
 *
 * @param fresh  set when there was nothing in it
 * @param out    owned by the caller: ab_cache_db_close
 * @return as ab_cache_open
 */
AB_MUST_USE ab_err ab_cache_db_open(const char *path, ab_cache_db **out, bool *fresh,
                                    ab_error *err);
/** NULL is allowed. */
void ab_cache_db_close(ab_cache_db *db);

/** As ab_cache_each. */
AB_MUST_USE ab_err ab_cache_db_each(ab_cache_db *db,
                                    ab_err (*fn)(void *arg, ab_str key, const ab_kept *kept),
                                    void *arg, ab_error *err);
/** As ab_cache_release. */
AB_MUST_USE ab_err ab_cache_db_release(ab_cache_db *db, ab_error *err);

/** Begin a transaction. @return the errors of ab_cache_open */
AB_MUST_USE ab_err ab_cache_db_begin(ab_cache_db *db, ab_error *err);
/** Commit it: on return, its rows survive a power cut. @return the errors of ab_cache_open */
AB_MUST_USE ab_err ab_cache_db_commit(ab_cache_db *db, ab_error *err);
/** Undo it, also after a failed commit. */
void ab_cache_db_rollback(ab_cache_db *db);

/** Write one row. @param now_s  wall clock @return the errors of ab_cache_open */
AB_MUST_USE ab_err ab_cache_db_put(ab_cache_db *db, ab_str key, const ab_kept *kept, int64_t now_s,
                                   ab_error *err);
/** Remove the oldest rows of deleted objects that are past their time (30 days), a bounded number.
 *  @param now_s  wall clock @return the errors of ab_cache_open */
AB_MUST_USE ab_err ab_cache_db_prune(ab_cache_db *db, int64_t now_s, ab_error *err);
/**
 * Read one row.
 *
 * @param out    points into *texts
 * @param texts  owned by the caller: free
 * @return NOTFOUND, NOMEM, and the errors of ab_cache_open
 */
AB_MUST_USE ab_err ab_cache_db_get(ab_cache_db *db, ab_str key, ab_kept *out, char **texts,
                                   ab_error *err);

/** Size of all texts of a row, in bytes. */
size_t ab_kept_bytes(const ab_kept *kept);
/** A copy of the row, with its texts copied to `at`, which has room for ab_kept_bytes. */
ab_kept ab_kept_copy(const ab_kept *kept, char *at);
