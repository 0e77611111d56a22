/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096 /* the kernel cuts it to net.core.somaxconn */

static int listen_on(const struct addrinfo *a)
{
    int type = a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int fd = socket(a->ai_family, type, a->ai_protocol);
    if (fd < 0)
        return -1;
    int on = 1;
    int off = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* The first of the addresses that can be bound. For all addresses that is an IPv6 one where there
 * is IPv6, because it takes IPv4 too. */
static int listen_on_any(const struct addrinfo *list)
{
    static const int families[] = {AF_INET6, AF_INET};
    for (size_t i = 0; i < 2; i++) {
        for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
            int fd = a->ai_family == families[i] ? listen_on(a) : -1;
            if (fd >= 0)
                return fd;
        }
    }
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage name = {0};
    socklen_t len = sizeof(name);
    if (getsockname(fd, (struct sockaddr *)&name, &len) != 0)
        return 0;
    if (name.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&name)->sin6_port);
    return ntohs(((const struct sockaddr_in *)&name)->sin_port);
}

ab_err ab_listener_open(const char *host, int port, int *fd, int *bound_port, ab_error *err)
{
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host[0] == '\0' ? NULL : host, service, &hints, &list);
    if (rc != 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "cannot listen on %s:%d: %s", host, port,
                       gai_strerror(rc));
    *fd = listen_on_any(list);
    int reason = errno;
    freeaddrinfo(list);
    if (*fd < 0)
        return ab_fail_errno(err, AB_ERR_UNAVAILABLE, reason, "cannot listen on %s:%d", host, port);
    *bound_port = port_of(*fd);
    return AB_ERR_OK;
}
