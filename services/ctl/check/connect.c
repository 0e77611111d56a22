/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes the way of a program to its peer, step by step, and stops where it breaks: name, TCP, TLS,
 * and login; with Kafka also a round trip. Each step waits a bounded time.
 */
#include "base/core/clock.h"
#include "net/tls/tls.h"
#include "services/ctl/check/check.h"
#include "services/ctl/check/parts.h"
#include "services/ctl/check/peer_certificate.h"
#include "services/ctl/pki/options.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP_MS  5000
#define HOST_MAX 256

static const ab_ctl_flag flags[] = {
    {"config", "FILE", "configuration of the program; also -c"},
};

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    const char *address; /* "host:port", as it is configured */
    char host[HOST_MAX];
    char port[8];
} peer;

static bool split(peer *p)
{
    const char *colon = strrchr(p->address, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - p->address);
    const char *host = p->address;
    if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof(p->host) || strlen(colon + 1) >= sizeof(p->port))
        return false;
    memcpy(p->host, host, len);
    p->host[len] = '\0';
    snprintf(p->port, sizeof(p->port), "%s", colon + 1);
    return true;
}

/* ----- name and TCP ----- */

/* @return 0, or errno */
static int wait_connected(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int failed = 0;
    socklen_t len = sizeof(failed);
    int ready = poll(&wait, 1, STEP_MS);
    if (ready <= 0)
        return ready == 0 ? ETIMEDOUT : errno;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) == 0 ? failed : errno;
}

/* @return a socket, or -1 with `failed` set */
static int dial_one(const struct addrinfo *at, int *failed)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *failed = fd < 0 ? errno : 0;
    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0)
        *failed = errno == EINPROGRESS ? wait_connected(fd) : errno;
    if (fd >= 0 && *failed != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int dial_all(const struct addrinfo *list, int *failed)
{
    int fd = -1;
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
        fd = dial_one(at, failed);
    return fd;
}

static int dial(const peer *p)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(p->host, p->port, &hints, &list);
    if (failed != 0) {
        ab_findings_add(p->out, AB_FOUND_ERROR, p->address,
                        "correct the name, or look at the resolver of this host", "name: %s",
                        gai_strerror(failed));
        return -1;
    }
    ab_findings_add(p->out, AB_FOUND_OK, p->address, NULL, "the name resolves");
    int fd = dial_all(list, &failed);
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

/* @return 1: it may go on */
static int wait_tls(SSL *ssl, int fd, int rc)
{
    int wanted = SSL_get_error(ssl, rc);
    struct pollfd wait = {.fd = fd};
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE)
        return 0;
    wait.events = wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return poll(&wait, 1, STEP_MS);
}

/* With TLS 1.3 a server refuses a client's certificate only after the client is done: so a byte is
 * waited for, which a healthy one sends soon (gRPC), or never (Kafka). */
static bool shake_hands(SSL *ssl, int fd, bool server_speaks)
{
    char byte;
    int rc = SSL_connect(ssl);
    while (rc != 1 && wait_tls(ssl, fd, rc) == 1)
        rc = SSL_connect(ssl);
    if (rc != 1)
        return false;
    rc = SSL_peek(ssl, &byte, 1);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (rc != 1 && SSL_get_error(ssl, rc) == SSL_ERROR_WANT_READ &&
        poll(&wait, 1, server_speaks ? STEP_MS : STEP_MS / 10) == 1)
        rc = SSL_peek(ssl, &byte, 1);
    return rc == 1 || SSL_get_error(ssl, rc) == SSL_ERROR_WANT_READ;
}

static void explain(const peer *p, const SSL *ssl, const char *host,
                    const ab_peer_certificate *refused)
{
    ab_error err = {0};
    ab_tls_context_explain(ssl, &err, "TLS");
    if (!ab_peer_certificate_explain(refused, p->setup, p->address, host, p->out))
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
    ab_tls tls = {.ca = ab_setup_tls(p->setup, "ca"),
                  .cert = ab_setup_tls(p->setup, "cert"),
                  .key = ab_setup_tls(p->setup, "key"),
                  .unnamed = p->setup->is_kafka,
                  .min_version = "1.2",
                  .server_name = p->setup->is_kafka ? NULL : ab_setup_tls(p->setup, "server-name")};
    if (ab_tls_context_init(&context, &tls, false, p->host, &err) == AB_ERR_OK)
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
    int fd = split(&p) ? dial(&p) : -1;
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
