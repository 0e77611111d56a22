/* SPDX-License-Identifier: Apache-2.0
 *
 * A way to log in: the interface that each implements. methods_test.c runs what all have in common
 * over every one of them.
 *
 * A login is looked at on the loop (begin); what costs time is done in the pool for passwords
 * (work), on what begin has prepared and nothing else.
 */
#pragma once

#include "auth/auth.h"
#include "auth/file.h"
#include "auth/reason.h"

typedef struct ab_auth_method ab_auth_method;

/* What a method is given; everything borrowed, outlives it. */
typedef struct {
    const ab_config *config;
    ab_log *log;
    ab_auth_watch *watch;
    /** What `holds` says may have changed. */
    void (*changed)(void *arg);
    void *arg;
} ab_auth_method_env;

/* One login, from begin to drop. Starts zeroed. */
typedef struct {
    ab_auth_reason reason; /* NONE: the peer is `agent` */
    char agent[AB_AUTH_AGENT_MAX];
    uint8_t mark[AB_AUTH_HASH_BYTES]; /* of what the peer has shown; zeroes where `holds` sees it
                                         again */
    void *state;                      /* for work; NULL: there is nothing to do */
} ab_auth_check;

typedef struct {
    const char *name; /* in grpc.auth.accept, and AuthRequest.method */
    size_t size;      /* of the implementation's struct, whose first member is ab_auth_method */

    /** Take the configuration and read the files; `self` is zeroed. Loop thread.
     *  @return CONFIG naming the option; NOMEM, FATAL. fini follows in any case */
    ab_err (*init)(ab_auth_method *self, ab_error *err);
    /**
     * Append whom the peer says it is, by which failures are counted apart; nothing: it says none.
     * @return true when only who it concerns can say that, false when anybody could make it up.
     * NULL where nothing but the certificate says it, by which failures are counted in any case
     */
    bool (*claim)(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_buf *out);
    /** Decide, or prepare in `check->state` what `work` needs: peer and request are gone then.
     * `request` may be NULL where `holds` is. Loop thread; never blocks. */
    void (*begin)(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_auth_check *check);
    /** Decide by `check->state`. A thread of the pool. NULL where begin decides all. */
    void (*work)(ab_auth_check *check);
    /** Wipe and release `check->state`, which may be NULL. NULL where there is no work. */
    void (*drop)(ab_auth_check *check);
    /** Whether `identity`, which came by this method, still holds for this peer. Loop thread; never
     * blocks. NULL: where `begin` still finds the same agent. @return NONE: it does */
    ab_auth_reason (*holds)(ab_auth_method *self, const ab_auth_peer *peer,
                            const ab_auth_identity *identity);
    /** Release everything; files are no longer watched. */
    void (*fini)(ab_auth_method *self);
} ab_auth_method_ops;

struct ab_auth_method {
    const ab_auth_method_ops *ops;
    const ab_auth_method_env *env;
};

extern const ab_auth_method_ops ab_auth_mtls;
extern const ab_auth_method_ops ab_auth_header;
extern const ab_auth_method_ops ab_auth_userpass;

/** What `holds` says, or `begin` in its place. */
ab_auth_reason ab_auth_method_holds(ab_auth_method *m, const ab_auth_peer *peer,
                                    const ab_auth_identity *identity);
/** Set `check->agent` to what an expression has captured, or `check->reason`: `none` when it is
 * absent, NAME when it is not a DNS label. */
void ab_auth_check_captured(ab_auth_check *check, ab_str captured, ab_auth_reason none);
