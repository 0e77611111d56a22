/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by principal*.c only.
 */
#pragma once

#include "base/map.h"
#include "sync/inbox.h"
#include "sync/principal.h"

typedef struct ab_principal_app ab_principal_app;

/* An event that cannot be dealt with yet. */
struct held {
    struct held *next;
    ab_event *event;
    void *delivery;
};

/* One agent. */
struct peer {
    ab_principal *principal;
    char *name;
    unsigned mode;     /* an ab_mode_set; 0 while it is not known */
    uint64_t epoch;    /* of the transport's readiness; 0 = it is not ready */
    ab_writer *writer; /* ready when both are known */
    bool swept;        /* since ready: what the hub no longer has was ended */
    struct held *held, *held_last;
    ab_map *errors;        /* key of a shared object -> what the agent says is wrong with it */
    bool waiting_due;      /* which Secrets wait for its certificate is to be counted */
    int64_t waiting_since; /* mono_ms; 0 = none does */
    bool waiting_said;     /* it was logged that some do */
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

/* First member of each kind of record. */
struct ab_principal_record {
    void (*done)(ab_principal_record *record, ab_err code, ab_object *object, const ab_error *err);
};

struct ab_principal_app {
    ab_principal_record record;
    ab_principal *principal;
    char *key;
    char *agent;       /* whose it is */
    struct peer *peer; /* of that name; NULL while there is none */

    bool here;
    bool deleting;
    char *uid;
    ab_digest wish;            /* of the payload that goes down */
    bool look_due;             /* the object has something to say that the log does not */
    bool moved;                /* other agents may have it still */
    ab_version status_version; /* of the status that the hub shows; none before the first */
    struct request operation, refresh, terminate;
    char *error;     /* what keeps it from being in effect at the agent, NULL = nothing */
    bool error_ours; /* found here, not reported by the agent */
    bool error_due;  /* the status does not say so yet, or still does */

    bool seen_meanwhile; /* a change was seen since the object was asked for */
    ab_inbox inbox;
    bool cleared; /* head: what its report finishes is written */
    enum principal_step step;
    bool abandoned; /* the step was for another agent */
};

struct ab_principal {
    ab_principal_env env;
    ab_map *peers;
    ab_map *apps;
    ab_map *shared;
    bool listed;
    bool synced;
    struct {
        ab_metric *writes, *stale, *set_aside;
    } metrics;
};

/* principal.c */
/** The record of an Application; NULL when there is none. */
ab_principal_app *ab_principal_find(const ab_principal *p, ab_str key);
/** The record of an Application, made if need be; NULL when out of memory. */
ab_principal_app *ab_principal_app_for(ab_principal *p, ab_str key);
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
void ab_principal_ack(const ab_principal *p, void *delivery);

/* principal_peer.c: agents come and go */
struct peer *ab_principal_peer(const ab_principal *p, ab_str agent);
/** Its agent is served and takes events. */
bool ab_principal_is_open(const ab_principal_app *app);
/** Keep an event until the store is listed or the peer is ready. @return NOMEM */
AB_MUST_USE ab_err ab_principal_hold(struct peer *peer, ab_event *event, void *delivery);
/** Take up again what is kept. */
void ab_principal_take_held(struct peer *peer);
void ab_principal_peer_free(void *value);

/* principal_route.c: whose an Application is */
/** The agent that it belongs to by what it says now; absent: nobody's. */
ab_str ab_principal_route(const ab_principal *p, const ab_object *hub);
/** It belongs to this agent now. @return NOMEM */
AB_MUST_USE ab_err ab_principal_assign(ab_principal_app *app, ab_str agent);
/** Its agent is served no more. */
void ab_principal_park(ab_principal_app *app);
/** End what other agents still have of an Application, once the one whose it is has it queued. */
void ab_principal_settle_move(ab_principal_app *app);
/** Take the version that the object's stamp names, when it is of the same agent. @return false when
 * there is none */
bool ab_principal_stamp_parse(const ab_principal_app *app, ab_str stamp, ab_version *out);
#define AB_PRINCIPAL_STAMP (AB_VERSION_TEXT + 64)
void ab_principal_stamp_format(const ab_principal_app *app, ab_version version,
                               char out[AB_PRINCIPAL_STAMP]);

/* principal_down.c: state that goes to the agent */
/** Say which object of the hub an event is about: target, subject and whether it is remapped.
 * `subject` must live as long as the draft. */
void ab_principal_address(const ab_principal *p, ab_str key, ab_event_draft *draft,
                          char subject[AB_OBJECT_KEY_MAX]);
/** Queue an object's payload for an agent that takes events. */
void ab_principal_queue(struct peer *peer, const ab_object *hub, ab_type type, ab_str payload,
                        const ab_digest *digest);
/** Queue the object as it is now, if the log says something else. */
void ab_principal_state(ab_principal_app *app, const ab_object *hub);
/** End the object's key. */
void ab_principal_end(struct peer *peer, ab_str key);
/** Learn from the peer's log: end what is another agent's now and, once the store is synced, what
 * the hub no longer has, under the mass-deletion guard. */
void ab_principal_sweep(struct peer *peer);

/* principal_request.c: commands that go to the agent, and their answers */
/** Learn what the object asks for. */
void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub);
/** Send those requests that have an id, when the agent takes events. */
void ab_principal_send_requests(ab_principal_app *app, const ab_object *hub);
/** Are there requests without an id that are to get one? */
bool ab_principal_has_unmarked(const ab_principal_app *app);
/** Give new requests their id: a write is under way then. */
void ab_principal_mark_requests(ab_principal_app *app, const ab_object *hub);
/**
 * The agent has answered command `id`: end it. The writer must be ready.
 * @param key       of the object that it is about
 * @param delivery  acknowledged when that is safe, unless an error is returned; may be NULL
 */
AB_MUST_USE ab_err ab_principal_end_command(struct peer *peer, ab_str key, ab_str id,
                                            void *delivery);

/* principal_up.c: what comes from the agent */
/** Take up the head task; it may need the object (PSTEP_GET). */
void ab_principal_begin(ab_principal_app *app);
/** The object is in hand, for the head task or to look at it. */
void ab_principal_with(ab_principal_app *app, ab_object *hub);
/** The object that the head task is about is gone. */
void ab_principal_without(ab_principal_app *app);

/* principal_shared.c: what goes to every agent that it concerns */
void ab_principal_shared_seen(ab_principal *p, ab_object *object);
void ab_principal_shared_gone(ab_principal *p, const ab_object *object);
/** Look at all again, when there is an agent to tell. */
void ab_principal_shared_look(ab_principal *p);
/** Does the hub have this object? */
bool ab_principal_shared_is_here(const ab_principal *p, ab_str key);
void ab_principal_shared_tick(ab_principal *p);
void ab_principal_shared_free(void *value);

/* principal_errors.c: what agents cannot do with shared objects; there is no status to show it */
/** Is this event about such an error? */
bool ab_principal_is_shared_error(const ab_event *event);
void ab_principal_note_error(struct peer *peer, const ab_event *event);

/* principal_deliver.c: events that arrive, each given to the record it is about */
/** Deal with an event; the store is listed. */
void ab_principal_take(struct peer *peer, ab_event *event, void *delivery);
/** An answer names the command by its key "ack/<id>". */
ab_str ab_principal_answered_id(const ab_event *event);
