/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by agent*.c only.
 */
#pragma once

#include "base/map.h"
#include "schema/catalogue.h"
#include "sync/agent.h"
#include "sync/inbox.h"

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

struct ab_agent_app {
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
    ab_digest digest;    /* of what is here, see ab_app_digest */
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
    ab_map *apps;
    ab_writer *writer;
    bool synced;
    ab_inbox early; /* ends of commands that came before our own log was read */
    size_t unsettled;
    struct {
        ab_metric *writes, *reverts, *stale, *refused, *set_aside, *commands, *unsettled;
    } metrics;
};

/* agent.c */
ab_agent_app *agent_app_for(ab_agent *a, ab_str key);
/** Do the next thing for this object, if it is idle and there is one. */
void agent_advance(ab_agent_app *app);
/** A step failed: retry, set aside or give up, by the class of `code`. */
void agent_fail(ab_agent_app *app, ab_err code, const ab_error *err);
/** Wait for something that only a change elsewhere can bring; past the limit, set the delivery
 * aside. */
void agent_wait(ab_agent_app *app);

/* agent_deliver.c */
/** The head task is dealt with: acknowledge and drop it. */
void agent_finish_head(ab_agent_app *app);
/** What had to wait until our own log was read. */
void agent_deliver_early(ab_agent *a);
/** The head event can never be applied: count it, log it, report it on the object, drop it. */
void agent_refuse_head(ab_agent_app *app, const char *reason, const ab_error *err);

/* agent_report.c */
/** Status upwards, if the log has another one. */
void agent_report_state(ab_agent_app *app, const ab_object *local);
/** Report the error upwards, on the object. NULL ends an earlier report. */
void agent_report_error(ab_agent_app *app, const ab_error *err);
/** Say again what was reported, if the log has something else. */
void agent_say_error(ab_agent_app *app);
/** Answer the head command upwards; its delivery is acknowledged once the answer is safe. `why`
 * NULL = done. */
void agent_command_answer(ab_agent_app *app, const char *why);
/** End a key of ours, if the log has it. */
void agent_end_up(ab_agent_app *app, ab_str key);
/** Say that the object is gone, whatever the log has: the principal waits for it. */
AB_MUST_USE ab_err agent_confirm_gone(ab_agent_app *app);

/* agent_converge.c */
bool agent_converged(const ab_agent_app *app);
/** Read the object, to decide and to report. */
void agent_get(ab_agent_app *app);
/** Begin a state task: gate, parse, keep. */
void agent_begin_state(ab_agent_app *app, ab_task *task);
/** One step towards the source. */
void agent_converge(ab_agent_app *app);
/** Decide with the local object in hand. */
void agent_decide(ab_agent_app *app, ab_object *local);

/* agent_command.c */
/** Execute the head command: read the object first. */
void agent_command(ab_agent_app *app);
void agent_command_got(ab_agent_app *app, ab_err code, ab_object *local, const ab_error *err);
void agent_command_written(ab_agent_app *app, ab_err code, const ab_error *err);
