/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/settings.h"

#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24LL * HOUR)
#define KIB    1024LL
#define MIB    (1024 * KIB)

static const ab_option rows[] = {
    {.name = "kafka.brokers",
     .kind = AB_OPT_LIST,
     .help = "Brokers for the first connection, host:port each; they name the other brokers."},
    {.name = "kafka.prefix",
     .kind = AB_OPT_STRING,
     .deflt = "argobus",
     .help = "First part of all topic and group names."},
    {.name = "kafka.topics",
     .kind = AB_OPT_ENUM,
     .deflt = "verify",
     .choices = "verify|create|external",
     .help = "verify: topics of an agent are checked. create: the principal creates missing "
             "topics, checks them, and deletes them when it stops serving the agent because its "
             "cluster Secret or its entry in agents was removed; this deletes no object of the "
             "agent, and topics stay when the principal stops. external: topics are not "
             "checked."},
    {.name = "kafka.replication-factor",
     .kind = AB_OPT_INT,
     .deflt = "3",
     .min = 1,
     .max = 100,
     .help = "Replicas of topics that the principal creates."},
    {.name = "kafka.min-insync-replicas",
     .kind = AB_OPT_INT,
     .deflt = "2",
     .min = 1,
     .max = 100,
     .help = "Replicas that must have an event before it counts as sent, for state topics that "
             "the principal creates; at most kafka.replication-factor."},
    {.name = "kafka.segment-time",
     .kind = AB_OPT_DURATION,
     .deflt = "24h",
     .min = MINUTE,
     .max = 365 * DAY,
     .help = "Age at which a segment of a state topic is closed and can be compacted."},
    {.name = "kafka.delete-retention",
     .kind = AB_OPT_DURATION,
     .deflt = "336h",
     .min = HOUR,
     .max = 3650 * DAY,
     .help = "How long a tombstone stays in a state topic. An agent that is disconnected for "
             "longer learns what was deleted from the resync that is due when it returns "
             "(sync.resync, which must not be 0 then)."},
    {.name = "kafka.message-max",
     .kind = AB_OPT_SIZE,
     .deflt = "4MiB",
     .min = 64 * KIB,
     .max = 64 * MIB,
     .help = "Maximum size of an event; topics must allow the same (max.message.bytes)."},
    {.name = "kafka.compression",
     .kind = AB_OPT_ENUM,
     .deflt = "lz4",
     .choices = "none|gzip|snappy|lz4|zstd",
     .help = "Compression of sent records; those of live topics are never compressed."},
    {.name = "kafka.linger",
     .kind = AB_OPT_DURATION,
     .deflt = "0s",
     .min = 0,
     .max = 10 * SECOND,
     .help = "How long a state event waits for other events to share a request. With 0s the state "
             "events of an agent share one that come while an earlier one is not confirmed."},
    {.name = "kafka.delivery-timeout",
     .kind = AB_OPT_DURATION,
     .deflt = "120s",
     .min = SECOND,
     .max = HOUR,
     .help = "How long to retry an event that no broker accepts; after that the newest version "
             "of its object is sent again."},
    {.name = "kafka.queue",
     .kind = AB_OPT_SIZE,
     .min = 256 * KIB,
     .max = 1024 * MIB,
     .help = "Maximum size of events on their way to the brokers, for all agents together; one "
             "agent uses half of it at most, and an agent whose events are not confirmed does "
             "not delay others. Unset: 16MiB, or twice kafka.message-max if that is more."},
    {.name = "kafka.commit-interval",
     .kind = AB_OPT_DURATION,
     .deflt = "1s",
     .min = 100,
     .max = HOUR,
     .help = "Interval of commits of the position up to which events are applied."},
    {.name = "kafka.insecure",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Disable TLS, for a service mesh or a test: anyone with access to the network can "
             "read and write everything, including a SASL password. If false, kafka.tls.* must "
             "be set; if true, it must not be."},
    {.name = "kafka.tls.enabled",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Use TLS even if no other kafka.tls option is set (with the system's certificate "
             "authorities)."},
    {.name = "kafka.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities for the brokers' certificates (PEM). When this file, the "
             "certificate, its key or kafka.sasl.password-file changes, all connections are "
             "replaced."},
    {.name = "kafka.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "This program's certificate with its chain (PEM)."},
    {.name = "kafka.tls.key",
     .kind = AB_OPT_FILE,
     .help = "The private key of kafka.tls.cert (PEM)."},
    {.name = "kafka.tls.key-password",
     .kind = AB_OPT_STRING,
     .secret = true,
     .help = "Password of kafka.tls.key."},
    {.name = "kafka.sasl.mechanism",
     .kind = AB_OPT_ENUM,
     .deflt = "none",
     .choices = "none|PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER",
     .help = "How to log in to the brokers, beside or instead of a client certificate. SCRAM needs "
             "librdkafka 2.6.1 or newer when the brokers are of Kafka 4.0 or newer."},
    {.name = "kafka.sasl.username", .kind = AB_OPT_STRING, .help = "User name for SASL."},
    {.name = "kafka.sasl.password",
     .kind = AB_OPT_STRING,
     .secret = true,
     .help = "Password for SASL."},
    {.name = "kafka.sasl.password-file",
     .kind = AB_OPT_FILE,
     .help = "File with the password for SASL, instead of kafka.sasl.password; a line break at its "
             "end is ignored."},
    {.name = "kafka.sasl.oauth.endpoint",
     .kind = AB_OPT_STRING,
     .help = "Token endpoint of the authorization server for OAUTHBEARER, an https URL; asked with "
             "the client's credentials."},
    {.name = "kafka.sasl.oauth.client-id",
     .kind = AB_OPT_STRING,
     .help = "The client's name there."},
    {.name = "kafka.sasl.oauth.client-secret-file",
     .kind = AB_OPT_FILE,
     .help = "File with the client's secret; read again for each token."},
    {.name = "kafka.sasl.oauth.scope",
     .kind = AB_OPT_STRING,
     .help = "Scope to ask for, several separated by blanks."},
    {.name = "kafka.sasl.oauth.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities for the token endpoint (PEM); unset: those of the system."},
    {.name = "kafka.sasl.oauth.token-file",
     .kind = AB_OPT_FILE,
     .help = "File with the token itself, a JWT that somebody keeps fresh, such as a projected "
             "service account token, instead of an endpoint."},
    {.name = "kafka.librdkafka",
     .kind = AB_OPT_MAP,
     .help = "Any other setting of librdkafka, by its own name, e.g. "
             "kafka.librdkafka.socket.timeout.ms. Files named here are not watched: changes "
             "take effect after a restart, or when a file of kafka.tls.* or kafka.sasl.* "
             "changes too."},
};

const ab_options ab_kafka_options = {rows, sizeof(rows) / sizeof(rows[0])};
