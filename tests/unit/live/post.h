/* SPDX-License-Identifier: Apache-2.0
 *
 * Events under way between a principal's end and an agent's, for tests that are the transport. What
 * fails here fails the test.
 */
#pragma once

#include "transport/transport.h"

#include <sys/queue.h>

/* An event under way. */
typedef struct letter {
    STAILQ_ENTRY(letter) at;
    ab_event *event;
    bool up;      /* to the principal */
    ab_sent done; /* how it was sent, and its argument */
    void *arg;
} letter;

/* Begins with STAILQ_INIT. */
typedef STAILQ_HEAD(post, letter) post;

/** As `send` of an ab_live_lane_env. @param event  borrowed */
void post_put(post *p, bool up, ab_event *event, ab_sent done, void *arg);
/** The first; there is one. @return the caller's, for letter_free */
letter *post_take(post *p);
void letter_free(letter *l);
/** Forget all, as a transport that is freed, which tells nobody. */
void post_drop(post *p);
/** What somebody in between makes of an event: its attributes, and other data. @return the caller's
 */
ab_event *event_with_data(const ab_event *of, ab_str data);
