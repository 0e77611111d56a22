/* SPDX-License-Identifier: Apache-2.0
 *
 * As the program would connect: the same settings, the same questions about topics, and each right
 * tried.
 */
#include "services/ctl/check/kafka/broker_versions.h"
#include "services/ctl/check/kafka/client.h"
#include "services/ctl/check/kafka/grants.h"
#include "services/ctl/check/parts.h"
#include "transport/kafka/client/topics.h"

#include <stdlib.h>

#define PER_AGENT 4

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    ab_check_client client;
    ab_check_topic *usable; /* room for those of all agents */
    size_t usable_count;
} checking;

/* ----- topics ----- */

static void add_usable(checking *c, const ab_kafka_topic_state *t, ab_direction direction)
{
    bool incoming = (direction == AB_DOWN) == c->setup->is_agent;
    ab_check_topic *usable = &c->usable[c->usable_count++];
    *usable = (ab_check_topic){.agent = t->agent,
                               .reads = incoming || !t->live, /* its own log, at start */
                               .writes = !incoming,
                               .hidden = t->hidden && !c->setup->is_agent};
    memcpy(usable->name, t->name, strlen(t->name) + 1);
}

static void add_topic(checking *c, const ab_kafka_topic_state *t, ab_direction direction)
{
    if (t->usable)
        add_usable(c, t, direction);
    if (t->error.code == AB_ERR_OK)
        ab_findings_add(c->out, AB_FOUND_OK, t->name, NULL, "the topic exists");
    else if (t->error.foreign == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        ab_check_grant_missing(c->setup, AB_FOUND_ERROR, t->name, "Describe", t->error.text,
                               c->out);
    else
        ab_findings_add(c->out, t->usable ? AB_FOUND_WARNING : AB_FOUND_ERROR, t->name,
                        "docs/operate/kafka.md", "%s", t->error.text);
}

static void check_topics(checking *c, const char *agent)
{
    static const ab_direction ways[PER_AGENT] = {AB_DOWN, AB_DOWN, AB_UP, AB_UP};
    char names[PER_AGENT][AB_TOPIC_NAME_MAX];
    ab_kafka_topic_state topics[PER_AGENT] = {{0}};
    ab_error err = {0};
    for (int i = 0; i < PER_AGENT; i++) {
        bool live = i % 2 == 1;
        if (!ab_topic_format(c->client.settings.prefix, ways[i], agent, live, names[i]))
            return;
        topics[i] = (ab_kafka_topic_state){.name = names[i], .agent = agent, .live = live};
    }
    if (ab_kafka_topics_inspect(&c->client.settings, c->client.rk, topics, PER_AGENT, &err) !=
        AB_ERR_OK) {
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka.brokers",
                        "look at broker, network and certificates: argobusctl connect", "%s%s%s",
                        err.text, c->client.reason[0] == '\0' ? "" : ": ", c->client.reason);
        return;
    }
    ab_kafka_topics_check(&c->client.settings, c->client.rk, topics, PER_AGENT);
    for (int i = 0; i < PER_AGENT; i++)
        add_topic(c, &topics[i], ways[i]);
}

static void check_agents(checking *c)
{
    const ab_config *config = c->setup->config;
    size_t count = c->setup->is_agent ? 1 : ab_config_count(config, "agents");
    c->usable = calloc(PER_AGENT * count + 1, sizeof(*c->usable));
    c->out->complete = c->out->complete && c->usable != NULL;
    if (count == 0)
        ab_findings_add(c->out, AB_FOUND_OK, "agents", NULL,
                        "no agent is configured here, so no topics were checked");
    for (size_t i = 0; c->usable != NULL && i < count; i++)
        check_topics(c, c->setup->is_agent ? c->setup->agent
                                           : ab_config_field(config, "agents", i, "name"));
    if (c->usable != NULL)
        ab_check_grants(c->setup, &c->client.settings, c->usable, c->usable_count, c->out);
    free(c->usable);
}

static void check_brokers(checking *c)
{
    ab_error err = {0};
    int brokers = 0;
    if (ab_check_client_await(&c->client, &brokers, &err) != AB_ERR_OK) {
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka.brokers",
                        "look at broker, network and certificates: argobusctl connect", "%s",
                        err.text);
        return;
    }
    ab_findings_add(c->out, AB_FOUND_OK, "kafka.brokers", NULL, "%d brokers answer", brokers);
    ab_check_broker_versions(c->setup, &c->client, c->out);
    check_agents(c);
}

void ab_check_kafka(const ab_setup *s, ab_findings *out)
{
    ab_error err = {0};
    checking *c = calloc(1, sizeof(*c));
    if (!s->is_kafka || c == NULL) {
        out->complete = out->complete && c != NULL;
        free(c);
        return;
    }
    *c = (checking){.setup = s, .out = out};
    if (ab_check_client_open(s, AB_KAFKA_LIVE_PRODUCER, &c->client, &err) != AB_ERR_OK)
        ab_findings_add(out, AB_FOUND_ERROR, "kafka", "docs/operate/kafka.md", "%s", err.text);
    else
        check_brokers(c);
    ab_check_client_fini(&c->client);
    free(c);
}
