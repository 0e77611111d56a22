/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kafka/grants.h"

#include "base/core/clock.h"
#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/topics.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_MS     15000
#define POLL_MS       100
#define REMEDY_MAX    (AB_KAFKA_BROKERS_MAX + 2048)
#define OPERATION_MAX 32
#define CREATE        "Create"
#define NO_PARTITION  1000000 /* a topic of ours has one */

typedef struct {
    const ab_setup *setup;
    const ab_kafka_settings *settings;
    ab_check_topic *topics;
    size_t count;
    ab_findings *out;
} trial;

/* ----- remedies ----- */

/* How the brokers name a client with a certificate is their rule; this is what provision takes. */
static const char *user_of(const ab_setup *s)
{
    const char *name = ab_config_str(s->config, "kafka.sasl.username");
    if (name != NULL)
        return name;
    return s->is_agent ? s->agent : "principal";
}

static void put_command(const ab_setup *s, const char *operation, const char *resource, ab_buf *out)
{
    ab_buf_puts(out, "kafka-acls.sh --bootstrap-server ");
    ab_kafka_put_brokers(s->config, out);
    ab_buf_printf(out, " --add --allow-principal User:%s --operation %s %s", user_of(s), operation,
                  resource);
    if (strcmp(operation, CREATE) == 0) /* which provision does not grant */
        return;
    ab_buf_printf(out, ", or deploy/kafka/provision %s%s", s->is_agent ? "agent " : "principal",
                  s->is_agent ? s->agent : "");
    if (ab_config_str(s->config, "kafka.sasl.username") == NULL)
        ab_buf_printf(out,
                      ", with KAFKA_USER where the brokers do not know it as %s: unless they map "
                      "it, a certificate's user is its whole subject",
                      user_of(s));
}

/* @param resource  as kafka-acls.sh takes it */
static void add_missing(const ab_setup *s, ab_severity severity, const char *where,
                        const char *operation, const char *resource, const char *what,
                        ab_findings *out)
{
    ab_buf remedy = ab_buf_up_to(REMEDY_MAX);
    put_command(s, operation, resource, &remedy);
    if (ab_buf_status(&remedy) == AB_ERR_OK)
        ab_findings_add(out, severity, where, remedy.ptr, "%s", what);
    else
        out->complete = false;
    ab_buf_fini(&remedy);
}

void ab_check_grant_missing(const ab_setup *s, ab_severity severity, const char *topic,
                            const char *operation, const char *what, ab_findings *out)
{
    char resource[AB_TOPIC_NAME_MAX + 64];
    const char *prefix = ab_config_str(s->config, "kafka.prefix");
    size_t own = (size_t)(strrchr(topic, '.') - topic); /* all of the agent's in one direction */
    snprintf(resource, sizeof(resource), "--topic %.*s. --resource-pattern-type prefixed",
             s->is_agent ? (int)own : (int)strlen(prefix), topic);
    add_missing(s, severity, topic, operation, resource, what, out);
}

/* ----- topics to write to ----- */

static void on_refused(rd_kafka_t *rk, const rd_kafka_message_t *m, void *arg)
{
    ab_check_topic *t = m->_private;
    (void)rk;
    (void)arg;
    t->write = m->err;
}

static bool refuse_all(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_events(conf, 0);
    rd_kafka_conf_set_dr_msg_cb(conf, on_refused);
    return rd_kafka_conf_set(conf, "acks", "2", NULL, 0) == RD_KAFKA_CONF_OK;
}

/* By produceva: the macros for producev are GNU C. */
static void send_refused(rd_kafka_t *rk, ab_check_topic *t)
{
    const rd_kafka_vu_t record[] = {{.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = t->name},
                                    {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
                                    {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = t}};
    rd_kafka_error_t *failed = rd_kafka_produceva(rk, record, sizeof(record) / sizeof(record[0]));
    if (failed != NULL)
        t->write = rd_kafka_error_code(failed);
    rd_kafka_error_destroy(failed);
}

static void try_write(const trial *c, rd_kafka_t *rk)
{
    for (size_t i = 0; i < c->count; i++) {
        c->topics[i].write = RD_KAFKA_RESP_ERR__TIMED_OUT;
        if (c->topics[i].writes)
            send_refused(rk, &c->topics[i]);
    }
    (void)rd_kafka_flush(rk, ANSWER_MS); /* who has no answer by then says so itself */
}

static void try_writes(const trial *c)
{
    ab_error err = {0};
    ab_check_client client;
    if (ab_check_client_open_as(c->setup, AB_KAFKA_LIVE_PRODUCER, refuse_all, &client, &err) ==
        AB_ERR_OK)
        try_write(c, client.rk);
    else
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka", "docs/operate/kafka.md", "%s", err.text);
    ab_check_client_fini(&client);
}

/* ----- topics to read ----- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ab_check_topic *)a)->name, ((const ab_check_topic *)b)->name);
}

static ab_check_topic *find(const trial *c, const char *name)
{
    ab_check_topic key;
    snprintf(key.name, sizeof(key.name), "%s", name);
    return bsearch(&key, c->topics, c->count, sizeof(*c->topics), by_name);
}

/* Its end, or a record that came meanwhile; other errors may pass.
 * @return true: this topic has its answer now */
static bool take_answer(const trial *c, const rd_kafka_message_t *m)
{
    ab_check_topic *t = m->rkt == NULL ? NULL : find(c, rd_kafka_topic_name(m->rkt));
    if (t == NULL || t->read != RD_KAFKA_RESP_ERR__TIMED_OUT)
        return false;
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        t->read = RD_KAFKA_RESP_ERR_NO_ERROR;
    else if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR ||
             m->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        t->read = m->err;
    return t->read != RD_KAFKA_RESP_ERR__TIMED_OUT;
}

static void await_answers(const trial *c, rd_kafka_t *rk, size_t wanted)
{
    int64_t deadline = ab_clock_mono_ms(&ab_clock_real) + ANSWER_MS;
    while (wanted > 0 && ab_clock_mono_ms(&ab_clock_real) < deadline) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, POLL_MS);
        if (m == NULL)
            continue;
        if (take_answer(c, m)) {
            wanted--;
            deadline = ab_clock_mono_ms(&ab_clock_real) + ANSWER_MS;
        }
        rd_kafka_message_destroy(m);
    }
}

static void try_reads(const trial *c, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)c->count);
    for (size_t i = 0; i < c->count; i++) {
        c->topics[i].read = RD_KAFKA_RESP_ERR__TIMED_OUT;
        if (c->topics[i].reads)
            rd_kafka_topic_partition_list_add(list, c->topics[i].name, 0)->offset =
                RD_KAFKA_OFFSET_END;
    }
    if (rd_kafka_assign(rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR)
        await_answers(c, rk, (size_t)list->cnt);
    (void)rd_kafka_assign(rk, NULL); /* only ends what was assigned */
    rd_kafka_topic_partition_list_destroy(list);
}

/* ----- groups ----- */

static rd_kafka_resp_err_t commit_nothing(rd_kafka_t *rk, const char *group)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, group, NO_PARTITION)->offset = 0;
    rd_kafka_AlterConsumerGroupOffsets_t *commit =
        rd_kafka_AlterConsumerGroupOffsets_new(group, list);
    rd_kafka_topic_partition_list_destroy(list);
    ab_kafka_admin a = ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS,
                                            AB_KAFKA_COORDINATOR_MS);
    rd_kafka_AlterConsumerGroupOffsets(rk, &commit, 1, a.options, a.queue);
    rd_kafka_AlterConsumerGroupOffsets_destroy(commit);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    rd_kafka_resp_err_t code =
        event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
    rd_kafka_event_destroy(event);
    return code;
}

static void try_group(const trial *c, rd_kafka_t *rk, const char *group, ab_severity severity,
                      const char *without)
{
    char resource[AB_TOPIC_NAME_MAX + 16];
    char what[128];
    rd_kafka_resp_err_t code = commit_nothing(rk, group);
    snprintf(resource, sizeof(resource), "--group %s", group);
    snprintf(what, sizeof(what), "the right Read on the consumer group is missing: %s", without);
    if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        add_missing(c->setup, severity, group, "Read", resource, what, c->out);
    else if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        ab_findings_add(c->out, AB_FOUND_WARNING, group, "run it again, and look at the brokers",
                        "the right Read on the consumer group could not be checked: %s",
                        rd_kafka_err2str(code));
    else
        ab_findings_add(c->out, AB_FOUND_OK, group, NULL, "the group may be used");
}

static void try_groups(const trial *c, rd_kafka_t *rk)
{
    char group[AB_TOPIC_NAME_MAX];
    const ab_config *config = c->setup->config;
    try_group(c, rk, c->settings->group, AB_FOUND_ERROR, "nothing can be received");
    if (c->setup->is_agent) {
        try_group(c, rk, c->settings->live_group, AB_FOUND_ERROR, "nothing can be received");
        return;
    }
    for (size_t i = 0; i < ab_config_count(config, "agents"); i++)
        if (ab_group_agent(c->settings->prefix, ab_config_field(config, "agents", i, "name"),
                           group))
            try_group(c, rk, group, AB_FOUND_WARNING, "what waits for the agent is not known");
}

/* ----- topics to create ----- */

static void try_create(const trial *c, rd_kafka_t *rk)
{
    char name[AB_TOPIC_NAME_MAX];
    ab_error err = {0};
    const char *agent = c->count > 0 ? c->topics[0].agent : "check";
    if (c->setup->is_agent || c->settings->topics != AB_TOPICS_CREATE ||
        !ab_topic_format(c->settings->prefix, AB_DOWN, agent, false, name))
        return;
    if (ab_kafka_topics_try(c->settings, rk, name, &err) == AB_ERR_OK)
        ab_findings_add(c->out, AB_FOUND_OK, "kafka.topics", NULL, "topics may be created");
    else if (err.foreign == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        ab_check_grant_missing(c->setup, AB_FOUND_ERROR, name, CREATE,
                               "the right Create is missing: kafka.topics is create", c->out);
    else
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka.topics", "docs/operate/kafka.md", "%s",
                        err.text);
}

/* ----- all of it ----- */

static bool is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* @return true: it is allowed */
static bool report(const trial *c, const ab_check_topic *t, const char *operation,
                   rd_kafka_resp_err_t code)
{
    char what[OPERATION_MAX + 64];
    snprintf(what, sizeof(what), "the right %s is missing", operation);
    if (is_denied(code))
        ab_check_grant_missing(c->setup, AB_FOUND_ERROR, t->name, operation, what, c->out);
    else if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS)
        ab_findings_add(c->out, AB_FOUND_WARNING, t->name, "run it again, and look at the brokers",
                        "the right %s could not be checked: %s", operation, rd_kafka_err2str(code));
    else
        return true;
    return false;
}

static void report_topic(const trial *c, const ab_check_topic *t)
{
    bool reads = t->reads && report(c, t, "Read", t->read);
    bool writes = t->writes && report(c, t, "Write", t->write);
    if (reads == t->reads && writes == t->writes)
        ab_findings_add(c->out, AB_FOUND_OK, t->name, NULL, "the topic may be %s%s%s",
                        reads ? "read" : "", reads && writes ? " and " : "",
                        writes ? "written to" : "");
    if (t->hidden)
        ab_check_grant_missing(c->setup, AB_FOUND_WARNING, t->name, "DescribeConfigs",
                               "the right DescribeConfigs is missing: wrong settings of the topic "
                               "are not noticed",
                               c->out);
}

void ab_check_grants(const ab_setup *s, const ab_kafka_settings *settings, ab_check_topic *topics,
                     size_t count, ab_findings *out)
{
    ab_error err = {0};
    ab_check_client client;
    trial c = {s, settings, topics, count, out};
    if (count > 0)
        qsort(topics, count, sizeof(*topics), by_name);
    try_writes(&c);
    /* Groups are asked for with a consumer: librdkafka 2.0 can crash otherwise (its issue 5040). */
    if (ab_check_client_open(s, AB_KAFKA_READER, &client, &err) == AB_ERR_OK) {
        try_reads(&c, client.rk);
        try_groups(&c, client.rk);
        try_create(&c, client.rk);
    } else
        ab_findings_add(out, AB_FOUND_ERROR, "kafka", "docs/operate/kafka.md", "%s", err.text);
    ab_check_client_fini(&client);
    for (size_t i = 0; i < count; i++)
        report_topic(&c, &topics[i]);
}
