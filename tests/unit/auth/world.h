/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal's authentication with its loop, clock, folder of files and metrics; peers that call
 * it. What fails here fails the test.
 */
#pragma once

#include "auth/auth.h"
#include "tests/unit/base/crypto/made_cert.h"

#define WORLD_SET_MAX 16

/* What a login or a refresh came to. */
typedef struct {
    bool ended;
    ab_err code;
    ab_error err;
    ab_auth_identity identity;
    char access[4096];
    char refresh[4096];
} outcome;

/* The metadata of a call: one entry, given `header_count` times. */
typedef struct {
    const char *header;
    const char *value;
    size_t header_count;
    ab_auth_peer peer; /* hand this out */
} caller;

typedef struct {
    char folder[64];
    uv_loop_t loop;
    ab_clock clock;
    int64_t mono_ms;
    int64_t wall_us;
    ab_log *log; /* the test's, set before world_open; NULL: nothing is logged */
    ab_metrics *metrics;
    ab_config *config;
    ab_auth *auth;
    ab_error err;         /* why it could not be opened */
    const char *unserved; /* an agent that is no longer served */
    const X509 *revoked;  /* a certificate that is revoked, though the file does not say so */
    int changes;          /* calls of on_changed */
    bool closed;
} world;

/** A folder, a loop and a clock that stands at the real time; nothing is opened yet. */
void world_init(world *w);
/** Write a file in the folder, at once as a mounted ConfigMap would. */
void world_write(const world *w, const char *name, const char *text);
/** Open with "key=value" settings, the last NULL; "%s" in a value is the folder. Tokens are signed
 * with `token.key` of the folder. */
ab_err world_open(world *w, const char *const *settings);
/** Close what was opened and keep the folder, to open anew. */
void world_close(world *w);
void world_fini(world *w);
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/** Run the loop until `done` is true; fails after 10 seconds. */
void world_wait(world *w, const bool *done);
/** Run the loop until on_changed was called so often. */
void world_wait_changes(world *w, int count);
double world_metric(const world *w, const char *line);

/** A peer at `address` with this certificate (PEM; NULL: none). */
void caller_init(caller *c, const char *address, const char *cert);
void caller_fini(caller *c);

/** Log in and wait. `user` NULL: no credentials. */
outcome log_in(world *w, const caller *c, const char *method, const char *mode, const char *user,
               const char *password);
/** The same without waiting: `out` is filled in when the loop runs. */
void begin_login(world *w, const caller *c, const char *method, const char *mode, const char *user,
                 const char *password, outcome *out);
outcome refresh(world *w, const caller *c, const char *token);
/** OK, or DENIED with `reason` as its text. */
void assert_refused(const outcome *o, const char *reason);
void assert_granted(const outcome *o, const char *agent);
void assert_verified(world *w, const caller *c, const char *token, const char *agent);
void assert_not_verified(world *w, const caller *c, const char *token, const char *reason);
