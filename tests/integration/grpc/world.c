/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods of /test.Echo/: Echo gives each message back and ends after the client's half-close;
 * Count takes them, Hold accepts and does nothing, Full sends until FULL, Deny says
 * PERMISSION_DENIED, Meta responds with the metadata it was given.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 60000 /* a busy machine takes long for 64 MiB through another language */

static void see_headers(void *arg, const ab_rpc_field *metadata, size_t count)
{
    seen *s = arg;
    for (size_t i = 0; i < count; i++) {
        ab_buf_put(&s->headers, metadata[i].name);
        ab_buf_putc(&s->headers, '=');
        ab_buf_put(&s->headers, metadata[i].value);
        ab_buf_putc(&s->headers, '\n');
    }
}

static void see_message(void *arg, ab_str bytes)
{
    seen *s = arg;
    s->messages++;
    s->bytes += bytes.len;
    ab_buf_clear(&s->last);
    ab_buf_put(&s->last, bytes);
    if (s->pause_each)
        ab_rpc_pause(s->call);
    if (strcmp(s->method, "Echo") == 0)
        assert_int_equal(ab_rpc_send(s->call, bytes, true), AB_ERR_OK);
}

static void see_half_close(void *arg)
{
    seen *s = arg;
    s->half_closed = true;
    if (strcmp(s->method, "Echo") == 0 || strcmp(s->method, "Count") == 0)
        ab_rpc_finish(s->call, AB_RPC_OK, NULL);
}

static void see_writable(void *arg)
{
    seen *s = arg;
    s->writable++;
}

static void see_end(void *arg, ab_rpc_status status, ab_str text)
{
    seen *s = arg;
    s->ended++;
    s->call = NULL;
    s->status = status;
    snprintf(s->text, sizeof(s->text), "%.*s", AB_STR_ARG(text));
}

const ab_rpc_handler seen_handler = {.on_headers = see_headers,
                                     .on_message = see_message,
                                     .on_half_close = see_half_close,
                                     .on_writable = see_writable,
                                     .on_end = see_end};

static void seen_init(seen *s)
{
    memset(s, 0, sizeof(*s));
    ab_buf_init(&s->last, SIZE_MAX);
    ab_buf_init(&s->headers, 65536);
}

void seen_fini(seen *s)
{
    ab_buf_fini(&s->last);
    ab_buf_fini(&s->headers);
}

static void note_peer(world *w, const ab_rpc_peer *peer)
{
    w->server_peer[0] = '\0';
    if (peer->certificate != NULL)
        X509_NAME_oneline(X509_get_subject_name(peer->certificate), w->server_peer,
                          sizeof(w->server_peer));
}

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    world *w = arg;
    assert_true(w->call_count < LOG_MAX);
    note_peer(w, request->peer);
    if (ab_str_is(request->path, "/test.Echo/Deny")) {
        ab_rpc_finish(call, AB_RPC_PERMISSION_DENIED, "ne: prosím, 100% nein");
        return;
    }
    if (!ab_str_starts(request->path, "/test.Echo/") || ab_str_is(request->path, "/test.Echo/None"))
        return;
    seen *s = &w->calls[w->call_count++];
    seen_init(s);
    s->call = call;
    snprintf(s->method, sizeof(s->method), "%.*s", AB_STR_ARG(request->path));
    memmove(s->method, s->method + 11, sizeof(s->method) - 11);
    see_headers(s, request->metadata, request->metadata_count);
    ab_rpc_accept(call, &seen_handler, s);
    if (strcmp(s->method, "Meta") == 0)
        assert_int_equal(ab_rpc_respond(call, request->metadata, request->metadata_count),
                         AB_ERR_OK);
}

static void on_link(void *arg, ab_rpc_link link, const ab_error *err)
{
    world *w = arg;
    w->link = link;
    w->ups += link == AB_RPC_UP;
    if (err != NULL)
        w->link_error = *err;
}

static int64_t mono_ms(void *arg)
{
    const world *w = arg;
    return ab_clock_mono_ms(&ab_clock_real) + w->skipped_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return ab_clock_wall_us(&ab_clock_real);
}

void world_init(world *w)
{
    signal(SIGPIPE, SIG_IGN);
    memset(w, 0, sizeof(*w));
    w->link = AB_RPC_DOWN;
    assert_int_equal(uv_loop_init(&w->loop), 0);
    const char *levels = getenv("AB_TEST_LOG");
    assert_int_equal(ab_log_new(2, levels == NULL ? "error" : levels, AB_LOG_TEXT, &ab_clock_real,
                                &w->log, NULL),
                     AB_ERR_OK);
    w->metrics = ab_metrics_new();
    w->clock = (ab_clock){mono_ms, wall_us, w};
    w->env = (ab_rpc_env){&w->loop, w->log, w->metrics, &w->clock};
    w->limits = ab_rpc_default_limits;
    w->limits.retry_first_ms = 20;
    w->limits.retry_max_ms = 100;
    w->server_tls.insecure = true;
    w->client_tls.insecure = true;
    w->server_tls.websocket = w->client_tls.websocket = getenv("AB_GRPC_WEBSOCKET") != NULL;
}

static const char *cert_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    const char *folder = getenv("AB_GRPC_CERTS");
    assert_non_null(folder);
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

void world_use_tls(world *w)
{
    w->server_tls = (ab_tls){.ca = cert_path("ca.crt"),
                             .cert = cert_path("server.crt"),
                             .key = cert_path("server.key"),
                             .client_cert = AB_TLS_CLIENT_CERT_REQUIRE,
                             .websocket = w->server_tls.websocket};
    w->client_tls = (ab_tls){.ca = cert_path("ca.crt"),
                             .cert = cert_path("client.crt"),
                             .key = cert_path("client.key"),
                             .websocket = w->client_tls.websocket};
}

void world_foreign_client(world *w)
{
    w->client_tls.cert = cert_path("foreign.crt");
    w->client_tls.key = cert_path("foreign.key");
}

static void copy_file(const char *name, const char *suffix, const char *to)
{
    char from[64];
    char text[4096] = "this is no PEM";
    size_t len = strlen(text);
    if (name != NULL) {
        snprintf(from, sizeof(from), "%s.%s", name, suffix);
        FILE *in = fopen(cert_path(from), "r");
        assert_non_null(in);
        len = fread(text, 1, sizeof(text), in);
        fclose(in);
    }
    FILE *out = fopen(to, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    fclose(out);
}

void world_copy_server_cert(world *w, const char *name)
{
    static const char *const suffixes[] = {"crt", "key"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(w->copied[i], sizeof(w->copied[i]), "%s/copy-%d.%s", getenv("AB_GRPC_CERTS"),
                 (int)getpid(), suffixes[i]);
        copy_file(name, suffixes[i], w->copied[i]);
    }
    w->server_tls.cert = w->copied[0];
    w->server_tls.key = w->copied[1];
}

typedef struct {
    SSL *ssl;
    int rc;
} handshake;

static bool is_shaken(void *arg)
{
    handshake *h = arg;
    h->rc = SSL_do_handshake(h->ssl);
    return h->rc == 1;
}

static X509 *shown_by_server(world *w)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    handshake h = {SSL_new(ctx), 0};
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    SSL_set_fd(h.ssl, fd);
    SSL_set_connect_state(h.ssl);
    SSL_set_alpn_protos(h.ssl, (const unsigned char *)"\2h2", 3);
    while (!is_shaken(&h))
        world_run_ms(w, 2);
    X509 *shown = SSL_get1_peer_certificate(h.ssl);
    SSL_free(h.ssl);
    SSL_CTX_free(ctx);
    close(fd);
    return shown;
}

bool world_server_shows(world *w, const char *name)
{
    char file[64];
    snprintf(file, sizeof(file), "%s.crt", name);
    BIO *bio = BIO_new_file(cert_path(file), "r");
    X509 *expected = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    X509 *shown = shown_by_server(w);
    assert_non_null(expected);
    assert_non_null(shown);
    bool same = X509_cmp(expected, shown) == 0;
    X509_free(expected);
    X509_free(shown);
    BIO_free(bio);
    return same;
}

void world_start_server(world *w)
{
    ab_rpc_server_events events = {on_call, w};
    ab_error err = {0};
    if (ab_rpc_server_new(&w->env, "127.0.0.1", 0, &w->server_tls, &w->limits, &events, &w->server,
                          &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ab_rpc_server_start(w->server, &err), AB_ERR_OK);
    w->port = ab_rpc_server_port(w->server);
}

void world_start_client(world *w)
{
    ab_rpc_client_events events = {on_link, w};
    ab_error err = {0};
    if (ab_rpc_client_new(&w->env, "localhost", w->port, &w->client_tls, &w->limits, &events,
                          &w->client, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    ab_rpc_client_start(w->client);
}

void world_start(world *w)
{
    world_start_server(w);
    world_start_client(w);
    world_wait_link(w, AB_RPC_UP);
}

void world_fini(world *w)
{
    ab_rpc_client_free(w->client);
    ab_rpc_server_free(w->server);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    for (size_t i = 0; i < w->call_count; i++)
        seen_fini(&w->calls[i]);
    for (size_t i = 0; i < 2; i++) {
        if (w->copied[i][0] != '\0')
            (void)unlink(w->copied[i]);
    }
    ab_metrics_free(w->metrics);
    ab_log_free(w->log);
}

int world_set_up(void **state)
{
    world *w = malloc(sizeof(*w));
    world_init(w);
    *state = w;
    return 0;
}

int world_tear_down(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

static void on_tick(uv_timer_t *timer)
{
    bool *passed = timer->data;
    *passed = true;
}

static bool run_until(world *w, bool (*done)(void *arg), void *arg, uint64_t ms)
{
    bool passed = false;
    uv_timer_t timer;
    uv_timer_init(&w->loop, &timer);
    timer.data = &passed;
    uv_timer_start(&timer, on_tick, ms, 0);
    while (!passed && !done(arg))
        uv_run(&w->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    return !passed;
}

void world_wait(world *w, bool (*done)(void *arg), void *arg)
{
    if (!run_until(w, done, arg, WAIT_MS))
        fail_msg("what was waited for did not happen; link %d: %s", (int)w->link,
                 w->link_error.text);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

void world_run_ms(world *w, uint64_t ms)
{
    (void)run_until(w, never, NULL, ms);
}

void world_begin(world *w, const char *method, int64_t timeout_ms, bool compress, seen *s)
{
    char path[64];
    seen_init(s);
    snprintf(path, sizeof(path), "/test.Echo/%s", method);
    ab_rpc_begin begin = {.path = path, .timeout_ms = timeout_ms, .compress = compress};
    assert_int_equal(ab_rpc_call_begin(w->client, &begin, &seen_handler, s, &s->call), AB_ERR_OK);
}

void world_send(seen *s, size_t len, char fill)
{
    char *bytes = malloc(len + 1);
    assert_non_null(bytes);
    memset(bytes, fill, len + 1);
    assert_int_equal(ab_rpc_send(s->call, (ab_str){bytes, len}, true), AB_ERR_OK);
    free(bytes);
}

typedef struct {
    seen *s;
    size_t messages;
} message_wait;

static bool has_messages(void *arg)
{
    message_wait *m = arg;
    return m->s->messages >= m->messages || m->s->ended > 0;
}

void world_wait_messages(world *w, seen *s, size_t messages)
{
    message_wait m = {s, messages};
    world_wait(w, has_messages, &m);
    assert_int_equal(s->messages, messages);
}

static bool has_ended(void *arg)
{
    return ((seen *)arg)->ended > 0;
}

void world_wait_end(world *w, seen *s)
{
    world_wait(w, has_ended, s);
}

typedef struct {
    const world *w;
    size_t calls;
} calls_wait;

static bool has_calls(void *arg)
{
    const calls_wait *c = arg;
    return c->w->call_count >= c->calls;
}

void world_wait_calls(world *w, size_t calls)
{
    calls_wait c = {w, calls};
    world_wait(w, has_calls, &c);
}

typedef struct {
    world *w;
    ab_rpc_link link;
} link_wait;

static bool has_link(void *arg)
{
    link_wait *l = arg;
    return l->w->link == l->link;
}

void world_wait_link(world *w, ab_rpc_link link)
{
    link_wait l = {w, link};
    world_wait(w, has_link, &l);
}

double world_refused(world *w, const char *reason)
{
    ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(
        w->metrics, AB_METRIC_COUNTER, "argobus_grpc_refused_total",
        "gRPC connections and calls refused because a limit was reached.", &label, 1));
}
