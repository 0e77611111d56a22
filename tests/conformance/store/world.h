/* SPDX-License-Identifier: Apache-2.0
 *
 * A store running on a loop of its own, with everything that it reports written down. Calls wait
 * for their result; every wait ends the test when it takes longer than WORLD_WAIT_MS.
 */
#pragma once

#include "store/store.h"
#include "tests/conformance/store/places.h"

#define WORLD_WAIT_MS 120000

typedef struct {
    ab_store_change change;
    ab_object *object; /* NULL for SYNCED */
} world_change;

typedef struct {
    char where[512];
    ab_error err;
} world_fault;

typedef struct {
    const store_place *kind;
    void *place;
    const char *namespace;
    char key[AB_OBJECT_KEY_MAX]; /* of the Application that most tests are about */
    ab_store_watch watches[4];
    uv_loop_t loop;
    const ab_clock *clock; /* the real one unless a test sets it before world_start */
    ab_config *config;
    ab_metrics *metrics;
    ab_store *store;
    world_change *changes;
    size_t count;
    size_t room;
    world_fault faults[64];
    size_t fault_count;
    bool stopped;
} world;

/* Result of one call. */
typedef struct {
    bool ended;
    ab_err code;
    ab_object *object; /* a reference, owned by the world's test: result_fini */
    ab_error err;
} result;

/** A new place with a store on it that has reported SYNCED. */
world *world_new(const store_place *kind);
/** As world_new, but nothing is started: for tests that prepare the place. */
world *world_new_place(const store_place *kind);
/** Start a store on the place. Does not wait. */
void world_start(world *w);
/** Stop the store; what it reported is kept. The place stays. */
void world_stop(world *w);
/** world_stop in two steps. */
void world_stop_begin(world *w);
void world_stop_end(world *w);
/** Stop if running, and destroy everything. */
void world_free(world *w);

/** Run the loop until `until` answers true. */
void world_wait(world *w, bool (*until)(world *w, void *arg), void *arg);
void world_wait_synced(world *w);
/** Wait for a fault whose place and text contain these. */
void world_wait_fault(world *w, const char *where_part, const char *text_part);

result do_apply(world *w, const char *json, const ab_store_condition *condition);
result do_patch(world *w, const char *key, const char *status, const char *version,
                const ab_store_condition *condition);
result do_remove(world *w, const char *key, const ab_store_condition *condition);
result do_get(world *w, const char *key);
void result_fini(result *r);
/** For calls that are waited for later: `arg` is a result. */
void result_done(void *arg, ab_err code, ab_object *object, const ab_error *err);
bool result_ended(world *w, void *arg);

/** Changes of this kind for this key, SYNCED: key NULL. */
size_t count_changes(const world *w, ab_store_change change, const char *key);
/** The last object reported under this key, NULL if none. Borrowed. */
ab_object *last_seen(const world *w, const char *key);
/** Wait until `count` changes of this kind were reported for this key. */
void wait_changes(world *w, ab_store_change change, const char *key, size_t count);
/** Forget what was reported. */
void world_forget(world *w);
/** Value of argobus_store_faults_total for a reason. */
double faults_counted(const world *w, const char *reason);

/** Object's member at a path of names, as its JSON text. */
#define TEXT_AT(object, ...)      ab_span_raw(ab_span_path(ab_object_json(object), __VA_ARGS__, NULL))
#define assert_text(str, literal) assert_true(ab_str_is((str), (literal)))
