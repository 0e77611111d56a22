/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of handle is told.
 */
#include "transport/kafka/settings/passthrough.h"
#include "transport/kafka/settings/rows.h"
#include "transport/kafka/settings/settings.h"

#include <inttypes.h>
#include <stdio.h>

#define NUMBER 24 /* room for one as text */

static void print(int64_t value, char out[NUMBER])
{
    snprintf(out, NUMBER, "%" PRId64, value);
}

static ab_err set_producer(const ab_kafka_settings *s, rd_kafka_conf_t *conf, bool live,
                           ab_error *err)
{
    char linger[NUMBER], timeout[NUMBER], largest[NUMBER], batch[NUMBER];
    const char *codec = ab_config_str(s->config, "kafka.compression");
    print(s->linger_ms, linger);
    print(ab_config_int(s->config, "kafka.delivery-timeout"), timeout);
    print(s->message_max_bytes, largest);
    print(s->batch_bytes, batch);
    const ab_kafka_row rows[] = {
        {"enable.idempotence", live ? "false" : "true", NULL},
        {"acks", live ? "1" : "all", NULL},
        {"retries", live ? "0" : NULL, NULL},
        {"message.timeout.ms", live ? "10000" : timeout, "kafka.delivery-timeout"},
        {"linger.ms", live ? "0" : linger, "kafka.linger"},
        /* librdkafka does not know whose events they are: share.h keeps to kafka.queue. */
        {"queue.buffering.max.kbytes", "2147483647", NULL},
        {"queue.buffering.max.messages", "10000000", NULL},
        /* A live topic may be of the broker's default size, which librdkafka's default fits. */
        {"batch.size", live ? NULL : batch, NULL},
        {"compression.type", live ? "none" : codec, "kafka.compression"}, /* live is sealed */
        /* Where the topic takes as much, a batch is never refused for one event in it. */
        {"message.max.bytes", largest, "kafka.message-max"},
        /* Each request has a buffer of that size, also those with one hello, of which a fleet that
         * starts has hundreds under way: 64 KiB by default. */
        {"message.copy.max.bytes", "4096", NULL},
    };
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
    return AB_KAFKA_ROWS_SET(conf, rows, err);
}

#define SESSION_MIN_MS 6000 /* group.min.session.timeout.ms of brokers, unless they changed it */
#define SESSION_MAX_MS 300000

/* Gone after three heartbeats, as for the other side. */
static ab_err set_member(const ab_kafka_settings *s, rd_kafka_conf_t *conf, ab_error *err)
{
    char session[NUMBER], heartbeat[NUMBER];
    int64_t session_ms = 3 * s->heartbeat_ms;
    if (session_ms < SESSION_MIN_MS)
        session_ms = SESSION_MIN_MS;
    if (session_ms > SESSION_MAX_MS)
        session_ms = SESSION_MAX_MS;
    print(session_ms, session);
    print(session_ms / 10, heartbeat);
    const ab_kafka_row rows[] = {
        {"group.id", s->live_group, "kafka.prefix"},
        {"group.instance.id", s->agent, "agent.name"},
        {"session.timeout.ms", session, "transport.heartbeat"},
        {"heartbeat.interval.ms", heartbeat, "transport.heartbeat"},
    };
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR |
                                       RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_REBALANCE);
    return AB_KAFKA_ROWS_SET(conf, rows, err);
}

static ab_err set_consumer(const ab_kafka_settings *s, rd_kafka_conf_t *conf, ab_kafka_kind kind,
                           ab_error *err)
{
    char messages[NUMBER], kbytes[NUMBER];
    char why[256];
    print(AB_KAFKA_AHEAD_MESSAGES, messages);
    /* Of 1000 bytes each, whatever it says: no less than what flow.c takes for a full queue. */
    print((int64_t)(AB_KAFKA_AHEAD_BYTES / 1000 + 1), kbytes);
    /* Since librdkafka 2.2. With those before it, flow.c sees to it that fetching goes on. */
    (void)rd_kafka_conf_set(conf, "fetch.queue.backoff.ms", "20", why, sizeof(why));
    const ab_kafka_row rows[] = {
        {"group.id", s->group, "kafka.prefix"},
        {"enable.auto.commit", "false", NULL},
        {"enable.auto.offset.store", "false", NULL},
        {"auto.offset.reset", kind == AB_KAFKA_LIVE_CONSUMER ? "latest" : "error", NULL},
        /* Live topics end after almost every event, and nobody waits for that. */
        {"enable.partition.eof", kind == AB_KAFKA_LIVE_CONSUMER ? NULL : "true", NULL},
        /* librdkafka 2.0 looks only once a second whether a full queue has room again. So the
         * queue holds far more than one answer, and of events that are not tiny bytes are the
         * limit. */
        {"queued.min.messages", messages, NULL},
        {"queued.max.messages.kbytes", kbytes, NULL},
        /* A log that joins waits until the request under way is answered. */
        {"fetch.wait.max.ms", kind == AB_KAFKA_READER ? "20" : NULL, NULL},
        /* Of up to 200 logs in one answer, which is decompressed as a whole: 50 MB by default. */
        {"fetch.max.bytes", "2097152", NULL},
        {"fetch.error.backoff.ms", "200", NULL},
    };
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR |
                                       RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_OFFSET_COMMIT);
    ab_err e = AB_KAFKA_ROWS_SET(conf, rows, err);
    bool member = kind == AB_KAFKA_LIVE_CONSUMER && s->role == AB_ROLE_AGENT;
    return e == AB_ERR_OK && member ? set_member(s, conf, err) : e;
}

ab_err ab_kafka_settings_conf(const ab_kafka_settings *s, ab_kafka_kind kind, rd_kafka_conf_t **out,
                              ab_error *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(s->common);
    bool produces = kind == AB_KAFKA_PRODUCER || kind == AB_KAFKA_LIVE_PRODUCER;
    ab_err e = produces ? set_producer(s, conf, kind == AB_KAFKA_LIVE_PRODUCER, err)
                        : set_consumer(s, conf, kind, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_passthrough(s->config, conf, err);
    if (e != AB_ERR_OK) {
        rd_kafka_conf_destroy(conf);
        return e;
    }
    *out = conf;
    return AB_ERR_OK;
}
