/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes the way of a program to its peer, step by step, and stops where it breaks: name, TCP, TLS,
 * and login; with Kafka also a round trip. Each step waits a bounded time.
 */
#include "net/address.h"
#include "services/ctl/check/check.h"
#include "services/ctl/check/dial.h"
#include "services/ctl/check/parts.h"
#include "services/ctl/check/peer_certificate.h"
#include "services/ctl/pki/options.h"
#include "transport/grpc/grpc.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Where librdkafka connects to when there is none. */
#define KAFKA_PORT 9092

static const ab_ctl_flag flags[] = {
    {"config", "FILE", "configuration of the program; also -c"},
};

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    const char *address; /* as it is configured */
    ab_address at;
} peer;

/* ----- name and TCP ----- */

static int dial(const peer *p)
{
    struct addrinfo *list = NULL;
    int failed = ab_dial_resolve(p->at.host, p->at.port, &list);
    if (failed != 0) {
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address,
                        "correct the name, or look at the resolver of this host", "name: %s",
                        gai_strerror(failed));
        return -1;
    }
    ab_findings_add(p->out, AB_FOUND_OK, p->address, NULL, "the name resolves");
    int fd = ab_dial_tcp(list, &failed);
    freeaddrinfo(list);
    if (fd < 0)
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address,
                        "look at firewalls, network policies, and whether it listens there",
                        "TCP: %s", strerror(failed));
    else
        ab_findings_add(p->out, AB_FOUND_OK, p->address, NULL, "TCP connects");
    return fd;
}

/* ----- TLS ----- */

/* With TLS 1.3 a server refuses a client's certificate only after the client is done: so a byte is
 * waited for, which a healthy one sends soon (gRPC), or never (Kafka). */
static bool shake_hands(SSL *ssl, int fd, bool server_speaks)
{
    char byte;
    if (!ab_dial_handshake(ssl, fd))
        return false;
    int rc = SSL_peek(ssl, &byte, 1);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (rc != 1 && SSL_get_error(ssl, rc) == SSL_ERROR_WANT_READ &&
        poll(&wait, 1, server_speaks ? AB_DIAL_STEP_MS : AB_DIAL_STEP_MS / 10) == 1)
        rc = SSL_peek(ssl, &byte, 1);
    return rc == 1 || SSL_get_error(ssl, rc) == SSL_ERROR_WANT_READ;
}

static void explain(const peer *p, const SSL *ssl, const char *host,
                    const ab_peer_certificate *refused)
{
    ab_error err = {0};
    ab_tls_context_explain(ssl, &err, "TLS");
    if (!ab_peer_certificate_explain(refused, p->setup, p->address, host, p->out) &&
        !ab_own_certificate_explain(ssl, p->setup, p->out))
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address,
                        "compare its certificate and CA with this configuration: argobusctl check",
                        "%s", err.text);
}

static void check_tls(const peer *p, const ab_tls_context *context, int fd)
{
    ab_peer_certificate refused;
    SSL *ssl = ab_tls_context_open(context, fd);
    if (ssl == NULL) {
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address, "free some", "out of memory");
        return;
    }
    ab_peer_certificate_watch(ssl, &refused);
    if (shake_hands(ssl, fd, !p->setup->is_kafka))
        ab_findings_add(p->out, AB_FOUND_OK, p->address, NULL, "%s, certificate trusted",
                        SSL_get_version(ssl));
    else
        explain(p, ssl, context->server_name, &refused);
    ab_peer_certificate_fini(&refused);
    SSL_free(ssl);
}

static void try_tls(const peer *p, int fd)
{
    ab_error err = {0};
    ab_tls_context context;
    if (ab_dial_tls_init(&context, p->setup, p->at.host, &err) == AB_ERR_OK)
        check_tls(p, &context, fd);
    else
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address, "argobusctl check says more", "%s",
                        err.text);
    ab_tls_context_fini(&context);
}

/* ----- all of it ----- */

static void try_peer(const ab_setup *s, const char *address, ab_findings *out)
{
    peer p = {.setup = s, .out = out, .address = address};
    ab_error err = {0};
    int fd = -1;
    if (ab_address_parse(s->is_kafka ? "kafka.brokers" : "grpc.address", address,
                         s->is_kafka ? KAFKA_PORT : AB_GRPC_PORT, &p.at, &err) == AB_ERR_OK)
        fd = dial(&p);
    else
        ab_findings_add(out, AB_FOUND_ERROR, address, "write host:port", "%s", err.text);
    if (fd < 0) {
        out->failed = true;
        return;
    }
    if (!ab_setup_is_insecure(s))
        try_tls(&p, fd);
    close(fd);
}

static void try_all(const ab_setup *s, ab_findings *out)
{
    if (!s->is_kafka) {
        try_peer(s, ab_config_str(s->config, "grpc.address"), out);
        if (!out->failed)
            ab_check_login(s, out);
        return;
    }
    for (size_t i = 0; i < ab_config_count(s->config, "kafka.brokers"); i++)
        try_peer(s, ab_config_item(s->config, "kafka.brokers", i), out);
    ab_check_kafka(s, out);
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    ab_setup setup;
    ab_findings found;
    ab_err e = ab_setup_read(ctl, ctl->operands[0], &setup, &err);
    if (e == AB_ERR_OK && !setup.is_agent && !setup.is_kafka) {
        ab_setup_fini(&setup);
        e = ab_fail(&err, AB_ERR_INVALID,
                    "a principal with gRPC connects to nobody: run this for an agent");
    }
    if (e != AB_ERR_OK)
        return ab_pki_end(e, &err);
    ab_findings_init(&found);
    try_all(&setup, &found);
    int code = ab_findings_print(&found, ctl);
    ab_findings_fini(&found);
    ab_setup_fini(&setup);
    return code;
}

const ab_ctl_command ab_ctl_connect = {
    .name = "connect",
    .operands = "agent | principal",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Connect as a program does, step by step, and say where it breaks",
    .examples = "  argobusctl connect agent -c agent.yaml\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run,
};
