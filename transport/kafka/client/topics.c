/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/topics.h"

#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS 3600000LL

static ab_kafka_topic_state *find(ab_kafka_topic_state *topics, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    }
    return NULL;
}

static void judge(const ab_kafka_settings *s, ab_kafka_topic_state *t,
                  const rd_kafka_metadata_topic_t *m)
{
    if (ab_kafka_is_missing(m->err))
        return;
    t->missing = false;
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR && m->err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
        ab_fail(&t->error, AB_ERR_UNAVAILABLE, "topic %s: %s", t->name, rd_kafka_err2str(m->err));
        t->error.foreign = (int)m->err;
        return;
    }
    if (m->partition_cnt != 1 && s->topics != AB_TOPICS_EXTERNAL) {
        ab_fail(&t->error, AB_ERR_UNAVAILABLE,
                "topic %s has %d partitions, must have 1: delete it and create it again", t->name,
                m->partition_cnt);
        return;
    }
    if (m->partition_cnt < 1 || m->partitions[0].leader < 0) {
        ab_fail(&t->error, AB_ERR_UNAVAILABLE, "topic %s has no leader yet", t->name);
        return;
    }
    t->usable = true;
    t->leader = m->partitions[0].leader;
    t->error = (ab_error){0};
}

static void judge_all(const ab_kafka_settings *s, ab_kafka_topic_state *topics, size_t count,
                      const rd_kafka_metadata_t *metadata)
{
    for (size_t i = 0; i < count; i++) {
        topics[i].usable = false;
        topics[i].missing = true;
        ab_fail(&topics[i].error, AB_ERR_UNAVAILABLE,
                "topic %s does not exist (or is not visible): create it with "
                "deploy/kafka/provision agent %s, or set kafka.topics: create at the principal",
                topics[i].name, topics[i].agent);
    }
    for (int i = 0; i < metadata->topic_cnt; i++) {
        ab_kafka_topic_state *t = find(topics, count, metadata->topics[i].topic);
        if (t != NULL)
            judge(s, t, &metadata->topics[i]);
    }
}

/* librdkafka asks for topics by its own objects for them; they live while the request runs. */
static void hold_topics(rd_kafka_t *rk, const ab_kafka_topic_state *topics, size_t count,
                        rd_kafka_topic_t **held)
{
    for (size_t i = 0; i < count; i++)
        held[i] = rd_kafka_topic_new(rk, topics[i].name, NULL);
}

static void release_topics(size_t count, rd_kafka_topic_t **held)
{
    for (size_t i = 0; i < count; i++) {
        if (held[i] != NULL)
            rd_kafka_topic_destroy(held[i]);
    }
    free(held);
}

ab_err ab_kafka_topics_inspect(const ab_kafka_settings *s, rd_kafka_t *rk,
                               ab_kafka_topic_state *topics, size_t count, ab_error *err)
{
    rd_kafka_topic_t **held = calloc(count + 1, sizeof(rd_kafka_topic_t *));
    if (held == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory checking topics");
    hold_topics(rk, topics, count, held);
    const rd_kafka_metadata_t *metadata = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, NULL, &metadata, AB_KAFKA_REQUEST_MS);
    release_topics(count, held);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return ab_kafka_fail(err, code, "no broker returned topic metadata");
    judge_all(s, topics, count, metadata);
    rd_kafka_metadata_destroy(metadata);
    return AB_ERR_OK;
}

static bool put(rd_kafka_NewTopic_t *topic, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return rd_kafka_NewTopic_set_config(topic, key, text) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool configure_state(const ab_config *c, rd_kafka_NewTopic_t *topic)
{
    int64_t replicas = ab_config_int(c, "kafka.replication-factor");
    int64_t in_sync = ab_config_int(c, "kafka.min-insync-replicas");
    int64_t segment_ms = ab_config_int(c, "kafka.segment-time");
    return rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "compact") ==
               RD_KAFKA_RESP_ERR_NO_ERROR &&
           put(topic, "min.insync.replicas", in_sync < replicas ? in_sync : replicas) &&
           put(topic, "segment.bytes", 32 * 1024 * 1024) && put(topic, "segment.ms", segment_ms) &&
           put(topic, "segment.jitter.ms", segment_ms / 6) &&
           put(topic, "max.compaction.lag.ms", 2 * segment_ms) &&
           rd_kafka_NewTopic_set_config(topic, "min.cleanable.dirty.ratio", "0.3") ==
               RD_KAFKA_RESP_ERR_NO_ERROR &&
           put(topic, "delete.retention.ms", ab_config_int(c, "kafka.delete-retention"));
}

static bool configure_live(rd_kafka_NewTopic_t *topic)
{
    return rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "delete") ==
               RD_KAFKA_RESP_ERR_NO_ERROR &&
           put(topic, "min.insync.replicas", 1) && put(topic, "retention.ms", HOUR_MS / 6) &&
           put(topic, "segment.ms", HOUR_MS / 6) && put(topic, "segment.bytes", 32 * 1024 * 1024) &&
           put(topic, "retention.bytes", 256 * 1024 * 1024);
}

static rd_kafka_NewTopic_t *describe(const ab_kafka_settings *s, const ab_kafka_topic_state *t)
{
    char why[256];
    int replicas = (int)ab_config_int(s->config, "kafka.replication-factor");
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(t->name, 1, replicas, why, sizeof(why));
    if (topic == NULL)
        return NULL;
    /* The broker's clock alone counts: by those of writers it would refuse what is an hour ahead.
     */
    bool ok = put(topic, "max.message.bytes", s->message_max_bytes) &&
              rd_kafka_NewTopic_set_config(topic, "message.timestamp.type", "LogAppendTime") ==
                  RD_KAFKA_RESP_ERR_NO_ERROR &&
              (t->live ? configure_live(topic) : configure_state(s->config, topic));
    if (ok)
        return topic;
    rd_kafka_NewTopic_destroy(topic);
    return NULL;
}

/* The broker's text does not say where its number comes from. */
static const char *option_of(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR
               ? " Set kafka.replication-factor to at most the number of brokers."
               : "";
}

static void read_made(rd_kafka_event_t *event, ab_kafka_topic_state *topics, size_t count)
{
    size_t n = 0;
    const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
    const rd_kafka_topic_result_t **made =
        result == NULL ? NULL : rd_kafka_CreateTopics_result_topics(result, &n);
    for (size_t i = 0; i < n; i++) {
        ab_kafka_topic_state *t = find(topics, count, rd_kafka_topic_result_name(made[i]));
        rd_kafka_resp_err_t code = rd_kafka_topic_result_error(made[i]);
        if (t == NULL)
            continue;
        t->made = code == RD_KAFKA_RESP_ERR_NO_ERROR;
        /* An answer is not a usable topic: it is looked at again. */
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            ab_fail(&t->error, AB_ERR_UNAVAILABLE, "creating topic %s", t->name);
        else
            ab_fail(&t->error, AB_ERR_UNAVAILABLE, "cannot create topic %s: %s%s", t->name,
                    rd_kafka_topic_result_error_string(made[i]), option_of(code));
    }
}

void ab_kafka_topics_make(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                          size_t count)
{
    rd_kafka_NewTopic_t **wanted = calloc(count, sizeof(rd_kafka_NewTopic_t *));
    size_t n = 0;
    for (size_t i = 0; wanted != NULL && i < count; i++) {
        if (topics[i].missing && (wanted[n] = describe(s, &topics[i])) != NULL)
            n++;
    }
    if (n > 0) {
        ab_kafka_admin a =
            ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_CREATETOPICS, AB_KAFKA_REQUEST_MS);
        rd_kafka_CreateTopics(rk, wanted, n, a.options, a.queue);
        rd_kafka_event_t *event = ab_kafka_admin_await(&a);
        read_made(event, topics, count);
        rd_kafka_event_destroy(event);
        rd_kafka_NewTopic_destroy_array(wanted, n);
    }
    free(wanted);
}

static ab_err read_tried(rd_kafka_event_t *event, const char *name, ab_error *err)
{
    size_t n = 0;
    ab_err e = ab_kafka_admin_check(event, err);
    if (e != AB_ERR_OK)
        return e;
    const rd_kafka_topic_result_t **tried =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
    for (size_t i = 0; i < n && e == AB_ERR_OK; i++) {
        rd_kafka_resp_err_t code = rd_kafka_topic_result_error(tried[i]);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            continue;
        e = ab_fail(err, ab_kafka_err(code), "topic %s could not be created: %s%s", name,
                    rd_kafka_topic_result_error_string(tried[i]), option_of(code));
        err->foreign = (int)code;
    }
    return e;
}

ab_err ab_kafka_topics_try(const ab_kafka_settings *s, rd_kafka_t *rk, const char *name,
                           ab_error *err)
{
    char why[256];
    const ab_kafka_topic_state state = {.name = name};
    rd_kafka_NewTopic_t *wanted = describe(s, &state);
    if (wanted == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory trying to create a topic");
    ab_kafka_admin a =
        ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_CREATETOPICS, AB_KAFKA_REQUEST_MS);
    if (rd_kafka_AdminOptions_set_validate_only(a.options, 1, why, sizeof(why)) ==
        RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_CreateTopics(rk, &wanted, 1, a.options, a.queue);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    ab_err e = read_tried(event, name, err);
    rd_kafka_event_destroy(event);
    rd_kafka_NewTopic_destroy(wanted);
    return e;
}

static ab_err read_deleted(rd_kafka_event_t *event, ab_error *err)
{
    ab_err e = ab_kafka_admin_check(event, err);
    size_t n = 0;
    const rd_kafka_DeleteTopics_result_t *result = rd_kafka_event_DeleteTopics_result(event);
    const rd_kafka_topic_result_t **deleted =
        result == NULL ? NULL : rd_kafka_DeleteTopics_result_topics(result, &n);
    for (size_t i = 0; i < n && e == AB_ERR_OK; i++) {
        rd_kafka_resp_err_t code = rd_kafka_topic_result_error(deleted[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && !ab_kafka_is_missing(code))
            e = ab_kafka_fail(err, code, rd_kafka_topic_result_name(deleted[i]));
    }
    return e;
}

ab_err ab_kafka_topics_delete(rd_kafka_t *rk, const ab_kafka_topic_state *topics, size_t count,
                              ab_error *err)
{
    rd_kafka_DeleteTopic_t **unwanted = calloc(count, sizeof(rd_kafka_DeleteTopic_t *));
    if (unwanted == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory deleting topics");
    for (size_t i = 0; i < count; i++)
        unwanted[i] = rd_kafka_DeleteTopic_new(topics[i].name);
    ab_kafka_admin a =
        ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_DELETETOPICS, AB_KAFKA_REQUEST_MS);
    rd_kafka_DeleteTopics(rk, unwanted, count, a.options, a.queue);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    ab_err e = read_deleted(event, err);
    rd_kafka_event_destroy(event);
    rd_kafka_DeleteTopic_destroy_array(unwanted, count);
    free(unwanted);
    return e;
}

/* A topic that takes less is of use: what it does not take is refused, each event alone. */
static void check_entry(const ab_kafka_settings *s, ab_kafka_topic_state *t, const char *key,
                        const char *value)
{
    const char *policy = t->live ? "delete" : "compact";
    int64_t largest = strtoll(value, NULL, 10);
    bool is_limit = strcmp(key, "max.message.bytes") == 0;
    char wanted[64] = "";
    if (strcmp(key, "cleanup.policy") == 0 && strcmp(value, policy) != 0)
        snprintf(wanted, sizeof(wanted), "%s", policy);
    if (is_limit && largest < s->message_max_bytes)
        snprintf(wanted, sizeof(wanted), "%" PRId64, s->message_max_bytes);
    if (wanted[0] == '\0' || !t->usable)
        return;
    t->usable = is_limit;
    ab_fail(&t->error, AB_ERR_UNAVAILABLE,
            "topic %s has %s=%s, must be %s: kafka-configs --alter --topic %s --add-config %s=%s",
            t->name, key, value, wanted, t->name, key, wanted);
}

static void check_resource(const ab_kafka_settings *s, ab_kafka_topic_state *t,
                           const rd_kafka_ConfigResource_t *resource)
{
    /* Without the right to see settings (DescribeConfigs) they are trusted: agents need not have
     * it. */
    t->hidden = rd_kafka_ConfigResource_error(resource) != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (t->hidden)
        return;
    size_t n = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &n);
    for (size_t i = 0; i < n; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (value != NULL)
            check_entry(s, t, rd_kafka_ConfigEntry_name(entries[i]), value);
    }
}

static void read_configs(const ab_kafka_settings *s, rd_kafka_event_t *event,
                         ab_kafka_topic_state *topics, size_t count)
{
    size_t n = 0;
    const rd_kafka_DescribeConfigs_result_t *result = rd_kafka_event_DescribeConfigs_result(event);
    const rd_kafka_ConfigResource_t **resources =
        result == NULL ? NULL : rd_kafka_DescribeConfigs_result_resources(result, &n);
    for (size_t i = 0; i < n; i++) {
        ab_kafka_topic_state *t = find(topics, count, rd_kafka_ConfigResource_name(resources[i]));
        if (t != NULL)
            check_resource(s, t, resources[i]);
    }
}

static rd_kafka_ConfigResource_t *ask_about(const char *topic)
{
    rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    /* With names, only these are answered; the values say nothing here. */
    if (r != NULL) {
        rd_kafka_ConfigResource_set_config(r, "cleanup.policy", "");
        rd_kafka_ConfigResource_set_config(r, "max.message.bytes", "");
    }
    return r;
}

void ab_kafka_topics_check(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                           size_t count)
{
    rd_kafka_ConfigResource_t **asked = calloc(count, sizeof(rd_kafka_ConfigResource_t *));
    size_t n = 0;
    for (size_t i = 0; asked != NULL && i < count; i++) {
        if (topics[i].usable && (asked[n] = ask_about(topics[i].name)) != NULL)
            n++;
    }
    if (n > 0) {
        ab_kafka_admin a =
            ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, AB_KAFKA_REQUEST_MS);
        rd_kafka_DescribeConfigs(rk, asked, n, a.options, a.queue);
        rd_kafka_event_t *event = ab_kafka_admin_await(&a);
        read_configs(s, event, topics, count);
        rd_kafka_event_destroy(event);
        rd_kafka_ConfigResource_destroy_array(asked, n);
    }
    free(asked);
}
