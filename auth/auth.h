/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a gRPC peer is: logins (Authenticate), their tokens, and for how long both hold. The
 * principal's side is an ab_auth; an agent's is what ab_auth_login_open gives.
 *
 *   login    --ab_auth_authenticate--> tokens                            (RPC Authenticate)
 *   refresh  --ab_auth_refresh-------> tokens                            (RPC RefreshToken)
 *   access   --ab_auth_verify--------> identity                          (every other call)
 *   identity --ab_auth_renew---------> identity for longer, or refused   (open streams)
 *
 * An identity is good until `expires_s`. A stream that is still open then is asked for again
 * (ab_auth_renew), and closed when that refuses; likewise every stream after `on_changed`: the list
 * of revoked certificates, or the file of passwords, says something else now.
 *
 * What was wrong with a login or a token is logged and counted here, by its own reason; the peer
 * is told AB_AUTH_REFUSED and no more. Loop thread only; RSA signatures are made in libuv's pool,
 * and passwords checked by threads of their own. No upcall is made from inside a call.
 */
#pragma once

#include "base/config/config.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"

#include <openssl/x509.h>
#include <uv.h>

/* The one text that a peer is told, with gRPC status UNAUTHENTICATED, whatever was wrong. */
#define AB_AUTH_REFUSED "authentication failed"
/* But for this one, with the same status: nothing was wrong with the login that a stream stands on.
 * An argobus agent knows it, and logs in without a word of alarm. */
#define AB_AUTH_AGAIN "the login has reached grpc.auth.token.refresh: log in again"

/* A DNS label and the NUL. */
#define AB_AUTH_AGENT_MAX 64
/* "autonomous" and the NUL. */
#define AB_AUTH_MODE_MAX 11
/* SHA-256. */
#define AB_AUTH_HASH_BYTES 32

typedef struct ab_auth ab_auth;

/** Options grpc.auth.*, of both roles. */
extern const ab_options ab_auth_options;

/* ----- the principal's side ----- */

/* What the connection and the call say of the peer. Borrowed for the call it is given to. */
typedef struct {
    const char *address; /* IP address as text, without the port; NUL-terminated */
    bool loopback;       /* it is of this machine */
    X509 *certificate;   /* the leaf that TLS has verified; NULL: none */
    /** The values of the metadata entry `name` (lower case) of this call: how many, and the first
     * of them. `first` is untouched when there is none. */
    size_t (*metadata)(void *arg, const char *name, ab_str *first);
    void *metadata_arg;
} ab_auth_peer;

/* A credential of AuthRequest. */
typedef struct {
    ab_str name;
    ab_str value;
} ab_auth_credential;

/* An AuthRequest. Borrowed for the call it is given to. */
typedef struct {
    ab_str method;
    ab_str mode;
    const ab_auth_credential *credentials;
    size_t credential_count;
} ab_auth_request;

/* Who a peer is. A plain value: copy it freely; it holds no secret. */
typedef struct {
    char agent[AB_AUTH_AGENT_MAX];
    char mode[AB_AUTH_MODE_MAX]; /* "managed" or "autonomous", as the agent says */
    const char *method;          /* by which it logged in; static */
    int64_t expires_s;           /* seconds since 1970: renew by then */
    int64_t until_s;             /* seconds since 1970: it cannot be renewed past this */
    bool bound;                  /* to the certificate that it logged in with: */
    uint8_t fingerprint[AB_AUTH_HASH_BYTES]; /* SHA-256 of that certificate (DER) */
    uint8_t mark[AB_AUTH_HASH_BYTES];        /* of the method: changes with the password */
} ab_auth_identity;

/* Outcome of a login or a refresh. Borrowed for the upcall; wiped after it. */
typedef struct {
    ab_auth_identity identity;
    ab_str access;  /* JWT */
    ab_str refresh; /* JWT; of a refresh: the same as before unless that ends soon */
} ab_auth_grant;

/**
 * @param code   OK: `grant` says who and with what. Else `grant` is NULL:
 *               DENIED: refused (UNAUTHENTICATED, AB_AUTH_REFUSED);
 *               FULL: this peer failed too often lately, or too many are waiting
 *               (RESOURCE_EXHAUSTED); CLOSED: stopping (UNAVAILABLE); NOMEM, FATAL (INTERNAL)
 * @param err    the reason, for tests and debugging; already logged; never shown to the peer
 */
typedef void (*ab_auth_done)(void *arg, ab_err code, const ab_error *err,
                             const ab_auth_grant *grant);

/* What authentication is given; everything borrowed, must outlive it. */
typedef struct {
    uv_loop_t *loop;
    const ab_config *config; /* reads grpc.auth.* */
    ab_log *log;             /* NULL: no log */
    ab_metrics *metrics;
    const ab_clock *clock;
    /** Whether `agent` is one of ours still; asked at a refresh. NULL: all are. */
    bool (*is_served)(void *arg, const char *agent);
    /** Whether the certificate of this fingerprint (SHA-256) is revoked, beside those of
     * grpc.auth.revoked. When its answers change, ab_auth_renew every open stream. NULL: none is.
     */
    bool (*is_revoked)(void *arg, const uint8_t fingerprint[AB_AUTH_HASH_BYTES]);
    /** Something was revoked or given back: ab_auth_renew every open stream now. NULL: none. */
    void (*on_changed)(void *arg);
    void *arg;
} ab_auth_env;

/**
 * Read the options and the files that they name, and watch those. A key to sign tokens with is made
 * when none is configured.
 * @param env  copied; what it points to is borrowed
 * @param out  owned by the caller: ab_auth_close, then ab_auth_free; after a failure nothing is
 *             left, once the loop has run
 * @return CONFIG naming option and file; NOMEM; FATAL (OpenSSL, libuv)
 */
AB_MUST_USE ab_err ab_auth_new(const ab_auth_env *env, ab_auth **out, ab_error *err);
/** Whether ab_auth_new takes the configuration and the files that it names.
 *  @return CONFIG naming option and file; NOMEM */
AB_MUST_USE ab_err ab_auth_check_config(const ab_config *config, ab_error *err);
/** Take nothing more; logins and refreshes under way end as CLOSED. `closed` is called once, after
 * the last of them. */
void ab_auth_close(ab_auth *a, void (*closed)(void *arg), void *arg);
/** Only after `closed`; NULL is allowed. */
void ab_auth_free(ab_auth *a);

/**
 * Log a peer in.
 * @param done  called once, later, unless this fails
 * @return NOMEM, CLOSED
 */
AB_MUST_USE ab_err ab_auth_authenticate(ab_auth *a, const ab_auth_peer *peer,
                                        const ab_auth_request *request, ab_auth_done done,
                                        void *arg);
/**
 * New tokens for a refresh token. Checks what ab_auth_verify checks, and that the agent is served.
 * @param token  as the peer sent it: any bytes
 * @param done   called once, later, unless this fails
 * @return NOMEM, CLOSED
 */
AB_MUST_USE ab_err ab_auth_refresh(ab_auth *a, const ab_auth_peer *peer, ab_str token,
                                   ab_auth_done done, void *arg);
/**
 * Who calls with this access token: signed by us, for access, in its time, by the peer whose
 * certificate it was given to; neither that certificate nor the credential was revoked since.
 * @param token  value of the metadata `authorization`, any bytes; absent: there was none
 * @return DENIED with the reason (as in ab_auth_done); NOMEM
 */
AB_MUST_USE ab_err ab_auth_verify(ab_auth *a, const ab_auth_peer *peer, ab_str token,
                                  ab_auth_identity *out, ab_error *err);
/**
 * Check an identity again and move its `expires_s` on, without the peer having to do anything: its
 * certificate and credential are still good.
 * @param peer      of the stream; its metadata as when the stream was opened
 * @param identity  of ab_auth_verify; unchanged when refused
 * @return TIMEOUT: nothing is wrong, and the agent must log in again; DENIED with the reason; NOMEM
 */
AB_MUST_USE ab_err ab_auth_renew(ab_auth *a, const ab_auth_peer *peer, ab_auth_identity *identity,
                                 ab_error *err);

/* ----- an agent's side ----- */

/* What an agent logs in with. */
typedef struct {
    ab_str method;                     /* borrowed from the configuration */
    ab_auth_credential credentials[2]; /* borrowed from `secret` */
    size_t credential_count;
    ab_buf secret;
} ab_auth_login;

/**
 * What to log in with now; reads grpc.auth.userpass.file again, so that a changed password counts.
 * @param out  owned by the caller: ab_auth_login_fini
 * @return CONFIG naming option and file, NOMEM
 */
AB_MUST_USE ab_err ab_auth_login_open(const ab_config *config, ab_auth_login *out, ab_error *err);
/** Wipe and release; `l` is zeroed or was opened. */
void ab_auth_login_fini(ab_auth_login *l);
