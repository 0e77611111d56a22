/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal and several agents that are machines, too, each with a store, a state database and
 * logs of its own. Nothing happens by itself: the test picks each step. Any machine can crash at
 * any point; stores, logs and databases outlive it.
 */
#pragma once

#include "sync/agent/agent.h"
#include "sync/principal/principal.h"
#include "tests/unit/sync/world/fake_log.h"
#include "tests/unit/sync/world/fake_store.h"
#include "tests/unit/sync/world/world_rows.h"

#define TESTBED_NODES_MAX 3
#define TESTBED_NAMESPACE "argocd" /* the principal's, and each agent's */

typedef struct testbed testbed;
struct testbed_delivery;

/* An agent and what is around it. */
struct node {
    testbed *bed;
    const char *name;
    char source[80];
    fake_store *store;
    fake_log *down, *up;
    struct world_cache cache;
    char held_token[16]; /* of the deletions that the principal said last are held back for it */
    bool autonomous;     /* at its next start, and what the control plane says */
    bool adopts;         /* at its next start */
    bool replaying;      /* it has lost what it kept, and reads the log from its beginning */
    ab_metrics *metrics;
    ab_agent *agent;   /* NULL while it is down */
    bool connected;    /* both ways */
    bool up_ready;     /* the agent has read its own log */
    bool down_ready;   /* the principal has read the log to it */
    bool served;       /* it is to be, and is while the principal runs */
    ab_mode_set known; /* to the principal that runs; 0: not yet */
};

struct testbed {
    int64_t ms;
    ab_clock clock;
    ab_log *log; /* NULL unless wanted */
    fake_store *hub;
    struct world_cache cache; /* the principal's */
    ab_metrics *metrics;
    ab_principal *principal; /* NULL while it is down */
    struct testbed_delivery *deliveries;
    struct node nodes[TESTBED_NODES_MAX];
    size_t node_count;

    /* Set by the test. */
    uint64_t (*random)(void *arg);
    unsigned faults_permille;
    void (*on_hub_write)(void *arg, const ab_object *before, const ab_object *after);
    void (*on_local_write)(void *arg, const ab_object *before, const ab_object *after);
    void *arg;
};

/** Empty stores and logs, served agents of these names, connected; all machines are down.
 * `random` and what else is the test's must be set. */
void testbed_init(testbed *b, const char *const *names, size_t count);
void testbed_fini(testbed *b);

void testbed_start_principal(testbed *b);
void testbed_crash_principal(testbed *b);
/** What it kept is lost, and it reads all logs again; it must be down. */
void testbed_lose_principal_data(testbed *b);
void testbed_start_agent(struct node *n);
void testbed_crash_agent(struct node *n);
/** What it kept is lost, and it reads its log again; it must be down. */
void testbed_lose_agent_data(struct node *n);
/** The log that goes up, or down, is lost: both machines hear of it. */
void testbed_lose_log(struct node *n, bool up);
/** It is served from now on, or no more. */
void testbed_serve(struct node *n, bool served);

/** How many things can happen now; the i-th of them happens. */
size_t testbed_choices(const testbed *b);
void testbed_step(testbed *b, size_t i);
/** Time passes; all machines are told. */
void testbed_tick(testbed *b, int64_t ms);
/** Let all happen that can, with so many seconds passing. Fails the test when there is no end. */
void testbed_run(testbed *b, int64_t seconds);
/** Changes of all stores and events in all logs so far. */
uint64_t testbed_activity(const testbed *b);
