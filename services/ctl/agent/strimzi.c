/* SPDX-License-Identifier: Apache-2.0
 *
 * Names are those of schema/topics.h. A test compares the rest with deploy/kafka/strimzi.
 */
#include "schema/topics.h"
#include "services/ctl/agent/manifests.h"

static void begin(const ab_onboarding *o, const char *kind, const char *name, ab_buf *out)
{
    ab_buf_printf(out,
                  "apiVersion: kafka.strimzi.io/v1\nkind: %s\nmetadata:\n  name: \"%s\"\n"
                  "  labels:\n    strimzi.io/cluster: \"%s\"\nspec:\n",
                  kind, name, o->strimzi);
}

static void put_state_settings(ab_buf *out)
{
    ab_buf_puts(out, "    cleanup.policy: compact\n    min.insync.replicas: 2\n"
                     "    segment.ms: 86400000\n    segment.jitter.ms: 14400000\n"
                     "    max.compaction.lag.ms: 172800000\n    min.cleanable.dirty.ratio: 0.3\n"
                     "    delete.retention.ms: 1209600000\n");
}

static void put_live_settings(ab_buf *out)
{
    ab_buf_puts(out, "    cleanup.policy: delete\n    min.insync.replicas: 1\n"
                     "    segment.ms: 600000\n    retention.ms: 600000\n"
                     "    retention.bytes: 268435456\n");
}

static void put_topic(const ab_onboarding *o, ab_direction direction, bool live, ab_buf *out)
{
    char name[AB_TOPIC_NAME_MAX];
    (void)ab_topic_format(o->prefix, direction, o->agent, live, name); /* checked before */
    begin(o, "KafkaTopic", name, out);
    ab_buf_puts(out, "  partitions: 1\n  replicas: 3\n  config:\n"
                     "    max.message.bytes: 4194304\n    segment.bytes: 33554432\n"
                     "    message.timestamp.type: LogAppendTime\n");
    if (live)
        put_live_settings(out);
    else
        put_state_settings(out);
    ab_buf_puts(out, "---\n");
}

static void put_acl(const char *type, const char *name, const char *pattern, const char *operations,
                    ab_buf *out)
{
    ab_buf_printf(out,
                  "      - resource: {type: %s, name: \"%s\", patternType: %s}\n"
                  "        operations: [%s]\n",
                  type, name, pattern, operations);
}

/* Up to and with the dot, so that the prefix of w1 does not cover w10. */
static void put_topic_acl(const ab_onboarding *o, ab_direction direction, const char *operations,
                          ab_buf *out)
{
    char name[AB_TOPIC_NAME_MAX];
    (void)ab_topic_format(o->prefix, direction, o->agent, false, name);
    name[strlen(name) - strlen("state")] = '\0';
    put_acl("topic", name, "prefix", operations, out);
}

void ab_onboarding_put_strimzi(const ab_onboarding *o, ab_buf *out)
{
    char group[AB_TOPIC_NAME_MAX];
    put_topic(o, AB_DOWN, false, out);
    put_topic(o, AB_DOWN, true, out);
    put_topic(o, AB_UP, false, out);
    put_topic(o, AB_UP, true, out);
    begin(o, "KafkaUser", o->agent, out);
    ab_buf_puts(out, "  authentication: {type: tls-external}\n  authorization:\n"
                     "    type: simple\n    acls:\n");
    put_topic_acl(o, AB_DOWN, "Read, Describe", out);
    put_topic_acl(o, AB_UP, "Read, Write, Describe", out);
    (void)ab_group_agent(o->prefix, o->agent, group);
    put_acl("group", group, "literal", "Read", out);
    (void)ab_group_agent_live(o->prefix, o->agent, group);
    put_acl("group", group, "literal", "Read", out);
    ab_buf_puts(out, "  quotas: {producerByteRate: 2097152, consumerByteRate: 8388608, "
                     "requestPercentage: 10}\n");
}
