/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/dial.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* ----- TCP ----- */

/* @return 0, or errno */
static int wait_connected(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int failed = 0;
    socklen_t len = sizeof(failed);
    int ready = poll(&wait, 1, AB_DIAL_STEP_MS);
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

int ab_dial_resolve(const char *host, int port, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char service[16];
    (void)snprintf(service, sizeof(service), "%d", port);
    return getaddrinfo(host, service, &hints, out);
}

int ab_dial_tcp(const struct addrinfo *list, int *failed)
{
    int fd = -1;
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next)
        fd = dial_one(at, failed);
    return fd;
}

/* ----- TLS ----- */

ab_err ab_dial_tls_init(ab_tls_context *context, const ab_setup *s, const char *host, ab_error *err)
{
    ab_tls tls = {.ca = ab_setup_tls(s, "ca"),
                  .cert = ab_setup_tls(s, "cert"),
                  .key = ab_setup_tls(s, "key"),
                  .unnamed = s->is_kafka,
                  .min_version = "1.2",
                  .server_name = s->is_kafka ? NULL : ab_setup_tls(s, "server-name")};
    return ab_tls_context_init(context, &tls, false, host, err);
}

bool ab_dial_wait(SSL *ssl, int fd, int rc)
{
    int wanted = SSL_get_error(ssl, rc);
    struct pollfd wait = {.fd = fd};
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE)
        return false;
    wait.events = wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return poll(&wait, 1, AB_DIAL_STEP_MS) == 1;
}

bool ab_dial_handshake(SSL *ssl, int fd)
{
    int rc = SSL_connect(ssl);
    while (rc != 1 && ab_dial_wait(ssl, fd, rc))
        rc = SSL_connect(ssl);
    return rc == 1;
}
