/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two ends of a resync say to each other (docs/protocol.md), as JSON: the steps, and the
 * pages of inventories. What comes from outside is checked in every respect before it is believed.
 *
 * Pure; loop thread.
 */
#pragma once

#include "sync/resync/inventory.h"

/* Longest id of a resync, NUL included. */
#define AB_RESYNC_ID_MAX 65

typedef enum {
    AB_RESYNC_ASK,    /* agent: hold one */
    AB_RESYNC_BEGIN,  /* principal: this is what I hold */
    AB_RESYNC_ANSWER, /* agent: this is what I hold; these of your pages I want */
    AB_RESYNC_WANT,   /* principal: these of your pages I want */
    AB_RESYNC_TAKEN,  /* agent: I have your pages */
    AB_RESYNC_END,    /* principal: it is over */
} ab_resync_step;

/* The digests of an inventory's pages, as one side tells them to the other. */
typedef struct {
    size_t count; /* entries, over all pages */
    size_t pages;
    const ab_digest *digests;
    ab_version newest; /* of all versions that are held */
} ab_resync_summary;

/* Pages that are asked for. */
typedef struct {
    size_t count;
    const uint16_t *pages; /* rising */
} ab_resync_want;

/* One step. What a step does not have is absent or 0. */
typedef struct {
    ab_resync_step step;
    ab_str id;
    ab_str why;
    ab_str namespace;
    ab_resync_summary summary;
    ab_resync_want want;
    bool confirm; /* begin: the operator says that the deletions which the agent holds are meant */
    size_t held;  /* answer: deletions at the hub that the agent's guard holds back */
} ab_resync;

/** Append the JSON of a step. The outcome is in the buffer's status. */
void ab_resync_encode(const ab_resync *r, ab_buf *out);
/** @param out  borrows from nothing; owned by the caller: ab_resync_free
 *  @return PARSE, INVALID (says what is wrong), TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_resync_decode(ab_str text, ab_resync **out, ab_error *err);
/** NULL is allowed. */
void ab_resync_free(ab_resync *r);

/* One page as it was received. */
typedef struct {
    ab_str id;
    size_t page;
    ab_inventory *entries; /* divided into one page, whose digest is this page's */
} ab_resync_page;

/** Append the JSON of one page of a divided inventory. The outcome is in the buffer's status. */
void ab_resync_page_encode(const ab_inventory *inv, size_t page, ab_str id, ab_buf *out);
/** @param out  owned by the caller: ab_resync_page_free
 *  @return PARSE, INVALID (says what is wrong), TOOBIG, NOMEM, FATAL */
AB_MUST_USE ab_err ab_resync_page_decode(ab_str text, ab_resync_page **out, ab_error *err);
/** NULL is allowed. */
void ab_resync_page_free(ab_resync_page *p);
