/* SPDX-License-Identifier: Apache-2.0
 *
 * What all sessions of a process share: how events are sent, how the other end is verified, and
 * when sessions are looked at. Sessions with something to send are looked at once at the end of a
 * turn of the loop, so that what belongs together goes in one event. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "net/tls/tls.h"
#include "transport/transport.h"

#include <sys/queue.h>

typedef struct ab_live_lane ab_live_lane;

/* All borrowed, must outlive it. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    const char *source; /* ours: the attribute of events */
    const char *off;    /* no session is begun, for this reason; NULL: live access is on */
    /** Our certificate and whom we trust; read again when the files change. NULL: nothing is
     * sealed. */
    ab_tls_context *tls;
    /** Is this certificate, of a trusted authority, the one of `agent` (AGENT: agent is NULL, of
     * the principal)? @return DENIED with the reason */
    ab_err (*admits)(void *arg, const char *agent, const X509 *peer, ab_error *err);
    /** As ab_transport_send on the live lane. */
    ab_err (*send)(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg);
    void *arg;
} ab_live_lane_env;

/* Who is looked at: the first member of a session. */
typedef struct ab_live_turn {
    TAILQ_ENTRY(ab_live_turn) at;
    TAILQ_ENTRY(ab_live_turn) busy_at;
    TAILQ_ENTRY(ab_live_turn) resting_at;
    bool busy;
    bool resting;   /* it was woken patiently not long ago */
    bool owed;      /* and again since then */
    uint64_t round; /* in which it was woken */
    /** Send what is to be sent. It may take itself off. */
    void (*flush)(struct ab_live_turn *t);
    /** About four times a second. It may take itself off. */
    void (*tick)(struct ab_live_turn *t, int64_t now_ms);
} ab_live_turn;
TAILQ_HEAD(ab_live_turns, ab_live_turn);

/* Embedded by who owns the sessions. */
struct ab_live_lane {
    ab_live_lane_env env;
    struct ab_live_turns turns;
    struct ab_live_turns busy;
    struct ab_live_turns resting;
    uint64_t round;
    struct ab_live_turns zombies; /* over, but the transport still has events of theirs */
    struct ab_live_lane_loop *loop;
};

/** @param env  copied. @return NOMEM */
AB_MUST_USE ab_err ab_live_lane_init(ab_live_lane *lane, const ab_live_lane_env *env);
/** After every turn was taken off; also of zeros. The loop must be run afterwards for handles to
 * close. */
void ab_live_lane_fini(ab_live_lane *lane);
/** Look at this from now on. */
void ab_live_lane_add(ab_live_lane *lane, ab_live_turn *t);
/** Look at it no more. */
void ab_live_lane_remove(ab_live_lane *lane, ab_live_turn *t);
/** It has something to send: flush it at the end of this turn of the loop. */
void ab_live_lane_wake(ab_live_lane *lane, ab_live_turn *t);
/** It has something to send that is in no hurry: flush it at the end of this turn of the loop, but
 * 20 times a second at most. */
void ab_live_lane_wake_patiently(ab_live_lane *lane, ab_live_turn *t);
/** Monotonic. */
int64_t ab_live_lane_now(const ab_live_lane *lane);
