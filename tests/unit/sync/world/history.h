/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of a principal and an agent: users, a controller, crashes, cut links, failing
 * writes, in every interleaving that the fakes allow. Then the world comes to rest, and is looked
 * at. What is common to the models is here; each of them says what its users do, and what must be.
 *
 * The seeds are the same at each run, so that what fails is what was changed. To look further,
 * SYNC_MODEL_SEED sets the first one (and runs it alone), SYNC_MODEL_SEEDS how many,
 * SYNC_MODEL_STEPS how long each; one that fails is added to those that are run always.
 * SYNC_MODEL_LOG=1 logs what the machines decide.
 */
#pragma once

#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/world.h"

#define NAMES       3
#define NUMBERS_MAX 4096

/* One thing asked for at the hub; its number is in .operation.n or in the refresh annotation. */
struct request {
    bool asked;
    bool standing;  /* still on the hub's object, as the user put it */
    bool withdrawn; /* by the user: replaced, or its object deleted */
    bool refused;
    bool nameless; /* its id was taken off: a restarted principal gives it another */
    bool restored; /* it stands in a backup that came back: it may be asked for again, or not */
    int executed;
    char executed_on[24]; /* uid of the local object */
};

struct history {
    world w;
    uint64_t seed;
    uint64_t random;
    size_t actions; /* how many of them the lot falls among */
    int counter;    /* of specs, states and requests; rises */
    struct request requests[NUMBERS_MAX];
    struct {
        char id[64];
        int request; /* -1: it carries out none of these */
    } commands[NUMBERS_MAX];
    size_t command_count;
    int said[NUMBERS_MAX]; /* the specs that went to the other side, in order */
    size_t said_count;
    size_t written[NAMES]; /* which of them stands there, at the earliest */
    size_t restarts;       /* world.principal_restarts, as far as they are noticed */
};

extern struct history m;

struct history_seed {
    uint64_t seed;
    size_t actions; /* there were then: the lot falls otherwise among more */
};

typedef struct {
    unsigned long runs;
    void (*begin)(void); /* before the machines are started */
    /* A machine wrote an object, or said something. */
    void (*on_local_write)(const ab_object *before, const ab_object *after);
    void (*on_hub_write)(const ab_object *before, const ab_object *after);
    void (*on_sent)(bool down, const ab_event *event);
    void (*const *actions)(int app);
    size_t action_count;
    void (*on_confirmed)(void); /* the operator wants deleted what is held; may be NULL */
    void (*check)(void);
    void (*end)(void); /* may be NULL */
    const struct history_seed *once_failed;
    size_t once_failed_count;
} history_model;

/** For main. */
int history_run(const history_model *of);

/** Show the stores and the seed, and fail. */
void broken(const char *what);
void trace(const char *what, ab_str text);
/** One of 0 to n - 1. */
size_t below(size_t n);
/** For a spec, a state or a request that none had before. */
int next_number(void);

/* --- what there is --- */

const char *hub_key(int app);
const char *local_key(int app);
const char *name_of(int app);
int app_of(const ab_object *o);
/** The Application at either end; NULL when it is not there. */
ab_object *hub(int app);
ab_object *local(int app);
/** Does it say that it follows an object at the other end? */
bool is_follower(const ab_object *o);
/** Have they the same of the labels and annotations that users set? `lax`: `b` may have more. */
bool same_labels(const ab_object *a, const ab_object *b, bool lax);
/** A user copies the object, which says that it follows another, under the name COPY. */
void copy_follower(fake_store *s, const ab_object *o);
bool is_user_copy(const ab_object *o);
/** Number in its uid. */
uint64_t uid_number(const ab_object *o);

/* --- what is to be remembered, and must be so --- */

/** Number of the request that stands on the object; -1 when none does. */
int operation_of(const ab_object *o);
int refresh_of(const ab_object *o);
/** A user takes the requests back that stand on it. */
void withdraw_all(const ab_object *o);
/** The agent wrote: what it executed, it executes once. */
void note_executed(const ab_object *before, const ab_object *after);
/** The principal wrote: a request goes when it was executed or refused. */
void note_cleared(const ab_object *before, const ab_object *after);
/** An object was said to the other side; it stands there now: never an older one after a newer. */
void note_said(const ab_event *event);
void check_order(const ab_object *after);

/* --- what happens; most take the number of an Application --- */

/** A user edits the object, which must be there. */
void edit(fake_store *s, const char *key);
void hub_asks_sync(int app);
void hub_asks_refresh(int app);
/** As the controller of an ApplicationSet, whose template has none of our annotations. */
void set_takes_ids_off(int app);
void controller_reports(int app);
/** It does what the object asks for. */
void controller_acts(int app);
void agent_crashes(int app);
void principal_crashes(int app);
void links_change(int app);
void logs_change(int app);
/** A reader that is down loses its position in the log, and keeps what it has received. */
void position_is_lost(int app);
/** The agent's hello, or option agents, says otherwise for a while. */
void mode_is_unknown(int app);
void operator_asks(int app);
/** A store's watch has a gap: what went meanwhile is only missing from its next list. */
void watches_break(int app);
void time_passes(int app);
