/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by principal*.c only.
 */
#pragma once

#include "base/map.h"
#include "sync/inbox.h"
#include "sync/principal.h"

/* One agent. */
struct peer {
    ab_principal *principal;
    char *name;
    ab_writer *writer;
    bool swept; /* since ready: what the hub no longer has was ended */
};

/* A request that stands in the hub's object: .operation or the refresh annotation, and the id we
 * gave it. */
struct request {
    bool asked;
    char id[40];            /* "" until the object carries one for this very content */
    char answered[40];      /* the last one that the agent answered */
    ab_version answered_at; /* version of that answer */
};

enum principal_step {
    PSTEP_IDLE,
    PSTEP_GET,    /* to state, mark, clear or patch with the object in hand */
    PSTEP_MARK,   /* writing a request's id */
    PSTEP_CLEAR,  /* writing the object without a finished request, or without finalizers */
    PSTEP_STATUS, /* writing the status */
};

struct ab_principal_app {
    ab_principal *principal;
    struct peer *peer;
    char *key;

    bool here;
    bool deleting;
    char *uid;
    ab_digest wish;            /* of the payload that goes down */
    bool look_due;             /* the object has something to say that the log does not */
    ab_version status_version; /* of the status that the hub shows; none before the first */
    struct request operation, refresh, terminate;
    char *error;     /* what keeps it from being in effect at the agent, NULL = nothing */
    bool error_ours; /* found here, not reported by the agent */
    bool error_due;  /* the status does not say so yet, or still does */

    bool seen_meanwhile; /* a change was seen since the object was asked for */
    ab_inbox inbox;
    bool cleared; /* head: what its report finishes is written */
    enum principal_step step;
};

struct ab_principal {
    ab_principal_env env;
    ab_map *peers;
    ab_map *apps;
    bool listed;
    bool synced;
    struct {
        ab_metric *writes, *stale, *set_aside;
    } metrics;
};

/* principal.c */
struct peer *ab_principal_peer(const ab_principal *p, ab_str agent);
/** The record of Application `name` of this agent, made if need be; NULL when out of memory. */
ab_principal_app *ab_principal_app_for(struct peer *peer, ab_str name);
/** Do the next thing for this object, if it is idle and there is one. */
void ab_principal_advance(ab_principal_app *app);
/** Read the object; ab_principal_with follows. */
void ab_principal_get(ab_principal_app *app);
/** Write the object with these changes. */
void ab_principal_apply(ab_principal_app *app, const ab_object *hub, const ab_app_edit *edit,
                        enum principal_step step);
/** A step failed: retry or set aside, by the class of `code`. */
void ab_principal_fail(ab_principal_app *app, ab_err code, const ab_error *err);
/** The head task, when it has been taken up; what is awaited is for it then. */
ab_task *ab_principal_head(const ab_principal_app *app);
/** The head task is dealt with: acknowledge and drop it. */
void ab_principal_finish_head(ab_principal_app *app);

/* principal_down.c: state that goes to the agent */
/** Queue the object as it is now, if the log says something else. */
void ab_principal_state(ab_principal_app *app, const ab_object *hub);
/** End the object's key. */
void ab_principal_end(struct peer *peer, ab_str key);
/** End all keys of the log that the hub no longer has, under the mass-deletion guard. */
void ab_principal_sweep(struct peer *peer);

/* principal_request.c: commands that go to the agent, and their answers */
/** Learn what the object asks for. */
void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub);
/** Send those requests that have an id. The writer must be ready. */
void ab_principal_send_requests(ab_principal_app *app, const ab_object *hub);
/** Give new requests their id: a write is under way then. */
void ab_principal_mark_requests(ab_principal_app *app, const ab_object *hub);
/**
 * The agent has answered command `id`: end it.
 * @param delivery  acknowledged when that is safe, unless an error is returned
 * @return UNAVAILABLE when the writer is not ready; NOMEM
 */
AB_MUST_USE ab_err ab_principal_end_command(const ab_principal_app *app, ab_str id, void *delivery);

/* principal_up.c: what comes from the agent */
/** Take up the head task; it may need the object (PSTEP_GET). */
void ab_principal_begin(ab_principal_app *app);
/** The object is in hand, for the head task or to look at it. */
void ab_principal_with(ab_principal_app *app, ab_object *hub);
/** The object that the head task is about is gone. */
void ab_principal_without(ab_principal_app *app);
