/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the principal's side share.
 */
#pragma once

#include "auth/keys.h"
#include "auth/limiter.h"
#include "auth/method.h"
#include "auth/pool.h"
#include "base/crypto/revoked.h"

#define AB_AUTH_METHODS_MAX 3

struct ab_auth {
    ab_auth_env env;
    ab_auth_method_env method_env;
    ab_auth_method *methods[AB_AUTH_METHODS_MAX]; /* those that are accepted */
    size_t method_count;
    const char *key_path; /* NULL: the key was made here */
    ab_auth_keys keys;
    int64_t access_s;
    int64_t refresh_s;
    const char *revoked_path; /* NULL: there is no list */
    ab_revoked revoked;
    ab_auth_watch watch;
    ab_auth_limiter limiter;
    int64_t lines_paid_ms; /* when all lines about refused peers will have been paid for */
    uint64_t unlogged;     /* refusals since the last of them */
    ab_auth_pool *pool;    /* NULL: no method has work for it */
    size_t jobs;           /* logins and refreshes under way */
    bool closing;
    bool watch_closed;
    bool pool_closed;
    void (*closed)(void *arg);
    void *closed_arg;
};

/** The accepted method of this name, NULL: there is none. */
ab_auth_method *ab_auth_find_method(const ab_auth *a, ab_str name);
/** Seconds since 1970. */
int64_t ab_auth_now_s(const ab_auth *a);
/** Whether the list, or who asks us, has this fingerprint. */
bool ab_auth_is_revoked(const ab_auth *a, const uint8_t fingerprint[AB_AUTH_HASH_BYTES]);
/** NONE unless the certificate (NULL: none) is revoked or past its end. Sets `fingerprint` when
 * there is one. */
ab_auth_reason ab_auth_check_certificate(const ab_auth *a, const X509 *cert,
                                         uint8_t fingerprint[AB_AUTH_HASH_BYTES]);
/** When an identity that was proved at `issued_s` must be proved again: the certificate's end
 * (NULL: there is none) may cut it short. */
int64_t ab_auth_until_s(const ab_auth *a, int64_t issued_s, const X509 *cert);
/** What a token says, as an identity. */
void ab_auth_set_identity(const ab_jwt_claims *claims, const char *method, int64_t until_s,
                          ab_auth_identity *out);
/** Read a token and check all that it says against the peer and the files. `out` is untouched
 * unless nothing is wrong. */
ab_auth_reason ab_auth_check_token(ab_auth *a, const ab_auth_peer *peer, ab_jwt_use use,
                                   ab_str token, ab_auth_identity *out, int64_t *expires_s);
/** Count and, unless this peer fills the log, log a refusal. `who` may be anything. */
void ab_auth_note_refusal(ab_auth *a, const char *address, const char *method, ab_str who,
                          ab_auth_reason reason);
/** Count a success. */
void ab_auth_note_success(ab_auth *a, const char *method);
/** A reason as an error: INTERNAL is NOMEM, THROTTLED and BUSY are FULL, CLOSED is CLOSED, all
 * others are DENIED. */
ab_err ab_auth_fail(ab_error *err, ab_auth_reason reason);
/** A login or refresh has ended: the last one of a closing `a` ends the closing. */
void ab_auth_job_ended(ab_auth *a);
