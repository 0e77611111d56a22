/* SPDX-License-Identifier: Apache-2.0
 *
 * The writing half of one peer's state lane. It knows what the log says per key (learnt by
 * read-back, then kept by what it queues itself), so that only differences are sent: an object
 * whose content the log has costs no event, also after a restart. It stamps every event with the
 * writer's epoch and a rising version.
 *
 * Pure: no I/O; loop thread.
 */
#pragma once

#include "base/core/digest.h"
#include "sync/outbox.h"
#include "sync/trace.h"
#include "sync/version.h"

typedef struct ab_writer ab_writer;

typedef struct {
    const ab_clock *clock;
    const char *source;  /* attribute source of every event; borrowed */
    const char *agent;   /* at the other end, or our own name; borrowed. Ids begin with it: a
                            principal's events to two agents may have the same version */
    ab_outbox_safe safe; /* a token's event is safe; may be NULL */
    void *arg;
    const ab_trace *trace; /* borrowed; NULL: no traces */
} ab_writer_env;

/** @return NULL when out of memory */
ab_writer *ab_writer_new(const ab_writer_env *env);
/** NULL is allowed. */
void ab_writer_free(ab_writer *w);

/** What the log says for one key: the transport's on_written. Nothing is assumed about order. */
AB_MUST_USE ab_err ab_writer_learn(ab_writer *w, const ab_event *head);
/** Under which version the log says this is not to be relied on: another writer gave it. */
void ab_writer_forget_version(ab_writer *w, ab_str key);
/** The log was replaced: forget its content and that we are ready. What waits stays, to be sent
 * again. */
void ab_writer_forget(ab_writer *w);
/** Events are taken from now on, under this epoch or one that was begun since. */
void ab_writer_ready(ab_writer *w, uint64_t epoch);
/** What is queued from now on is of a newer epoch. */
void ab_writer_begin_epoch(ab_writer *w);
bool ab_writer_is_ready(const ab_writer *w);
/** The version that the next event will have, for content that is bound to it: it stays until an
 * event is queued. Must be ready. */
ab_version ab_writer_reserve(ab_writer *w);

/** Does the log have this key, or will it, with this content? */
bool ab_writer_has(const ab_writer *w, ab_str key, const ab_digest *digest);
/** What the log says, or will, under this key. @return false when it does not have it */
bool ab_writer_find(const ab_writer *w, ab_str key, ab_digest *out);
/** The other side has this content under `key`, whatever was sent: it need not be sent again. */
AB_MUST_USE ab_err ab_writer_suppose(ab_writer *w, ab_str key, const ab_digest *digest);
/** The version of what the log says under this key; none when it does not have it, or it is not
 * known. */
ab_version ab_writer_version_of(const ab_writer *w, ab_str key);
/** The owner has the object of this key before it. So it is of each state that is queued.
 * @return it was not known until now, and the log has this key */
bool ab_writer_confirm_owned(ab_writer *w, ab_str key);
/** No key is confirmed owned any more. */
void ab_writer_confirm_none_owned(ab_writer *w);
/** Has it had it, in this run? */
bool ab_writer_is_confirmed_owned(const ab_writer *w, ab_str key);
/** The newest version that an event of ours has. */
ab_version ab_writer_newest(const ab_writer *w);
/** Was something queued under `key` since ab_writer_newest was this? */
bool ab_writer_queued_since(const ab_writer *w, ab_str key, ab_version version);
/** What we send next is to be newer than this, which somebody has as ours. @return true when it
 * would not have been: what was sent recently may have been taken for older than it is */
bool ab_writer_exceed(ab_writer *w, ab_version version);
/** What the log has under this key is not relied on: the next state is sent, whatever it says. */
void ab_writer_repeat(ab_writer *w, ab_str key);
/** As ab_writer_repeat, for a command: ab_writer_command queues it once more. */
void ab_writer_repeat_command(ab_writer *w, ab_str key);
/** Does the log have this key, or will it? */
bool ab_writer_has_key(const ab_writer *w, ab_str key);

/**
 * "This is the object now." Queued unless the log has the same digest already. Must be ready.
 *
 * @param key     the record's key
 * @param object  the object's lane: its own key. What goes there under another key keeps its place
 * in the order and is never replaced
 * @param draft   type, dataschema, subject, data and what else the event carries; id, source, time,
 * key, version and digest are set here
 * @param token   comes back by `safe`; at once when nothing needs to be sent
 */
AB_MUST_USE ab_err ab_writer_state(ab_writer *w, ab_str key, ab_str object, ab_event_draft *draft,
                                   const ab_digest *digest, void *token);
/** "It is gone": a tombstone, unless the log does not have the key. Must be ready. */
AB_MUST_USE ab_err ab_writer_end(ab_writer *w, ab_str key, ab_str object, ab_event_draft *draft,
                                 void *token);
/** As ab_writer_end, whatever the log has: somebody waits to hear it. Must be ready. */
AB_MUST_USE ab_err ab_writer_end_anyway(ab_writer *w, ab_str key, ab_str object,
                                        ab_event_draft *draft, void *token);
/**
 * Something is asked for: sent under cmd/<id>, in order behind what is queued for `object`, never
 * replaced. Not queued again while the log has it. Must be ready.
 */
AB_MUST_USE ab_err ab_writer_command(ab_writer *w, ab_str id, ab_str object, ab_event_draft *draft);

/** Call `visit` for each key of the log that begins with `prefix`; it may end that key
 * (ab_writer_end), which is valid, with a NUL byte behind it, until it returns. */
void ab_writer_each(ab_writer *w, const char *prefix, void (*visit)(void *arg, ab_str key),
                    void *arg);

/** The queue, to be emptied into the transport by its owner. */
ab_outbox *ab_writer_outbox(ab_writer *w);
