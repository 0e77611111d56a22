/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal may do with the Kubernetes API of this agent. The agent decides, whatever the
 * principal believes, and it decides alike for each way to an object: requests, logs and terminals.
 * What is not allowed is refused with a text that names the option.
 *
 *   live.kubernetes.policy  off: nothing; managed: what Argo CD manages, events and discovery; all
 *   then verbs, namespaces, Secrets, and whether terminals may be opened
 *
 * Loop thread. No I/O: whether an object is managed is a question that the caller answers by
 * reading it (live/resource/spoke/managed.h).
 */
#pragma once

#include "base/config/config.h"
#include "base/core/pattern.h"
#include "live/resource/map.h"

typedef enum { AB_RESOURCE_OFF, AB_RESOURCE_MANAGED, AB_RESOURCE_ALL } ab_resource_reach;

typedef enum {
    AB_RESOURCE_SECRETS_MASKED,  /* names and keys are shown, values are not */
    AB_RESOURCE_SECRETS_REFUSED, /* no request for Secrets is served */
    AB_RESOURCE_SECRETS_CLEAR,
} ab_resource_secrets;

typedef struct {
    ab_resource_reach reach;
    ab_resource_secrets secrets;
    bool exec;
    bool verbs[AB_RESOURCE_CONNECT + 1];
    ab_patterns *namespaces; /* NULL: all, and what has no namespace */
} ab_resource_policy;

/* The rows of the agent's option table. */
#define AB_RESOURCE_POLICY_OPTION_ROWS                                                             \
    {.name = "live.kubernetes.policy",                                                             \
     .kind = AB_OPT_ENUM,                                                                          \
     .deflt = "managed",                                                                           \
     .choices = "managed|all|off",                                                                 \
     .help = "What the principal may read and change through live access: objects that Argo CD "   \
             "manages, all that the agent's account may, or nothing."},                            \
        {.name = "live.kubernetes.verbs",                                                          \
         .kind = AB_OPT_LIST,                                                                      \
         .help = "Verbs that live access may use; unset: get, list, watch, create, update, "       \
                 "patch, delete. deletecollection must be named."},                                \
        {.name = "live.kubernetes.namespaces",                                                     \
         .kind = AB_OPT_LIST,                                                                      \
         .help = "Patterns (globs, /regex/) of the namespaces that live access may reach; unset: " \
                 "all, and objects without a namespace."},                                         \
        {.name = "live.kubernetes.secrets",                                                        \
         .kind = AB_OPT_ENUM,                                                                      \
         .deflt = "masked",                                                                        \
         .choices = "masked|refused|clear",                                                        \
         .help = "Whether live access shows Secrets with their values masked, not at all, or in "  \
                 "clear."},                                                                        \
    {                                                                                              \
        .name = "live.exec", .kind = AB_OPT_BOOL, .deflt = "false",                                \
        .help = "Whether live access may open terminals in containers (exec and attach), and "     \
                "start ephemeral containers.",                                                     \
    }

typedef enum {
    AB_RESOURCE_ALLOWED,
    AB_RESOURCE_REFUSED,
    AB_RESOURCE_IF_MANAGED, /* the object, or for CREATE of one the body, must be managed */
} ab_resource_decision;

/** @param out  to be ended with fini @return CONFIG names the option and its value; NOMEM */
AB_MUST_USE ab_err ab_resource_policy_load(const ab_config *config, ab_resource_policy *out,
                                           ab_error *err);
void ab_resource_policy_fini(ab_resource_policy *p);
/**
 * Decide.
 *
 * @param type  Content-Type of the body; absent: none
 * @param body  it; absent: none
 * @param why   REFUSED: what refuses it, for people
 */
ab_resource_decision ab_resource_policy_decide(const ab_resource_policy *p,
                                               const ab_resource_map *m, ab_str type, ab_str body,
                                               ab_error *why);
/** True when answers to this request hold Secrets that are to be masked. */
bool ab_resource_policy_masks(const ab_resource_policy *p, const ab_resource_map *m);
