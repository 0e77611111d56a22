/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal between the hub's store and the logs of several agents, which are nothing but their
 * logs here: the test reads what goes down and says what comes up.
 */
#pragma once

#include "sync/principal/principal.h"
#include "tests/unit/sync/world/fake_log.h"
#include "tests/unit/sync/world/fake_store.h"

#define HUB_NAMESPACE  "argocd"
#define HUB_AGENTS_MAX 4

struct hub_agent {
    const char *name; /* NULL: a free place */
    fake_log *down;
    fake_log *up;
    bool served;         /* the running principal knows it */
    bool connected;      /* its topics can be written */
    char held_token[16]; /* of the deletions that the principal said last are held back for it */
};

struct hub_delivery;

typedef struct {
    int64_t ms;
    ab_clock clock;
    fake_store *store;
    ab_metrics *metrics;
    char deferred[AB_OBJECT_KEY_MAX]; /* what the principal said last is not in effect; "": it is */
    ab_principal *principal;          /* NULL while it is down */
    struct hub_delivery *deliveries;
    struct hub_agent agents[HUB_AGENTS_MAX];

    /* For the next start. */
    bool destination_mapping;
    ab_patterns *namespaces;
    size_t deletions_max;
    size_t resyncs_max; /* at once; 0: it holds none */
    ab_principal_sealing sealing;
    bool (*is_scoped)(void *scopes, const char *agent, ab_str project); /* NULL: none is */
    ab_log *log;                                                        /* NULL: none */
    bool unreadable; /* something in the store is: listed, but not synced */

    /* Set by the test; NULL: nothing is called. */
    void (*on_sent)(const char *agent, const ab_event *event);
} hub;

/** An empty store, no agents; the principal is down. */
void hub_init(hub *h);
void hub_fini(hub *h);
/** Start the principal with the agents that there are, and let everything happen. */
void hub_start(hub *h);
void hub_crash(hub *h);
void hub_restart(hub *h);

/** A managed agent, connected. */
void hub_add(hub *h, const char *agent);
/** An agent of which only the name is known, not connected; served. */
void hub_add_unknown(hub *h, const char *agent);
/** It is served no more; its logs stay. */
void hub_remove(hub *h, const char *agent);
/** Its topics can be written from now on, or no more. */
void hub_connect(hub *h, const char *agent, bool connected);
/** What was ever sent to it is lost; it is connected again. */
void hub_lose_log(hub *h, const char *agent);

/** How many things can happen now; the i-th of them happens. */
size_t hub_choices(const hub *h);
void hub_step(hub *h, size_t i);
/** Does an event wait to be sent to any agent? */
bool hub_is_sending(const hub *h);
/** The operator confirms the deletions that the principal told last for this agent, if any. */
ab_err hub_confirm(hub *h, const char *agent);
/** Let everything happen that can. */
void hub_settle(hub *h);
void hub_tick(hub *h, int64_t ms);

/** The newest event under this key in the log to an agent; NULL when there is none or it is ended.
 * Borrowed until the log changes. */
const ab_event *hub_sent(const hub *h, const char *agent, const char *key);
/** How many events ever went down to it. */
size_t hub_sent_count(const hub *h, const char *agent);
/** Its logs hold keys that begin so. */
size_t hub_keys(const hub *h, const char *agent, const char *prefix);

/* What an agent says. */
typedef struct {
    const char *agent;
    const char *key;     /* as the agent has it */
    const char *subject; /* "<namespace>/<name>" at the agent */
    bool remapped;
    ab_target target;
    ab_type type;
    const char *data; /* NULL: a tombstone */
    uint64_t version;
} hub_word;
/** Delivered with the next hub_settle. */
void hub_say(hub *h, const hub_word *word);
/** Nothing that agents said is left unacknowledged. */
bool hub_all_acknowledged(const hub *h);

/** Value of a gauge or counter of one agent. */
double hub_gauge(const hub *h, const char *name, const char *agent);
double hub_counter(const hub *h, const char *name);
