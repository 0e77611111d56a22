/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing the store's watermark, part by part (watermark_parts.h). Before anything of
 * an agent is ended, the part that has its line is read, after the object was missed. If it is not
 * the one that was listed at start, or written since, the store is another one than it was, and
 * what it has shown proves nothing: the principal exits, so that its supervisor restarts it. The
 * other parts say nothing about this agent, and are not read for it.
 *
 * What no stored watermark covered before the store may have been replaced proves no deletion.
 * While it is replaced it cannot be read or written, and it shows its loss later, perhaps only
 * after the watermark was written again. So what is not covered when the part can be read again is
 * distrusted: for the rest of the run it is no proof, and no write covers it.
 *
 *    listed --get--> current --something is missed--> outdated --an agent waits: get--> current
 *                      |  ^
 *      a line is new:  |  | written, or found by a get to be ours all the same
 *              write   v  |
 *                    writing --failed--> unsure --get: what is not covered is distrusted--> current
 *
 *    any get or write that fails, and the end of an interruption of the store's watch: unsure
 *    any get that shows another watermark than ours: the end of everything
 *
 * A store can be replaced only while its watch is interrupted: until it is resumed, after all that
 * the store lost was reported, nothing is written. What was under way then reaches the former store
 * or none.
 *
 * Loop thread.
 */
#pragma once

#include "base/observe/log.h"
#include "sync/deletion/watermark_parts.h"

typedef struct {
    const ab_effects *effects; /* get, apply, fatal; borrowed */
    const ab_clock *clock;
    ab_log *log;
    const char *namespace; /* of the ConfigMaps; borrowed */
    /** The part of this agent's line was read after it was asked for, or while it waited. */
    void (*checked)(void *owner);
    /** What this agent was sent in this run and no stored watermark covers proves nothing any more
     * (ab_watermark_distrust): send it under a new epoch from now on. */
    void (*distrusted)(void *owner);
} ab_watermark_store_env;

typedef struct {
    ab_watermark_parts parts; /* first */
    ab_watermark_store_env env;
    bool other;       /* the watermark is not ours: nothing is ended any more */
    bool interrupted; /* the store's watch is */
    int64_t write_at; /* mono_ms: no part is written before then */
} ab_watermark_store;

/** @return NOMEM */
AB_MUST_USE ab_err ab_watermark_store_init(ab_watermark_store *s,
                                           const ab_watermark_store_env *env);
/** No effect may be answered afterwards. Allowed after an init that failed. */
void ab_watermark_store_fini(ab_watermark_store *s);

/** An object that the store lists at start. Other ones, and later, are ignored. */
void ab_watermark_store_note(ab_watermark_store *s, const ab_object *object);
/** The store is listed: from now on parts are read and written. */
void ab_watermark_store_listed(ab_watermark_store *s);
/** An agent is served from now on. @param owner  for `checked`  @param out  borrowed, until
 * ab_watermark_parts_leave  @return NOMEM */
AB_MUST_USE ab_err ab_watermark_store_join(ab_watermark_store *s, ab_str agent, void *owner,
                                           ab_watermark_line **out);

/** The store's watch is interrupted: another store may be behind it before it is resumed. */
void ab_watermark_store_interrupt(ab_watermark_store *s);
/** It is watched again, and all that it lost was reported. */
void ab_watermark_store_resume(ab_watermark_store *s);
/** It is known to be another one: the end of everything, as if the watermark said so. */
void ab_watermark_store_replace(ab_watermark_store *s);

/** Something is missing from the store: no part proves anything before it was read again. */
void ab_watermark_store_outdate(ab_watermark_store *s);
/** Something of this agent is missing, and nobody saw it go: what was sent to it and is not covered
 * yet is distrusted, also if it is not served now. @param agent  AB_STR_NONE: of any agent */
void ab_watermark_store_miss_unseen(ab_watermark_store *s, ab_str agent);
/** Has the line's part been read since something was missed last? If not it is read, and `checked`
 * is called then. */
bool ab_watermark_store_check(ab_watermark_store *s, ab_watermark_line *line);
/** Call `checked` when the part is read next, for whomever. */
void ab_watermark_store_await(ab_watermark_line *line);
/** Every part is to be read, and every agent is to hear of it. */
void ab_watermark_store_check_all(ab_watermark_store *s);
/** The line has something new. */
void ab_watermark_store_write(ab_watermark_store *s, ab_watermark_line *line);
/** Should the agent's log have been read by now? */
bool ab_watermark_store_is_log_late(const ab_watermark_store *s, const ab_watermark_line *line);

/** Read and write what is due. */
void ab_watermark_store_advance(ab_watermark_store *s);
/** The same, however soon after the last write. */
void ab_watermark_store_flush(ab_watermark_store *s);
