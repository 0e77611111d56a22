/* SPDX-License-Identifier: Apache-2.0
 *
 * One world with one Application in it, "a", at the hub and at the agent: what the tests of the
 * machines begin with and end with.
 */
#pragma once

#include "schema/catalogue.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/world.h"

#define HUB       "Application/w1/a"
#define LOCAL     "Application/argocd/a"
#define HUB_NEW   "Application/w1/new"
#define LOCAL_NEW "Application/argocd/new"
#define FINALIZER ",\"finalizers\":[\"resources-finalizer.argocd.argoproj.io\"]"

extern world w;

/** For cmocka. */
int setup(void **state);
int teardown(void **state);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/** Both machines run, and the Application stands at both ends with spec 1. */
void placed(const char *meta);
/** Applications n0 to n(count - 1) at the hub. */
void put_apps(int count);
/** How many objects the agent's store has. */
size_t local_count(void);
void restart_agent(void);
void restart_principal(void);
/** Argo CD at the agent takes up the operation and ends it. */
void consume_operation(void);

/** Append an event to the agent's log, as the agent would. @param data  NULL: a tombstone */
void say_up(const char *key, ab_type type, const char *data, uint64_t version);
/** The same under this epoch. */
void say_up_in(uint64_t epoch, const char *key, ab_type type, const char *data, uint64_t version);
/** The same: the status of LOCAL is {"n":n}. */
void say_status(int n, uint64_t version);
/** Deliver what comes up next, before anything that the hub's store has to say. */
void deliver_up(void);

/** The Application; NULL when it is not there. */
ab_object *hub(void);
ab_object *local(void);
/** Does the agent have "new", which the test has made at the hub since? */
bool has_new(void);
/** How many deletions the principal holds back, by its metric. */
double held_deletions(void);
/** .operation.n, -1 when there is none. */
int operation_of(const ab_object *o);
bool has_phase(const ab_object *o, const char *phase);
/** Has it condition AgentError? */
bool has_error(const ab_object *o);

/** Does the log have a newest event of this key that is no tombstone? */
bool has_head(const fake_log *log, const char *key);
/** Nothing more is written or sent, every delivery is acknowledged, no command is left in a log. */
void assert_at_rest(void);
