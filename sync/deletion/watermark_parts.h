/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of the store's watermark has the line of which agent. A part is one ConfigMap, written
 * as a whole (watermark_store.h), so it has a bounded number of lines, and an agent stays in the
 * part where its line was found: only then is what was read of that part proof for this agent. A
 * hash of the name would need no search, but all the ConfigMaps for a handful of agents, and their
 * names in the role of every installation.
 *
 * Former versions wrote one ConfigMap, whatever its size: it is the first part, which gives what is
 * too much to other ones. No line is ever in no ConfigMap: those that get one are written before
 * the one that gives it, which has the lower number.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "sync/deletion/watermark.h"
#include "sync/reconcile/effects.h"

typedef struct ab_watermark_parts ab_watermark_parts;
typedef struct ab_watermark_part ab_watermark_part;

/* What the watermark says of one agent, served or not. */
typedef struct {
    ab_watermark_part *part; /* NULL: the store is not listed yet, and has not shown it */
    ab_link in_part;
    ab_link in_waiting;       /* of the part, until it was read */
    void *owner;              /* who serves the agent; NULL: nobody */
    ab_watermark_sent sent;   /* as listed, or written last */
    ab_watermark_run run;     /* also when it is not served any more */
    ab_watermark_claim claim; /* what the write under way covers, too */
    bool writing;             /* and it was due */
    bool due;                 /* something was sent that no write covers, nor will */
    const char *name;         /* the map's */
} ab_watermark_line;

/* One ConfigMap of the store's watermark. */
struct ab_watermark_part {
    ab_asker asker; /* first */
    ab_watermark_parts *parts;
    size_t number;
    ab_link lines;   /* ab_watermark_line.in_part */
    size_t count;    /* of them */
    ab_link waiting; /* ab_watermark_line.in_waiting: who is to hear that it was read */
    ab_link in_due;  /* while there is something to read or write */
    enum { WATERMARK_IDLE, WATERMARK_GET, WATERMARK_WRITE } step;
    char id[AB_WATERMARK_ID_MAX]; /* as it was listed, read or written last; "": there is none */
    char next_id[AB_WATERMARK_ID_MAX]; /* what may have been written since; "": nothing */
    char *version;                     /* resourceVersion; NULL: there is none */
    char *uid;                         /* of the ConfigMap; NULL: there is none */
    uint64_t asked, read; /* ab_watermark_parts.missed when it was asked for, and of what was read
                             last; 0: nothing was */
    bool wanted;          /* somebody waits for it to be read */
    bool unsure;          /* it could not be read or written: to be read before the next write */
    bool write_due;       /* something was sent that it does not cover */
    bool takes;           /* lines that it was not written with yet, of another ConfigMap */
    bool gives;           /* its ConfigMap has such lines: it is written after those */
    int64_t write_at, retry_at; /* mono_ms: not before then */
    int64_t logs_at; /* mono_ms: when the agents' logs should have been read; 0: not known */
    ab_backoff backoff;
    bool failed; /* and it was logged */
};

/* All of them. */
struct ab_watermark_parts {
    ab_watermark_part part[AB_WATERMARK_PARTS_MAX];
    size_t count;    /* parts that there are, or gaps between them */
    ab_map *lines;   /* agent -> ab_watermark_line */
    ab_link due;     /* parts with something to read or write, in the order of their turn */
    uint64_t missed; /* counts the times that something was missed; begins with 1 */
    bool listed;     /* every part that there is was shown, and every line has its part */
};

/** @param asker  what takes the answers of the store to each part  @return NOMEM */
AB_MUST_USE ab_err ab_watermark_parts_init(ab_watermark_parts *m, ab_asker asker);
void ab_watermark_parts_fini(ab_watermark_parts *m);
/** What the store lists at start is this part. @return NOMEM */
AB_MUST_USE ab_err ab_watermark_parts_list(ab_watermark_parts *m, size_t number,
                                           const ab_object *object);
/** The store is listed: each line gets its part, and a part that has too many, as former versions
 * wrote it, gives some of them to others. */
void ab_watermark_parts_assign(ab_watermark_parts *m);
/** The line of an agent, made if need be. @return NULL when out of memory */
ab_watermark_line *ab_watermark_parts_line(ab_watermark_parts *m, ab_str agent);
/** The line gets a part, unless it has one. What was sent before it had one is to be written. Where
 * all parts are full, the line of an agent that is not served is dropped for it, if there is one.
 */
void ab_watermark_parts_place(ab_watermark_parts *m, ab_watermark_line *line);
/** The agent of this line is served no more. The line stays, if it says anything or is to, until
 * its place is needed: what the agent was sent is covered all the same. */
void ab_watermark_parts_leave(ab_watermark_parts *m, ab_watermark_line *line);
/** Have it in the list of those with something to do, or not. */
void ab_watermark_parts_tend(ab_watermark_part *part);
/** Is a line that its ConfigMap has another part's, and not written there yet? */
bool ab_watermark_parts_must_wait(const ab_watermark_part *part);
