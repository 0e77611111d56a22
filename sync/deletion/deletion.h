/* SPDX-License-Identifier: Apache-2.0
 *
 * May this be deleted, and why? Both ends ask this of every object before they pass its deletion
 * on: the principal of what its log to a managed agent has, or what only that agent has; the
 * autonomous agent of what its log has. A wrong yes destroys what a user has running, and a wrong
 * no leaves it running, so whatever is not known is a no. The first row that fits decides:
 *
 *    fact                                          verdict               deleted
 *    --------------------------------------------  --------------------  -------
 *    exists                                        EXISTS                no
 *    requested                                     REQUESTED             yes
 *    neither store_checked nor confirmed           NOT_KNOWN_YET         no
 *    observed, and store_checked                   OBSERVED              yes
 *    neither store_synced nor owned                NOT_KNOWN_YET         no
 *    none of confirmed, elsewhere, owned, covered  HELD_NO_PROOF         no
 *    confirmed                                     CONFIRMED             yes
 *    too_many                                      HELD_TOO_MANY         no
 *    elsewhere                                     MOVED                 yes
 *    owned                                         PROVED_BY_STORE       yes
 *    covered                                       PROVED_BY_WATERMARK   yes
 *
 * The rows below OBSERVED are about inferred deletions: nobody saw the object go, the store just
 * lacks it. Those that are proved are counted by the mass-deletion guard (guard.h), which sets
 * too_many for all of them or for none.
 *
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>

/* What is known of an object that the other end has. */
typedef struct {
    bool exists;        /* the store has it, or may show it any moment */
    bool requested;     /* its user asked for it on the object, which had a deletionTimestamp */
    bool store_checked; /* since it was missed, the store was found to be the one that it was */
    bool observed;      /* the watch showed that this very object was deleted */
    bool store_synced;  /* every object of the store was read: none is unreadable */
    bool owned;         /* the store has shown it in this run */
    bool elsewhere;     /* the store has it, for another agent, which was sent it */
    bool covered;       /* the watermark says that the store has had it */
    bool confirmed;     /* the operator says that what is missing may go */
    bool too_many;      /* so says the guard of all inferred deletions together */
} ab_deletion_facts;

typedef enum {
    AB_DELETION_EXISTS,
    AB_DELETION_NOT_KNOWN_YET,
    AB_DELETION_HELD_NO_PROOF,
    AB_DELETION_HELD_TOO_MANY,
    /* From here on it is passed on. */
    AB_DELETION_REQUESTED,
    AB_DELETION_OBSERVED,
    /* From here on it is inferred, and counted by the guard. */
    AB_DELETION_CONFIRMED,
    AB_DELETION_MOVED,
    AB_DELETION_PROVED_BY_STORE,
    AB_DELETION_PROVED_BY_WATERMARK,
} ab_deletion;

/** May this be deleted, and why? */
ab_deletion ab_deletion_judge(const ab_deletion_facts *facts);
bool ab_deletion_is_allowed(ab_deletion verdict);
/** Is it allowed, and one of those that the guard counts? */
bool ab_deletion_is_inferred(ab_deletion verdict);
/** For the log: "observed", "held: no proof", ... */
const char *ab_deletion_text(ab_deletion verdict);
