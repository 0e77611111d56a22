/* SPDX-License-Identifier: Apache-2.0
 *
 * The four topics of an agent and its ACLs, at the brokers of a configuration: the same that
 * deploy/kafka/provision makes, but for the quota, which librdkafka has no request for. Only these
 * names are ever asked for, each in full: w1 has nothing of w10, nor of topics "...w1.x".
 */
#pragma once

#include "services/ctl/command.h"

#include <stdio.h>

typedef struct ab_provision ab_provision;

#define AB_PROVISION_FLAG_USER                                                                     \
    {                                                                                              \
        "kafka-user", "NAME", "Kafka's user of the agent (default: the agent's name)"              \
    }

/**
 * Read the configuration in --config. No network.
 * @param agent  checked; borrowed from the command line, as `ctl`
 * @param out    owned by the caller: ab_provision_free
 * @return INVALID: --kafka-user is wrong; CONFIG: the file is wrong; NOMEM
 */
AB_MUST_USE ab_err ab_provision_new(const ab_ctl *ctl, const char *agent, ab_provision **out,
                                    ab_error *err);
/** kafka.prefix of the configuration; borrowed. */
const char *ab_provision_prefix(const ab_provision *p);
/**
 * Create what does not exist, and leave what exists.
 * @param dry_run  only say what would be created
 * @param report   gets one line for each topic and ACL
 * @return EXISTS: a topic is not as it must be, and nothing was created; UNAVAILABLE: no broker
 * answers; DENIED, TIMEOUT: says what the brokers refused
 */
AB_MUST_USE ab_err ab_provision_make(ab_provision *p, bool dry_run, FILE *report, ab_error *err);
/** Delete what exists, with all records. @return as ab_provision_make, without EXISTS */
AB_MUST_USE ab_err ab_provision_delete(ab_provision *p, bool dry_run, FILE *report, ab_error *err);
/** The command that sets the agent's quota. */
void ab_provision_say_quota(const ab_provision *p, FILE *report);
/** NULL is allowed. */
void ab_provision_free(ab_provision *p);
