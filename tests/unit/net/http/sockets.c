/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/net/http/sockets.h"

#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

int socket_dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    assert_true(rc == 0 || errno == EINPROGRESS);
    return fd;
}

void socket_turn(uv_loop_t *loop, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    uv_run(loop, UV_RUN_NOWAIT);
    (void)poll(&p, 1, 1);
}

void socket_send(uv_loop_t *loop, int fd, ab_str text, int64_t patience_ms)
{
    for (int64_t until = now_ms() + patience_ms; text.len > 0 && now_ms() < until;) {
        ssize_t n = send(fd, text.ptr, text.len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return;
        if (n > 0)
            text = (ab_str){text.ptr + n, text.len - (size_t)n};
        socket_turn(loop, fd, POLLOUT);
    }
}

int64_t now_ms(void)
{
    return ab_clock_mono_ms(&ab_clock_real);
}
