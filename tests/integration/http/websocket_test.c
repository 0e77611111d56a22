/* SPDX-License-Identifier: Apache-2.0
 *
 * The WebSocket client and the HTTPS server with each other, over TLS with certificates of both.
 */
#include "net/http/https_server.h"
#include "net/websocket/client.h"
#include "tests/integration/http/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUND_MS 120000
#define FLOOD    (256u * 1024 * 1024) /* far more than a kernel keeps for a connection */
#define REST     (1024u * 1024)
#define QUIET    200 /* turns of the loop in which nothing moves */

typedef struct {
    uv_loop_t loop;
    uv_timer_t bound;
    ab_https_server *server;
    ab_https_request *held; /* at the server */
    bool echo;
    size_t flood; /* bytes of messages that whoever floods sends in all */
    size_t sent;
    size_t came; /* at the server */
    size_t messages;
    int overs;
    ab_err why;
    unsigned code;
    char offered[128];
    char authorization[64];
    char target[128];
} world;

typedef struct {
    world *w;
    ab_websocket *handle;
    bool flood; /* on_writable sends on */
    bool pause; /* at the first message */
    char protocol[64];
    ab_buf came;
    size_t bytes;
    size_t messages;
    int opens;
    int ends;
    ab_err code;
    int status;
    unsigned close_code;
    char text[128]; /* type and body of a refusal, or the text of a close */
    char err[AB_ERROR_TEXT_MAX];
} client;

static char piece[10000];

/* ---- the server's application ---- */

static void flood_client(void *arg)
{
    world *w = arg;
    ab_err e = AB_ERR_OK;
    while (w->sent < w->flood && e == AB_ERR_OK) {
        e = ab_https_message(w->held, (ab_str){piece, sizeof(piece)});
        w->sent += e == AB_ERR_OK ? sizeof(piece) : 0;
    }
}

static void on_message(void *arg, ab_str part, bool ends)
{
    world *w = arg;
    w->came += part.len;
    w->messages += ends;
    if (w->echo)
        assert_int_equal(ab_https_message(w->held, part), AB_ERR_OK);
}

static void on_over(void *arg, ab_err why, unsigned code)
{
    world *w = arg;
    w->overs++;
    w->why = why;
    w->code = code;
    w->held = NULL;
}

static const ab_https_handler handler = {
    .on_message = on_message, .on_writable = flood_client, .on_over = on_over};

static void keep(char *to, size_t room, ab_str text)
{
    snprintf(to, room, "%.*s", AB_STR_ARG(text));
}

static void on_request(void *arg, ab_https_request *r, const ab_https_info *info)
{
    world *w = arg;
    ab_str path = info->head->path;
    ab_https_take(r, &handler, w);
    w->held = r;
    keep(w->offered, sizeof(w->offered), ab_http_head_find(info->head, "sec-websocket-protocol"));
    keep(w->authorization, sizeof(w->authorization),
         ab_http_head_find(info->head, "authorization"));
    snprintf(w->target, sizeof(w->target), "%.*s?%.*s", AB_STR_ARG(path),
             AB_STR_ARG(info->head->query));
    if (ab_str_is(path, "/refuse"))
        assert_int_equal(ab_https_reply(r, 403, "application/json", AB_STR("{\"code\":403}")),
                         AB_ERR_OK);
    else if (!ab_str_is(path, "/wait"))
        assert_int_equal(ab_https_accept(r, ab_str_is(path, "/none")    ? NULL
                                            : ab_str_is(path, "/other") ? "other"
                                                                        : "v4.channel.k8s.io"),
                         AB_ERR_OK);
    w->echo = ab_str_is(path, "/echo");
    if (ab_str_is(path, "/flood"))
        flood_client(w);
    if (ab_str_is(path, "/pause"))
        ab_https_pause(r);
    if (ab_str_is(path, "/close"))
        ab_https_close(r, 4000, "enough");
}

/* ---- the client ---- */

static void flood_server(client *s)
{
    ab_err e = AB_ERR_OK;
    while (s->w->sent < s->w->flood && e == AB_ERR_OK) {
        e = ab_websocket_send(s->handle, (ab_str){piece, sizeof(piece)});
        s->w->sent += e == AB_ERR_OK ? sizeof(piece) : 0;
    }
}

static void on_writable(void *arg)
{
    client *s = arg;
    if (s->flood)
        flood_server(s);
}

static void on_open(void *arg, const char *protocol)
{
    client *s = arg;
    s->opens++;
    snprintf(s->protocol, sizeof(s->protocol), "%s", protocol == NULL ? "" : protocol);
    on_writable(s);
}

static void on_client_message(void *arg, ab_str part, bool ends)
{
    client *s = arg;
    s->bytes += part.len;
    s->messages += ends;
    if (s->came.len < 1000)
        ab_buf_put(&s->came, part);
    if (s->pause)
        ab_websocket_pause(s->handle);
    s->pause = false;
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    client *s = arg;
    s->ends++;
    s->code = end->code;
    s->status = end->status;
    s->close_code = end->close_code;
    snprintf(s->text, sizeof(s->text), "%.*s%.*s%.*s", AB_STR_ARG(end->type), AB_STR_ARG(end->body),
             AB_STR_ARG(end->close_text));
    snprintf(s->err, sizeof(s->err), "%s", end->err->text);
}

/* ---- both ---- */

static void on_bound(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing has happened for too long");
}

static void open_world(world *w)
{
    char ca[AB_PEER_PATH];
    char cert[AB_PEER_PATH];
    char key[AB_PEER_PATH];
    const ab_tls tls = {.ca = ab_peer_path("ca.crt", ca),
                        .cert = ab_peer_path("server.crt", cert),
                        .key = ab_peer_path("server.key", key),
                        .client_cert = AB_TLS_CLIENT_CERT_REQUIRE};
    const ab_https_options o = {
        .host = "127.0.0.1", .tls = &tls, .on_request = on_request, .arg = w};
    *w = (world){.flood = FLOOD};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->bound);
    uv_timer_start(&w->bound, on_bound, BOUND_MS, 0);
    uv_unref((uv_handle_t *)&w->bound);
    assert_int_equal(ab_https_server_start(&w->loop, &o, &w->server, NULL), AB_ERR_OK);
}

static void close_world(world *w)
{
    ab_https_server_free(w->server);
    uv_close((uv_handle_t *)&w->bound, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
}

static void dial(world *w, client *s, const char *who, const char *path)
{
    static const char *const protocols[] = {"v5.channel.k8s.io", "v4.channel.k8s.io", NULL};
    static const char *const headers[] = {"Authorization: Bearer x", NULL};
    char url[128];
    bool known = strcmp(who, "client") == 0;
    const ab_http_options o = {.ca = ab_peer_pem("ca.crt"),
                               .cert = ab_peer_pem(known ? "client.crt" : "stranger.crt"),
                               .key = ab_peer_pem(known ? "client.key" : "stranger.key"),
                               .agent = "test"};
    const ab_websocket_request r = {.http = &o,
                                    .url = url,
                                    .headers = headers,
                                    .protocols = protocols,
                                    .open_ms = 5000,
                                    .on_open = on_open,
                                    .on_message = on_client_message,
                                    .on_writable = on_writable,
                                    .on_end = on_end,
                                    .arg = s};
    snprintf(url, sizeof(url), "https://localhost:%d%s", ab_https_server_port(w->server), path);
    s->w = w;
    ab_buf_init(&s->came, 65536);
    assert_int_equal(ab_websocket_start(&w->loop, &r, &s->handle, NULL), AB_ERR_OK);
}

#define RUN_UNTIL(w, condition)                                                                    \
    while (!(condition))                                                                           \
    uv_run(&(w)->loop, UV_RUN_ONCE)

/* Until whoever floods is held up, who then has only little left to send. */
static void run_until_held_up(world *w)
{
    size_t last = w->sent;
    for (int turns = 0; turns < QUIET; turns++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        turns = w->sent == last ? turns : 0;
        last = w->sent;
    }
    assert_true(w->sent < FLOOD);
    w->flood = w->sent + REST;
}

static void messages_go_both_ways(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "client", "/echo?command=sh&stdin=true&x=a%26b+c");
    assert_int_equal(ab_websocket_send(s.handle, AB_STR("early")), AB_ERR_CLOSED);
    RUN_UNTIL(&w, s.opens == 1);
    assert_string_equal(w.offered, "v5.channel.k8s.io, v4.channel.k8s.io");
    assert_string_equal(w.authorization, "Bearer x");
    assert_string_equal(w.target, "/echo?command=sh&stdin=true&x=a%26b+c");
    assert_string_equal(s.protocol, "v4.channel.k8s.io");
    assert_int_equal(ab_websocket_send(s.handle, AB_STR("one")), AB_ERR_OK);
    assert_int_equal(ab_websocket_send(s.handle, AB_STR("two")), AB_ERR_OK);
    RUN_UNTIL(&w, s.messages == 2);
    assert_true(ab_str_is(ab_buf_str(&s.came), "onetwo"));
    ab_websocket_cancel(s.handle);
    RUN_UNTIL(&w, w.overs == 1);
    ab_buf_fini(&s.came);
    close_world(&w);
}

static void the_server_may_close(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "client", "/close");
    RUN_UNTIL(&w, s.ends == 1 && w.overs == 1);
    assert_int_equal(s.code, AB_ERR_OK);
    assert_int_equal(s.close_code, 4000);
    assert_string_equal(s.text, "enough");
    assert_int_equal(w.why, AB_ERR_OK);
    assert_int_equal(w.code, 4000);
    close_world(&w);
}

static void a_refusal_is_told_with_its_body(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "client", "/refuse");
    RUN_UNTIL(&w, s.ends == 1);
    assert_int_equal(s.opens, 0);
    assert_int_equal(s.code, AB_ERR_DENIED);
    assert_int_equal(s.status, 403);
    assert_string_equal(s.text, "application/json{\"code\":403}");
    close_world(&w);
}

static void certificates_are_checked_by_both(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "stranger", "/echo");
    RUN_UNTIL(&w, s.ends == 1);
    assert_int_equal(s.code, AB_ERR_DENIED);
    assert_int_equal(s.opens, 0);
    const ab_http_options o = {.ca = ab_peer_pem("stranger.crt")};
    ab_websocket_request r = {
        .http = &o, .url = "https://localhost:1/", .on_end = on_end, .arg = &s};
    char url[64];
    snprintf(url, sizeof(url), "https://localhost:%d/", ab_https_server_port(w.server));
    r.url = url;
    assert_int_equal(ab_websocket_start(&w.loop, &r, &s.handle, NULL), AB_ERR_OK);
    RUN_UNTIL(&w, s.ends == 2);
    assert_int_equal(s.code, AB_ERR_DENIED);
    const ab_http_options renamed = {.ca = ab_peer_pem("ca.crt"),
                                     .cert = ab_peer_pem("client.crt"),
                                     .key = ab_peer_pem("client.key"),
                                     .sni = "kubernetes"}; /* its certificate is for localhost */
    r.http = &renamed;
    s.code = AB_ERR_OK;
    assert_int_equal(ab_websocket_start(&w.loop, &r, &s.handle, NULL), AB_ERR_OK);
    RUN_UNTIL(&w, s.ends == 3);
    assert_int_equal(s.code, AB_ERR_DENIED);
    close_world(&w);
}

static void a_sub_protocol_must_have_been_offered(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "client", "/other");
    RUN_UNTIL(&w, s.ends == 1);
    assert_int_equal(s.code, AB_ERR_PARSE);
    assert_non_null(strstr(s.err, "not offered"));
    dial(&w, &s, "client", "/none");
    RUN_UNTIL(&w, s.opens == 1);
    assert_string_equal(s.protocol, "");
    ab_websocket_cancel(s.handle);
    RUN_UNTIL(&w, w.overs == 2);
    assert_int_equal(w.why, AB_ERR_CLOSED);
    assert_int_equal(s.ends, 1);
    close_world(&w);
}

static void what_cannot_be_begun_is_refused_at_once(void **state)
{
    (void)state;
    world w;
    open_world(&w);
    const ab_http_options o = {.ca = ab_peer_pem("ca.crt")};
    const ab_http_options proxied = {.proxy = "http://x:1"};
    const ab_http_options broken = {.ca = AB_STR("not a PEM")};
    static const char *const split[] = {"A: b\r\nC: d", NULL};
    ab_websocket *out = NULL;
    const struct {
        ab_websocket_request r;
        ab_err e;
    } rows[] = {
        {{.http = &o, .url = "ftp://x/"}, AB_ERR_INVALID},
        {{.http = &o, .url = "https://"}, AB_ERR_INVALID},
        {{.http = &o, .url = "https://x/a b"}, AB_ERR_INVALID},
        {{.http = &o, .url = "https://user@x/"}, AB_ERR_INVALID},
        {{.http = &o, .url = "https://x/", .headers = split}, AB_ERR_INVALID},
        {{.http = &proxied, .url = "https://x/"}, AB_ERR_UNSUPPORTED},
        {{.http = &broken, .url = "https://x/"}, AB_ERR_CONFIG},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(ab_websocket_start(&w.loop, &rows[i].r, &out, NULL), rows[i].e);
    close_world(&w);
}

static void a_server_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    world w;
    client s = {0};
    open_world(&w);
    dial(&w, &s, "client", "/wait");
    RUN_UNTIL(&w, s.ends == 1);
    assert_int_equal(s.code, AB_ERR_TIMEOUT);
    RUN_UNTIL(&w, w.overs == 1);
    close_world(&w);
}

static void a_paused_client_holds_up_the_server(void **state)
{
    (void)state;
    world w;
    client s = {.pause = true};
    open_world(&w);
    dial(&w, &s, "client", "/flood");
    RUN_UNTIL(&w, s.bytes > 0);
    run_until_held_up(&w);
    assert_true(s.bytes <= sizeof(piece));
    ab_websocket_resume(s.handle);
    RUN_UNTIL(&w, s.bytes >= w.flood);
    assert_int_equal(s.bytes, w.sent);
    assert_int_equal(s.messages, w.sent / sizeof(piece));
    ab_websocket_cancel(s.handle);
    RUN_UNTIL(&w, w.overs == 1);
    ab_buf_fini(&s.came);
    close_world(&w);
}

static void a_paused_server_holds_up_the_client(void **state)
{
    (void)state;
    world w;
    client s = {.flood = true};
    open_world(&w);
    dial(&w, &s, "client", "/pause");
    RUN_UNTIL(&w, w.sent > 0);
    run_until_held_up(&w);
    assert_int_equal(w.came, 0);
    ab_https_resume(w.held);
    RUN_UNTIL(&w, w.came >= w.flood);
    assert_int_equal(w.came, w.sent);
    assert_int_equal(w.messages, w.sent / sizeof(piece));
    ab_https_abort(w.held);
    RUN_UNTIL(&w, s.ends == 1);
    assert_int_not_equal(s.code, AB_ERR_OK);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_go_both_ways),
        cmocka_unit_test(the_server_may_close),
        cmocka_unit_test(a_refusal_is_told_with_its_body),
        cmocka_unit_test(certificates_are_checked_by_both),
        cmocka_unit_test(a_sub_protocol_must_have_been_offered),
        cmocka_unit_test(what_cannot_be_begun_is_refused_at_once),
        cmocka_unit_test(a_server_that_does_not_answer_is_given_up),
        cmocka_unit_test(a_paused_client_holds_up_the_server),
        cmocka_unit_test(a_paused_server_holds_up_the_client),
    };
    return cmocka_run_group_tests(tests, ab_peer_start, ab_peer_stop);
}
