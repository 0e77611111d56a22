/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by agent*.c only.
 */
#pragma once

#include "base/map.h"
#include "schema/catalogue.h"
#include "sync/agent.h"
#include "sync/inbox.h"
#include "sync/place.h"

/* What the principal wishes. */
enum source { SOURCE_NONE, SOURCE_LIVE, SOURCE_DELETING, SOURCE_ENDED };

/* Which answer is awaited. */
enum step {
    STEP_IDLE,
    STEP_KEEP,
    STEP_GET,
    STEP_APPLY,
    STEP_REMOVE,
    STEP_COMMAND_GET,
    STEP_COMMAND_WRITE,
};

struct ab_agent_object {
    ab_agent *agent;
    char *key;

    enum source source;
    ab_version version;
    char *uid; /* of the source; NULL when unknown */

    bool here;           /* exists in the local store */
    bool leaving;        /* has a deletionTimestamp */
    bool lost;           /* was here and went without being asked to */
    bool removing;       /* its removal was asked for by us */
    bool seen_meanwhile; /* a change was seen since the effect that is awaited was asked for */
    ab_digest digest;    /* of what is here, see ab_place_digest */
    ab_digest settled;   /* of what was found to need nothing more for this source */
    ab_digest report;    /* of what it last had to say upwards */
    bool report_due;
    char *error; /* what keeps it from being as wished, as reported; NULL = nothing */

    ab_inbox inbox;
    enum step step;
    enum source next_source; /* what the source will be when it is kept */
    char *next_uid;
    bool unsettled; /* counted in agent->unsettled */
};

struct ab_agent {
    ab_agent_env env;
    ab_map *objects;
    ab_writer *writer;
    bool synced;
    ab_inbox early; /* ends of commands that came before our own log was read */
    size_t unsettled;
    struct {
        ab_metric *writes, *reverts, *stale, *refused, *set_aside, *commands, *unsettled;
    } metrics;
};

/* agent.c */
ab_agent_object *ab_agent_object_for(ab_agent *a, ab_str key);
/** Do the next thing for this object, if it is idle and there is one. */
void ab_agent_advance(ab_agent_object *o);
/** A step failed: retry, set aside or give up, by the class of `code`. */
void ab_agent_fail(ab_agent_object *o, ab_err code, const ab_error *err);
/** Wait for something that only a change elsewhere can bring; past the limit, set the delivery
 * aside. */
void ab_agent_wait(ab_agent_object *o);

/* agent_deliver.c */
/** The head task is dealt with: acknowledge and drop it. */
void ab_agent_finish_head(ab_agent_object *o);
/** What had to wait until our own log was read. */
void ab_agent_deliver_early(ab_agent *a);
/** The head event can never be applied: count it, log it, report it on the object, drop it. */
void ab_agent_refuse_head(ab_agent_object *o, const char *reason, const ab_error *err);

/* agent_report.c */
/** Status upwards, if the log has another one. */
void ab_agent_report_state(ab_agent_object *o, const ab_object *local);
/** Report the error upwards, on the object. NULL ends an earlier report. */
void ab_agent_report_error(ab_agent_object *o, const ab_error *err);
/** Say again what was reported, if the log has something else. */
void ab_agent_say_error(ab_agent_object *o);
/** Answer the head command upwards; its delivery is acknowledged once the answer is safe. `why`
 * NULL = done. */
void ab_agent_command_answer(ab_agent_object *o, const char *why);
/** End a key of ours, if the log has it. */
void ab_agent_end_up(ab_agent_object *o, ab_str key);
/** Say that the object is gone, whatever the log has: the principal waits for it. */
AB_MUST_USE ab_err ab_agent_confirm_gone(ab_agent_object *o);

/* ab_agent_converge.c */
bool ab_agent_converged(const ab_agent_object *o);
/** Read the object, to decide and to report. */
void ab_agent_get(ab_agent_object *o);
/** Begin a state task: gate, parse, keep. */
void ab_agent_begin_state(ab_agent_object *o, ab_task *task);
/** One step towards the source. */
void ab_agent_converge(ab_agent_object *o);
/** Decide with the local object in hand. */
void ab_agent_decide(ab_agent_object *o, ab_object *local);

/* ab_agent_command.c */
/** Execute the head command: read the object first. */
void ab_agent_command(ab_agent_object *o);
void ab_agent_command_got(ab_agent_object *o, ab_err code, ab_object *local, const ab_error *err);
void ab_agent_command_written(ab_agent_object *o, ab_err code, const ab_error *err);
