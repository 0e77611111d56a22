/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at everything first. A topic that exists and is not as it must be stops a creation before
 * anything is made: an agent with half of its topics right is harder to understand than one without
 * any. ACLs come before topics, since they need the rarer right: who lacks it changes nothing.
 */
#include "services/ctl/agent/provision.h"

#include "services/ctl/check/kafka/client.h"
#include "services/ctl/pki/options.h"
#include "transport/kafka/client/acls.h"
#include "transport/kafka/client/topics.h"

#include <stdlib.h>

#define TOPICS    4
#define ACLS      7
#define USER_MAX  256
#define PRINCIPAL "principal"

enum { DOWN, UP };

struct ab_provision {
    const char *agent;
    char user[USER_MAX]; /* with its type */
    ab_setup setup;
    ab_check_client client;
    char names[TOPICS][AB_TOPIC_NAME_MAX];
    ab_kafka_topic_state topics[TOPICS];
    char begins[2][AB_TOPIC_NAME_MAX]; /* of the topics of one direction, up to the last dot */
    char groups[2][AB_TOPIC_NAME_MAX];
    ab_kafka_acl acls[ACLS];
    size_t acl_count;
};

/* ----- what an agent has ----- */

static ab_err name_user(ab_provision *p, const char *user, ab_error *err)
{
    if (user[0] == '\0' || strcmp(user, "*") == 0 || !ab_str_is_printable(ab_str_of(user)) ||
        strlen(user) + sizeof("User:") > USER_MAX)
        return ab_fail(err, AB_ERR_INVALID, "--kafka-user: \"%s\" is not the name of one user",
                       user);
    if (strcmp(user, PRINCIPAL) == 0)
        return ab_fail(err, AB_ERR_INVALID,
                       "the Kafka user \"" PRINCIPAL "\" is the control plane's: name the agent's "
                       "user with --kafka-user");
    snprintf(p->user, sizeof(p->user), "User:%s", user);
    return AB_ERR_OK;
}

static bool name_direction(ab_provision *p, ab_direction direction, size_t row)
{
    for (size_t i = 2 * row; i < 2 * row + 2; i++) {
        bool live = i % 2 == 1;
        if (!ab_topic_format(p->client.settings.prefix, direction, p->agent, live, p->names[i]))
            return false;
        p->topics[i] = (ab_kafka_topic_state){.name = p->names[i], .agent = p->agent, .live = live};
    }
    const char *state = p->names[2 * row];
    size_t len = strlen(state) - strlen("state");
    memcpy(p->begins[row], state, len);
    p->begins[row][len] = '\0';
    return true;
}

static void allow(ab_provision *p, rd_kafka_ResourceType_t type, const char *name,
                  rd_kafka_AclOperation_t operation)
{
    p->acls[p->acl_count++] = (ab_kafka_acl){.type = type,
                                             .name = name,
                                             .pattern = type == RD_KAFKA_RESOURCE_TOPIC
                                                            ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED
                                                            : RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                                             .operation = operation};
}

static ab_err name_all(ab_provision *p, ab_error *err)
{
    const char *prefix = p->client.settings.prefix;
    if (!name_direction(p, AB_DOWN, DOWN) || !name_direction(p, AB_UP, UP) ||
        !ab_group_agent(prefix, p->agent, p->groups[0]) ||
        !ab_group_agent_live(prefix, p->agent, p->groups[1]))
        return ab_fail(err, AB_ERR_CONFIG, "kafka.prefix: \"%s\" does not begin a topic's name",
                       prefix);
    allow(p, RD_KAFKA_RESOURCE_TOPIC, p->begins[DOWN], RD_KAFKA_ACL_OPERATION_READ);
    allow(p, RD_KAFKA_RESOURCE_TOPIC, p->begins[DOWN], RD_KAFKA_ACL_OPERATION_DESCRIBE);
    allow(p, RD_KAFKA_RESOURCE_TOPIC, p->begins[UP], RD_KAFKA_ACL_OPERATION_READ);
    allow(p, RD_KAFKA_RESOURCE_TOPIC, p->begins[UP], RD_KAFKA_ACL_OPERATION_WRITE);
    allow(p, RD_KAFKA_RESOURCE_TOPIC, p->begins[UP], RD_KAFKA_ACL_OPERATION_DESCRIBE);
    allow(p, RD_KAFKA_RESOURCE_GROUP, p->groups[0], RD_KAFKA_ACL_OPERATION_READ);
    allow(p, RD_KAFKA_RESOURCE_GROUP, p->groups[1], RD_KAFKA_ACL_OPERATION_READ);
    return AB_ERR_OK;
}

static ab_err open_client(ab_provision *p, const ab_ctl *ctl, ab_error *err)
{
    ab_err e = name_user(p, ab_pki_value(ctl, "kafka-user", p->agent), err);
    if (e == AB_ERR_OK)
        e = ab_setup_read_brokers(ab_ctl_value(ctl, "config"), &p->setup, err);
    if (e == AB_ERR_OK)
        e = ab_check_client_open(&p->setup, AB_KAFKA_LIVE_PRODUCER, &p->client, err);
    if (e != AB_ERR_OK)
        return e;
    p->client.settings.topics = AB_TOPICS_CREATE; /* whatever the principal leaves to others */
    return name_all(p, err);
}

ab_err ab_provision_new(const ab_ctl *ctl, const char *agent, ab_provision **out, ab_error *err)
{
    ab_provision *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    p->agent = agent;
    ab_err e = open_client(p, ctl, err);
    if (e == AB_ERR_OK)
        *out = p;
    else
        ab_provision_free(p);
    return e;
}

void ab_provision_say_quota(const ab_provision *p, FILE *report)
{
    ab_buf brokers = ab_buf_up_to(AB_KAFKA_BROKERS_MAX);
    ab_kafka_put_brokers(p->setup.config, &brokers);
    fprintf(report,
            "  kafka-configs.sh --bootstrap-server %s --alter --entity-type users --entity-name %s "
            "--add-config "
            "producer_byte_rate=2097152,consumer_byte_rate=8388608,request_percentage=10\n",
            ab_buf_status(&brokers) == AB_ERR_OK ? brokers.ptr : "BROKERS",
            p->user + strlen("User:"));
    ab_buf_fini(&brokers);
}

const char *ab_provision_prefix(const ab_provision *p)
{
    return p->client.settings.prefix;
}

void ab_provision_free(ab_provision *p)
{
    if (p == NULL)
        return;
    ab_check_client_fini(&p->client);
    ab_setup_fini(&p->setup);
    free(p);
}

/* ----- what exists ----- */

static ab_err ask(ab_provision *p, ab_error *err)
{
    rd_kafka_t *rk = p->client.rk;
    ab_err e = ab_kafka_topics_inspect(&p->client.settings, rk, p->topics, TOPICS, err);
    return e == AB_ERR_OK ? ab_kafka_acls_inspect(rk, p->user, p->acls, p->acl_count, err) : e;
}

/* UNAVAILABLE is for brokers that cannot be reached at all: what follows, they refuse. */
static ab_err look(ab_provision *p, ab_error *err)
{
    int brokers = 0;
    ab_err e = ab_check_client_await(&p->client, &brokers, err);
    if (e != AB_ERR_OK)
        return e;
    e = ask(p, err);
    return e == AB_ERR_UNAVAILABLE ? AB_ERR_DENIED : e;
}

/* All that are wrong are named, since each has a remedy of its own. */
static ab_err check_topics(ab_provision *p, ab_error *err)
{
    bool wrong = false;
    ab_kafka_topics_check(&p->client.settings, p->client.rk, p->topics, TOPICS);
    for (size_t i = 0; i < TOPICS; i++) {
        const ab_kafka_topic_state *t = &p->topics[i];
        if (t->error.code == AB_ERR_OK || t->missing)
            continue;
        wrong = true;
        (void)ab_ctl_fail(AB_CTL_FAILED, "%s", t->error.text);
    }
    return wrong ? ab_fail(err, AB_ERR_EXISTS, "created nothing: see the topics above") : AB_ERR_OK;
}

static void report_topic(const ab_kafka_topic_state *t, const char *now, FILE *report)
{
    fprintf(report, "topic %s: %s\n", t->name, now);
}

static void report_acl(const ab_provision *p, const ab_kafka_acl *a, const char *now, FILE *report)
{
    fprintf(report, "ACL %s on %s %s%s for %s: %s\n", rd_kafka_AclOperation_name(a->operation),
            a->type == RD_KAFKA_RESOURCE_TOPIC ? "topics" : "group", a->name,
            a->pattern == RD_KAFKA_RESOURCE_PATTERN_PREFIXED ? "*" : "", p->user, now);
}

/* ----- create ----- */

static ab_err make_topics(ab_provision *p, FILE *report, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    ab_kafka_topics_make(&p->client.settings, p->client.rk, p->topics, TOPICS);
    for (size_t i = 0; i < TOPICS; i++) {
        const ab_kafka_topic_state *t = &p->topics[i];
        if (!t->missing || t->made)
            report_topic(t, t->made ? "created" : "exists", report);
        else
            e = ab_fail(err, AB_ERR_DENIED, "%s", t->error.text);
    }
    return e;
}

static ab_err make_acls(ab_provision *p, FILE *report, ab_error *err)
{
    bool existed[ACLS];
    for (size_t i = 0; i < p->acl_count; i++)
        existed[i] = p->acls[i].exists;
    ab_err e = ab_kafka_acls_make(p->client.rk, p->user, p->acls, p->acl_count, err);
    for (size_t i = 0; i < p->acl_count; i++)
        if (p->acls[i].exists)
            report_acl(p, &p->acls[i], existed[i] ? "exists" : "created", report);
    return e == AB_ERR_UNAVAILABLE ? AB_ERR_DENIED : e;
}

static void report_all(const ab_provision *p, const char *missing, const char *there, FILE *report)
{
    bool none = true;
    for (size_t i = 0; i < p->acl_count; i++) {
        report_acl(p, &p->acls[i], p->acls[i].exists ? there : missing, report);
        none = none && !p->acls[i].exists;
    }
    if (none)
        fprintf(report, "(no ACL of %s is shown; this needs the right Describe on the cluster)\n",
                p->user);
    for (size_t i = 0; i < TOPICS; i++)
        report_topic(&p->topics[i], p->topics[i].missing ? missing : there, report);
}

ab_err ab_provision_make(ab_provision *p, bool dry_run, FILE *report, ab_error *err)
{
    ab_err e = look(p, err);
    if (e == AB_ERR_OK)
        e = check_topics(p, err);
    if (e == AB_ERR_OK && dry_run)
        report_all(p, "would be created", "exists", report);
    else if (e == AB_ERR_OK)
        e = make_acls(p, report, err);
    if (e == AB_ERR_OK && !dry_run)
        e = make_topics(p, report, err);
    return e;
}

/* ----- delete ----- */

/* Rights first: without them nothing of the agent can write into what is being deleted. */
static ab_err delete_all(ab_provision *p, ab_error *err)
{
    ab_err e = ab_kafka_acls_delete(p->client.rk, p->user, p->acls, p->acl_count, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_topics_delete(p->client.rk, p->topics, TOPICS, err);
    return e == AB_ERR_UNAVAILABLE ? AB_ERR_DENIED : e;
}

/* Or it would seem that they exist. */
static ab_err check_visible(const ab_provision *p, ab_error *err)
{
    for (size_t i = 0; i < TOPICS; i++)
        if (p->topics[i].error.foreign == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
            return ab_fail(err, AB_ERR_DENIED, "%s; deleted nothing", p->topics[i].error.text);
    return AB_ERR_OK;
}

ab_err ab_provision_delete(ab_provision *p, bool dry_run, FILE *report, ab_error *err)
{
    ab_err e = look(p, err);
    if (e == AB_ERR_OK)
        e = check_visible(p, err);
    if (e == AB_ERR_OK && !dry_run)
        e = delete_all(p, err);
    if (e == AB_ERR_OK)
        report_all(p, "does not exist", dry_run ? "would be deleted" : "deleted", report);
    return e;
}
