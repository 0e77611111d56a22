/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of this folder only.
 */
#pragma once

#include "base/core/file.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "live/resource/agent_key.h"
#include "services/principal/registration/policy.h"
#include "services/principal/registration/registration.h"
#include "services/principal/registration/secret.h"

#define AB_REGISTRATION_CA_MAX (64u * 1024)

/** The file of the CAs; NULL: none. */
const char *ab_registration_ca_file(const ab_config *c);
/** Append the certificates that it holds, and nothing else of it. @param path  NULL: nothing.
 * @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_registration_read_ca(const char *path, ab_buf *out, ab_error *err);

/* An agent that has no Secret yet. */
struct ab_registering {
    const char *mode;
    bool busy;     /* its Secret is being created */
    bool decided;  /* the policy allows it */
    size_t labels; /* bytes of what it brings */
    char text[];   /* that */
};

/* A self-registered Secret. */
struct ab_registered {
    char agent[64];
    bool waiting;
    bool stale; /* may say other data than it is to say */
    bool busy;  /* is being read or written */
};

struct ab_registration {
    ab_registration_env env;
    ab_registration_policy policy;
    ab_registration_form form;
    char *server;
    char *namespace;
    char *ca_file; /* NULL: none */
    ab_agent_key *key;
    uint64_t key_number;
    ab_file_stamps ca_stamps;
    ab_buf ca;
    size_t max;
    ab_map *queued;  /* by agent: struct ab_registering */
    ab_map *secrets; /* by key: struct ab_registered */
    ab_map *owners;  /* by agent: size_t, its Secrets */
    ab_map *others;  /* by key of another cluster Secret: the name of its cluster */
    ab_map *names;   /* by such a name: size_t, how many have it */
    size_t stale;
    size_t waiting;
    ab_backoff backoff;
    int64_t retry_at;   /* mono_ms: nothing is written before */
    int64_t window_ms;  /* when the current second began */
    size_t written;     /* in it */
    ab_log_quota lines; /* of all who register: names cost nothing */
};

/* ---- writes.c ---- */

/** May a line about an agent that registers go into the log? It tells r->lines.held_back. */
bool ab_registration_may_log(ab_registration *r);
/** Count a result: created, refreshed, refused, failed. */
void ab_registration_count(const ab_registration *r, const char *result);
/** Set one of the flags above, whose number is `counter`. */
void ab_registration_set_flag(bool *flag, bool value, size_t *counter);
/** Does the Secret say what it is to say now? */
bool ab_registration_has_current(const ab_registration *r, const char *agent,
                                 const ab_object *secret);
/** Create the Secret of an agent. */
void ab_registration_write(ab_registration *r, const char *agent, struct ab_registering *q);
/** Read a Secret that may be out of date, and write what it is to say. Without memory at a later
 * tick. */
void ab_registration_renew(ab_registration *r, ab_str key, struct ab_registered *known);
