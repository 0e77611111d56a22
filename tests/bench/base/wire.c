/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/wire.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ESTABLISHED 1
#define ANSWER_MAX  (64 * 1024)

static double bytes_of(const struct inet_diag_msg *m, size_t len)
{
    const char *at = (const char *)(m + 1);
    const char *end = (const char *)m + len;
    struct rtattr head;
    struct tcp_info info = {0};
    while (at + sizeof(head) <= end) {
        memcpy(&head, at, sizeof(head));
        if (head.rta_len < sizeof(head) || at + head.rta_len > end)
            return 0;
        if (head.rta_type == INET_DIAG_INFO) {
            size_t has = head.rta_len - sizeof(head);
            memcpy(&info, at + sizeof(head), has < sizeof(info) ? has : sizeof(info));
        }
        at += RTA_ALIGN(head.rta_len);
    }
    return (double)info.tcpi_bytes_sent + (double)info.tcpi_bytes_received;
}

/* @return false when the last part of the answer was among them */
static bool add_all(const char *answer, size_t len, uint16_t port, double *sum)
{
    struct nlmsghdr head;
    struct inet_diag_msg m;
    for (size_t at = 0; at + sizeof(head) <= len; at += NLMSG_ALIGN(head.nlmsg_len)) {
        memcpy(&head, answer + at, sizeof(head));
        if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR ||
            head.nlmsg_len < NLMSG_HDRLEN + sizeof(m) || at + head.nlmsg_len > len)
            return false;
        memcpy(&m, answer + at + NLMSG_HDRLEN, sizeof(m));
        if (ntohs(m.id.idiag_dport) == port)
            *sum +=
                bytes_of((const void *)(answer + at + NLMSG_HDRLEN), head.nlmsg_len - NLMSG_HDRLEN);
    }
    return true;
}

static bool ask(int fd, uint8_t family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 what;
    } request = {
        .head = {.nlmsg_len = sizeof(request),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .what = {.sdiag_family = family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                 .idiag_states = 1 << ESTABLISHED},
    };
    return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);
}

static bool add_family(uint8_t family, uint16_t port, double *sum)
{
    static _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t n = fd >= 0 && ask(fd, family) ? recv(fd, answer, sizeof(answer), 0) : -1;
    while (n > 0 && add_all(answer, (size_t)n, port, sum))
        n = recv(fd, answer, sizeof(answer), 0);
    if (fd >= 0)
        (void)close(fd);
    return n > 0;
}

bool ab_bench_wire_bytes(uint16_t port, double *out)
{
    *out = 0;
    return add_family(AF_INET, port, out) && add_family(AF_INET6, port, out);
}
