/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal knows: of itself, of each agent, of each Application. For the principal and
 * its rooms (mirror/, app/, shared/); everybody else sees principal.h only.
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "sync/deletion/sweep.h"
#include "sync/deletion/watermark_store.h"
#include "sync/inbox.h"
#include "sync/kind/kind.h"
#include "sync/object/project.h"
#include "sync/principal/principal.h"
#include "sync/reconcile/reconcile.h"
#include "sync/resync/queue.h"
#include "sync/stamp.h"

struct requests; /* request.h */
typedef struct ab_principal_app ab_principal_app;

/* The resyncs of one agent. */
struct peer_resync {
    ab_version ended; /* the newest end of an object that was queued */
    ab_resync_turn turn;
    bool judged;  /* the store and its watermark were in hand: what it is not to have was told */
    bool unsent;  /* it holds what is for it, and what was not said yet in this log of ours */
    bool dropped; /* what it said of an Application that the store may have and cannot read */
};

/* What belongs to an agent by its name, whether it is served or not. It exists while there is
 * anything. */
struct agent_records {
    ab_principal *principal;
    const char *name; /* the map's */
    size_t uses;
    struct peer *peer;     /* NULL: it is not served */
    ab_link apps;          /* ab_principal_app.in_records */
    ab_link mirrors;       /* struct mirror.in_records */
    size_t unfinished;     /* of both: those with a delivery that is not dealt with */
    size_t conflict_count; /* mirrors whose place is another object's */
    size_t mirror_count;   /* in `mirrors` */
    ab_app_counts shown;   /* of both, the Applications that stand in the hub's store */
};

/* The first group of a UUID. */
#define HOLD_TOKEN (8 + 1)

/* One agent. */
struct peer {
    ab_principal *principal;
    struct agent_records *records;
    const char *name; /* the records' */
    unsigned mode;    /* an ab_mode_set; 0 while it is not known */
    ab_writer *writer;
    ab_watermark_line *line; /* what the store's watermark says of it */
    ab_sweep sweep; /* what may be ended at it; of an autonomous one, what it tells of its own */
    ab_map
        *observed;  /* keys whose deletion was observed, until the watermark is read; NULL: none */
    ab_inbox held;  /* events that cannot be dealt with yet */
    ab_map *errors; /* key of a shared object -> what the agent says is wrong with it
                       (shared/error.c) */
    ab_map *unsendable; /* key of a shared object -> why it cannot be sent, until it changes */
    bool heard;
    struct {
        ab_missing told;        /* deletions that are held back, as was told last */
        char token[HOLD_TOKEN]; /* of these */
        bool others;            /* something is missing that was not when the token was made */
        ab_missing unsent; /* held back of what only the agent has; what an autonomous one holds */
        ab_map *names;     /* keys of the first of these -> ab_deletion; NULL: none is known */
        ab_digest confirmed; /* ab_missing.set of these, if the operator confirms them, until the
                                next resync has judged them; none: they are not */
    } hold;
    struct {
        bool again;            /* to be compared once more when the watermark was read */
        bool written_for_list; /* the watermark was to be written for what the store had when it was
                                  listed */
        size_t log;            /* deletions held back for want of proof: of what its log has */
        size_t agent;          /* and of what only the agent has */
        int64_t retry_at;      /* mono_ms: when to look whether these are back */
    } proof;
    bool caught_up;     /* what was there to be received has been delivered */
    int64_t compare_by; /* mono_ms: what its log lacks is sent once compared, or then; 0: it is */
    struct peer_resync resync;
    ab_link in_watched;    /* while a tick may have something to do for it */
    ab_link in_open;       /* while it takes the hub's objects */
    uint64_t asked;        /* principal.asks when it last wanted shared objects */
    ab_link in_waiting;    /* while Secrets wait for its certificate, or may */
    ab_link in_counting;   /* while how many do is to be counted */
    size_t waiting;        /* how many do */
    int64_t waiting_since; /* mono_ms; 0 = none does */
    bool waiting_logged;   /* it was logged that some do */
    ab_log_quota lines;    /* that what it sends has caused */
    bool refused_more;     /* it publishes more objects than are mirrored */
};

struct ab_principal_app {
    ab_record record; /* first */
    ab_principal *principal;
    const char *key;               /* the map's */
    struct agent_records *records; /* of the agent whose it is */
    const char *agent;             /* the records' name */
    struct peer *peer;             /* of that name; NULL while there is none */
    ab_link in_records;
    ab_link formers;    /* agents that may have it still, see route.c */
    ab_link in_found;   /* of a sweep that finds it at one of these */
    bool unfinished;    /* counted in the records */
    ab_app_state shown; /* likewise */

    bool exists;
    bool deleting;
    bool has_status; /* whoever it is */
    char *uid;
    char *version;             /* resourceVersion that the store has shown last */
    char *newest;              /* the same that was read or written after that; NULL: none was */
    bool outdated;             /* a write met a newer object: read it before the next one */
    ab_digest desired;         /* of the payload that goes down */
    bool requeued;             /* the object has something to say that the log does not */
    ab_version status_version; /* of the status that the hub shows; none before the first */
    ab_digest status_hash; /* of the report that it is from; none: it has no status, or unknown */
    struct requests *requests; /* NULL: nothing is asked for, or was: of most Applications */
    char *error;               /* what keeps it from being in effect at the agent, NULL = nothing */
    ab_digest error_hash;      /* of the agent's event that reported it */
    bool error_ours;           /* found here, not reported by the agent */
    bool error_due;            /* the status does not say so yet, or still does */
    unsigned deferred; /* a set of enum deferral (deferral.h); 0: it is in effect, or on its way */

    bool written; /* head: the object has the status that follows from it */
    bool cleared; /* head: what its report finishes is written */
};

struct ab_principal {
    ab_principal_env env;
    ab_reconciler reconciler;
    const ab_record_type *mirror_type;
    ab_map *peers;
    ab_map *apps;
    ab_map *shared;
    ab_map *mirrors;
    ab_map *over; /* agent -> the newest version of what ended and is in no record */
    ab_map *records_by_agent;
    ab_map *own_projects; /* keys of the AppProjects here that are nobody's mirrors */
    ab_map *copies;       /* keys of copies of mirrors that have another name: said in the log */
    ab_link open;         /* agents that take the hub's objects; who asked last comes first */
    uint64_t asks;        /* how often an agent wanted shared objects */
    uint64_t notes;       /* how many versions of shared objects the store has shown */
    ab_link watched;      /* agents that the next tick looks at */
    ab_link waiting;      /* agents for whose certificate Secrets wait, or may */
    ab_link counting;     /* those of them for which it is to be counted how many */
    bool compare_first;   /* ab_principal_compare_first */
    bool listed;
    bool synced;
    ab_watermark_store watermark;
    ab_resync_queue resyncs;
    struct {
        ab_metric *resyncs;
    } metrics;
};
