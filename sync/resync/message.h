/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two ends of a resync say to each other (docs/protocol.md), as JSON: the steps, and the
 * pages of inventories. What comes from outside is checked in every respect before it is believed.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/core/map.h"
#include "sync/resync/inventory.h"

/* Longest id of a resync, NUL included. */
#define AB_RESYNC_ID_MAX 65
/* Most deletions that are held back and named: all of thousands may miss all that they have. */
#define AB_RESYNC_NAMES_MAX 100

typedef enum {
    AB_RESYNC_ASK,    /* agent: hold one */
    AB_RESYNC_BEGIN,  /* principal: this is what I hold */
    AB_RESYNC_ANSWER, /* agent: this is what I hold; these of your pages I want */
    AB_RESYNC_WANT,   /* principal: these of your pages I want */
    AB_RESYNC_TAKEN,  /* agent: I have your pages */
    AB_RESYNC_END,    /* principal: it is over */
    AB_RESYNC_PAGE,   /* either: one page that you want */
} ab_resync_step;

/* Pages that are asked for. */
typedef struct {
    size_t count;
    const uint16_t *pages; /* rising */
} ab_resync_want;

/* What a step does not have is absent or 0. */
typedef struct {
    ab_resync_step step;
    ab_str id;
    ab_str why;
    ab_str namespace;
    ab_inventory_summary summary;
    ab_resync_want want;
    /* begin: the operator says that exactly these deletions, of which the agent's answer had told
     * the held_set, are meant; none: no deletions are */
    ab_digest confirmed;
    bool confirm; /* begin, of a former version: the same of what the agent holds, whatever it is */
    size_t held;  /* answer: deletions at the hub that the agent's guard holds back */
    ab_digest held_set;      /* answer: which these are; none: none are, or of a former version */
    ab_map *held_names;      /* answer: the agent's keys of the first of these, whatever the values;
                                NULL: none are, or of a former version; of a decoded one owned */
    size_t page;             /* page: its number */
    ab_inventory *inventory; /* page: whose it is; of a decoded one its only page, and owned */
} ab_resync_message;

/** Append the JSON of a message. The outcome is in the buffer's status. */
void ab_resync_message_encode(const ab_resync_message *m, ab_buf *out);
/** @param out  borrows from nothing; owned by the caller: ab_resync_message_free
 *  @return PARSE, INVALID (says what is wrong), TOOBIG, NOMEM, FATAL */
AB_MUST_USE ab_err ab_resync_message_decode(ab_str text, ab_resync_message **out, ab_error *err);
/** Of a decoded one. NULL is allowed. */
void ab_resync_message_free(ab_resync_message *m);
