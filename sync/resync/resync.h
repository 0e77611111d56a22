/* SPDX-License-Identifier: Apache-2.0
 *
 * One resync as one side sees it: what it told the other to hold, and what the other told, of which
 * it wants the pages that differ from what was said. Whether a page counts is decided here.
 *
 * Pure; loop thread.
 */
#pragma once

#include "sync/resync/message.h"
#include "sync/writer.h"

typedef struct ab_resync_session ab_resync_session;

/** @param mine  what we hold, divided; the session's from now on, also on failure
 *  @return NULL when out of memory */
ab_resync_session *ab_resync_session_new(ab_str id, ab_inventory *mine);
/** NULL is allowed. */
void ab_resync_session_free(ab_resync_session *s);
/** NUL-terminated, borrowed. */
const char *ab_resync_session_id(const ab_resync_session *s);
/** What we told, with digests: for a step. Borrowed until the session goes. @return NOMEM */
AB_MUST_USE ab_err ab_resync_session_summary(ab_resync_session *s, ab_resync_summary *out);

/**
 * The other side has told what it holds. From now on the pages that differ are wanted.
 * @param said  what it is to hold, by what we said; undivided: divided here as the other side did
 * @return INVALID (told already), NOMEM, FATAL
 */
AB_MUST_USE ab_err ab_resync_session_compare(ab_resync_session *s, const ab_resync_summary *summary,
                                             ab_inventory *expected);
/** The pages that are wanted; none before it was told. Borrowed. */
ab_resync_want ab_resync_session_want(const ab_resync_session *s);
/** A page has come. @return why it does not count; NULL: it does, and `page->entries` was taken */
const char *ab_resync_session_take(ab_resync_session *s, ab_resync_page *page);
/** It was told, and all that is wanted is in hand. */
bool ab_resync_session_is_complete(const ab_resync_session *s);

/** How many objects the other side holds, by its own word. */
size_t ab_resync_session_count(const ab_resync_session *s);
/** Is `key` on a page that was wanted? Only of such keys is known whether the other side has them.
 */
bool ab_resync_session_covers(const ab_resync_session *s, ab_str key);
/** What the other side has under `key`; NULL: nothing, if it covers it. */
const ab_inventory_entry *ab_resync_session_find(const ab_resync_session *s, ab_str key);
/** Call `visit` for each entry of the pages in hand. */
void ab_resync_session_each(const ab_resync_session *s,
                            void (*visit)(void *arg, const ab_inventory_entry *entry), void *arg);

/* Saying it. The writer must be ready. */
/** Queue a step. @param principal_uid  attribute principaluid; NULL: none. @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_resync_send(ab_writer *w, const ab_resync *r, const char *principal_uid);
/** Queue the pages of ours that are asked for; those that do not exist are passed over.
 *  @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_resync_send_pages(ab_writer *w, const ab_resync_session *s,
                                        const ab_resync_want *want);
/** End the pages that stand in the log. */
void ab_resync_end_pages(ab_writer *w);
