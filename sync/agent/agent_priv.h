/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by agent*.c only.
 */
#pragma once

#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "sync/agent/agent.h"
#include "sync/deletion/sweep.h"
#include "sync/kind/kind.h"
#include "sync/object/desired.h"
#include "sync/reconcile/reconcile.h"
#include "sync/resync/resync.h"

/* What the principal wants. */
enum source { SOURCE_NONE, SOURCE_LIVE, SOURCE_DELETING, SOURCE_ENDED };

/* What an effect is for. */
enum purpose {
    FOR_SOURCE,  /* to bring the object to its source */
    FOR_COMMAND, /* to execute the head */
    FOR_STATUS,  /* to restore the status of one that was made again */
    FOR_REMOVAL, /* to have what it deployed stay when it is removed */
};

typedef struct ab_agent_object ab_agent_object;

struct ab_agent_object {
    ab_record record; /* first */
    ab_agent *agent;
    const char *key; /* of the object here; the map's */
    const ab_kind *kind;
    bool allowed;  /* its namespace is allowed */
    bool recalled; /* what agent.data has of it is known: the next members say it */

    enum source source;
    ab_version version;
    char *uid;      /* of the source; NULL when unknown */
    bool remapped;  /* the source is in the principal's own namespace */
    bool orphan;    /* it ended, or is to go, and what it deployed stays */
    bool approved;  /* it is to go, and its user approved that what is to be confirmed goes, too */
    bool restored;  /* it is from before the start, or of a log that was replaced; nothing has said
                       or shown since that it is so */
    bool outdated;  /* and what is here names another: nothing is done until the log is read, or the
                       principal has answered */
    char *hub_key;  /* of the source, or autonomous of the mirror; NULL when unknown */
    ab_digest hash; /* of its newest desired state, as the principal compares; none when unknown */
    ab_digest kept_uid; /* of the source's uid in agent.data at the start; none: there was none */
    enum { START_UNKNOWN, START_FITS, START_DIFFERS } start; /* did what was here name it? */
    ab_digest reserved;  /* for the source with this uid, see reserve.c; none: for nobody */
    ab_digest principal; /* digest of the uid of the principal whose source it is, by what is kept
                            or, without a source, by the object here; none: nobody's */
    struct {
        enum { CONFLICT_NONE, CONFLICT_REFUSED, CONFLICT_GONE, CONFLICT_ENDED } state;
        bool remapped;
        bool waits; /* it was refused, and is not gone */
    } conflict;     /* another source for the same local object; `state` is to be reported */

    bool exists;         /* exists in the local store */
    ab_digest local_uid; /* autonomous: of the uid of what is here, managed: of its source-uid;
                            none: not known */
    bool was_managed;  /* carries the annotations of a managed one, and is none: autonomous, of the
                          time before; else, copied from one with another name */
    bool excluded;     /* autonomous: is here, and is not to be synchronised */
    bool end_observed; /* autonomous: it is not here, or excluded, and that was observed */
    bool deleting;     /* has a deletionTimestamp */
    bool lost;         /* was here and went without being asked to */
    char *lost_status; /* which it had then; NULL: none, or not wanted again */
    bool removing;     /* its removal was asked for by us */
    ab_digest digest;  /* of what is here, see ab_desired_digest */
    char *snapshot;    /* of what is here, see ab_desired_snapshot; NULL: not known, or not kept */
    ab_digest reconciled; /* of what was found to need nothing more for this source */
    ab_digest report;     /* of what it last had to say upwards */
    ab_digest unsent;     /* of what could not be sent, while that is `error`; else none */
    bool report_empty;    /* that has no status */
    bool report_due;
    bool report_waits; /* the principal has no status of it: while it has none here either, nothing
                          is said, until record.rest_at */
    char *error;       /* what keeps it from being as desired, as reported; NULL = nothing */

    enum source next_source; /* what the source will be when it is saved */
    char *next_uid;
    char *next_hub_key;
    ab_digest next_hash, next_principal;
    bool next_remapped;
    bool next_orphan;
    bool next_approved;
    bool out_of_date; /* counted in agent->out_of_date */
    bool unsaved;     /* counted in agent->unsaved */
    bool owed;        /* counted in agent->owed */
};

struct ab_agent {
    ab_agent_env env;
    ab_reconciler reconciler;
    const ab_record_type *object_type; /* of all; object.c does not call reconcile.c */
    ab_map *objects;
    ab_map *published; /* managed: keys in our log that were published while autonomous */
    ab_map *sources;   /* uids of what objects here have as their source; how many: size_t */
    ab_version over;   /* newest of objects that are over, and no longer in memory; 0: agent.data
                          has none of them */
    ab_writer *writer;
    bool listed;
    bool synced;    /* every object that exists was reported */
    bool replaying; /* ab_agent_replay */
    bool caught_up;
    void *first; /* the delivery of the first state of that: acknowledged last, so that nothing is
                    committed before; NULL: none */
    ab_version read; /* the newest of what came then */
    ab_version gone; /* what came is not newer, and its log has been replaced; 0: none has */
    size_t owed; /* objects of which a state came then, and that were neither in effect since, nor
                    deferred */
    ab_sweep sweep; /* autonomous: what may be ended at the hub */
    ab_inbox early; /* ends of commands that came before our own log was read */
    size_t out_of_date;
    size_t unsaved; /* objects with a state that has come and is not saved yet */
    struct {
        ab_resync engine;
        ab_digest principal;  /* of the uid of the principal that holds it */
        char namespace[64];   /* its own */
        bool is_newest;       /* it began when the log had been read to its end */
        ab_version executed;  /* the newest that a command was found to be older than */
        ab_missing held_sent; /* deletions that the guard holds, as the principal was told, or is
                                 about to be */
        ab_map *names;        /* keys of the first of these; NULL: none are held */
    } resync;
    struct {
        ab_metric *commands, *out_of_date;
    } metrics;
    ab_log_quota lines; /* that what the principal sends has caused */
};

/* replay.c: the log is read from its beginning */
/** A state of the object came then: its delivery may be kept. */
void ab_agent_note_replayed(ab_agent_object *o, ab_task *task);
/** What came of the object then may be in effect now. */
void ab_agent_note_read(ab_agent_object *o);

/* object.c: what is known of one object */
/** Made when it is not known. @return NULL when out of memory */
ab_agent_object *ab_agent_object_for(ab_agent *a, ab_str key);
/** Free what an ab_agent_object has, for ab_map_free. */
void ab_agent_object_fini(void *value);
/** Learn what agent.data has of it. @return NOMEM; it is not recalled then */
AB_MUST_USE ab_err ab_agent_recall(ab_agent_object *o, const ab_received_state *row);
/** Has the user of what is deleted with what it deployed approved that? */
bool ab_agent_is_approved(const ab_received_state *row);
/** Is it nothing any more but what agent.data has of it? It is forgotten then, and recalled if need
 * be: names come and go for as long as the agent runs. */
bool ab_agent_is_over(const ab_agent_object *o);
/** It is over: take it out of memory. */
void ab_agent_forget(ab_agent_object *o);
/** What went is not to be made again: another source, or none. */
void ab_agent_forget_lost(ab_agent_object *o);
/** A delivery is dealt with. */
void ab_agent_ack(const ab_agent *a, void *delivery);
/** May a line that the principal has caused go into the log? Asked before each, so that it cannot
 * be filled. The line tells a->lines.held_back. */
bool ab_agent_may_log(ab_agent *a);
/** Something can be sent. */
void ab_agent_wake(const ab_agent *a);
/** May objects of this kind be in namespace `ns`? */
bool ab_agent_allows_namespace(const ab_agent *a, const ab_kind *kind, ab_str ns);
/** A source that is not deleted for good. */
bool ab_agent_has_source(const ab_agent_object *o);
bool ab_agent_is_autonomous(const ab_agent *a);
/** Does its whole state go up? */
bool ab_agent_publishes(const ab_agent_object *o);
/** Is nothing to be done about it? */
bool ab_agent_is_up_to_date(const ab_agent_object *o);
/** The source wants it where it is not allowed: nothing is done about it. */
bool ab_agent_is_refused(const ab_agent_object *o);
/** Was it the principal's, while the agent was managed? */
bool ab_agent_has_managed_annotations(const ab_object *local);
/** Note which source the object has, if it has one, or that it has it no longer. */
void ab_agent_add_source(ab_agent_object *o);
void ab_agent_drop_source(ab_agent_object *o);
/** Learn which object is here, and whether it carries the annotations of a managed one and is none.
 */
void ab_agent_note_own(ab_agent_object *o, const ab_object *local);
/** Is the store's change about another object than the one that is known to be here? */
bool ab_agent_is_another(const ab_agent_object *o, const ab_object *changed);

/* snapshot.c */
/** Keep what an update needs of the object as it is, so that it need not be read for it. */
void ab_agent_take_snapshot(ab_agent_object *o, const ab_object *local);
/** It may no longer be so. */
void ab_agent_drop_snapshot(ab_agent_object *o);
/** @return NULL when none is kept; to be unreferenced */
ab_object *ab_agent_snapshot(const ab_agent_object *o);

/* source.c */
/** The log was read to its end: what waited for that, and is not over, is acted on. */
void ab_agent_end_wait(ab_agent_object *o);
/** Note whether what is here names the source that agent.data has, unless that is noted, or the
 * start is over. */
void ab_agent_note_start(ab_agent_object *o, const ab_object *local);
/** Is the object here another source's, and what is known of ours perhaps over? So it is from
 * before the start, of which the principal is asked; and with an older agent.data all that the log
 * says before its end, which is waited for. */
bool ab_agent_is_outdated(ab_agent_object *o, const ab_object *local);
/** Key of the object here for the one that the principal calls `key`. @return INVALID when that is
 * none of this target */
AB_MUST_USE ab_err ab_agent_local_key(const ab_agent *a, ab_str key, ab_target target,
                                      bool remapped, char out[AB_OBJECT_KEY_MAX]);
/** Is the object here another source's, so that this state (a desired state, or the end of `key`)
 * is not about it? */
bool ab_agent_is_anothers(const ab_agent_object *o, const ab_event *event);

/* reserve.c: the name of an object is reserved for the source that the object here names */
/** What is here at the start names another source than what is known. Whatever that is, it is of
 * one that is remapped alike afterwards, or there is no source. */
void ab_agent_reserve(ab_agent_object *o, const ab_object *local);
bool ab_agent_is_reserved(const ab_agent_object *o);
/** It is reserved: may this state be followed? @param uid  of its source; none: not known */
bool ab_agent_is_reserved_for(const ab_agent_object *o, const ab_event *event, ab_str uid);
/** A state is in effect, or the log was read to its end: end the reservation, if it is known now
 * what became of the source. */
void ab_agent_note_log_read(ab_agent_object *o);
/** What is here has changed: it may name another source now. NULL: it went. */
void ab_agent_check_reservation(ab_agent_object *o, const ab_object *local);
/** What was here went. It may be what was refused: the principal waits to hear that it is gone, if
 * it is being deleted. */
void ab_agent_note_went(ab_agent_object *o);
/** Of the source with this uid nothing is here, but something else, or nothing. */
bool ab_agent_is_elsewhere(const ab_agent_object *o, ab_str uid);
/** What was refused was not kept: ask the principal for it, if the name is free. */
void ab_agent_request_conflicting(ab_agent_object *o);

/* deliver.c */
/** What had to wait until our own log was read. */
void ab_agent_deliver_early(ab_agent *a);

/* refuse.c */
/** Count an event that is not accepted, or not followed, and log it. */
void ab_agent_note_refused(ab_agent *a, const ab_event *event, const char *reason, const char *why);
/** The source wants it where it is not allowed: say so upwards. `event` NULL: it was counted. */
void ab_agent_refuse_namespace(ab_agent_object *o, const ab_event *event);
/** The head event can never be applied: count it, log it, report it on the object, drop it. */
void ab_agent_refuse_head(ab_agent_object *o, const char *reason, const ab_error *err);

/* event.c: events about an object */
/** Is the object here to stand in the agent's namespace, whatever its key says? */
bool ab_agent_is_remapped(const ab_agent *a, const ab_event *event);
/** Uid of the source of a state; none when it does not say. */
ab_str ab_agent_source_uid(const ab_event *event);
/** Begin an event about this object. `subject` must live as long as the draft. */
void ab_agent_name_event(const ab_agent_object *o, bool remapped, ab_event_draft *draft,
                         ab_target target, ab_type type, char subject[AB_OBJECT_KEY_MAX]);
/** Something was queued, or could not be. */
void ab_agent_sent(ab_agent_object *o, ab_err e);
/** End this key of the object, whatever the log has. */
ab_err ab_agent_end_anyway(ab_agent_object *o, ab_str key, ab_type type, bool remapped);
/** The same, if the log has it. */
void ab_agent_end_key(ab_agent_object *o, ab_str key, ab_type type, bool remapped);
/** End what was reported of the object's state, if the log has it. */
void ab_agent_end_up(ab_agent_object *o);
/** Say that the object is gone, whatever the log has: the principal waits for it. */
AB_MUST_USE ab_err ab_agent_confirm_gone(ab_agent_object *o);

/* publish.c: autonomous */
/** The object upwards, if the log has another state of it. */
void ab_agent_publish(ab_agent_object *o, const ab_object *local);
/**
 * It is gone, or not to be synchronised any more: end it, if the log has it.
 *
 * @param observed  the store observed its deletion, or it is there and says itself that it is not
 * for the principal. That is proof, and passes without the guard: this process saw the object in
 * its own store, and somebody deleted that very object while it was watched. What is ended is a
 * mirror. Else (a list after a gap, an object that could not be read when it was asked for) it is
 * inferred, and judged with all else that is missing by the guard.
 */
void ab_agent_note_missing(ab_agent_object *o, bool observed);
/** Is it the key of an object that the store, as far as it was read, does not have? */
bool ab_agent_is_missing(const ab_agent *a, ab_str key);
/** End that key, if the log has it; whether it may be is known. */
void ab_agent_end_missing(ab_agent *a, ab_str key);
/** End what the log has and the store no longer has, once both are known; under the mass-deletion
 * guard. */
void ab_agent_sweep(ab_agent *a);
/** Keep the keys of the first deletions that the guard holds (resync.names). Goes through the log
 * if any is held. */
void ab_agent_name_held(ab_agent *a);
/** Once in a while, look whether what the guard holds back is back. */
void ab_agent_guard_tick(ab_agent *a);
/** Managed: what our log still says of the time when the agent was autonomous. */
void ab_agent_note_published(ab_agent *a, const ab_event *head);
/** The log was read: end that, and nothing is deleted for it. */
void ab_agent_release_published(ab_agent *a);
/** The object without the annotations of a managed one. @param copied  it never was that one, whose
 * uid is not remembered then @return what `out` reports */
AB_MUST_USE ab_err ab_agent_own(const ab_object *local, bool copied, ab_buf *out);

/* report.c */
/** Status upwards, if the log has another one. */
void ab_agent_report_state(ab_agent_object *o, const ab_object *local);
/** What it has to say goes up once more, status or not. */
void ab_agent_report_again(ab_agent_object *o);
/** The same in 10 s, or with what it has to say before: until then the hub shows in place of its
 * status that a request was refused. */
void ab_agent_report_later(ab_agent_object *o);
/** Report the error upwards, on the object. NULL ends an earlier report. */
void ab_agent_report_error(ab_agent_object *o, const ab_error *err);
#define AB_ERROR_KEY_MAX (sizeof(AB_KEY_ERROR_REMAPPED) + AB_OBJECT_KEY_MAX)
/** The key in our log of the error of one of the object's sources. */
void ab_agent_error_key(const ab_agent_object *o, bool remapped, char out[AB_ERROR_KEY_MAX]);
/** Report the conflicting source to the principal, once our log has been read. */
void ab_agent_report_conflict(ab_agent_object *o);
/** The source that is remapped so is not followed: report it, and ask for it later. */
void ab_agent_note_conflict(ab_agent_object *o, bool remapped);
/** Say again what was reported, if the log has something else. */
void ab_agent_repeat_error(ab_agent_object *o);
/** Say that no error stands, whatever the log has: the principal holds one. */
void ab_agent_end_error(ab_agent_object *o);
/** Answer the head command upwards; its delivery is acknowledged once the answer is safe. `why`
 * NULL = done. */
void ab_agent_command_answer(ab_agent_object *o, const char *why);

/* save.c */
/** Take up a state: gate, parse, save. */
void ab_agent_begin(ab_record *r, ab_task *task);
/** It is saved. */
void ab_agent_saved(ab_record *r);

/* write.c */
/** The object went. `last`: as it was. */
void ab_agent_note_lost(ab_agent_object *o, const ab_object *last);
/** It exists again: give it the status that it had, if that is wanted. */
void ab_agent_restore_status(ab_agent_object *o, const ab_object *object);
/** Make the object as the source wants it: create it, or bring the local one to the desired state
 * as far as it is ours. The row is read first when it is not in hand. */
void ab_agent_apply_desired(ab_agent_object *o, ab_object *local);
/** Remove the object here, as it was decided on. */
void ab_agent_remove(ab_agent_object *o, const ab_object *local, bool foreground);
/** Before an Application is removed: have it say by its finalizers, as these do, whether what it
 * deployed goes with it, and how.
 * @param local       the whole object, no snapshot
 * @param finalizers  a list; absent: what it deployed stays
 * @return false: it says so already */
bool ab_agent_set_cascade(ab_agent_object *o, const ab_object *local, ab_spanv finalizers);

/* reconcile.c */
/** How the engine reconciles objects of an agent. */
extern const ab_record_type ab_agent_object_type;
/** Decide with the local object in hand. */
void ab_agent_decide(ab_agent_object *o, ab_object *local);

/* resync.c: the role in a resync */
/** The writer exists. */
void ab_agent_resync_init(ab_agent *a);
/** The principal is to know how many deletions the guard holds, when it has been told otherwise. */
void ab_agent_resync_report_held(ab_agent *a);

/* command.c */
/** Execute the head command: read the object first. @return true when it was answered at once */
bool ab_agent_command(ab_agent_object *o);
/** The object that the head command is about; NULL: there is none. */
void ab_agent_command_got(ab_agent_object *o, ab_object *local);
/** @param step  what was written. @param object  as it is now; NULL: gone */
void ab_agent_command_written(ab_agent_object *o, ab_step step, const ab_object *object);
/** @return true: it is answered with why; else it is tried again */
bool ab_agent_command_refused(ab_agent_object *o, ab_err code, const ab_error *err);
