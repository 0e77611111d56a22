/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program must be allowed to do at the brokers. A client cannot ask for its own rights: ACLs
 * are shown to administrators only, and say nothing of other authorizers, of super users and of
 * groups; librdkafka does not ask for authorized operations (KIP-430). So each right is tried, by a
 * request that the broker can only refuse or answer, and that changes nothing:
 *
 *   Describe         the metadata of the topic, which all of the check begins with
 *   Read on a topic  a fetch from its end
 *   Write            a record with acks=2, which is checked for rights first and then refused,
 *                    since there is no such level since Kafka 0.9. Should a broker take it: it has
 *                    no key and no attributes, so compacted topics and peers refuse it
 *   DescribeConfigs  the settings of the topic
 *   Read on a group  a commit for a partition that no topic has, which is refused when the rights
 *                    have been checked
 *   Create           a topic that is validated only
 *
 * Delete cannot be tried without risk, and so is not.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/kafka/client.h"

/* A topic that exists, and what the program does with it. */
typedef struct {
    char name[AB_TOPIC_NAME_MAX];
    const char *agent; /* borrowed */
    bool reads;
    bool writes;
    bool hidden;               /* its settings are not shown */
    rd_kafka_resp_err_t read;  /* what the broker answered */
    rd_kafka_resp_err_t write; /* the same */
} ab_check_topic;

/**
 * Try every right, and add a finding for each topic and group.
 * @param settings  of a client that is open
 * @param topics    get sorted by name
 */
void ab_check_grants(const ab_setup *s, const ab_kafka_settings *settings, ab_check_topic *topics,
                     size_t count, ab_findings *out);
/** Add that a right on a topic is missing, with the command that grants it.
 * @param operation  as kafka-acls.sh names it */
void ab_check_grant_missing(const ab_setup *s, ab_severity severity, const char *topic,
                            const char *operation, const char *what, ab_findings *out);
