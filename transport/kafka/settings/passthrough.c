/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/passthrough.h"

#include <string.h>
#include <strings.h>

/* Keys that may not be passed through, save with the one value `allowed`. */
static const struct {
    const char *key;
    const char *allowed;
    const char *why;
} refused[] = {
    {"enable.idempotence", NULL, "without it events could be written twice or out of order"},
    {"acks", NULL, "an event counts as sent only when all in-sync replicas have it"},
    {"request.required.acks", NULL,
     "an event counts as sent only when all in-sync replicas have it"},
    {"enable.auto.commit", NULL, "offsets are committed after the effect only"},
    {"auto.commit.interval.ms", NULL, "use kafka.commit-interval"},
    {"enable.auto.offset.store", NULL, "offsets are committed after the effect only"},
    {"enable.partition.eof", NULL, "the end of a replay is detected by it"},
    {"auto.offset.reset", NULL, "a lost position must lead to a guarded replay"},
    {"group.id", NULL, "groups are named after kafka.prefix, so that lag can be found"},
    {"group.instance.id", NULL, "argobus assigns partitions, not a group"},
    {"group.protocol", NULL, "argobus assigns partitions, not a group"},
    {"transactional.id", NULL, "effects are outside Kafka: transactions add nothing"},
    {"allow.auto.create.topics", NULL, "a topic created by accident would lose state"},
    {"bootstrap.servers", NULL, "use kafka.brokers"},
    {"metadata.broker.list", NULL, "use kafka.brokers"},
    {"message.timeout.ms", NULL, "use kafka.delivery-timeout"},
    {"delivery.timeout.ms", NULL, "use kafka.delivery-timeout"},
    {"message.max.bytes", NULL, "use kafka.message-max"},
    {"linger.ms", NULL, "use kafka.linger"},
    {"queue.buffering.max.ms", NULL, "use kafka.linger"},
    {"queue.buffering.max.kbytes", NULL, "use kafka.queue"},
    {"queue.buffering.max.messages", NULL, "use kafka.queue"},
    {"compression.type", NULL, "use kafka.compression"},
    {"compression.codec", NULL, "use kafka.compression"},
    {"log.queue", NULL, "its log must arrive on the loop thread"},
    {"enabled_events", NULL, "an event counts as sent when its delivery is reported"},
    {"delivery.report.only.error", NULL, "an event counts as sent when its delivery is reported"},
    {"security.protocol", "sasl_ssl",
     "use kafka.tls.enabled and kafka.sasl.mechanism (only sasl_ssl, for a mechanism that these do "
     "not have)"},
    {"sasl.password", NULL, "use kafka.sasl.password, which is never printed"},
    {"ssl.key.password", NULL, "use kafka.tls.key-password, which is never printed"},
    {"ssl.endpoint.identification.algorithm", "https",
     "any holder of a certificate could impersonate a broker"},
    {"enable.ssl.certificate.verification", "true", "anyone could impersonate a broker"},
};

static const char *why_refused(const char *key, const char *value)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(key, refused[i].key) == 0 &&
            (refused[i].allowed == NULL || strcasecmp(value, refused[i].allowed) != 0))
            return refused[i].why;
    }
    return NULL;
}

ab_err ab_kafka_passthrough(const ab_config *config, rd_kafka_conf_t *conf, ab_error *err)
{
    for (size_t i = 0; i < ab_config_count(config, "kafka.librdkafka"); i++) {
        const char *key = NULL;
        const char *value = NULL;
        ab_config_pair(config, "kafka.librdkafka", i, &key, &value);
        const char *why = why_refused(key, value);
        if (why != NULL)
            return ab_fail(err, AB_ERR_CONFIG, "kafka.librdkafka.%s may not be set: %s", key, why);
        char text[256];
        if (rd_kafka_conf_set(conf, key, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
            return ab_fail(err, AB_ERR_CONFIG, "kafka.librdkafka.%s: %s", key, text);
    }
    return AB_ERR_OK;
}

bool ab_kafka_passthrough_is_tls(const ab_config *config)
{
    for (size_t i = 0; i < ab_config_count(config, "kafka.librdkafka"); i++) {
        const char *key = NULL;
        const char *value = NULL;
        ab_config_pair(config, "kafka.librdkafka", i, &key, &value);
        if (strcmp(key, "security.protocol") == 0)
            return strcasecmp(value, "sasl_ssl") == 0;
    }
    return false;
}
