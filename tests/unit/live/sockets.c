/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/sockets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL     65536
#define WITHIN_MS 60000
#define TURNS     50 /* in which what is to happen has happened */

int sockets_listen(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

int sockets_accept(joined *j, int listener)
{
    int fd = -1;
    JOINED_WAIT(j,
                fd >= 0 || (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    return fd;
}

int sockets_dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    int few = SMALL;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    assert_true(rc == 0 || errno == EINPROGRESS);
    return fd;
}

size_t sockets_offer(joined *j, int fd, ab_str bytes)
{
    size_t sent = 0;
    for (int quiet = 0; quiet < TURNS && sent < bytes.len; quiet++) {
        ssize_t n = send(fd, bytes.ptr + sent, bytes.len - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
            quiet = 0;
        }
        joined_turn(j);
    }
    return sent;
}

void sockets_send(joined *j, int fd, ab_str bytes)
{
    for (int64_t until = joined_now_ms() + WITHIN_MS; bytes.len > 0 && joined_now_ms() < until;) {
        size_t n = sockets_offer(j, fd, bytes);
        bytes = (ab_str){bytes.ptr + n, bytes.len - n};
    }
    assert_int_equal(bytes.len, 0);
}

static bool has(const ab_buf *out, const char *text)
{
    size_t len = strlen(text);
    size_t tail = out->len < 256 * 1024 ? out->len : 256 * 1024; /* has what is new */
    return out->len >= len && memmem(out->ptr + out->len - tail, tail, text, len) != NULL;
}

void sockets_read(joined *j, int fd, const char *text, ab_buf *out)
{
    char part[SMALL];
    for (int64_t until = joined_now_ms() + WITHIN_MS; joined_now_ms() < until;) {
        ssize_t n = recv(fd, part, sizeof(part), 0);
        if (n > 0)
            ab_buf_put(out, (ab_str){part, (size_t)n});
        if (n == 0 && text == NULL)
            return;
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        if (n > 0 && text != NULL && has(out, text))
            return;
        joined_turn(j);
    }
    ab_buf_putc(out, '\0');
    fail_msg("no %s; came: %.2000s", text == NULL ? "end" : text, out->ptr);
}

void sockets_expect(joined *j, int fd, ab_str bytes)
{
    char part[SMALL];
    size_t at = 0;
    for (int64_t until = joined_now_ms() + WITHIN_MS; at < bytes.len && joined_now_ms() < until;) {
        size_t left = bytes.len - at < sizeof(part) ? bytes.len - at : sizeof(part);
        ssize_t n = recv(fd, part, left, 0);
        if (n > 0 && memcmp(part, bytes.ptr + at, (size_t)n) != 0)
            fail_msg("not %.*s but %.*s", (int)left, bytes.ptr + at, (int)n, part);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        at += n > 0 ? (size_t)n : 0;
        joined_turn(j);
    }
    if (at < bytes.len)
        fail_msg("did not come: %.*s", (int)(bytes.len - at), bytes.ptr + at);
}

void sockets_expect_end(joined *j, int fd)
{
    char part[200];
    ssize_t n = -1;
    bool ends = false;
    JOINED_WAIT(j, ends || (ends = (n = recv(fd, part, sizeof(part), 0)) >= 0 || errno != EAGAIN));
    if (n > 0)
        fail_msg("not the end but %.*s", (int)n, part);
}

void sockets_expect_silence(joined *j, int fd)
{
    char part[200];
    for (int i = 0; i < TURNS; i++)
        joined_turn(j);
    ssize_t n = recv(fd, part, sizeof(part), 0);
    if (n >= 0)
        fail_msg("not nothing but %.*s", n == 0 ? 7 : (int)n, n == 0 ? "the end" : part);
    assert_int_equal(errno, EAGAIN);
}
