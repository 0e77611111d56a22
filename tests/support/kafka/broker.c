/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/kafka/broker.h"

#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADMIN_WAIT_MS 120000

static const char *home(void)
{
    const char *folder = getenv("KAFKA_DEV_HOME");
    if (folder == NULL)
        fail_msg("%s",
                 "KAFKA_DEV_HOME is not set: run this by ctest, or start a broker with kafka-dev");
    return folder;
}

void ab_broker_file(const char *name, char out[512])
{
    int len = snprintf(out, 512, "%s/%s", home(), name);
    assert_in_range(len, 1, 511);
}

void ab_broker_address(const char *listener, char out[32])
{
    char path[512];
    ab_broker_file("ports", path);
    FILE *ports = fopen(path, "re");
    if (ports == NULL)
        fail_msg("%s is missing: is the broker running?", path);
    char line[64];
    size_t len = strlen(listener);
    out[0] = '\0';
    while (fgets(line, sizeof(line), ports) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, listener, len) == 0 && line[len] == '=')
            snprintf(out, 32, "127.0.0.1:%.16s", line + len + 1);
    }
    fclose(ports);
    assert_true(out[0] != '\0');
}

void ab_broker_run(const char *fmt, ...)
{
    char arguments[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(arguments, sizeof(arguments), fmt, args);
    va_end(args);
    const char *script = getenv("KAFKA_DEV");
    assert_non_null(script);
    char command[1200];
    snprintf(command, sizeof(command), "'%s' %s >&2", script, arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

void ab_broker_own(const char *name)
{
    char folder[512];
    int len = snprintf(folder, sizeof(folder), "%s-%s", home(), name);
    assert_in_range(len, 1, 511);
    assert_int_equal(setenv("KAFKA_DEV_HOME", folder, 1), 0);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[512];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
        fail_msg("%s", text);
}

rd_kafka_t *ab_broker_admin_new(void)
{
    char address[32];
    ab_broker_address("plain", address);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", address);
    set(conf, "linger.ms", "0");
    set(conf, "message.max.bytes", "67108864");
    char text[512];
    rd_kafka_t *admin = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (admin == NULL)
        fail_msg("%s", text);
    return admin;
}

/* Topics */

/* Both an answered creation and an answered deletion take effect a moment later. */
static bool has_leader(rd_kafka_t *admin, const char *topic)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(admin, topic, NULL);
    assert_non_null(handle);
    const struct rd_kafka_metadata *metadata = NULL;
    bool found = false;
    if (rd_kafka_metadata(admin, 0, handle, &metadata, ADMIN_WAIT_MS) ==
        RD_KAFKA_RESP_ERR_NO_ERROR) {
        const struct rd_kafka_metadata_topic *t = &metadata->topics[0];
        found = t->err == RD_KAFKA_RESP_ERR_NO_ERROR && t->partition_cnt > 0;
        for (int i = 0; i < t->partition_cnt; i++)
            found = found && t->partitions[i].leader >= 0;
        rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(handle);
    return found;
}

static void until_leader(rd_kafka_t *admin, const char *topic, bool wanted)
{
    int64_t end = ab_clock_mono_ms(&ab_clock_real) + ADMIN_WAIT_MS;
    while (has_leader(admin, topic) != wanted) {
        if (ab_clock_mono_ms(&ab_clock_real) > end)
            fail_msg("topic %s did not %s", topic, wanted ? "appear" : "go");
        rd_kafka_poll(admin, 20);
    }
}

/* The one event that an admin call answers with; its error fails the test. */
static rd_kafka_event_t *answer(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_WAIT_MS);
    if (event == NULL)
        fail_msg("%s", "the broker did not answer");
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail_msg("%s", rd_kafka_event_error_string(event));
    return event;
}

static void check_topics(const rd_kafka_topic_result_t **results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_topic_result_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
            fail_msg("%s: %s", rd_kafka_topic_result_name(results[i]),
                     rd_kafka_err2name(rd_kafka_topic_result_error(results[i])));
    }
}

/* Takes the description. */
static void create(rd_kafka_t *admin, rd_kafka_NewTopic_t *new_topic, const char *topic,
                   const char *policy)
{
    rd_kafka_NewTopic_set_config(new_topic, "cleanup.policy", policy);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_CreateTopics(admin, &new_topic, 1, NULL, queue);
    rd_kafka_event_t *event = answer(queue);
    size_t count = 0;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    check_topics(results, count);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(new_topic);
    until_leader(admin, topic, true);
}

void ab_broker_topic_create(rd_kafka_t *admin, const char *topic, int partitions,
                            const char *policy)
{
    char text[512];
    rd_kafka_NewTopic_t *new_topic =
        rd_kafka_NewTopic_new(topic, partitions, 1, text, sizeof(text));
    assert_non_null(new_topic);
    create(admin, new_topic, topic, policy);
}

void ab_broker_topic_create_half(rd_kafka_t *admin, const char *topic, const char *policy)
{
    char text[512];
    int32_t replicas[] = {1, 2};
    rd_kafka_NewTopic_t *new_topic = rd_kafka_NewTopic_new(topic, 1, -1, text, sizeof(text));
    assert_non_null(new_topic);
    assert_int_equal(
        rd_kafka_NewTopic_set_replica_assignment(new_topic, 0, replicas, 2, text, sizeof(text)),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    create(admin, new_topic, topic, policy);
}

static void alter(rd_kafka_t *admin, const char *topic, const char *policy, const char *key,
                  const char *value)
{
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    assert_non_null(resource);
    rd_kafka_ConfigResource_set_config(resource, "cleanup.policy", policy);
    rd_kafka_ConfigResource_set_config(resource, key, value);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_AlterConfigs(admin, &resource, 1, NULL, queue);
    rd_kafka_event_t *event = answer(queue);
    size_t count = 0;
    const rd_kafka_ConfigResource_t **changed =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count);
    assert_int_equal(count, 1);
    assert_int_equal(rd_kafka_ConfigResource_error(changed[0]), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_ConfigResource_destroy(resource);
}

void ab_broker_topic_limit(rd_kafka_t *admin, const char *topic, const char *policy,
                           const char *largest)
{
    alter(admin, topic, policy, "max.message.bytes", largest);
}

void ab_broker_topic_need(rd_kafka_t *admin, const char *topic, const char *policy,
                          const char *replicas)
{
    alter(admin, topic, policy, "min.insync.replicas", replicas);
}

void ab_broker_topic_delete(rd_kafka_t *admin, const char *topic)
{
    rd_kafka_DeleteTopic_t *old = rd_kafka_DeleteTopic_new(topic);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_DeleteTopics(admin, &old, 1, NULL, queue);
    rd_kafka_event_t *event = answer(queue);
    size_t count = 0;
    const rd_kafka_topic_result_t **results =
        rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
    check_topics(results, count);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteTopic_destroy(old);
    until_leader(admin, topic, false);
}

void ab_broker_allow(rd_kafka_t *admin, const char *user, rd_kafka_AclOperation_t operation,
                     rd_kafka_ResourceType_t type, const char *prefix)
{
    char principal[128];
    char text[512];
    snprintf(principal, sizeof(principal), "User:%s", user);
    rd_kafka_AclBinding_t *binding =
        rd_kafka_AclBinding_new(type, prefix, RD_KAFKA_RESOURCE_PATTERN_PREFIXED, principal, "*",
                                operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, text, sizeof(text));
    if (binding == NULL)
        fail_msg("%s", text);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_CreateAcls(admin, &binding, 1, NULL, queue);
    rd_kafka_event_t *event = answer(queue);
    size_t count = 0;
    const rd_kafka_acl_result_t **results =
        rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count);
    assert_int_equal(count, 1);
    assert_null(rd_kafka_acl_result_error(results[0]));
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_AclBinding_destroy(binding);
}

/* The leader of a new topic may not know yet that it is. A broker that stood still is fenced, and
 * leads nothing until its next heartbeat: librdkafka calls that an unknown partition, and asks no
 * more. */
static bool is_without_leader(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

int64_t ab_broker_log_end(rd_kafka_t *admin, const char *topic)
{
    int64_t low = 0;
    int64_t high = 0;
    rd_kafka_resp_err_t code;
    int64_t end = ab_clock_mono_ms(&ab_clock_real) + ADMIN_WAIT_MS;
    while (is_without_leader(code = rd_kafka_query_watermark_offsets(admin, topic, 0, &low, &high,
                                                                     ADMIN_WAIT_MS)) &&
           ab_clock_mono_ms(&ab_clock_real) < end)
        until_leader(admin, topic, true);
    assert_int_equal(code, RD_KAFKA_RESP_ERR_NO_ERROR);
    return high;
}

static rd_kafka_resp_err_t trim(rd_kafka_t *admin, const char *topic)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(ends, topic, 0)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_DeleteRecords_t *wanted = rd_kafka_DeleteRecords_new(ends);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_DeleteRecords(admin, &wanted, 1, NULL, queue);
    rd_kafka_event_t *event = answer(queue);
    const rd_kafka_topic_partition_list_t *trimmed =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
    assert_int_equal(trimmed->cnt, 1);
    rd_kafka_resp_err_t code = trimmed->elems[0].err;
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteRecords_destroy(wanted);
    rd_kafka_topic_partition_list_destroy(ends);
    return code;
}

/* A policy that was changed takes effect in the log a moment after the answer. */
void ab_broker_log_trim(rd_kafka_t *admin, const char *topic)
{
    rd_kafka_resp_err_t code;
    int64_t end = ab_clock_mono_ms(&ab_clock_real) + ADMIN_WAIT_MS;
    while ((code = trim(admin, topic)) == RD_KAFKA_RESP_ERR_POLICY_VIOLATION &&
           ab_clock_mono_ms(&ab_clock_real) < end)
        rd_kafka_poll(admin, 20);
    assert_int_equal(code, RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Records */

static rd_kafka_headers_t *headers_of(const ab_broker_record *record)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(16);
    for (size_t i = 0; i < 16 && record->headers[i] != NULL; i++) {
        const char *text = record->headers[i];
        size_t name = strcspn(text, "=");
        assert_true(text[name] == '=');
        rd_kafka_header_add(headers, text, (ssize_t)name, text + name + 1, -1);
    }
    return headers;
}

/* librdkafka copies what it is given and takes it as void pointers. */
static void *bytes(const char *text)
{
    union {
        const char *in;
        void *out;
    } cast = {.in = text};
    return cast.out;
}

void ab_broker_write(rd_kafka_t *admin, const char *topic, const ab_broker_record *record)
{
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
        {.vtype = RD_KAFKA_VTYPE_KEY,
         .u.mem = {bytes(record->key), record->key == NULL ? 0 : strlen(record->key)}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {bytes(record->value), record->value_len}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers_of(record)},
    };
    rd_kafka_error_t *error = rd_kafka_produceva(admin, parts, sizeof(parts) / sizeof(parts[0]));
    if (error != NULL)
        fail_msg("%s", rd_kafka_error_string(error));
    assert_int_equal(rd_kafka_flush(admin, ADMIN_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}
