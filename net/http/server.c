/* SPDX-License-Identifier: Apache-2.0
 *
 * libwebsockets parses and answers on our loop, through its libuv plug-in. What it does not do well
 * is ours: listening (so that an error says why) and waiting until it has released the loop. The
 * reasons are in docs/decisions/0003-libwebsockets-http.md.
 *
 * Each response ends its connection: probes and scrapes come seconds apart, and what cannot be
 * pipelined cannot be held open either. The number of connections is bounded; further ones wait in
 * the kernel's queue.
 */
#include "net/http/server.h"

#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define HEADER_BYTES    4096
#define CHUNK_BYTES     8192
#define BODY_MAX        (64u * 1024 * 1024)
#define PORTION_BYTES   (32u * 1024) /* of metrics in one turn of the loop: 1 ms */
#define TIMEOUT_S       5
#define RETRY_MS        1000
/* Group and user have the type int before libwebsockets 4.3, and gid_t and uid_t since. */
#define UNCHANGED(field) ((__typeof__(((struct lws_context_creation_info *)NULL)->field))-1)

struct ab_http_server {
    uv_loop_t *loop;
    struct lws_context *lws;
    uv_poll_t listen;
    uv_timer_t retry; /* accepting again after descriptors ran out */
    uv_idle_t ending; /* waits for the library's handles to close */
    int listen_fd;
    int port;
    unsigned connections;
    bool closing;
    unsigned handles; /* of ours that are still to close */
    ab_http_probes probes;
    ab_metrics *metrics;
    ab_log *log;
};

/* One request, in memory that the library keeps per connection. */
typedef struct {
    ab_buf body;
    size_t sent;
    bool rendering; /* the body is not whole, and the head not sent */
    ab_rendering metrics;
} request;

/* The library's log has no argument to say whose it is, so this cannot be kept in the server. */
static ab_log *library_log;

static void on_library_log(int level, const char *line)
{
    (void)level;
    ab_str text = {line, strcspn(line, "\n")};
    AB_DEBUG(library_log, HTTP, "libwebsockets", AB_KV("line", text));
}

static int send_head(struct lws *wsi, unsigned status, const char *type, size_t body_len)
{
    unsigned char head[LWS_PRE + 512];
    unsigned char *start = head + LWS_PRE;
    unsigned char *at = start;
    unsigned char *end = head + sizeof(head) - 1;
    if (lws_add_http_common_headers(wsi, status, type, body_len, &at, end) != 0 ||
        lws_add_http_header_by_token(wsi, WSI_TOKEN_CONNECTION, (const unsigned char *)"close", 5,
                                     &at, end) != 0 ||
        lws_finalize_write_http_header(wsi, start, &at, end) != 0)
        return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

/* Answer with what is in the body. */
static int answer(struct lws *wsi, request *r, unsigned status, const char *type)
{
    if (ab_buf_status(&r->body) != AB_ERR_OK)
        return -1;
    return send_head(wsi, status, type, r->body.len);
}

static int answer_text(struct lws *wsi, request *r, unsigned status, const char *text)
{
    ab_buf_puts(&r->body, text);
    ab_buf_putc(&r->body, '\n');
    return answer(wsi, r, status, "text/plain; charset=utf-8");
}

static int answer_probe(struct lws *wsi, request *r, bool (*probe)(void *, ab_buf *), void *arg)
{
    ab_buf why;
    ab_buf_init(&why, 4096);
    bool good = probe(arg, &why);
    const char *text = why.len > 0 && why.ptr != NULL ? why.ptr : good ? "ok" : "no";
    if (good && why.len > 0)
        ab_buf_puts(&r->body, "ok\n");
    int rc = answer_text(wsi, r, good ? 200 : 503, text);
    ab_buf_fini(&why);
    return rc;
}

static int on_request(ab_http_server *s, struct lws *wsi, request *r)
{
    char *path = NULL;
    int path_len = 0;
    int method = lws_http_get_uri_and_method(wsi, &path, &path_len);
    ab_buf_init(&r->body, BODY_MAX);
    if (method != LWSHUMETH_GET)
        return answer_text(wsi, r, 405, "only GET is supported");
    ab_str uri = {path, (size_t)path_len};
    if (ab_str_is(uri, "/healthz"))
        return answer_probe(wsi, r, s->probes.healthy, s->probes.arg);
    if (ab_str_is(uri, "/readyz"))
        return answer_probe(wsi, r, s->probes.ready, s->probes.arg);
    if (!ab_str_is(uri, "/metrics"))
        return answer_text(wsi, r, 404, "not found: try /healthz, /readyz or /metrics");
    r->rendering = true;
    lws_callback_on_writable(wsi);
    return 0;
}

/* One portion a turn, however many agents there are. The head says how long the body is, so that
 * one that is cut off is not taken for whole. */
static int render(ab_http_server *s, struct lws *wsi, request *r)
{
    r->rendering = ab_metrics_render(s->metrics, &r->metrics, &r->body, PORTION_BYTES);
    if (!r->rendering)
        return answer(wsi, r, 200, "text/plain; version=0.0.4; charset=utf-8");
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, TIMEOUT_S);
    lws_callback_on_writable(wsi);
    return 0;
}

/* Called when what was written before has left: the next chunk, or the end of the connection. */
static int on_writable(struct lws *wsi, request *r)
{
    unsigned char chunk[LWS_PRE + CHUNK_BYTES];
    size_t left = r->body.len - r->sent;
    if (left == 0)
        return -1;
    size_t len = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    memcpy(chunk + LWS_PRE, r->body.ptr + r->sent, len);
    enum lws_write_protocol how = len == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP;
    if (lws_write(wsi, chunk + LWS_PRE, len, how) < 0)
        return -1;
    r->sent += len;
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, TIMEOUT_S);
    lws_callback_on_writable(wsi);
    return 0;
}

static void on_connection(uv_poll_t *poll, int status, int events);

static void connection_ended(ab_http_server *s)
{
    s->connections--;
    if (!s->closing)
        uv_poll_start(&s->listen, UV_READABLE, on_connection);
}

static int on_library(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                      size_t len)
{
    ab_http_server *s = lws_context_user(lws_get_context(wsi));
    request *r = user;
    (void)in;
    (void)len;
    /* What the library tells besides is for roles that are not served. */
    if (reason == LWS_CALLBACK_WSI_CREATE)
        s->connections++;
    if (reason == LWS_CALLBACK_WSI_DESTROY)
        connection_ended(s);
    if (reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE)
        return -1;
    if (reason == LWS_CALLBACK_HTTP)
        return on_request(s, wsi, r);
    if (reason == LWS_CALLBACK_HTTP_WRITEABLE)
        return r->rendering ? render(s, wsi, r) : on_writable(wsi, r);
    if (reason == LWS_CALLBACK_HTTP_DROP_PROTOCOL && r != NULL) {
        ab_rendering_fini(&r->metrics);
        ab_buf_fini(&r->body);
    }
    return 0;
}

static const struct lws_protocols protocols[] = {
    {.name = "http", .callback = on_library, .per_session_data_size = sizeof(request)},
    {0},
};

static void on_retry(uv_timer_t *timer)
{
    ab_http_server *s = timer->data;
    uv_poll_start(&s->listen, UV_READABLE, on_connection);
}

/* Take in what waits, up to the bound. When there is no descriptor left to accept with, listening
 * stops for a while, or the loop would spin. */
static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    ab_http_server *s = poll->data;
    while (s->connections < CONNECTIONS_MAX) {
        int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR))
            return;
        if (fd < 0) {
            uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
            break;
        }
        (void)lws_adopt_socket(s->lws, fd); /* closes it when it fails */
    }
    uv_poll_stop(&s->listen);
}

static ab_err create_library(ab_http_server *s, ab_error *err)
{
    library_log = s->log;
    lws_set_log_level(LLL_ERR | LLL_WARN, on_library_log);
    void *loops[] = {s->loop};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .options = LWS_SERVER_OPTION_LIBUV,
        .foreign_loops = loops,
        .pcontext = &s->lws,
        .protocols = protocols,
        .user = s,
        .gid = UNCHANGED(gid),
        .uid = UNCHANGED(uid),
        /* The tables are sized by these, and idle daemons are to stay small. */
        .fd_limit_per_thread = 3 * CONNECTIONS_MAX,
        .max_http_header_pool = CONNECTIONS_MAX,
        .max_http_header_data = HEADER_BYTES,
        .pt_serv_buf_size = HEADER_BYTES,
        .timeout_secs = TIMEOUT_S,
        .keepalive_timeout = TIMEOUT_S,
        .timeout_secs_ah_idle = TIMEOUT_S,
    };
    s->lws = lws_create_context(&info);
    if (s->lws == NULL)
        return ab_fail(err, AB_ERR_NOMEM,
                       "libwebsockets cannot start on libuv (package libwebsockets-evlib-uv)");
    return AB_ERR_OK;
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_http_server *s = handle->data;
    if (--s->handles == 0)
        free(s);
}

static void start_listening(ab_http_server *s)
{
    /* Fails only for a descriptor that is already watched or is not a socket. */
    int rc = uv_poll_init_socket(s->loop, &s->listen, s->listen_fd);
    assert(rc == 0);
    (void)rc;
    uv_timer_init(s->loop, &s->retry);
    uv_idle_init(s->loop, &s->ending);
    s->listen.data = s;
    s->retry.data = s;
    s->ending.data = s;
    s->handles = 3;
    uv_poll_start(&s->listen, UV_READABLE, on_connection);
}

ab_err ab_http_server_start(uv_loop_t *loop, const char *host, int port,
                            const ab_http_probes *probes, ab_metrics *metrics, ab_log *log,
                            ab_http_server **out, ab_error *err)
{
    ab_http_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->loop = loop;
    s->probes = *probes;
    s->metrics = metrics;
    s->log = log;
    s->listen_fd = -1;
    ab_err e = ab_listener_open(host, port, &s->listen_fd, &s->port, err);
    if (e == AB_ERR_OK)
        e = create_library(s, err);
    if (e == AB_ERR_OK)
        start_listening(s);
    if (e != AB_ERR_OK) {
        ab_http_server_free(s);
        return e;
    }
    *out = s;
    return AB_ERR_OK;
}

int ab_http_server_port(const ab_http_server *s)
{
    return s->port;
}

static void count_closing(uv_handle_t *handle, void *arg)
{
    unsigned *closing = arg;
    *closing += uv_is_closing(handle) != 0;
}

/* The library closes its handles over several turns of the loop, always with one of them closing,
 * and does not say when it is through. Only then may its context be destroyed for good. */
static void on_ending(uv_idle_t *idle)
{
    ab_http_server *s = idle->data;
    unsigned closing = 0;
    uv_walk(s->loop, count_closing, &closing);
    if (closing > 0)
        return;
    lws_context_destroy(s->lws);
    uv_close((uv_handle_t *)&s->ending, on_handle_closed);
}

/* Before the handles of ours exist, there is no loop to wait with and nothing of the library's to
 * wait for. */
static void free_unstarted(ab_http_server *s)
{
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    free(s);
}

void ab_http_server_free(ab_http_server *s)
{
    if (s == NULL)
        return;
    if (s->handles == 0) {
        free_unstarted(s);
        return;
    }
    s->closing = true;
    uv_poll_stop(&s->listen);
    close(s->listen_fd);
    uv_close((uv_handle_t *)&s->listen, on_handle_closed);
    uv_close((uv_handle_t *)&s->retry, on_handle_closed);
    lws_context_destroy(s->lws);
    uv_idle_start(&s->ending, on_ending);
}
