/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's watermark: what a principal writes into its own store, beside the objects, of how far
 * each agent has been told. A store that comes back from a backup comes back with an older
 * watermark, or with none: by that it is known not to have had what was said since
 * (docs/protocol.md).
 *
 * It is kept in parts, each a ConfigMap with the lines of a bounded number of agents, so that a
 * change of one agent writes one part: data.<agent> is "<epoch>.<version> ...", of which the first
 * covers all that is not newer, each other one what was said under its epoch up to there;
 * data.write_id names this state of the part. One ConfigMap for all would be 0.6 MB at 10,000
 * agents, of the 1 MiB that Kubernetes allows.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/json/document.h"
#include "base/json/object.h"
#include "sync/version.h"

/* Name of the first part, in the principal's own namespace; the others add "-1", "-2", ... */
#define AB_WATERMARK_NAME     "argobus-store-mark"
#define AB_WATERMARK_NAME_MAX 32 /* NUL included */
/* A label that all parts but the first have: former versions wrote that one, and without it. */
#define AB_WATERMARK_LABEL "argobus.io/store-mark"

/* A part gets no more agents than that. Each is 30 to 500 bytes. */
#define AB_WATERMARK_AGENTS_MAX 500
/* Then the last part takes all. */
#define AB_WATERMARK_PARTS_MAX 200

/* Runs that are remembered one by one. */
#define AB_WATERMARK_RUNS_MAX 16

/* A UUID and the NUL. */
#define AB_WATERMARK_ID_MAX 37

/* What was sent to one agent. */
typedef struct {
    ab_version all;                         /* all up to there */
    ab_version runs[AB_WATERMARK_RUNS_MAX]; /* the last ones to be added */
    size_t count;
} ab_watermark_sent;

/** Does it cover what was sent under this version? */
bool ab_watermark_covers(const ab_watermark_sent *sent, ab_version version);
/** Does it cover nothing at all? */
bool ab_watermark_is_empty(const ab_watermark_sent *sent);
/* Epochs of this run that are remembered. */
#define AB_WATERMARK_EPOCHS_MAX 8

/* What this run knows of one agent. */
typedef struct {
    bool distrusted;   /* ab_watermark_distrust */
    bool resynced;     /* both ends agreed, and every deletion was proved */
    ab_version queued; /* the newest state of an object that was sent in this run */
    ab_version newest; /* the newest state of an object that the agent is known to have */
    ab_version all;    /* both ends agreed up to there, before the agent was taken away last */
    uint64_t epochs[AB_WATERMARK_EPOCHS_MAX]; /* the last ones under which something was sent */
    size_t epoch_count;
} ab_watermark_run;

/* What a write covers beside what is covered already. */
typedef struct {
    ab_version all;    /* all up to there; none: nothing */
    ab_version queued; /* what was sent under its epoch, up to there; none: nothing */
} ab_watermark_claim;

/** Something is sent under this epoch from now on. */
void ab_watermark_note_epoch(ab_watermark_run *run, uint64_t epoch);
/** The agent, or its log, has an object under this version. */
void ab_watermark_note_version(ab_watermark_run *run, ab_version version);
/** An object was queued under this version. */
void ab_watermark_note_queued(ab_watermark_run *run, ab_version version);
/** Is the store known to have had what was sent under this version? It is, of what was said in this
 * run since it was distrusted last, of what the watermark covers, and once both ends agreed, of
 * all.
 */
bool ab_watermark_proves(const ab_watermark_sent *sent, const ab_watermark_run *run,
                         ab_version version);
/** The store may have been replaced by one that never had what was sent in this run until now: it
 * is neither proof nor to be covered, and no resync of this run changes that. Something is sent
 * under a new epoch from now on. */
void ab_watermark_distrust(ab_watermark_run *run);
/** The agent was taken away, and is served again: what it was sent in this run still is proof, and
 * to be covered; what it has is to be compared again. */
void ab_watermark_rejoin(ab_watermark_run *run);
/** What was sent in this run, and, once every deletion was proved, all up to there: before that it
 * would hide what only the agent knows of. */
ab_watermark_claim ab_watermark_claim_of(const ab_watermark_run *run);
/** Cover what was claimed. It never covers less than before. */
void ab_watermark_cover(ab_watermark_sent *sent, ab_watermark_claim claim);

/** Cover what was sent under the epoch of `version`, up to it, unless more of it is covered. The
 * oldest run is forgotten when they are too many. */
void ab_watermark_add_run(ab_watermark_sent *sent, ab_version version);
/** Cover what `other` covers, too. */
void ab_watermark_merge(ab_watermark_sent *sent, const ab_watermark_sent *other);

/** The name of a part. @param part  0 is the first */
void ab_watermark_name(size_t part, char out[AB_WATERMARK_NAME_MAX]);
/** @return the number of the part of this name; AB_WATERMARK_PARTS_MAX when it is not the name of a
 * part */
size_t ab_watermark_number(ab_str name);

/** The write id of a part, borrowed; empty when it has none or there is no ConfigMap.
 * @param object  NULL: there is no ConfigMap */
ab_str ab_watermark_id(const ab_object *object);
/** Does it say which object it was written into, and is it that? One that was never written into an
 * object that exists does not. */
bool ab_watermark_is_bound(const ab_object *object);
/** Was it written into another object? Then it is a backup that was applied, object by object: the
 * others may not be there yet, or were read at another time. */
bool ab_watermark_is_copy(const ab_object *object);
/** Give each line of a part to `line`, whose error ends it. What cannot be read in it is as if it
 * were not there. @return NOMEM, or what `line` returns */
AB_MUST_USE ab_err ab_watermark_read(const ab_object *object,
                                     ab_err (*line)(void *arg, ab_str agent,
                                                    const ab_watermark_sent *sent),
                                     void *arg);

/* A part that is being made: begin, add, end. */
typedef struct {
    cJSON *doc, *data;
    bool complete;
} ab_watermark_draft;

/** @param uid  of the ConfigMap that is written; NULL: there is none yet */
void ab_watermark_begin(ab_watermark_draft *d, size_t part, const char *namespace, const char *id,
                        const char *uid);
/** A line; none is added when `told` is empty. */
void ab_watermark_add(ab_watermark_draft *d, const char *agent, const ab_watermark_sent *sent);
/** The draft is freed. @param out  one reference, owned by the caller
 * @return NOMEM, TOOBIG, INVALID (the namespace is none) */
AB_MUST_USE ab_err ab_watermark_finish(ab_watermark_draft *d, ab_object **out);
