/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/delay_proxy.h"

#include "tests/bench/base/process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PIECE   (64u * 1024)
#define BACKLOG 64

typedef struct pair pair;

/* What one end has sent and the other does not have yet. */
typedef struct piece {
    struct piece *next;
    pair *owner;
    uint64_t due_ms;
    uv_write_t request;
    size_t len;
    char bytes[];
} piece;

struct pair {
    const ab_bench_delay_proxy *proxy;
    uv_tcp_t client;
    uv_tcp_t server;
    uv_timer_t timer;
    uv_connect_t connect;
    piece *first; /* from the server, oldest first */
    piece *last;
    int open; /* handles */
};

static void on_closed(uv_handle_t *handle)
{
    pair *p = handle->data;
    if (--p->open > 0)
        return;
    while (p->first != NULL) {
        piece *next = p->first->next;
        free(p->first);
        p->first = next;
    }
    free(p);
}

static void end_pair(pair *p)
{
    if (uv_is_closing((uv_handle_t *)&p->timer))
        return;
    uv_close((uv_handle_t *)&p->timer, on_closed);
    uv_close((uv_handle_t *)&p->client, on_closed);
    uv_close((uv_handle_t *)&p->server, on_closed);
}

static void on_written(uv_write_t *request, int status)
{
    piece *part = request->data;
    if (status != 0)
        end_pair(part->owner);
    free(part);
}

static void pass_on(piece *part, uv_tcp_t *to)
{
    uv_buf_t buf = uv_buf_init(part->bytes, (unsigned)part->len);
    part->request.data = part;
    if (uv_write(&part->request, (uv_stream_t *)to, &buf, 1, on_written) == 0)
        return;
    end_pair(part->owner);
    free(part);
}

static void on_due(uv_timer_t *timer)
{
    pair *p = timer->data;
    uint64_t now = uv_now(timer->loop);
    while (p->first != NULL && p->first->due_ms <= now) {
        piece *part = p->first;
        p->first = part->next;
        pass_on(part, &p->client);
    }
    if (p->first != NULL && !uv_is_closing((uv_handle_t *)timer))
        (void)uv_timer_start(timer, on_due, p->first->due_ms - now, 0);
}

static void hold_back(piece *part)
{
    pair *p = part->owner;
    uint64_t wait = (uint64_t)p->proxy->delay_ms;
    part->due_ms = uv_now(p->timer.loop) + wait;
    if (p->first != NULL) {
        p->last->next = part;
        p->last = part;
        return;
    }
    p->first = p->last = part;
    (void)uv_timer_start(&p->timer, on_due, wait, 0);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    (void)wanted;
    piece *part = calloc(1, sizeof(*part) + PIECE);
    if (part == NULL) {
        *out = uv_buf_init(NULL, 0);
        return;
    }
    part->owner = handle->data;
    *out = uv_buf_init(part->bytes, PIECE);
}

static piece *piece_of(const uv_buf_t *buf)
{
    return buf->base == NULL ? NULL : (piece *)(void *)(buf->base - offsetof(piece, bytes));
}

static void on_read(uv_stream_t *from, ssize_t n, const uv_buf_t *buf)
{
    pair *p = from->data;
    piece *part = piece_of(buf);
    if (n <= 0 || part == NULL) {
        free(part);
        if (n < 0)
            end_pair(p);
        return;
    }
    part->len = (size_t)n;
    if (from == (uv_stream_t *)&p->server)
        hold_back(part);
    else
        pass_on(part, &p->server);
}

static void on_connected(uv_connect_t *request, int status)
{
    pair *p = request->data;
    if (uv_is_closing((uv_handle_t *)&p->timer))
        return;
    if (status != 0 || uv_read_start((uv_stream_t *)&p->client, give_room, on_read) != 0 ||
        uv_read_start((uv_stream_t *)&p->server, give_room, on_read) != 0)
        end_pair(p);
}

static void on_connection(uv_stream_t *listener, int status)
{
    const ab_bench_delay_proxy *proxy = listener->data;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons(proxy->target)};
    pair *p = status == 0 ? calloc(1, sizeof(*p)) : NULL;
    if (p == NULL)
        return;
    p->proxy = proxy;
    p->open = 3;
    p->client.data = p->server.data = p->timer.data = p->connect.data = p;
    (void)uv_timer_init(listener->loop, &p->timer);
    (void)uv_tcp_init(listener->loop, &p->client);
    (void)uv_tcp_init(listener->loop, &p->server);
    if (uv_accept(listener, (uv_stream_t *)&p->client) != 0 ||
        uv_tcp_connect(&p->connect, &p->server, (struct sockaddr *)&at, on_connected) != 0) {
        end_pair(p);
        return;
    }
    (void)uv_tcp_nodelay(&p->client, 1);
    (void)uv_tcp_nodelay(&p->server, 1);
}

static int serve(const void *arg)
{
    const ab_bench_delay_proxy *p = arg;
    ab_bench_delay_proxy own = *p;
    uv_loop_t loop;
    uv_tcp_t listener;
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&loop) != 0 || uv_tcp_init(&loop, &listener) != 0 ||
        uv_tcp_open(&listener, own.listener) != 0)
        return 1;
    listener.data = &own;
    if (uv_listen((uv_stream_t *)&listener, BACKLOG, on_connection) != 0)
        return 1;
    return uv_run(&loop, UV_RUN_DEFAULT);
}

pid_t ab_bench_delay_proxy_start(ab_bench_delay_proxy *p, uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    pid_t pid = -1;
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->listener < 0)
        return -1;
    if (bind(p->listener, (struct sockaddr *)&at, len) == 0 && listen(p->listener, BACKLOG) == 0 &&
        getsockname(p->listener, (struct sockaddr *)&at, &len) == 0)
        pid = ab_bench_fork(serve, p);
    *port = ntohs(at.sin_port);
    (void)close(p->listener);
    return pid;
}
