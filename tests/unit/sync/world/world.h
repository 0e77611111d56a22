/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal and one agent, "w1", with all that is around them: two stores, two logs, the state
 * database of each, a clock. Nothing happens by itself: the test picks each step, or lets
 * everything happen (world_settle). Either machine can crash at any point; stores, logs and cache
 * outlive it.
 */
#pragma once

#include "base/core/map.h"
#include "sync/agent/agent.h"
#include "sync/principal/principal.h"
#include "tests/unit/sync/world/fake_log.h"
#include "tests/unit/sync/world/fake_store.h"
#include "tests/unit/sync/world/world_rows.h"

#define WORLD_AGENT_NAMESPACE "argocd"
#define WORLD_HUB_NAMESPACE   "w1"
#define WORLD_SET_ASIDE_MS    60000

typedef struct world world;
struct world_sending;

/* One machine's end of the connection. */
struct world_link {
    fake_log *out;
    fake_log *in;
    bool up;
    bool ready;
    struct world_sending *sending;
};

struct world {
    int64_t ms;
    ab_clock clock;
    ab_log *log; /* NULL unless wanted */
    fake_store *hub;
    fake_store *local;
    fake_log *down;
    fake_log *up;
    struct world_cache cache, hub_cache; /* the agent's, the principal's */
    ab_agent_policy policy;              /* for the next start of the agent */
    ab_mode_set mode; /* what the principal knows of the agent at its next start */
    const char *uid;  /* for the next start of the principal; so below. NULL: "principal-1" */
    size_t deletions_max;
    size_t mirrors_max;
    bool guard_observed;
    ab_patterns *namespaces; /* served with destination mapping; NULL: with namespace mapping */
    bool hub_stays;          /* its store is never replaced under a running principal */
    bool resyncs;            /* the principal holds them */
    bool read_at_once;       /* what is sent is read before the sender knows that it was */
    bool compare_first;      /* ab_principal_compare_first, for the next start of the principal */
    int64_t resync_ms;       /* so often, beside when there is cause to; 0: never */
    bool replaying;  /* the agent has lost what it kept, and reads the log from its beginning */
    bool unreadable; /* something in the agent's store is: listed, but not complete */
    ab_metrics *agent_metrics;
    ab_metrics *principal_metrics;
    ab_agent *agent;         /* NULL while it is down */
    ab_principal *principal; /* NULL while it is down */
    size_t held; /* deletions that the principal said last are held back, and what confirms them */
    char held_token[16];
    bool hub_interrupted;      /* its watch is, as the principal was told */
    bool hub_replaced;         /* meanwhile, and it is to be told */
    bool principal_ends;       /* so it says; it is started again after the step */
    size_t principal_restarts; /* after that */
    struct world_link agent_link;
    struct world_link principal_link;
    uint64_t steps;

    /* Set by the test; all may be NULL. */
    const char *hidden; /* object of the hub that the principal cannot read; so the store is not
                           synced */
    uint64_t (*random)(void *arg); /* else everything works, and what can be kept is kept */
    unsigned faults_permille;
    ab_err hub_refuses;      /* every write there fails so; OK = none does */
    bool hub_refuses_reads;  /* and so does every read */
    bool hub_writes_refused; /* what is refused is written all the same: the answer is lost */
    ab_err local_refuses;
    void (*on_hub_write)(void *arg, const ab_object *before, const ab_object *after);
    void (*on_local_write)(void *arg, const ab_object *before, const ab_object *after);
    void (*on_sent)(void *arg, bool down, const ab_event *event);
    const ab_trace *trace; /* of both machines, from their next start */
    void *arg;
};

/** Empty stores and logs; both machines are down. */
void world_init(world *w);
void world_fini(world *w);

void world_start_agent(world *w);
void world_crash_agent(world *w);
void world_start_principal(world *w);
void world_crash_principal(world *w);
/** Both, and let everything happen. */
void world_start(world *w);
/** What the principal kept of mirrors is lost; it must be down. */
void world_forget_mirrors(world *w);
/** What the agent kept of desired states is lost; it must be down. */
void world_forget_all_desired(world *w);
/** What it kept of one is. */
void world_forget_desired(world *w, const char *key);
/** What it keeps of desired states now; to be freed with world_backup_free. */
ab_map *world_back_up_desired(const world *w);
/** It keeps what it kept then; it must be down. */
void world_restore_desired(world *w, const ab_map *backup);
/** NULL is allowed. */
void world_backup_free(ab_map *backup);
/** The operator confirms the deletions that the principal told last, if it told any. */
ab_err world_confirm(world *w);
/** The log that this machine writes is lost: both machines hear of it. */
void world_lose_log(world *w, struct world_link *link);
/** The agent's position goes back to the beginning, and it is told, if it is there. */
void world_rewind_agent(world *w);
/** Cut or mend both directions of one machine's link. */
void world_connect(struct world_link *link, bool up);

/** The watch of the hub breaks off. It goes on once every change was told. */
void world_interrupt_hub(world *w);
/** It is interrupted, and found to be another one before it is resumed. */
void world_replace_hub(world *w);
/** What is hidden can be read now. */
void world_unhide(world *w);

/** How many things can happen now; the i-th of them happens. */
size_t world_choices(const world *w);
void world_step(world *w, size_t i);
/** Time passes; both machines are told. */
void world_tick(world *w, int64_t ms);
/** Let all happen that can, without time passing. Fails the test when there is no end. */
void world_settle(world *w);
/** The same with `seconds` of time passing, second by second. */
void world_run(world *w, int64_t seconds);

/** What the agent's cache has under this key. @return NOTFOUND */
AB_MUST_USE ab_err world_recall(const world *w, ab_str key, ab_received_state *out);
/** Value of a series of one machine. */
double world_count(ab_metrics *m, const char *name);
