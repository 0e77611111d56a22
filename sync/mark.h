/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's mark: what a principal writes into its own store, beside the objects, of how far each
 * agent has been told. A store that comes back from a backup comes back with an older mark, or with
 * none: by that it is known not to have had what was said since (docs/protocol.md).
 *
 * It is a ConfigMap: data.<agent> is "<epoch>.<version> ...", of which the first covers all that is
 * not newer, each other one what was said under its epoch up to there; data.write_id names this
 * state of it.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/map.h"
#include "base/object.h"
#include "sync/version.h"

/* Name of the ConfigMap, in the principal's own namespace. */
#define AB_MARK_NAME "argobus-store-mark"

/* Runs that are remembered one by one. */
#define AB_MARK_RUNS_MAX 16

/* How far one agent has been told. */
typedef struct {
    ab_version all;                    /* all up to there */
    ab_version runs[AB_MARK_RUNS_MAX]; /* the last ones to be added */
    size_t count;
} ab_mark_told;

typedef struct {
    char id[37];  /* another one with each write; "" when there is none */
    ab_map *told; /* agent -> ab_mark_told */
} ab_mark;

/** An empty one, to be released by ab_mark_fini. @return NOMEM */
AB_MUST_USE ab_err ab_mark_init(ab_mark *m);
/** A zeroed one is allowed. */
void ab_mark_fini(ab_mark *m);
/** Take over what the ConfigMap says, in place of all that `m` has. What cannot be read in it is as
 * if it were not there. @param object  NULL: there is none. @return NOMEM */
AB_MUST_USE ab_err ab_mark_load(ab_mark *m, const ab_object *object);
/** What is known of the agent; nothing when there is nothing. */
ab_mark_told ab_mark_of(const ab_mark *m, ab_str agent);
AB_MUST_USE ab_err ab_mark_set(ab_mark *m, ab_str agent, const ab_mark_told *told);
/** Does it cover what was said under this version? */
bool ab_mark_covers(const ab_mark_told *told, ab_version version);
/** Cover what was said under the epoch of `version`, up to it. The oldest run is forgotten when
 * they are too many. */
void ab_mark_add_run(ab_mark_told *told, ab_version version);
/** The ConfigMap. @param out  one reference, owned by the caller. @return NOMEM, TOOBIG, INVALID */
AB_MUST_USE ab_err ab_mark_object(const ab_mark *m, const char *namespace, ab_object **out);
