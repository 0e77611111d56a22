/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is to know about an agent that is to be created or deleted: checked, since all of it
 * ends up in manifests.
 */
#pragma once

#include "services/ctl/command.h"

typedef struct {
    const char *agent;
    const char *mode;           /* managed or autonomous */
    const char *transport;      /* kafka or grpc */
    const char *mapping;        /* namespace or destination */
    const char *namespace_name; /* of Argo CD, in both clusters */
    const char *brokers;        /* host:port, separated by commas; kafka */
    const char *prefix;         /* of topics; kafka */
    const char *address;        /* host:port of the principal; grpc */
    const char *live_server;    /* where argocd-server finds the agent's cluster */
    const char *strimzi;        /* name of the Kafka resource; NULL: without Strimzi */
} ab_onboarding;

/** Check the name of an agent. @return INVALID: what to do */
AB_MUST_USE ab_err ab_onboarding_check_name(const char *agent, ab_error *err);
/** Read the flags of "agent create". All borrowed from the command line.
 *  @return INVALID: which is missing, wrong, or contradicts another, and what to do */
AB_MUST_USE ab_err ab_onboarding_read(const ab_ctl *ctl, ab_onboarding *out, ab_error *err);
