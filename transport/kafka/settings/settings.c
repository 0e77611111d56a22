/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/settings.h"

#include "base/core/file.h"
#include "transport/kafka/settings/oauth.h"
#include "transport/kafka/settings/passthrough.h"
#include "transport/kafka/settings/rows.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PASSWORD_MAX 4096
#define QUEUE_MIN    (16LL * 1024 * 1024)

/* librdkafka leaves a broker out whose scheme it does not know, and says so when it connects. */
static ab_err check_brokers(const ab_config *c, size_t count, ab_error *err)
{
    if (count == 0)
        return ab_fail(err, AB_ERR_CONFIG, "kafka.brokers is not set: give at least one host:port");
    for (size_t i = 0; i < count; i++) {
        const char *broker = ab_config_item(c, "kafka.brokers", i);
        if (strncasecmp(broker, "http", 4) == 0 && strstr(broker, "://") != NULL)
            return ab_fail(err, AB_ERR_CONFIG,
                           "kafka.brokers: \"%s\" is a URL: write host:port, without http(s)://",
                           broker);
    }
    return AB_ERR_OK;
}

void ab_kafka_put_brokers(const ab_config *config, ab_buf *out)
{
    for (size_t i = 0; i < ab_config_count(config, "kafka.brokers"); i++)
        ab_buf_printf(out, "%s%s", i == 0 ? "" : ",", ab_config_item(config, "kafka.brokers", i));
}

static ab_err set_brokers(const ab_kafka_settings *s, ab_error *err)
{
    ab_err e = check_brokers(s->config, ab_config_count(s->config, "kafka.brokers"), err);
    if (e != AB_ERR_OK)
        return e;
    ab_buf list = ab_buf_up_to(AB_KAFKA_BROKERS_MAX);
    ab_kafka_put_brokers(s->config, &list);
    e = ab_buf_status(&list);
    if (e == AB_ERR_OK)
        e = ab_kafka_row_set(s->common,
                             &(ab_kafka_row){"bootstrap.servers", list.ptr, "kafka.brokers"}, err);
    else
        ab_fail(err, e, "kafka.brokers: %s", ab_err_text(e));
    ab_buf_fini(&list);
    return e;
}

static bool wants_sasl(const ab_config *c)
{
    return strcmp(ab_config_str(c, "kafka.sasl.mechanism"), "none") != 0;
}

/* The first of our own options that asks for TLS, or NULL. */
static const char *tls_option(const ab_config *c)
{
    static const char *const names[] = {"kafka.tls.ca", "kafka.tls.cert", "kafka.tls.key",
                                        "kafka.tls.key-password"};
    if (ab_config_bool(c, "kafka.tls.enabled"))
        return "kafka.tls.enabled";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (ab_config_str(c, names[i]) != NULL)
            return names[i];
    }
    return NULL;
}

/* librdkafka may have been built without a part that we need; it would say so only when connecting.
 */
static ab_err need_feature(const ab_kafka_settings *s, const char *feature, ab_error *err)
{
    char have[512] = ",";
    size_t room = sizeof(have) - 2;
    if (rd_kafka_conf_get(s->common, "builtin.features", have + 1, &room) != RD_KAFKA_CONF_OK)
        return ab_fail(err, AB_ERR_CONFIG, "this librdkafka does not report its features");
    char word[64];
    snprintf(word, sizeof(word), ",%s,", feature);
    size_t len = strlen(have);
    have[len] = ',';
    have[len + 1] = '\0';
    if (strstr(have, word) == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "this librdkafka (%s) was built without %s",
                       rd_kafka_version_str(), feature);
    return AB_ERR_OK;
}

static ab_err read_password(const char *path, char out[PASSWORD_MAX], ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(PASSWORD_MAX - 1);
    ab_err e = ab_file_read_named(path, &text, err);
    if (e == AB_ERR_OK)
        snprintf(out, PASSWORD_MAX, "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    else
        ab_error_prefix(err, "kafka.sasl.password-file");
    out[strcspn(out, "\r\n")] = '\0';
    ab_buf_wipe(&text);
    return e;
}

static ab_err set_sasl(const ab_kafka_settings *s, ab_error *err)
{
    const ab_config *c = s->config;
    const char *mechanism = ab_config_str(c, "kafka.sasl.mechanism");
    const char *password = ab_config_str(c, "kafka.sasl.password");
    const char *file = ab_config_str(c, "kafka.sasl.password-file");
    const char *user = ab_config_str(c, "kafka.sasl.username");
    if (user == NULL || (password == NULL) == (file == NULL))
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.sasl.mechanism %s needs kafka.sasl.username and one of "
                       "kafka.sasl.password and kafka.sasl.password-file",
                       mechanism);
    ab_err e = need_feature(s, mechanism[0] == 'P' ? "sasl_plain" : "sasl_scram", err);
    char text[PASSWORD_MAX] = "";
    if (e == AB_ERR_OK && file != NULL)
        e = read_password(file, text, err);
    const ab_kafka_row rows[] = {
        {"sasl.mechanism", mechanism, "kafka.sasl.mechanism"},
        {"sasl.username", user, "kafka.sasl.username"},
        {"sasl.password", file == NULL ? password : text, "kafka.sasl.password"},
    };
    if (e == AB_ERR_OK)
        e = AB_KAFKA_ROWS_SET(s->common, rows, err);
    explicit_bzero(text, sizeof(text));
    return e;
}

static ab_err set_tls(const ab_kafka_settings *s, ab_error *err)
{
    const ab_config *c = s->config;
    if ((ab_config_str(c, "kafka.tls.cert") == NULL) != (ab_config_str(c, "kafka.tls.key") == NULL))
        return ab_fail(err, AB_ERR_CONFIG, "kafka.tls.cert and kafka.tls.key must be set together");
    ab_err e = need_feature(s, "ssl", err);
    if (e != AB_ERR_OK)
        return e;
    const ab_kafka_row rows[] = {
        {"ssl.endpoint.identification.algorithm", "https", NULL},
        {"ssl.ca.location", ab_config_str(c, "kafka.tls.ca"), "kafka.tls.ca"},
        {"ssl.certificate.location", ab_config_str(c, "kafka.tls.cert"), "kafka.tls.cert"},
        {"ssl.key.location", ab_config_str(c, "kafka.tls.key"), "kafka.tls.key"},
        {"ssl.key.password", ab_config_str(c, "kafka.tls.key-password"), "kafka.tls.key-password"},
    };
    return AB_KAFKA_ROWS_SET(s->common, rows, err);
}

/* Plain text has to be asked for by name: nobody gets it by a forgotten line. */
static ab_err check_encryption(const ab_config *c, ab_error *err)
{
    const char *tls = tls_option(c);
    if (tls == NULL && ab_kafka_passthrough_is_tls(c))
        tls = "kafka.librdkafka.security.protocol";
    bool insecure = ab_config_bool(c, "kafka.insecure");
    if (insecure && tls != NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.insecure: true turns TLS off, but %s turns it on: remove one of them",
                       tls);
    if (!insecure && tls == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "TLS to the brokers is not configured: set kafka.tls.ca, or "
                       "kafka.tls.enabled: true to trust the system's authorities "
                       "(kafka.insecure: true is for a service mesh or a test)");
    return AB_ERR_OK;
}

static ab_err set_security(const ab_kafka_settings *s, ab_error *err)
{
    ab_err e = check_encryption(s->config, err);
    if (e != AB_ERR_OK)
        return e;
    bool sasl = wants_sasl(s->config);
    bool tls = tls_option(s->config) != NULL;
    const char *protocol =
        sasl ? (tls ? "SASL_SSL" : "SASL_PLAINTEXT") : (tls ? "SSL" : "PLAINTEXT");
    e = ab_kafka_row_set(s->common, &(ab_kafka_row){"security.protocol", protocol, "kafka.tls"},
                         err);
    if (e == AB_ERR_OK && tls)
        e = set_tls(s, err);
    if (e != AB_ERR_OK || !sasl)
        return e;
    if (!ab_kafka_oauth_is_wanted(s->config))
        return set_sasl(s, err);
    e = need_feature(s, "sasl_oauthbearer", err);
    if (e == AB_ERR_OK)
        e = ab_kafka_oauth_configure(s->config, s->common, err);
    return e;
}

static ab_err set_common(const ab_kafka_settings *s, ab_error *err)
{
    char client[128];
    snprintf(client, sizeof(client), "argobus-%s%s",
             s->role == AB_ROLE_PRINCIPAL ? "principal" : "agent-",
             s->agent == NULL ? "" : s->agent);
    const ab_kafka_row rows[] = {
        {"client.id", client, NULL},
        {"client.software.name", "argobus", NULL},
        {"client.software.version", AB_VERSION, NULL},
        {"log.queue", "true", NULL},
        {"socket.keepalive.enable", "true", NULL},
        /* librdkafka 2.0 would hold back a request while an earlier one is not confirmed. */
        {"socket.nagle.disable", "true", NULL},
        {"allow.auto.create.topics", "false", NULL},
        /* Or a handle would ask the one broker that it is connected to about all topics, and if
         * that one does not answer, wait a minute. A principal needs most brokers anyway. */
        {"enable.sparse.connections", s->role == AB_ROLE_PRINCIPAL ? "false" : NULL, NULL},
    };
    ab_err e = AB_KAFKA_ROWS_SET(s->common, rows, err);
    if (e == AB_ERR_OK)
        e = set_brokers(s, err);
    if (e == AB_ERR_OK)
        e = set_security(s, err);
    return e;
}

/* librdkafka names its own settings, and OpenSSL's words for a wrong file do not say what is
 * wanted. */
static ab_err refused(const ab_kafka_settings *s, const char *why, ab_error *err)
{
    static const struct {
        const char *setting, *option, *wanted;
    } files[] = {
        {"ssl.ca.location", "kafka.tls.ca", "a PEM file with certificates of authorities"},
        {"ssl.certificate.location", "kafka.tls.cert", "a PEM file with a certificate"},
        {"ssl.key.location", "kafka.tls.key",
         "a PEM file with the private key of kafka.tls.cert, or its passphrase is not that of "
         "kafka.tls.key-password"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const char *file = ab_config_str(s->config, files[i].option);
        if (file != NULL && strncmp(why, files[i].setting, strlen(files[i].setting)) == 0)
            return ab_fail(err, AB_ERR_CONFIG, "%s: %s is not %s (%s)", files[i].option, file,
                           files[i].wanted, why);
    }
    return ab_fail(err, AB_ERR_CONFIG, "kafka: %s", why);
}

/* Making a handle loads the certificates and checks how settings fit together. Without brokers it
 * does nothing else. */
static ab_err try_out(const ab_kafka_settings *s, ab_kafka_kind kind, ab_error *err)
{
    rd_kafka_conf_t *conf = NULL;
    ab_err e = ab_kafka_settings_conf(s, kind, &conf, err);
    if (e != AB_ERR_OK)
        return e;
    char why[256];
    rd_kafka_conf_set(conf, "bootstrap.servers", "", why, sizeof(why));
    rd_kafka_type_t type = kind == AB_KAFKA_PRODUCER ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof(why));
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        return refused(s, why, err);
    }
    rd_kafka_destroy(rk);
    return AB_ERR_OK;
}

/* What all kinds share, tried out. */
static ab_err load(ab_kafka_settings *s, ab_error *err)
{
    s->common = rd_kafka_conf_new();
    ab_err e = set_common(s, err);
    if (e == AB_ERR_OK)
        e = try_out(s, AB_KAFKA_PRODUCER, err);
    if (e == AB_ERR_OK)
        e = try_out(s, AB_KAFKA_CONSUMER, err);
    return e;
}

static ab_kafka_management management(const ab_config *c)
{
    const char *word = ab_config_str(c, "kafka.topics");
    if (strcmp(word, "create") == 0)
        return AB_TOPICS_CREATE;
    return strcmp(word, "external") == 0 ? AB_TOPICS_EXTERNAL : AB_TOPICS_VERIFY;
}

/* The group's name is kept, that of an agent's longest topic is only tried. */
static bool make_names(ab_kafka_settings *s)
{
    char topic[AB_TOPIC_NAME_MAX];
    if (s->role == AB_ROLE_PRINCIPAL)
        return ab_group_principal(s->prefix, s->group);
    return ab_topic_format(s->prefix, AB_DOWN, s->agent, false, topic) &&
           ab_group_agent(s->prefix, s->agent, s->group) &&
           ab_group_agent_live(s->prefix, s->agent, s->live_group);
}

static ab_err read_names(ab_kafka_settings *s, ab_error *err)
{
    s->prefix = ab_config_str(s->config, "kafka.prefix");
    if (!make_names(s))
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.prefix \"%s\" and agent name \"%s\" do not form a legal topic name",
                       s->prefix, s->agent == NULL ? "" : s->agent);
    return AB_ERR_OK;
}

/* An idempotent producer of librdkafka has one batch of a partition under way at a time, and waits
 * for the broker between two: with twice its default it waits half as often (measured: 7 % more
 * events). But a broker refuses a whole batch that is too large for the topic, so only where topics
 * are known to take it: the principal makes them, or looks at their settings. */
static int64_t batch_bytes(const ab_kafka_settings *s)
{
    bool known = s->role == AB_ROLE_PRINCIPAL && s->topics != AB_TOPICS_EXTERNAL;
    int64_t bytes = known ? 2000000 : 1000000;
    return bytes < s->message_max_bytes ? bytes : s->message_max_bytes;
}

/* Some batches. What lies there longer than the caches last makes sending slower, not faster
 * (measured with 64 MiB: 10 %). But one event must never be too large for it. */
static int64_t queue_bytes(const ab_kafka_settings *s)
{
    if (ab_config_is_set(s->config, "kafka.queue"))
        return ab_config_int(s->config, "kafka.queue");
    return 2 * s->message_max_bytes > QUEUE_MIN ? 2 * s->message_max_bytes : QUEUE_MIN;
}

ab_err ab_kafka_settings_init(ab_kafka_settings *s, const ab_transport_env *env, ab_error *err)
{
    s->config = env->config;
    s->role = env->role;
    s->topics = management(env->config);
    s->commit_ms = ab_config_int(env->config, "kafka.commit-interval");
    s->heartbeat_ms = ab_config_int(env->config, "transport.heartbeat");
    s->inflight = (size_t)ab_config_int(env->config, "transport.inflight");
    s->message_max_bytes = ab_config_int(env->config, "kafka.message-max");
    s->batch_bytes = batch_bytes(s);
    s->queue_bytes = queue_bytes(s);
    s->linger_ms = ab_config_int(env->config, "kafka.linger");
    s->agent = env->agent;
    static const char *const files[] = {"kafka.tls.ca", "kafka.tls.cert", "kafka.tls.key",
                                        "kafka.sasl.password-file"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        ab_file_stamps_add(&s->files, ab_config_str(s->config, files[i]));
    ab_err e = read_names(s, err);
    return e == AB_ERR_OK ? load(s, err) : e;
}

ab_err ab_kafka_settings_reload(ab_kafka_settings *s, ab_error *err)
{
    rd_kafka_conf_t *before = s->common;
    ab_err e = load(s, err);
    if (e != AB_ERR_OK) {
        rd_kafka_conf_destroy(s->common);
        s->common = before;
        return e;
    }
    rd_kafka_conf_destroy(before);
    return AB_ERR_OK;
}

void ab_kafka_settings_fini(ab_kafka_settings *s)
{
    if (s->common != NULL)
        rd_kafka_conf_destroy(s->common);
    s->common = NULL;
}
