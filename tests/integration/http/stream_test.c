/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client and the HTTPS server with each other, over TLS with certificates of both: bodies
 * of any size in both directions, held up by either side.
 */
#include "net/http/client.h"
#include "net/http/https_server.h"
#include "tests/integration/http/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUND_MS 120000
#define BODY     (32u * 1024 * 1024)
#define IDLE_MS  3000
#define QUIET    200 /* turns of the loop in which nothing moves */

typedef struct {
    uv_loop_t loop;
    uv_timer_t bound;
    ab_https_server *server;
    ab_http *http;
    ab_https_request *held; /* at the server */
    size_t left;            /* of the answer to /stream */
    size_t accepted;
    size_t came; /* bytes of bodies at the server */
    int overs;
    ab_err why;
    char name[64]; /* of the client */
    int asked;     /* whether its certificate is revoked */
} world;

typedef struct {
    world *w;
    ab_http_call *handle;
    int status;
    char field[64]; /* x-a of the answer */
    size_t fields;
    size_t came;
    bool done;
    ab_http_result result;
} call;

/* ---- the server's application ---- */

static void go_on_streaming(void *arg)
{
    static char piece[16384];
    world *w = arg;
    ab_err e = AB_ERR_OK;
    while (w->left > 0 && e == AB_ERR_OK) {
        e = ab_https_send(w->held, (ab_str){piece, sizeof(piece)});
        w->left -= e == AB_ERR_OK ? sizeof(piece) : 0;
        w->accepted += e == AB_ERR_OK ? sizeof(piece) : 0;
    }
    if (w->left == 0)
        ab_https_finish(w->held);
}

static void on_body(void *arg, ab_str piece)
{
    ((world *)arg)->came += piece.len;
}

static void on_body_end(void *arg)
{
    world *w = arg;
    char text[32];
    if (w->left > 0)
        return;
    snprintf(text, sizeof(text), "%zu", w->came);
    assert_int_equal(ab_https_reply(w->held, 200, "text/plain", ab_str_of(text)), AB_ERR_OK);
}

static void on_over(void *arg, ab_err why, unsigned code)
{
    world *w = arg;
    (void)code;
    w->overs++;
    w->why = why;
    w->held = NULL;
}

static void ignore_over(void *arg, ab_err why, unsigned code)
{
    (void)arg;
    (void)why;
    (void)code;
}

static const ab_https_handler streaming = {
    .on_data = on_body, .on_end = on_body_end, .on_writable = go_on_streaming, .on_over = on_over};
static const ab_https_handler brief = {.on_over = ignore_over};

static void on_request(void *arg, ab_https_request *r, const ab_https_info *info)
{
    world *w = arg;
    const ab_http_field fields[] = {{AB_STR("X-A"), AB_STR("b c")},
                                    {AB_STR("Warning"), AB_STR("one")},
                                    {AB_STR("Warning"), AB_STR("two")}};
    snprintf(w->name, sizeof(w->name), "%s", info->common_name);
    if (ab_str_is(info->head->path, "/hello")) {
        ab_https_take(r, &brief, NULL);
        assert_int_equal(ab_https_answer(r, 200, fields, 3, 5), AB_ERR_OK);
        assert_int_equal(ab_https_send(r, AB_STR("hello")), AB_ERR_OK);
        ab_https_finish(r);
        return;
    }
    ab_https_take(r, &streaming, w);
    w->held = r;
    w->came = 0;
    if (ab_str_is(info->head->path, "/pause"))
        ab_https_pause(r);
    if (!ab_str_is(info->head->path, "/stream"))
        return;
    w->left = BODY;
    assert_int_equal(ab_https_answer(r, 200, NULL, 0, -1), AB_ERR_OK);
    go_on_streaming(w);
}

/* ---- the client's upcalls ---- */

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    call *c = arg;
    assert_int_equal(c->came, 0);
    assert_int_equal(c->status, 0);
    c->status = status;
    c->fields = count;
    for (size_t i = 0; i < count; i++) {
        if (ab_str_is(fields[i].name, "x-a"))
            snprintf(c->field, sizeof(c->field), "%.*s", AB_STR_ARG(fields[i].value));
    }
}

static ab_err on_data(void *arg, int status, ab_str piece)
{
    call *c = arg;
    assert_int_equal(status, c->status);
    c->came += piece.len;
    return AB_ERR_OK;
}

static ab_err pause_at_data(void *arg, int status, ab_str piece)
{
    call *c = arg;
    (void)status;
    c->came += piece.len;
    ab_http_pause(c->handle);
    return AB_ERR_OK;
}

static void on_done(void *arg, const ab_http_result *result)
{
    call *c = arg;
    c->done = true;
    c->result = *result;
    c->result.err = NULL;
}

/* ---- both ---- */

static void on_bound(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing has happened for too long");
}

static bool has_revoked(void *arg, const uint8_t *fingerprint)
{
    world *w = arg;
    (void)fingerprint;
    w->asked++;
    return false;
}

static ab_err start_server(world *w, ab_tls_client_cert asks)
{
    char ca[AB_PEER_PATH];
    char cert[AB_PEER_PATH];
    char key[AB_PEER_PATH];
    const ab_tls tls = {.ca = ab_peer_path("ca.crt", ca),
                        .cert = ab_peer_path("server.crt", cert),
                        .key = ab_peer_path("server.key", key),
                        .client_cert = asks};
    const ab_https_options o = {.host = "127.0.0.1",
                                .tls = &tls,
                                .on_request = on_request,
                                .arg = w,
                                .revoked = {has_revoked, w}};
    return ab_https_server_start(&w->loop, &o, &w->server, NULL);
}

static void open_world(world *w, const char *client, ab_tls_client_cert asks)
{
    ab_http_options o = {.ca = ab_peer_pem("ca.crt"), .agent = "test", .http1 = true};
    *w = (world){0};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->bound);
    uv_timer_start(&w->bound, on_bound, BOUND_MS, 0);
    uv_unref((uv_handle_t *)&w->bound);
    assert_int_equal(start_server(w, asks), AB_ERR_OK);
    if (client != NULL) {
        o.cert = ab_peer_pem(strcmp(client, "client") == 0 ? "client.crt" : "stranger.crt");
        o.key = ab_peer_pem(strcmp(client, "client") == 0 ? "client.key" : "stranger.key");
    }
    assert_int_equal(ab_http_new(&w->loop, &o, &w->http, NULL), AB_ERR_OK);
}

static void close_world(world *w)
{
    ab_http_free(w->http);
    ab_https_server_free(w->server);
    uv_close((uv_handle_t *)&w->bound, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
}

static void start(world *w, call *c, const char *path, ab_http_request r)
{
    char url[128];
    snprintf(url, sizeof(url), "https://localhost:%d%s", ab_https_server_port(w->server), path);
    c->w = w;
    r.method = r.method == NULL ? "GET" : r.method;
    r.url = url;
    r.on_head = on_head;
    r.on_data = r.on_data == NULL ? on_data : r.on_data;
    r.on_done = on_done;
    r.arg = c;
    c->handle = ab_http_start(w->http, &r);
    assert_non_null(c->handle);
}

static void run_until_done(world *w, const call *c)
{
    while (!c->done)
        uv_run(&w->loop, UV_RUN_ONCE);
}

/* Turn the loop until `moving` has kept its value for a while. */
static void run_until_quiet(world *w, const size_t *moving)
{
    size_t last = *moving;
    for (int turns = 0; turns < QUIET; turns++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        turns = *moving == last ? turns : 0;
        last = *moving;
    }
}

static void hello(world *w, call *c)
{
    *c = (call){0};
    start(w, c, "/hello", (ab_http_request){0});
    run_until_done(w, c);
}

static void the_client_certificate_names_who_asks(void **state)
{
    (void)state;
    world w;
    call c;
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUEST);
    hello(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_string_equal(w.name, "client");
    assert_true(w.asked > 0);
    close_world(&w);
    open_world(&w, NULL, AB_TLS_CLIENT_CERT_REQUEST);
    hello(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_string_equal(w.name, "");
    assert_int_equal(w.asked, 0);
    close_world(&w);
}

static void a_certificate_of_a_stranger_is_refused(void **state)
{
    (void)state;
    world w;
    call c;
    open_world(&w, "stranger", AB_TLS_CLIENT_CERT_REQUEST);
    hello(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_DENIED);
    close_world(&w);
    open_world(&w, NULL, AB_TLS_CLIENT_CERT_REQUIRE);
    hello(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_DENIED);
    close_world(&w);
}

static void the_head_of_an_answer_is_told_before_its_body(void **state)
{
    (void)state;
    world w;
    call c;
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    hello(&w, &c);
    assert_int_equal(c.status, 200);
    assert_string_equal(c.field, "b c");
    assert_int_equal(c.fields, 4); /* with content-length */
    assert_int_equal(c.came, 5);
    close_world(&w);
}

/* A TLS handshake costs each end more than the call. */
static void connections_of_a_burst_are_there_for_the_next_one(void **state)
{
    enum { BURST = 12 };
    (void)state;
    world w;
    call c[BURST] = {0};
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    for (size_t i = 0; i < BURST; i++)
        start(&w, &c[i], "/hello", (ab_http_request){0});
    for (size_t i = 0; i < BURST; i++)
        run_until_done(&w, &c[i]);
    hello(&w, &c[0]);
    run_until_quiet(&w, &c[0].came);
    assert_int_equal(ab_https_server_connections(w.server), BURST);
    close_world(&w);
}

static void a_paused_answer_holds_up_the_server_and_nobody_else(void **state)
{
    (void)state;
    world w;
    call c = {0};
    call other;
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, "/stream", (ab_http_request){.on_data = pause_at_data});
    while (c.came == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    run_until_quiet(&w, &w.accepted);
    assert_true(w.accepted < BODY / 2);
    assert_true(c.came < 65536);
    hello(&w, &other);
    assert_int_equal(other.result.code, AB_ERR_OK);
    assert_false(c.done);
    while (!c.done) {
        ab_http_resume(c.handle); /* it pauses at each piece */
        uv_run(&w.loop, UV_RUN_ONCE);
    }
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_int_equal(c.came, BODY);
    assert_int_equal(w.overs, 1);
    close_world(&w);
}

static void on_nap(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static void a_paused_call_is_not_taken_for_silent(void **state)
{
    (void)state;
    world w;
    call c = {0};
    uv_timer_t nap;
    bool over = false;
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, "/stream", (ab_http_request){.on_data = pause_at_data, .idle_ms = IDLE_MS});
    while (c.came == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    uv_timer_init(&w.loop, &nap);
    nap.data = &over;
    uv_timer_start(&nap, on_nap, IDLE_MS * 3 / 2, 0);
    while (!over)
        uv_run(&w.loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&nap, NULL);
    assert_false(c.done);
    close_world(&w);
}

static void send_body(const char *path)
{
    world w;
    call c = {0};
    char *body = calloc(1, BODY);
    assert_non_null(body);
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, path, (ab_http_request){.method = "PUT", .body = {body, BODY}});
    free(body);
    if (strcmp(path, "/pause") == 0) {
        while (w.held == NULL)
            uv_run(&w.loop, UV_RUN_ONCE);
        run_until_quiet(&w, &w.came);
        assert_int_equal(w.came, 0);
        ab_https_resume(w.held);
    }
    run_until_done(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_int_equal(c.status, 200);
    assert_int_equal(w.came, BODY);
    close_world(&w);
}

static void a_body_of_a_request_can_be_held_up(void **state)
{
    (void)state;
    send_body("/count");
    send_body("/pause");
}

static void a_call_that_is_cancelled_with_its_body_is_told_to_the_server(void **state)
{
    (void)state;
    world w;
    call c = {0};
    char *body = calloc(1, BODY);
    assert_non_null(body);
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, "/pause", (ab_http_request){.method = "PUT", .body = {body, BODY}});
    free(body);
    while (w.held == NULL)
        uv_run(&w.loop, UV_RUN_ONCE);
    ab_http_cancel(c.handle);
    ab_https_resume(w.held);
    while (w.overs == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_equal(w.why, AB_ERR_CLOSED);
    close_world(&w);
}

static void an_answer_cut_off_is_a_failure(void **state)
{
    (void)state;
    world w;
    call c = {0};
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, "/stream", (ab_http_request){0});
    while (c.came == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    ab_https_abort(w.held);
    run_until_done(&w, &c);
    assert_int_equal(c.result.code, AB_ERR_UNAVAILABLE);
    close_world(&w);
}

static void a_call_that_is_cancelled_is_told_to_the_server(void **state)
{
    (void)state;
    world w;
    call c = {0};
    open_world(&w, "client", AB_TLS_CLIENT_CERT_REQUIRE);
    start(&w, &c, "/stream", (ab_http_request){.on_data = pause_at_data});
    while (c.came == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    ab_http_cancel(c.handle);
    while (w.overs == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_not_equal(w.why, AB_ERR_OK);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_certificate_names_who_asks),
        cmocka_unit_test(a_certificate_of_a_stranger_is_refused),
        cmocka_unit_test(the_head_of_an_answer_is_told_before_its_body),
        cmocka_unit_test(connections_of_a_burst_are_there_for_the_next_one),
        cmocka_unit_test(a_paused_answer_holds_up_the_server_and_nobody_else),
        cmocka_unit_test(a_paused_call_is_not_taken_for_silent),
        cmocka_unit_test(a_body_of_a_request_can_be_held_up),
        cmocka_unit_test(a_call_that_is_cancelled_with_its_body_is_told_to_the_server),
        cmocka_unit_test(an_answer_cut_off_is_a_failure),
        cmocka_unit_test(a_call_that_is_cancelled_is_told_to_the_server),
    };
    return cmocka_run_group_tests(tests, ab_peer_start, ab_peer_stop);
}
