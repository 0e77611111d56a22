/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_redis.h"

#include "base/core/buf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define OF_AGENT "app|resources-tree|w0_guestbook|1.8.3.gz"
#define AT_AGENT "app|resources-tree|guestbook|1.8.3.gz"
#define LOCAL    "mfst|guestbook"
#define WAIT_S   20

static bool say(const char *what, const char *which)
{
    fprintf(stderr, "argobus-bench: %s %s\n", what, which);
    return false;
}

bool ab_bench_live_redis_start(ab_bench_live_case *c, int port)
{
    char log[PATH_MAX + 16], number[16];
    char env[] = "/usr/bin/env", program[] = "redis-server", at[] = "--port", bind[] = "--bind",
         home[] = "127.0.0.1", save[] = "--save", none[] = "";
    char *const argv[] = {env, program, at, number, bind, home, save, none, NULL};
    (void)snprintf(number, sizeof(number), "%d", port);
    (void)snprintf(log, sizeof(log), "%s/redis.log", c->site.root);
    c->redis = ab_bench_spawn(argv, log);
    return c->redis > 0 && ab_bench_wait_port(port);
}

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval wait = {.tv_sec = WAIT_S};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Ask, and read a reply of this length. */
static bool call(int fd, ab_str asked, size_t length, char *reply)
{
    size_t got = 0;
    if (send(fd, asked.ptr, asked.len, MSG_NOSIGNAL) != (ssize_t)asked.len)
        return say("cannot send to", "redis");
    while (got < length) {
        ssize_t n = recv(fd, reply + got, length - got, 0);
        if (n <= 0 || reply[0] == '-')
            return say("redis does not answer:", n <= 0 ? "nothing came" : "an error");
        got += (size_t)n;
    }
    return true;
}

static bool put(int fd, const char *key)
{
    char asked[AB_BENCH_LIVE_SMALL + 200], reply[5];
    int n = snprintf(asked, sizeof(asked), "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%d\r\n", strlen(key),
                     key, AB_BENCH_LIVE_SMALL);
    memset(asked + n, 'x', AB_BENCH_LIVE_SMALL);
    memcpy(asked + n + AB_BENCH_LIVE_SMALL, "\r\n", 2);
    return call(fd, (ab_str){asked, (size_t)n + AB_BENCH_LIVE_SMALL + 2}, sizeof(reply), reply);
}

/* One after the other, on a connection of its own. */
static bool time_gets(int port, const char *key, ab_bench_live_times *out)
{
    char asked[200], head[16], reply[AB_BENCH_LIVE_SMALL + 32];
    int n = snprintf(asked, sizeof(asked), "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n", strlen(key), key);
    int before = snprintf(head, sizeof(head), "$%d\r\n", AB_BENCH_LIVE_SMALL);
    size_t length = (size_t)before + AB_BENCH_LIVE_SMALL + 2;
    int fd = connect_to(port);
    bool ok = fd >= 0;
    for (size_t i = 0; i < sizeof(out->ms) / sizeof(out->ms[0]) && ok; i++) {
        int64_t begun = ab_bench_now_ns();
        ok = call(fd, (ab_str){asked, (size_t)n}, length, reply) &&
             memcmp(reply, head, (size_t)before) == 0;
        out->ms[i] = (double)(ab_bench_now_ns() - begun) / 1e6;
    }
    if (fd >= 0)
        (void)close(fd);
    return ok ? true : say("cannot read the key", key);
}

bool ab_bench_live_redis(const ab_bench_live_case *c)
{
    static ab_bench_live_times bare, ours;
    const ab_bench_site_live *at = &c->site.live;
    int fd = connect_to(at->redis);
    bool ok = fd >= 0 && put(fd, AT_AGENT) && put(fd, LOCAL);
    if (fd >= 0)
        (void)close(fd);
    if (!ok || !time_gets(at->redis, AT_AGENT, &bare) || !time_gets(at->proxy, OF_AGENT, &ours))
        return false;
    ab_bench_live_report(c, "live.redis", &ours, &bare);
    if (!time_gets(at->redis, LOCAL, &bare) || !time_gets(at->proxy, LOCAL, &ours))
        return false;
    ab_bench_live_report(c, "live.redis.local", &ours, &bare);
    return true;
}
