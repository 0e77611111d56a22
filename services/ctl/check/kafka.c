/* SPDX-License-Identifier: Apache-2.0
 *
 * As the program would connect: the same settings, the same questions about topics.
 */
#include "services/ctl/check/client.h"
#include "services/ctl/check/parts.h"
#include "transport/kafka/client/topics.h"

#include <stdlib.h>

#define PER_AGENT 4

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    ab_check_client client;
} checking;

/* ----- topics ----- */

static void add_topic(const checking *c, const ab_kafka_topic_state *t)
{
    if (t->usable)
        ab_findings_add(c->out, AB_FOUND_OK, t->name, NULL, "the topic exists");
    else
        ab_findings_add(c->out, AB_FOUND_ERROR, t->name, "docs/operate/kafka.md", "%s",
                        t->error.text);
}

static void check_topics(checking *c, const char *agent)
{
    char names[PER_AGENT][AB_TOPIC_NAME_MAX];
    ab_kafka_topic_state topics[PER_AGENT] = {{0}};
    ab_error err = {0};
    for (int i = 0; i < PER_AGENT; i++) {
        bool live = i % 2 == 1;
        if (!ab_topic_format(c->client.settings.prefix, i < 2 ? AB_DOWN : AB_UP, agent, live,
                             names[i]))
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
        add_topic(c, &topics[i]);
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
    if (c->setup->is_agent)
        check_topics(c, c->setup->agent);
    for (size_t i = 0; !c->setup->is_agent && i < ab_config_count(c->setup->config, "agents"); i++)
        check_topics(c, ab_config_field(c->setup->config, "agents", i, "name"));
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
