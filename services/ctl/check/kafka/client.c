/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kafka/client.h"

#include "transport/kafka/settings/oauth.h"

#include <stdio.h>

#define ATTEMPTS   10
#define ATTEMPT_MS 1000

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
    ab_check_client *c = arg;
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

ab_err ab_check_client_open_as(const ab_setup *s, ab_kafka_kind kind,
                               bool (*change)(rd_kafka_conf_t *conf), ab_check_client *out,
                               ab_error *err)
{
    char why[256];
    rd_kafka_conf_t *conf = NULL;
    bool produces = kind == AB_KAFKA_PRODUCER || kind == AB_KAFKA_LIVE_PRODUCER;
    ab_transport_env env = {.config = s->config,
                            .clock = &ab_clock_real,
                            .role = s->is_agent ? AB_ROLE_AGENT : AB_ROLE_PRINCIPAL,
                            .agent = s->agent};
    *out = (ab_check_client){0};
    ab_err e = ab_kafka_settings_init(&out->settings, &env, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_settings_conf(&out->settings, kind, &conf, err);
    if (e != AB_ERR_OK)
        return e;
    if (!produces)
        rd_kafka_conf_set_events(conf, 0);
    rd_kafka_conf_set_opaque(conf, out);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    if (change != NULL && !change(conf)) {
        rd_kafka_conf_destroy(conf);
        return ab_fail(err, AB_ERR_CONFIG, "librdkafka %s lacks a setting", rd_kafka_version_str());
    }
    out->rk =
        rd_kafka_new(produces ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    if (out->rk != NULL) {
        ab_kafka_oauth_begin(s->config, out->rk);
        return AB_ERR_OK;
    }
    rd_kafka_conf_destroy(conf);
    return ab_fail(err, AB_ERR_CONFIG, "%s", why);
}

ab_err ab_check_client_open(const ab_setup *s, ab_kafka_kind kind, ab_check_client *out,
                            ab_error *err)
{
    return ab_check_client_open_as(s, kind, NULL, out, err);
}

/* librdkafka would go on trying; who waits wants to know why. */
ab_err ab_check_client_await(ab_check_client *c, int *brokers, ab_error *err)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    for (int i = 0; i < ATTEMPTS && !c->down && code != RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        code = rd_kafka_metadata(c->rk, 0, NULL, &metadata, ATTEMPT_MS);
        rd_kafka_poll(c->rk, 0);
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "no broker answers: %s%s%s", rd_kafka_err2str(code),
                       c->reason[0] == '\0' ? "" : ": ", c->reason);
    *brokers = metadata->broker_cnt;
    rd_kafka_metadata_destroy(metadata);
    return AB_ERR_OK;
}

void ab_check_client_fini(ab_check_client *c)
{
    if (c->rk != NULL)
        rd_kafka_destroy(c->rk);
    ab_kafka_settings_fini(&c->settings);
}
