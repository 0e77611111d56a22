/* SPDX-License-Identifier: Apache-2.0
 *
 * A store in memory with Kubernetes semantics (uid, resourceVersion, generation, finalizers,
 * deletionTimestamp) in which nothing happens by itself. What a machine asks for waits as a job;
 * what it is to be told waits as an answer or a change; the test picks which of them happens next.
 * So every interleaving can be had that a real store may show: answers late, changes before or
 * after the answer of the write that made them, states skipped.
 *
 * Jobs of one object take effect in order, changes of one object come in order.
 */
#pragma once

#include "base/core/map.h"
#include "base/json/object.h"

typedef struct fake_store fake_store;

/* GONE: its deletion was observed. ABSENT: a new list does not have it. */
typedef enum { FAKE_SEEN, FAKE_GONE, FAKE_ABSENT, FAKE_SYNCED } fake_change;
/* What becomes of a job. */
typedef enum { FAKE_WORKS, FAKE_FAILS, FAKE_WORKS_BUT_FAILS } fake_fate;

typedef void (*fake_done)(void *arg, ab_err code, ab_object *object, const ab_error *err);

typedef struct {
    void (*on_change)(void *arg, fake_change change, ab_object *object);
    /* A job wrote; either is NULL where the object did or does not exist. May be NULL. */
    void (*on_write)(void *arg, const ab_object *before, const ab_object *after);
    /* What is to become of the next job, and with which error if it fails. NULL: it works. */
    fake_fate (*fate)(void *arg, bool writes, ab_err *code);
    void *arg;
} fake_events;

fake_store *fake_store_new(void);
void fake_store_free(fake_store *s);
/** Uids of new objects have numbers from `first` on, so that no other store has them. */
void fake_store_number_from(fake_store *s, uint64_t first);
/** What is deleted from now on has this deletionTimestamp, which is static; until then
 * 2026-01-01T00:00:00Z. */
void fake_store_set_time(fake_store *s, const char *time);

/** Begin to watch: a SEEN of each object, then SYNCED, are waiting then. */
void fake_store_open(fake_store *s, const fake_events *events);
/** The machine is gone: its jobs, answers and changes are dropped. */
void fake_store_close(fake_store *s);

/* A user's or a controller's hand: takes effect at once. */
/** Create, or replace everything, .status too; server-set metadata is kept. */
void fake_store_put(fake_store *s, const ab_object *object);
/** Write the same as another text, as an editor may do with a file: no change, nothing is told. */
void fake_store_reword(fake_store *s, const ab_object *object);
/** As a user's delete. */
void fake_store_erase(fake_store *s, const char *key);
/** The watch has a gap: deletions that are not told yet are not observed any more. */
void fake_store_gap(fake_store *s);
/** It is gone, finalizers or not, and nobody saw it go: a new list does not have it. */
void fake_store_lose(fake_store *s, const char *key);
/** The object, NULL if absent; borrowed until the next change. */
ab_object *fake_store_find(const fake_store *s, const char *key);
/** The i-th object in order of first creation, NULL behind the last. */
ab_object *fake_store_at(const fake_store *s, size_t i);

/** All that is in it now, the caller's until fake_backup_free. */
ab_map *fake_store_back_up(const fake_store *s);
void fake_backup_free(ab_map *backup);
/** It is as it was then; who watches lists it anew. */
void fake_store_restore(fake_store *s, const ab_map *backup);

/* A machine's hand: jobs. */
void fake_store_get(fake_store *s, ab_str key, fake_done done, void *arg);
/** `version` absent: it must not exist; else its resourceVersion must be this. */
void fake_store_apply(fake_store *s, const ab_object *object, ab_str version, fake_done done,
                      void *arg);
/** Absent `stamp`, `uid` and `version`: left, not checked. */
void fake_store_patch_status(fake_store *s, ab_str key, ab_str status, ab_str stamp, ab_str uid,
                             ab_str version, fake_done done, void *arg);
/** Absent `uid` and `version`: not checked. */
void fake_store_remove(fake_store *s, ab_str key, ab_str uid, ab_str version, fake_done done,
                       void *arg);

/** How many things can happen now. */
size_t fake_store_choices(const fake_store *s);
/** Let the i-th of them happen. @param skip  a change may be skipped when a newer one waits */
void fake_store_step(fake_store *s, size_t i, bool skip);
/** Let all happen, first come first served, until nothing waits. */
void fake_store_settle(fake_store *s);
/** The same, but no change is told. */
void fake_store_settle_jobs(fake_store *s);
/** Is there a change that was not told yet? */
bool fake_store_has_changes(const fake_store *s);
/** Has SYNCED been told? */
bool fake_store_has_listed(const fake_store *s);
/** Changes made so far, by anybody. */
uint64_t fake_store_changes(const fake_store *s);
/** How often an object was read so far. */
uint64_t fake_store_reads(const fake_store *s);
