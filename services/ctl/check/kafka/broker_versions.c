/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kafka/broker_versions.h"

#include "services/ctl/check/dial.h"
#include "services/ctl/check/kafka/broker_versions_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BROKERS_MS  5000
#define REQUEST_MAX 256
#define LACKS_MAX   256

/* ----- one broker ----- */

typedef struct {
    int fd;
    SSL *ssl; /* NULL: without TLS */
} connection;

/* @return false: it failed, or in vain */
static bool wait_for(const connection *c, short events, int rc)
{
    struct pollfd wait = {.fd = c->fd, .events = events};
    if (c->ssl != NULL)
        return ab_dial_wait(c->ssl, c->fd, rc);
    return rc < 0 && errno == EAGAIN && poll(&wait, 1, AB_DIAL_STEP_MS) == 1;
}

static bool send_all(const connection *c, ab_str bytes)
{
    size_t sent = 0;
    while (sent < bytes.len) {
        size_t left = bytes.len - sent;
        int rc = c->ssl == NULL ? (int)send(c->fd, bytes.ptr + sent, left, MSG_NOSIGNAL)
                                : SSL_write(c->ssl, bytes.ptr + sent, (int)left);
        if (rc <= 0 && !wait_for(c, POLLOUT, rc))
            return false;
        sent += rc > 0 ? (size_t)rc : 0;
    }
    return true;
}

static bool receive_all(const connection *c, char *to, size_t len)
{
    size_t got = 0;
    while (got < len) {
        size_t left = len - got;
        int rc = c->ssl == NULL ? (int)recv(c->fd, to + got, left, 0)
                                : SSL_read(c->ssl, to + got, (int)left);
        if (rc <= 0 && !wait_for(c, POLLIN, rc))
            return false;
        got += rc > 0 ? (size_t)rc : 0;
    }
    return true;
}

/* @param answer  without its length */
static bool receive_answer(const connection *c, ab_buf *answer)
{
    unsigned char head[4];
    if (!receive_all(c, (char *)head, sizeof(head)))
        return false;
    size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (len > AB_API_VERSIONS_MAX)
        return false;
    char *to = ab_buf_extend(answer, len);
    return to != NULL && receive_all(c, to, len);
}

static ab_err exchange(const connection *c, ab_api_versions *out, ab_error *err)
{
    ab_buf request = ab_buf_up_to(REQUEST_MAX);
    ab_buf answer = ab_buf_up_to(AB_API_VERSIONS_MAX);
    ab_api_versions_put_request(&request);
    ab_err e = send_all(c, ab_buf_str(&request)) && receive_answer(c, &answer)
                   ? ab_api_versions_read(ab_buf_str(&answer), out, err)
                   : ab_fail(err, AB_ERR_IO, "no answer to ApiVersions");
    ab_buf_fini(&request);
    ab_buf_fini(&answer);
    return e;
}

static ab_err exchange_over_tls(const ab_setup *s, const char *host, int fd, ab_api_versions *out,
                                ab_error *err)
{
    ab_tls_context context;
    connection c = {.fd = fd};
    /* OpenSSL would ask for it at the terminal. */
    if (ab_config_str(s->config, "kafka.tls.key-password") != NULL)
        return ab_fail(err, AB_ERR_UNSUPPORTED, "only librdkafka gets kafka.tls.key-password");
    ab_err e = ab_dial_tls_init(&context, s, host, err);
    if (e == AB_ERR_OK && (c.ssl = ab_tls_context_open(&context, fd)) == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (e == AB_ERR_OK && !ab_dial_handshake(c.ssl, fd)) {
        ab_tls_context_explain(c.ssl, err, "TLS");
        e = AB_ERR_UNAVAILABLE;
    }
    if (e == AB_ERR_OK)
        e = exchange(&c, out, err);
    SSL_free(c.ssl);
    ab_tls_context_fini(&context);
    return e;
}

static ab_err ask(const ab_setup *s, const char *host, int port, ab_api_versions *out,
                  ab_error *err)
{
    struct addrinfo *list = NULL;
    int failed = ab_dial_resolve(host, port, &list);
    if (failed != 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "name: %s", gai_strerror(failed));
    int fd = ab_dial_tcp(list, &failed);
    freeaddrinfo(list);
    if (fd < 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "TCP: %s", strerror(failed));
    void (*former)(int) = signal(SIGPIPE, SIG_IGN); /* OpenSSL writes where nobody reads */
    ab_err e = ab_setup_is_insecure(s) ? exchange(&(connection){.fd = fd}, out, err)
                                       : exchange_over_tls(s, host, fd, out, err);
    signal(SIGPIPE, former);
    close(fd);
    return e;
}

/* ----- what it says ----- */

/* The newest metadata.version of each release, as its brokers tell it. */
static const char *release_of(int16_t level)
{
    static const struct {
        int16_t newest;
        const char *release;
    } releases[] = {{6, "older than 3.3"}, {7, "3.3"},  {8, "3.4"},  {11, "3.5"},
                    {14, "3.6"},           {19, "3.7"}, {20, "3.8"}, {21, "3.9"},
                    {25, "4.0"},           {27, "4.1"}, {29, "4.2"}, {30, "4.3"}};
    for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
        if (level <= releases[i].newest)
            return releases[i].release;
    return "newer than 4.3";
}

static void add_release(const ab_api_versions *v, const char *where, ab_findings *out)
{
    const char *release = release_of(v->supported);
    if (v->supported == 0)
        ab_findings_add(out, AB_FOUND_OK, where, NULL,
                        "version not known: the broker names no metadata.version, as Apache Kafka "
                        "before 3.3 and other products do not");
    else if (v->finalized == 0 || v->finalized == v->supported)
        ab_findings_add_version(out, where, ab_str_of(release),
                                "Kafka %s, by its metadata.version (%d)", release, v->supported);
    else
        ab_findings_add_version(out, where, ab_str_of(release),
                                "Kafka %s, by its metadata.version (%d); the cluster uses the one "
                                "of Kafka %s (%d)",
                                release, v->supported, release_of(v->finalized), v->finalized);
}

/* Since Kafka 0.11: records with headers, and producers whose records arrive once and in order. */
static void add_lacks(const ab_api_versions *v, const char *where, ab_findings *out)
{
    static const struct {
        int key;
        int16_t version;
        const char *name;
    } needed[] = {{0, 3, "Produce"},          {1, 4, "Fetch"},          {2, 1, "ListOffsets"},
                  {3, 0, "Metadata"},         {8, 2, "OffsetCommit"},   {9, 1, "OffsetFetch"},
                  {10, 0, "FindCoordinator"}, {22, 0, "InitProducerId"}};
    ab_buf lacks = ab_buf_up_to(LACKS_MAX);
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (v->newest[needed[i].key] < needed[i].version)
            ab_buf_printf(&lacks, "%s%s %d", lacks.len == 0 ? "" : ", ", needed[i].name,
                          needed[i].version);
    if (lacks.len > 0)
        ab_findings_add(out, AB_FOUND_ERROR, where,
                        "use brokers that know them, as Apache Kafka does since 0.11, and let a "
                        "proxy before them pass them on",
                        "does not know these requests, or not in this version: %.*s",
                        AB_STR_ARG(ab_buf_str(&lacks)));
    ab_buf_fini(&lacks);
}

void ab_broker_versions_judge(const ab_api_versions *v, const char *where, ab_findings *out)
{
    if (v->is_refused) {
        ab_findings_add(out, AB_FOUND_WARNING, where,
                        "upgrade the brokers: argobus is not tested with such old ones",
                        "older than Kafka 2.4: it refuses ApiVersions in version 3");
        return;
    }
    add_release(v, where, out);
    add_lacks(v, where, out);
}

/* ----- all of them ----- */

static void check_broker(const ab_setup *s, const rd_kafka_metadata_broker_t *broker,
                         ab_findings *out)
{
    ab_error err = {0};
    ab_api_versions versions;
    char where[512];
    bool is_ipv6 = strchr(broker->host, ':') != NULL;
    snprintf(where, sizeof(where), "%s%s%s:%d", is_ipv6 ? "[" : "", broker->host,
             is_ipv6 ? "]" : "", broker->port);
    if (ask(s, broker->host, broker->port, &versions, &err) == AB_ERR_OK)
        ab_broker_versions_judge(&versions, where, out);
    else
        ab_findings_add(out, AB_FOUND_OK, where, NULL, "version not known: %s", err.text);
}

void ab_check_broker_versions(const ab_setup *s, const ab_check_client *client, ab_findings *out)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(client->rk, 0, NULL, &metadata, BROKERS_MS);
    ab_findings_add_version(out, "librdkafka", ab_str_of(rd_kafka_version_str()), "version %s",
                            rd_kafka_version_str());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ab_findings_add(out, AB_FOUND_OK, "kafka.brokers", NULL, "versions not known: %s",
                        rd_kafka_err2str(code));
        return;
    }
    for (int i = 0; i < metadata->broker_cnt; i++)
        check_broker(s, &metadata->brokers[i], out);
    rd_kafka_metadata_destroy(metadata);
}
