/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by principal*.c only.
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "sync/deletion/sweep.h"
#include "sync/deletion/watermark_store.h"
#include "sync/inbox.h"
#include "sync/kind/kind.h"
#include "sync/object/project.h"
#include "sync/principal/principal.h"
#include "sync/reconcile/reconcile.h"
#include "sync/resync/queue.h"
#include "sync/stamp.h"

typedef struct ab_principal_app ab_principal_app;
typedef ab_asker ab_principal_record;

/* An event that cannot be dealt with yet. */
struct held {
    struct held *next;
    ab_event *event;
    void *delivery;
};

/* The resyncs of one agent. */
struct peer_resync {
    ab_version ended; /* the newest end of an object that was queued */
    ab_resync_turn turn;
    bool judged; /* the store and its watermark were in hand: what it is not to have was told */
    bool unsent; /* it holds what is for it, and what was not said yet in this log of ours */
};

/* What belongs to an agent by its name, whether it is served or not. It exists while there is
 * anything. */
struct agent_records {
    ab_principal *principal;
    char *name;
    size_t uses;
    struct peer *peer;     /* NULL: it is not served */
    ab_link apps;          /* ab_principal_app.in_records */
    ab_link mirrors;       /* struct mirror.in_records */
    size_t unfinished;     /* of both: those with a delivery that is not dealt with */
    size_t conflict_count; /* mirrors whose place is another object's */
    ab_app_counts shown;   /* of both, the Applications that stand in the hub's store */
};

/* How often to look whether what is held back for want of proof has come back. */
#define HELD_RETRY_MS 60000

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
        *observed; /* keys whose deletion was observed, until the watermark is read; NULL: none */
    struct held *held, *held_last;
    ab_map *errors; /* key of a shared object -> struct shared_error: what the agent says is wrong
                       with it */
    bool heard;
    struct {
        size_t count; /* deletions that are held back, as was told last */
        char token[HOLD_TOKEN];
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
    bool waiting_due;      /* how many do is to be counted */
    size_t waiting;        /* how many do */
    int64_t waiting_since; /* mono_ms; 0 = none does */
    bool waiting_logged;   /* it was logged that some do */
};

/* A request that stands in the hub's object: .operation or the refresh annotation, and the id we
 * gave it. */
struct request {
    bool asked;
    char id[40];              /* "" until the object carries one for this very content */
    char answered[40];        /* the last one that the agent answered */
    char answered_before[40]; /* and the one before: what is seen may be older than what was read */
    ab_version answered_at;   /* version of that answer */
    bool refused;             /* so the answer said */
};

/* All that one object asks for. */
struct requests {
    struct request operation, refresh, terminate;
};

/* Annotations that give new requests their id; "" where none is new. */
#define AB_REQUEST_ID_MAX (36 + 1 + AB_DIGEST_HEX)
struct request_ids {
    char operation[AB_REQUEST_ID_MAX];
    char refresh[AB_REQUEST_ID_MAX];
};

/* Which requests need stand no longer. */
struct finished {
    bool operation, refresh;
};

/* What an effect is for. */
enum app_purpose {
    FOR_HEAD,       /* the head, or to look at the object */
    FOR_REQUEST_ID, /* writing a request's id */
    FOR_CLEAR,      /* writing the object without a finished request, or without finalizers */
};

/* Why an object is not in effect at its agent, although nothing of it is on its way. */
enum deferral {
    DEFERRED_BY_AGENT = 1, /* it reports an error */
    DEFERRED_UNSENDABLE = 2,
};

struct ab_principal_app {
    ab_record record; /* first */
    ab_principal *principal;
    char *key;
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
    unsigned deferred;         /* a set of enum deferral; 0: it is in effect, or on its way */

    bool cleared; /* head: what its report finishes is written */
};

/* An object of the hub that goes to every agent that it concerns. */
struct shared {
    ab_record record; /* first */
    ab_principal *principal;
    const ab_kind *kind;
    char *key;
    char *version; /* resourceVersion that the store has shown last */
    bool exists;
    bool deleting;       /* AppProject: its finalizers are to be dropped */
    ab_project *project; /* AppProject: which agents it is for */
    char *scope;         /* Secret: key of its project; NULL: it is for no agent */
    bool requeued;
    bool for_all;         /* requeued: every agent is to be sent it; else those that asked since: */
    uint64_t informed_at; /* principal.asks, when agents were told last */
};

struct ab_principal {
    ab_principal_env env;
    ab_reconciler reconciler;
    const ab_record_type *mirror_type;
    ab_map *peers;
    ab_map *apps;
    ab_map *shared;
    ab_map *mirrors;
    ab_map *records_by_agent;
    ab_map *own_projects; /* keys of the AppProjects here that are nobody's mirrors */
    ab_link open;         /* agents that take the hub's objects; who asked last comes first */
    uint64_t asks;        /* how often an agent wanted shared objects */
    ab_link watched;      /* agents that the next tick looks at */
    ab_link waiting;      /* agents for whose certificate Secrets wait, or may */
    bool compare_first;   /* ab_principal_compare_first */
    bool listed;
    bool synced;
    ab_watermark_store watermark;
    ab_resync_queue resyncs;
    struct {
        ab_metric *resyncs;
    } metrics;
};

/* lookup.c: agents and objects by their names */
/** The record of an Application; NULL when there is none. */
ab_principal_app *ab_principal_find(const ab_principal *p, ab_str key);
struct peer *ab_principal_peer(const ab_principal *p, ab_str agent);
/** It takes the hub's objects: managed, and its writer is ready. */
bool ab_principal_takes_state(const struct peer *peer);
/** Its agent is served and takes events. */
bool ab_principal_is_open(const ab_principal_app *app);
/** Is it the key of an object? The log has others too. */
bool ab_principal_is_object(ab_str key);
/** Stands a mirror here, or what was one? */
bool ab_mirror_exists(const ab_principal *p, ab_str key);

/* inbound.c: events that arrive */
/** The delivery is dealt with. */
void ab_principal_ack(const ab_principal *p, void *delivery);
/** Keep an event until the store is listed or the peer is ready. @return NOMEM */
AB_MUST_USE ab_err ab_principal_hold(struct peer *peer, ab_event *event, void *delivery);
/** Count and log an event that is not accepted. */
void ab_principal_refuse(const struct peer *peer, const ab_event *event, const char *reason);
/** An answer names the command by its key "ack/<id>". */
ab_str ab_principal_answered_id(const ab_event *event);

/* holds.c: deletions that are held back */
/** Deletions are held back at it or may be judged later, or its log is not known yet: ticks look at
 * it for as long as that is so. */
void ab_principal_watch(struct peer *peer);
/** An autonomous agent tells how many deletions here its guard holds back. */
void ab_principal_note_held(struct peer *peer, size_t held);
/** Show and tell how many deletions are held back. More than before get a new token. */
void ab_principal_show_held(struct peer *peer);
/** Is a deletion held back at it? */
bool ab_principal_is_holding(const struct peer *peer);

/* event.c: events to an agent */
/** Say which object of the hub an event is about: target, subject and whether it is remapped.
 * `subject` must live as long as the draft. */
void ab_principal_address(const ab_principal *p, ab_str key, ab_event_draft *draft,
                          char subject[AB_OBJECT_KEY_MAX]);
/** Queue an object's payload for an agent that takes events. */
void ab_principal_queue(struct peer *peer, const ab_object *hub, ab_type type, ab_str payload,
                        const ab_digest *digest);
/** End the object's key, if the log has it. */
void ab_principal_end(struct peer *peer, ab_str key);
/** End an object's key so that nothing is deleted for it: the agent owns the object now. Other keys
 * are left alone. */
void ab_principal_give_up(struct peer *peer, ab_str key);
/** End the object's key, whatever the log has: the agent holds it. */
void ab_principal_end_anyway(struct peer *peer, ab_str key);

/* status.c: which status an Application shows */
/** Learn which report the object's status is from, unless a newer one is known. */
void ab_principal_note_status(ab_principal_app *app, const ab_object *object);
/** The object as it was read or written: what is written next must find this resourceVersion. */
void ab_principal_note_newest(ab_principal_app *app, const ab_object *object);
/** It is the one that the store has shown last. */
void ab_principal_forget_newest(ab_principal_app *app);
/** The resourceVersion that the object has, as far as is known. */
ab_str ab_principal_newest(const ab_principal_app *app);

/* shared_record.c: shared objects as records */
/** NULL when the hub has none of this key, and had none lately. */
struct shared *ab_principal_shared_find(const ab_principal *p, ab_str key);
/** Does the hub have this object? */
bool ab_principal_shared_exists(const ab_principal *p, ab_str key);
/** How many Secrets wait for the agent's certificate is to be counted. */
void ab_principal_shared_count_again(struct peer *peer);
/** Look at all again, for all agents. */
void ab_principal_shared_requeue_all(ab_principal *p);
/** Look at those again that depend on the project of key `scope`: for all agents, or those that
 * asked. */
void ab_principal_shared_requeue_secrets(const ab_principal *p, const char *scope, bool for_all);
/** The agent takes the hub's objects from now on: look at all again, for it. */
void ab_principal_shared_open(struct peer *peer);
/** It takes them no more. */
void ab_principal_shared_close(struct peer *peer);
/** Look at those again, for this agent, that depend on this project. */
void ab_principal_shared_requeue_project(struct peer *peer, const char *key);
/** Look at one again, for this agent. */
void ab_principal_shared_requeue(struct peer *peer, ab_str key);
void ab_principal_shared_free(void *value);

/* app.c: an Application of the hub */
void ab_principal_app_on_updated(ab_principal *p, ab_object *object);
void ab_principal_app_on_deleted(ab_principal *p, const ab_object *object, bool observed);
void ab_principal_app_free(void *value);

/* agent_records.c: what belongs to one agent */
/** The records of this agent, made if need be, for one more user. @return NULL when out of memory
 */
struct agent_records *ab_agent_records_use(ab_principal *p, ab_str agent);
/** One user less; the last one frees it. NULL is allowed. */
void ab_agent_records_leave(struct agent_records *r);
/** A record of it has a delivery that is not dealt with, or has none. @param counted  whether it
 * is counted as one that has; kept by the record */
void ab_agent_records_count(struct agent_records *r, bool *counted, bool has);
/** Has any record of it a delivery that is not dealt with? */
bool ab_agent_records_are_done(const struct agent_records *r);

/* peer.c: agents come and go */
/** Take up again what is kept. */
void ab_principal_take_held(struct peer *peer);
void ab_principal_peer_free(void *value);
void ab_principal_peers_tick(ab_principal *p);

/* route.c: whose an Application is */
/** The agent that it belongs to by what it says now; absent: nobody's. */
ab_str ab_principal_route(const ab_principal *p, const ab_object *hub);
/** It belongs to this agent now. @return NOMEM */
AB_MUST_USE ab_err ab_principal_assign(ab_principal_app *app, ab_str agent);
/** This agent may have it still. @return NOMEM */
AB_MUST_USE ab_err ab_principal_note_former(ab_principal_app *app, const struct agent_records *of);
/** May other agents have it still? */
bool ab_principal_is_moving(const ab_principal_app *app);
/** That of one of app->formers. Borrowed. */
const struct agent_records *ab_principal_former(ab_link *link);
/** Forget one of these. @return it, to be left; NULL when there is none */
struct agent_records *ab_principal_pop_former(ab_principal_app *app);
/** Its agent is served no more. */
void ab_principal_park(ab_principal_app *app);
/** End what other agents still have of an Application, once the one whose it is has it queued. */
void ab_principal_finish_move(ab_principal_app *app);
/** Read the stamp of a status. @return false when there is none of the same agent */
bool ab_principal_stamp_parse(const ab_principal_app *app, ab_str text, ab_stamp *out);

/* down.c: state that goes to the agent */
/** Is it to the agent what the store has shown? What was read may be newer; said, it would be said
 * before what the store shows next. */
bool ab_principal_is_as_watched(const ab_principal_app *app, const ab_object *hub);
/** Queue the object as it is now, if the log says something else. */
void ab_principal_state(ab_principal_app *app, const ab_object *hub);

/* sweep.c: ending what is gone */
/**
 * An object that was here is gone, or is nobody's any more: end its key, once that is proved.
 *
 * @param of  the only agent that can have it; NULL: all can
 * @param observed  the store observed this deletion, or the object is there and says itself that it
 * is for nobody. It passes without the guard when the watermark, read after it, is still ours. That
 * is proof: this process saw the object in its own store, somebody deleted that very object while
 * it was watched, and the store is the one that it was. Else it is inferred, and swept under the
 * guard.
 */
void ab_principal_note_missing(ab_principal *p, const struct agent_records *of, ab_str key,
                               bool observed);
/** The same of an Application, which only its agent has, and those whose it was before.
 * @param requested  its user asked for it on the object: it is ended at its agent at once */
void ab_principal_note_missing_app(ab_principal_app *app, bool requested, bool observed);
/** The agent has this, and its log does not say so. It is for it, or comes from a move. */
void ab_principal_note_unsent(struct peer *peer, ab_str key);
/** What was observed means nothing any more for this agent. */
void ab_principal_forget_observed(struct peer *peer);
/** Learn from the peer's log: end what is another agent's now and what the hub no longer has, as
 * far as that is proved, under the mass-deletion guard. */
void ab_principal_sweep(struct peer *peer);
/** May all that is missing here of what the agent has be ended? When not, it is shown as held.
 * @param unproved  how many more are missing, and held anyway */
bool ab_principal_may_end(struct peer *peer, size_t missing, size_t unproved, size_t total);
/** May this be ended, which the agent has and its log does not, and which the store does not have
 * for it? The watermark was read, or the operator confirms; the guard is not asked.
 * @param version  of what the agent has */
ab_deletion ab_principal_judge_unsent(const struct peer *peer, ab_str key, ab_version version);
/** Once in a while, look whether what the guard holds back is back. */
void ab_principal_guard_tick(struct peer *peer);
/** Once in a while, look whether the objects without a deletion proof are back. */
void ab_principal_watermark_tick(struct peer *peer);

/* watermark.c: what proves that the store once had what it does not have now */
/** Has the agent's part of the watermark been read since something was missed last? If not it is
 * read, and the agent is swept then. */
bool ab_principal_watermark_ask(const struct peer *peer);
/** The store has what its watermark does not cover. */
void ab_principal_watermark_note_listed(struct peer *peer);
/** So many deletions are held back for want of proof. @param held  which count of peer->proof
 *  @param first  one of their keys */
void ab_principal_watermark_hold(struct peer *peer, size_t *held, size_t count, const char *first);
/** A resync with it came to its end. */
void ab_principal_watermark_note_resync(struct peer *peer);

/* catch_up.c: what an agent is to have and its log does not */
/** It is open: send it that, or compare first. */
void ab_principal_catch_up(struct peer *peer);
/** In a resync with it all of its pages that were wanted are here: learn what it has, and send what
 * it has not. */
void ab_principal_catch_up_compared(struct peer *peer);
/** Time has passed. @return true: it came to no comparison in time, and was sent everything */
bool ab_principal_catch_up_tick(struct peer *peer);

/* resync.c: the role in a resync */
/* `arg` is the peer. */
extern const ab_resync_role ab_principal_resync_role;

/* request.c: commands that go to an agent, and their answers */
/** What the Application asks for; borrowed until ab_principal_note_requests. Never NULL. */
const struct requests *ab_principal_requests(const ab_principal_app *app);
/** Learn what the Application asks for. */
void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub);
/** It asks for nothing, and nothing that was answered is remembered. */
void ab_principal_forget_requests(ab_principal_app *app);
/** Learn what the object asks for. */
void ab_requests_note(struct requests *r, const ab_object *hub);
/** Does one have no id yet? */
bool ab_requests_need_ids(const struct requests *r);
/** Ids for those that have none. @return IO (no randomness), NOMEM */
AB_MUST_USE ab_err ab_requests_make_ids(const struct requests *r, const ab_object *hub,
                                        struct request_ids *out);
/** Send those that have an id and are not answered. The peer's writer must be ready. */
void ab_requests_send(const struct requests *r, struct peer *peer, ab_str key,
                      const ab_object *hub);
/** Command `id` was answered in the event of this version. @return the request; NULL when it stands
 * no longer */
struct request *ab_requests_answered(struct requests *r, ab_str id, ab_version at);
/** Those that were answered and stand still are to be sent again. @return true when there are any
 */
bool ab_requests_forget_answers(struct requests *r);
/** What the agent's report of this version says is executed, and taken up by Argo CD there. */
struct finished ab_requests_finished(const struct requests *r, ab_version version, ab_spanv report);
/**
 * The agent has answered command `id`: end it. The writer must be ready.
 * @param key       of the object that it is about
 * @param delivery  acknowledged when that is safe, unless an error is returned; may be NULL
 */
AB_MUST_USE ab_err ab_principal_end_command(struct peer *peer, ab_str key, ab_str id,
                                            void *delivery);

/* up.c: what comes from the agent, and what the object in hand asks for */
/** Send what the object asks for, when the agent takes events. `may_write`: nothing else is under
 * way, so that new requests can be given their id. */
void ab_principal_ask(ab_principal_app *app, const ab_object *hub, bool may_write);
/** Deal with the head, as far as that is possible without the object; else read it. */
void ab_principal_work(ab_principal_app *app, ab_task *head);
/** The object is in hand, for the head task or to look at it. */
void ab_principal_with(ab_principal_app *app, ab_object *hub);
/** The object that the head task is about is gone. */
void ab_principal_without(ab_principal_app *app);

/* shared.c: what goes to every agent that it concerns */
void ab_principal_shared_on_updated(ab_principal *p, ab_object *object);
void ab_principal_shared_on_deleted(ab_principal *p, const ab_object *object, bool observed);
enum verdict { NOT_FOR_IT, FOR_IT, NOT_KNOWN_YET };
/** Is this object for that agent? */
enum verdict ab_principal_shared_verdict(const struct peer *peer, ab_str key);
/** Show how many Secrets wait for a certificate. */
void ab_principal_shared_tick(const ab_principal *p);

/* errors.c: what agents cannot do with shared objects; there is no status to show it */
struct shared_error {
    char *message;
    ab_digest hash; /* of the agent's event */
};
void ab_principal_shared_error_free(void *value);
/** Is this event about such an error? */
bool ab_principal_is_shared_error(const ab_event *event);
void ab_principal_note_error(struct peer *peer, const ab_event *event);
/** Whether this keeps the Application from being in effect at its agent. */
void ab_principal_defer(ab_principal_app *app, enum deferral why, bool deferred);
/** What the principal calls the shared object that the agent calls `theirs`. @return false when
 * that is not a key */
bool ab_principal_shared_key(const struct peer *peer, ab_str theirs, char key[AB_OBJECT_KEY_MAX]);

/* deliver.c: events that arrive, each given to the record it is about */
/** Deal with an event; the store is listed. */
void ab_principal_take(struct peer *peer, ab_event *event, void *delivery);
