/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/settings.h"

#include "transport/kafka/client/errors.h"
#include "transport/kafka/kafka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SET_MAX 8

typedef struct {
    ab_config *config;
    ab_kafka_settings settings;
    ab_error err;
} loaded;

/* What --check-config says must be what the start says. */
static void assert_check_says(const ab_transport_env *env, ab_err wanted, const ab_error *why)
{
    ab_error err = {0};
    ab_err e = ab_kafka_transport.check(env->config, env->role, env->agent, &err);
    assert_int_equal(e, wanted);
    assert_string_equal(err.text, why->text);
}

/* Settings of an agent w1, or a principal, from "key=value" words; the last is NULL. Plain text
 * unless they say otherwise. */
static ab_err load(loaded *out, ab_role role, const char *const *words)
{
    *out = (loaded){0};
    const ab_options tables[] = {ab_transport_options, ab_kafka_options};
    const char *set[SET_MAX] = {"kafka.brokers=127.0.0.1:1", "kafka.insecure=true"};
    size_t count = 2;
    for (; *words != NULL && count < SET_MAX; words++)
        set[count++] = *words;
    const ab_config_sources sources = {.set = set, .set_count = count};
    ab_err e = ab_config_load(tables, 2, &sources, &out->config, &out->err);
    if (e != AB_ERR_OK)
        return e;
    const ab_transport_env env = {
        .config = out->config, .role = role, .agent = role == AB_ROLE_AGENT ? "w1" : NULL};
    e = ab_kafka_settings_init(&out->settings, &env, &out->err);
    assert_check_says(&env, e, &out->err);
    return e;
}

static void unload(loaded *l)
{
    ab_kafka_settings_fini(&l->settings);
    ab_config_free(l->config);
}

/* First of the words of a test that wants TLS. */
#define SECURE "kafka.insecure=false"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_has(const loaded *l, ab_kafka_kind kind, const char *key, const char *wanted)
{
    rd_kafka_conf_t *conf = NULL;
    assert_int_equal(ab_kafka_settings_conf(&l->settings, kind, &conf, NULL), AB_ERR_OK);
    char value[256];
    size_t room = sizeof(value);
    if (rd_kafka_conf_get(conf, key, value, &room) != RD_KAFKA_CONF_OK) {
        const rd_kafka_topic_conf_t *topic = rd_kafka_conf_get_default_topic_conf(conf);
        room = sizeof(value);
        assert_non_null(topic);
        assert_int_equal(rd_kafka_topic_conf_get(topic, key, value, &room), RD_KAFKA_CONF_OK);
    }
    assert_string_equal(value, wanted);
    rd_kafka_conf_destroy(conf);
}

static void assert_refused(const char *const *words, const char *mention)
{
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, words), AB_ERR_CONFIG);
    if (strstr(l.err.text, mention) == NULL)
        fail_msg("\"%s\" does not mention %s", l.err.text, mention);
    unload(&l);
}

static void state_is_produced_safely_and_live_at_once(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_PRINCIPAL, WORDS("kafka.message-max=1MiB")), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "enable.idempotence", "true");
    assert_has(&l, AB_KAFKA_PRODUCER, "acks", "-1");
    assert_has(&l, AB_KAFKA_PRODUCER, "message.timeout.ms", "120000");
    assert_has(&l, AB_KAFKA_PRODUCER, "message.max.bytes", "1048576");
    assert_has(&l, AB_KAFKA_PRODUCER, "linger.ms", "0");
    assert_has(&l, AB_KAFKA_PRODUCER, "compression.codec", "lz4");
    assert_has(&l, AB_KAFKA_PRODUCER, "socket.nagle.disable", "true");
    assert_has(&l, AB_KAFKA_PRODUCER, "queue.buffering.max.kbytes", "2147483647");
    assert_int_equal(l.settings.queue_bytes, 16 * 1024 * 1024);
    assert_has(&l, AB_KAFKA_LIVE_PRODUCER, "enable.idempotence", "false");
    assert_has(&l, AB_KAFKA_LIVE_PRODUCER, "acks", "1");
    assert_has(&l, AB_KAFKA_LIVE_PRODUCER, "linger.ms", "0");
    assert_has(&l, AB_KAFKA_LIVE_PRODUCER, "compression.codec", "none");
    unload(&l);
}

static void a_batch_is_large_where_topics_are_known_to_take_it(void **state)
{
    (void)state;
    static const struct {
        ab_role role;
        const char *topics;
        const char *bytes;
    } rows[] = {{AB_ROLE_PRINCIPAL, "kafka.topics=create", "2000000"},
                {AB_ROLE_PRINCIPAL, "kafka.topics=verify", "2000000"},
                {AB_ROLE_PRINCIPAL, "kafka.topics=external", "1000000"},
                {AB_ROLE_AGENT, "kafka.topics=verify", "1000000"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        loaded l;
        assert_int_equal(load(&l, rows[i].role, WORDS(rows[i].topics)), AB_ERR_OK);
        assert_has(&l, AB_KAFKA_PRODUCER, "batch.size", rows[i].bytes);
        assert_has(&l, AB_KAFKA_LIVE_PRODUCER, "batch.size", "1000000");
        unload(&l);
    }
}

static void linger_and_queue_are_what_is_asked_for(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS("kafka.linger=7ms", "kafka.queue=1MiB")),
                     AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "linger.ms", "7");
    assert_int_equal(l.settings.queue_bytes, 1024 * 1024);
    unload(&l);
}

static void the_queue_has_room_for_the_largest_event(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS("kafka.message-max=64MiB")), AB_ERR_OK);
    assert_int_equal(l.settings.queue_bytes, 128 * 1024 * 1024);
    unload(&l);
}

static void positions_are_never_committed_behind_our_back(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(NULL)), AB_ERR_OK);
    const ab_kafka_kind kinds[] = {AB_KAFKA_CONSUMER, AB_KAFKA_READER, AB_KAFKA_LIVE_CONSUMER};
    for (size_t i = 0; i < 3; i++) {
        assert_has(&l, kinds[i], "enable.auto.commit", "false");
        assert_has(&l, kinds[i], "enable.auto.offset.store", "false");
        assert_has(&l, kinds[i], "auto.offset.reset",
                   kinds[i] == AB_KAFKA_LIVE_CONSUMER ? "largest" : "error");
        assert_has(&l, kinds[i], "group.id",
                   kinds[i] == AB_KAFKA_LIVE_CONSUMER ? "argobus.agent.w1.live"
                                                      : "argobus.agent.w1");
    }
    unload(&l);
    assert_int_equal(load(&l, AB_ROLE_PRINCIPAL, WORDS("kafka.prefix=hub")), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_CONSUMER, "group.id", "hub.principal");
    unload(&l);
}

static void other_settings_are_passed_through(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT,
                          WORDS("kafka.librdkafka.socket.timeout.ms=4321",
                                "kafka.librdkafka.fetch.wait.max.ms=77")),
                     AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "socket.timeout.ms", "4321");
    assert_has(&l, AB_KAFKA_CONSUMER, "fetch.wait.max.ms", "77");
    unload(&l);
}

static void an_agent_is_a_static_member_of_its_live_group(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(NULL)), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_LIVE_CONSUMER, "group.instance.id", "w1");
    assert_has(&l, AB_KAFKA_LIVE_CONSUMER, "session.timeout.ms", "30000");
    assert_has(&l, AB_KAFKA_LIVE_CONSUMER, "heartbeat.interval.ms", "3000");
    unload(&l);
    /* No broker takes less, unless it was told to. */
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS("transport.heartbeat=100ms")), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_LIVE_CONSUMER, "session.timeout.ms", "6000");
    unload(&l);
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS("transport.heartbeat=10m")), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_LIVE_CONSUMER, "session.timeout.ms", "300000");
    unload(&l);
}

static void settings_that_carry_a_promise_are_not_passed_through(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.librdkafka.enable.idempotence=false"), "twice");
    assert_refused(WORDS("kafka.librdkafka.acks=1"), "in-sync");
    assert_refused(WORDS("kafka.librdkafka.auto.offset.reset=latest"), "replay");
    assert_refused(WORDS("kafka.librdkafka.enable.auto.commit=true"), "after the effect");
    assert_refused(WORDS("kafka.librdkafka.group.id=mine"), "kafka.prefix");
    assert_refused(WORDS("kafka.librdkafka.queue.buffering.max.messages=5"), "kafka.queue");
    assert_refused(WORDS("kafka.librdkafka.message.timeout.ms=0"), "kafka.delivery-timeout");
    assert_refused(WORDS("kafka.librdkafka.ssl.endpoint.identification.algorithm=none"),
                   "impersonate");
    assert_refused(WORDS("kafka.librdkafka.enable.ssl.certificate.verification=f"), "impersonate");
    assert_refused(WORDS("kafka.librdkafka.delivery.report.only.error=true"), "report");
    assert_refused(WORDS("kafka.librdkafka.enabled_events=0"), "report");
}

static void tls_is_not_taken_away_by_the_way(void **state)
{
    (void)state;
    loaded l;
    assert_refused(
        WORDS(SECURE, "kafka.tls.enabled=true", "kafka.librdkafka.security.protocol=plaintext"),
        "kafka.tls.enabled");
    assert_refused(WORDS("kafka.librdkafka.security.protocol=sasl_plaintext"), "kafka.tls.enabled");
    assert_int_equal(
        load(&l, AB_ROLE_AGENT,
             WORDS(SECURE, "kafka.tls.enabled=true", "kafka.librdkafka.security.protocol=sasl_ssl",
                   "kafka.librdkafka.sasl.mechanisms=OAUTHBEARER",
                   "kafka.librdkafka.enable.sasl.oauthbearer.unsecure.jwt=true")),
        AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "security.protocol", "sasl_ssl");
    unload(&l);
}

static void tokens_need_a_source(void **state)
{
    (void)state;
#define OAUTH  SECURE, "kafka.tls.enabled=true", "kafka.sasl.mechanism=OAUTHBEARER"
#define SOURCE "kafka.sasl.oauth."
    const char *const client = SOURCE "client-id=a";
    const char *const secret = SOURCE "client-secret-file=/dev/null";
    loaded l;
    assert_refused(WORDS(OAUTH), "needs kafka.sasl.oauth.endpoint");
    assert_refused(WORDS(OAUTH, SOURCE "endpoint=https://a/token", client), "client-secret-file");
    assert_refused(WORDS(OAUTH, SOURCE "endpoint=https://u:p@a/token", client, secret),
                   "endpoint has a user or a password");
    assert_refused(WORDS(OAUTH, SOURCE "endpoint=http://a/token", client, secret),
                   "does not begin with https://");
    assert_refused(WORDS(OAUTH, SOURCE "endpoint=https://a/token", SOURCE "token-file=/dev/null"),
                   "are both set");
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(OAUTH, SOURCE "token-file=/dev/null")),
                     AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "sasl.mechanism", "OAUTHBEARER");
    unload(&l);
}

static void plain_text_is_only_for_who_asks_for_it(void **state)
{
    (void)state;
    const char *const remedy = "kafka.insecure: true is for";
    assert_refused(WORDS(SECURE), remedy);
    assert_refused(WORDS(SECURE, "kafka.tls.enabled=false"), remedy);
    assert_refused(WORDS(SECURE, "kafka.sasl.mechanism=PLAIN", "kafka.sasl.username=w1",
                         "kafka.sasl.password=hunter2"),
                   remedy);
    assert_refused(WORDS(SECURE, "kafka.librdkafka.security.protocol=plaintext"), remedy);
    assert_refused(WORDS(SECURE, "kafka.librdkafka.ssl.ca.location=/etc/ssl/ca.crt"), remedy);
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(NULL)), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "security.protocol", "plaintext");
    unload(&l);
}

static void plain_text_and_tls_contradict_each_other(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.tls.enabled=true"), "kafka.tls.enabled turns it on");
    assert_refused(WORDS("kafka.tls.ca=/dev/null"), "kafka.tls.ca turns it on");
    assert_refused(WORDS("kafka.tls.cert=/dev/null"), "kafka.tls.cert turns it on");
    assert_refused(WORDS("kafka.tls.key=/dev/null"), "kafka.tls.key turns it on");
    assert_refused(WORDS("kafka.tls.key-password=x"), "kafka.tls.key-password turns it on");
    assert_refused(WORDS("kafka.librdkafka.security.protocol=SASL_SSL"),
                   "kafka.librdkafka.security.protocol turns it on");
}

static void a_misspelt_insecure_is_told_the_right_name(void **state)
{
    (void)state;
    assert_refused(WORDS(SECURE, "kafka.insecur=true"), "kafka.insecure");
    assert_refused(WORDS("kafka.insecure=maybe"), "kafka.insecure");
}

static void what_proves_the_broker_may_be_said_aloud(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT,
                          WORDS("kafka.librdkafka.ssl.endpoint.identification.algorithm=https")),
                     AB_ERR_OK);
    unload(&l);
}

static void a_refused_password_is_not_repeated(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS("kafka.librdkafka.sasl.password=hunter2")),
                     AB_ERR_CONFIG);
    assert_null(strstr(l.err.text, "hunter2"));
    assert_non_null(strstr(l.err.text, "kafka.sasl.password"));
    unload(&l);
}

static void an_unknown_setting_is_named(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.librdkafka.no.such.setting=1"), "no.such.setting");
    assert_refused(WORDS("kafka.librdkafka.socket.timeout.ms=many"), "socket.timeout.ms");
}

static void brokers_are_needed(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.brokers="), "kafka.brokers");
}

static void a_prefix_that_makes_no_topic_is_refused(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.prefix=with space"), "kafka.prefix");
    const int longest = AB_TOPIC_NAME_MAX - (int)sizeof(".down.w1.state");
    char word[AB_TOPIC_NAME_MAX + 16];
    snprintf(word, sizeof(word), "kafka.prefix=%0*d", longest + 1, 0);
    assert_refused(WORDS(word), "agent name \"w1\"");
    snprintf(word, sizeof(word), "kafka.prefix=%0*d", longest, 0);
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(word)), AB_ERR_OK);
    unload(&l);
}

static void a_login_needs_a_user_and_one_password(void **state)
{
    (void)state;
    assert_refused(WORDS("kafka.sasl.mechanism=PLAIN"), "kafka.sasl.username");
    assert_refused(WORDS("kafka.sasl.mechanism=PLAIN", "kafka.sasl.username=w1"),
                   "kafka.sasl.password");
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT,
                          WORDS("kafka.sasl.mechanism=SCRAM-SHA-512", "kafka.sasl.username=w1",
                                "kafka.sasl.password=secret")),
                     AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "security.protocol", "sasl_plaintext");
    assert_has(&l, AB_KAFKA_PRODUCER, "sasl.mechanisms", "SCRAM-SHA-512");
    unload(&l);
}

/* A file with this text, named until the test ends. */
static void write_file(char path[64], const char *text)
{
    snprintf(path, 64, "/tmp/argobus-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void a_password_can_come_from_a_file(void **state)
{
    (void)state;
    char path[64];
    write_file(path, "from-a-file\n");
    char word[128];
    snprintf(word, sizeof(word), "kafka.sasl.password-file=%s", path);
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT,
                          WORDS("kafka.sasl.mechanism=PLAIN", "kafka.sasl.username=w1", word)),
                     AB_ERR_OK);
    assert_has(&l, AB_KAFKA_CONSUMER, "sasl.password", "from-a-file");
    unload(&l);
    unlink(path);
}

static void tls_is_on_as_soon_as_a_certificate_is_named(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, AB_ROLE_AGENT, WORDS(SECURE, "kafka.tls.enabled=true")), AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "security.protocol", "ssl");
    assert_has(&l, AB_KAFKA_PRODUCER, "ssl.endpoint.identification.algorithm", "https");
    unload(&l);
}

static void the_password_of_the_key_is_passed_on(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(
        load(&l, AB_ROLE_AGENT,
             WORDS(SECURE, "kafka.tls.enabled=true", "kafka.tls.key-password=hunter2")),
        AB_ERR_OK);
    assert_has(&l, AB_KAFKA_PRODUCER, "ssl.key.password", "hunter2");
    assert_has(&l, AB_KAFKA_CONSUMER, "ssl.key.password", "hunter2");
    unload(&l);
}

static void a_certificate_that_is_none_is_refused_at_once(void **state)
{
    (void)state;
    char path[64];
    write_file(path, "this is no certificate");
    char ca[128], cert[128], said[256];
    snprintf(ca, sizeof(ca), "kafka.tls.ca=%s", path);
    snprintf(cert, sizeof(cert), "kafka.tls.cert=%s", path);
    snprintf(said, sizeof(said), "kafka.tls.ca: %s is not a PEM file with certificates", path);
    assert_refused(WORDS(SECURE, ca), said);
    assert_refused(WORDS(SECURE, cert), "kafka.tls.key");
    unlink(path);
}

static void errors_about_an_event_are_permanent_and_others_are_not(void **state)
{
    (void)state;
    static const struct {
        rd_kafka_resp_err_t code;
        ab_err wanted;
    } rows[] = {
        {RD_KAFKA_RESP_ERR_NO_ERROR, AB_ERR_OK},
        {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, AB_ERR_TOOBIG},
        {RD_KAFKA_RESP_ERR_INVALID_RECORD, AB_ERR_INVALID},
        {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, AB_ERR_DENIED},
        {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, AB_ERR_TIMEOUT},
        {RD_KAFKA_RESP_ERR__QUEUE_FULL, AB_ERR_FULL},
        {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, AB_ERR_UNAVAILABLE},
        {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, AB_ERR_UNAVAILABLE},
        {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, AB_ERR_UNAVAILABLE},
        {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, AB_ERR_UNAVAILABLE},
        {RD_KAFKA_RESP_ERR__FATAL, AB_ERR_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(ab_kafka_err(rows[i].code), rows[i].wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_produced_safely_and_live_at_once),
        cmocka_unit_test(a_batch_is_large_where_topics_are_known_to_take_it),
        cmocka_unit_test(linger_and_queue_are_what_is_asked_for),
        cmocka_unit_test(the_queue_has_room_for_the_largest_event),
        cmocka_unit_test(positions_are_never_committed_behind_our_back),
        cmocka_unit_test(other_settings_are_passed_through),
        cmocka_unit_test(an_agent_is_a_static_member_of_its_live_group),
        cmocka_unit_test(settings_that_carry_a_promise_are_not_passed_through),
        cmocka_unit_test(tls_is_not_taken_away_by_the_way),
        cmocka_unit_test(tokens_need_a_source),
        cmocka_unit_test(plain_text_is_only_for_who_asks_for_it),
        cmocka_unit_test(plain_text_and_tls_contradict_each_other),
        cmocka_unit_test(a_misspelt_insecure_is_told_the_right_name),
        cmocka_unit_test(what_proves_the_broker_may_be_said_aloud),
        cmocka_unit_test(a_refused_password_is_not_repeated),
        cmocka_unit_test(an_unknown_setting_is_named),
        cmocka_unit_test(brokers_are_needed),
        cmocka_unit_test(a_prefix_that_makes_no_topic_is_refused),
        cmocka_unit_test(a_login_needs_a_user_and_one_password),
        cmocka_unit_test(a_password_can_come_from_a_file),
        cmocka_unit_test(tls_is_on_as_soon_as_a_certificate_is_named),
        cmocka_unit_test(the_password_of_the_key_is_passed_on),
        cmocka_unit_test(a_certificate_that_is_none_is_refused_at_once),
        cmocka_unit_test(errors_about_an_event_are_permanent_and_others_are_not),
    };
    return cmocka_run_group_tests_name("kafka settings", tests, NULL, NULL);
}
