/* SPDX-License-Identifier: Apache-2.0
 *
 * Self-registration: an agent that has proved who it is, and that no cluster Secret names, gets
 * one. The registry then learns of the agent from the store's watch, as of any other. Loop thread.
 *
 *   unknown --asked--> queued --Secret created--> registered (served), or waiting for approval
 *                                                      ^------ label argobus.io/approved ------'
 *
 * A Secret is created when its agent logs in and at no other time: one that is deleted stays away
 * until the agent logs in again. Writes are at most AB_REGISTRATION_RATE a second, whatever asks.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "store/store.h"

#define AB_REGISTRATION_RATE 10 /* writes a second */

typedef struct ab_registration ab_registration;

/* Everything borrowed; must outlive it, but for `config`, which may be another one later. */
typedef struct {
    const ab_config *config;
    ab_store *store;
    const ab_clock *clock;
    ab_log *log;
    ab_metrics *metrics; /* argobus_registrations_waiting, argobus_registrations_total */
    /** Whether something names the agent already. */
    bool (*is_served)(void *arg, const char *agent);
    void *arg;
} ab_registration_env;

/** The options registration.*. */
extern const ab_options ab_registration_options;

/** Whether the options registration.* are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_registration_check(const ab_config *config, ab_error *err);
/** @param env  copied
 *  @param out  owned by the caller: ab_registration_free; NULL without registration.enabled
 *  @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_registration_new(const ab_registration_env *env, ab_registration **out,
                                       ab_error *err);
/** When the store has been freed. NULL is allowed, here and below. */
void ab_registration_free(ab_registration *r);
/**
 * An agent that is not served has proved who it is.
 *
 * @param claimed  the mode that it says it has
 * @param labels   that it brings (schema/labels.h); any text
 * @param listed   whether the cluster Secrets are known; else the decision is taken later
 * @return false: it may not register; `why` is for the agent
 */
bool ab_registration_ask(ab_registration *r, const char *agent, const char *claimed, ab_str labels,
                         bool listed, ab_error *why);
/** A Secret of the store, whatever it is for. */
void ab_registration_on_updated(ab_registration *r, const ab_object *secret);
void ab_registration_on_deleted(ab_registration *r, const ab_object *secret);
/** Write what is to be written. Call it several times a second once the store was listed. */
void ab_registration_tick(ab_registration *r);
