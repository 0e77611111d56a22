/* SPDX-License-Identifier: Apache-2.0
 *
 * As the program would connect: the same settings, the same questions about topics.
 */
#include "services/ctl/check/parts.h"
#include "transport/kafka/client/oauth.h"
#include "transport/kafka/client/topics.h"

#include <stdio.h>
#include <stdlib.h>

#define PER_AGENT  4
#define ATTEMPTS   10
#define ATTEMPT_MS 1000

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    ab_kafka_settings settings;
    rd_kafka_t *rk;
    char reason[AB_ERROR_TEXT_MAX]; /* what librdkafka said last: why no broker answers */
    bool down;                      /* it has tried all of them */
} checking;

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
    checking *c = arg;
    (void)rk;
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        c->down = true;
    else
        snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    (void)level;
    (void)facility;
    (void)text; /* on_error has what matters of it */
}

static ab_err open_handle(checking *c, ab_error *err)
{
    char why[256];
    rd_kafka_conf_t *conf = NULL;
    ab_transport_env env = {.config = c->setup->config,
                            .clock = &ab_clock_real,
                            .role = c->setup->is_agent ? AB_ROLE_AGENT : AB_ROLE_PRINCIPAL,
                            .agent = c->setup->agent};
    ab_err e = ab_kafka_settings_init(&c->settings, &env, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_settings_conf(&c->settings, AB_KAFKA_LIVE_PRODUCER, &conf, err);
    if (e != AB_ERR_OK)
        return e;
    rd_kafka_conf_set_opaque(conf, c);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    c->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    if (c->rk != NULL) {
        ab_kafka_oauth_begin(c->setup->config, c->rk);
        return AB_ERR_OK;
    }
    rd_kafka_conf_destroy(conf);
    return ab_fail(err, AB_ERR_CONFIG, "%s", why);
}

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
        if (!ab_topic_format(c->settings.prefix, i < 2 ? AB_DOWN : AB_UP, agent, live, names[i]))
            return;
        topics[i] = (ab_kafka_topic_state){.name = names[i], .agent = agent, .live = live};
    }
    if (ab_kafka_topics_inspect(&c->settings, c->rk, topics, PER_AGENT, &err) != AB_ERR_OK) {
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka.brokers",
                        "look at broker, network and certificates: argobusctl connect", "%s%s%s",
                        err.text, c->reason[0] == '\0' ? "" : ": ", c->reason);
        return;
    }
    ab_kafka_topics_check(&c->settings, c->rk, topics, PER_AGENT);
    for (int i = 0; i < PER_AGENT; i++)
        add_topic(c, &topics[i]);
}

/* It would go on trying; who waits wants to know why. */
static rd_kafka_resp_err_t ask_brokers(checking *c, const struct rd_kafka_metadata **out)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    for (int i = 0; i < ATTEMPTS && !c->down && code != RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        code = rd_kafka_metadata(c->rk, 0, NULL, out, ATTEMPT_MS);
        rd_kafka_poll(c->rk, 0);
    }
    return code;
}

static void check_brokers(checking *c)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = ask_brokers(c, &metadata);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ab_findings_add(c->out, AB_FOUND_ERROR, "kafka.brokers",
                        "look at broker, network and certificates: argobusctl connect",
                        "no broker answers: %s%s%s", rd_kafka_err2str(code),
                        c->reason[0] == '\0' ? "" : ": ", c->reason);
        return;
    }
    ab_findings_add(c->out, AB_FOUND_OK, "kafka.brokers", NULL, "%d brokers answer",
                    metadata->broker_cnt);
    rd_kafka_metadata_destroy(metadata);
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
    if (open_handle(c, &err) != AB_ERR_OK)
        ab_findings_add(out, AB_FOUND_ERROR, "kafka", "docs/operate/kafka.md", "%s", err.text);
    else
        check_brokers(c);
    if (c->rk != NULL)
        rd_kafka_destroy(c->rk);
    ab_kafka_settings_fini(&c->settings);
    free(c);
}
