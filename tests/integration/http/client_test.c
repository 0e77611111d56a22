/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client against real servers. Each test runs the loop until its calls have ended and the
 * client has let go of it.
 */
#include "net/http/client.h"
#include "tests/integration/http/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUND_MS 120000

typedef struct call call;

/* A client on its loop. */
typedef struct {
    uv_loop_t loop;
    uv_timer_t bound;
    ab_http *http;
    size_t open; /* calls without an end */
} world;

/* What came of a call, and what its upcalls do. */
struct call {
    world *w;
    ab_http_call *handle;
    ab_buf body;
    int status_at_data;
    size_t pieces;
    size_t ends;
    ab_http_result result;
    ab_error err;
    ab_err refuse;
    void (*at_data)(call *c);
    void (*at_end)(call *c);
    call *other;
};

static void on_bound(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing has happened for too long");
}

static ab_http_options trusting(void)
{
    return (ab_http_options){.ca = ab_peer_pem("ca.crt"), .agent = "argobus-test"};
}

static void world_open(world *w, const ab_http_options *options)
{
    ab_error err = {0};
    *w = (world){0};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->bound);
    uv_timer_start(&w->bound, on_bound, BOUND_MS, 0);
    uv_unref((uv_handle_t *)&w->bound);
    if (ab_http_new(&w->loop, options, &w->http, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

static void world_run(world *w)
{
    while (w->open > 0)
        uv_run(&w->loop, UV_RUN_ONCE);
}

/* Fails when the client leaves a handle in the loop. */
static void world_close(world *w)
{
    ab_http_free(w->http);
    uv_close((uv_handle_t *)&w->bound, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
}

static ab_err on_data(void *arg, int status, ab_str piece)
{
    call *c = arg;
    assert_int_equal(c->ends, 0);
    c->status_at_data = status;
    c->pieces++;
    if (c->body.len < 1 << 16)
        ab_buf_put(&c->body, piece);
    if (c->at_data != NULL)
        c->at_data(c);
    return c->refuse;
}

static void on_done(void *arg, const ab_http_result *result)
{
    call *c = arg;
    c->ends++;
    c->result = *result;
    c->err = *result->err;
    c->handle = NULL;
    c->w->open--;
    if (c->at_end != NULL)
        c->at_end(c);
}

/* Where and what, with the rest of the request as it is in `r`. */
static void start(world *w, call *c, const char *server, const char *path, ab_http_request r)
{
    char url[256];
    bool plain = strcmp(server, "plain") == 0 || strcmp(server, "refused") == 0;
    snprintf(url, sizeof(url), "http%s://localhost:%d%s", plain ? "" : "s", ab_peer_port(server),
             path);
    c->w = w;
    ab_buf_init(&c->body, 1 << 24);
    r.method = r.method == NULL ? "GET" : r.method;
    r.url = r.url == NULL ? url : r.url;
    r.on_data = on_data;
    r.on_done = on_done;
    r.arg = c;
    w->open++;
    c->handle = ab_http_start(w->http, &r);
    assert_non_null(c->handle);
    assert_int_equal(c->ends + c->pieces, 0);
}

static void get(world *w, call *c, const char *server, const char *path)
{
    start(w, c, server, path, (ab_http_request){0});
}

/* One call of a client of its own, from beginning to end. */
static call fetch(const ab_http_options *options, const char *server, const char *path,
                  ab_http_request r)
{
    world w;
    call c = {0};
    world_open(&w, options);
    start(&w, &c, server, path, r);
    world_run(&w);
    world_close(&w);
    assert_int_equal(c.ends, 1);
    return c;
}

static void check_answer(call *c, int status, const char *body)
{
    if (c->result.code != AB_ERR_OK)
        fail_msg("%s", c->err.text);
    assert_int_equal(c->result.status, status);
    assert_true(ab_str_is(ab_buf_str(&c->body), body));
    ab_buf_fini(&c->body);
}

static void check_failure(call *c, ab_err code, const char *words)
{
    if (c->result.code != code)
        fail_msg("%s instead of %s: %s", ab_err_text(c->result.code), ab_err_text(code),
                 c->err.text);
    assert_int_equal(c->err.code, code);
    if (strstr(c->err.text, words) == NULL)
        fail_msg("not \"%s\": %s", words, c->err.text);
    ab_buf_fini(&c->body);
}

static void an_answer_comes_with_its_status(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/hello", (ab_http_request){0});
    assert_int_equal(c.status_at_data, 200);
    assert_int_equal(c.result.retry_after_ms, -1);
    check_answer(&c, 200, "hello");
    c = fetch(&o, "plain", "/no-such-page", (ab_http_request){0});
    assert_int_equal(c.status_at_data, 404);
    check_answer(&c, 404, "not found");
}

static void method_headers_and_body_arrive(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    const char *const headers[] = {"Content-Type: application/json", "Authorization: Bearer x",
                                   NULL};
    char expected[256];
    snprintf(expected, sizeof(expected),
             "PATCH /echo?a=b\nHost: localhost:%d\nUser-Agent: argobus-test\n"
             "Content-Type: application/json\nAuthorization: Bearer x\n\n{\"a\":1}",
             ab_peer_port("plain"));
    call c = fetch(
        &o, "plain", "/echo?a=b",
        (ab_http_request){.method = "PATCH", .headers = headers, .body = AB_STR("{\"a\":1} cut")});
    assert_int_equal(c.result.code, AB_ERR_OK);
    ab_buf_fini(&c.body);
    c = fetch(
        &o, "plain", "/echo?a=b",
        (ab_http_request){.method = "PATCH", .headers = headers, .body = {"{\"a\":1} cut", 7}});
    check_answer(&c, 200, expected);
    c = fetch(&o, "plain", "/hello", (ab_http_request){.method = "HEAD"});
    check_answer(&c, 200, "");
}

static void a_large_body_is_sent_at_once(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    size_t len = 3u << 20;
    char *body = malloc(len);
    assert_non_null(body);
    memset(body, 'x', len);
    call c = fetch(&o, "plain", "/echo", (ab_http_request){.method = "PUT", .body = {body, len}});
    free(body);
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_null(strstr(c.body.ptr, "Expect"));
    ab_buf_fini(&c.body);
}

static void a_redirection_is_not_followed(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/moved", (ab_http_request){0});
    check_answer(&c, 302, "moved");
}

static void retry_after_is_understood(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/busy", (ab_http_request){0});
    assert_int_equal(c.result.retry_after_ms, 7000);
    check_answer(&c, 429, "later");
    c = fetch(&o, "plain", "/at", (ab_http_request){0});
    /* The server's clock may be a tick ahead of time(), which libcurl reads: a second more. */
    assert_in_range(c.result.retry_after_ms, 80000, 101000);
    check_answer(&c, 503, "");
    c = fetch(&o, "plain", "/past", (ab_http_request){0});
    assert_int_equal(c.result.retry_after_ms, 0);
    check_answer(&c, 503, "");
    c = fetch(&o, "plain", "/soon", (ab_http_request){0});
    assert_int_equal(c.result.retry_after_ms, -1);
    check_answer(&c, 503, "");
}

static void calls_share_one_connection_over_http2(void **state)
{
    enum { CALLS = 60 };
    (void)state;
    if (ab_peer_port("h2") == 0)
        skip();
    static call calls[CALLS];
    world w;
    ab_http_options o = trusting();
    world_open(&w, &o);
    for (size_t i = 0; i < CALLS; i++)
        get(&w, &calls[i], "h2", "/page");
    world_run(&w);
    call again = {0};
    call count = {0};
    get(&w, &again, "h2", "/no-such-page");
    world_run(&w);
    get(&w, &count, "plain", "/connections");
    world_run(&w);
    world_close(&w);
    for (size_t i = 0; i < CALLS; i++) {
        assert_int_equal(calls[i].result.code, AB_ERR_OK);
        assert_int_equal(calls[i].result.status, 200);
        ab_buf_fini(&calls[i].body);
    }
    assert_int_equal(again.result.status, 404);
    ab_buf_fini(&again.body);
    check_answer(&count, 200, "1");
}

static void give_up_silent_connection(ab_http_request request)
{
    if (ab_peer_port("h2") == 0)
        skip();
    world w;
    call calls[4] = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    get(&w, &calls[0], "h2", "/page");
    world_run(&w);
    call freeze = fetch(&o, "plain", "/freeze", (ab_http_request){0});
    check_answer(&freeze, 200, "");
    start(&w, &calls[1], "h2", "/page", (ab_http_request){0}); /* as a watch */
    start(&w, &calls[2], "h2", "/page", request);
    world_run(&w);
    start(&w, &calls[3], "h2", "/page", (ab_http_request){.timeout_ms = 60000});
    world_run(&w);
    world_close(&w);
    check_failure(&calls[1], AB_ERR_TIMEOUT, "silent for too long");
    check_failure(&calls[2], AB_ERR_TIMEOUT, "in time");
    for (size_t i = 0; i < 4; i += 3) {
        assert_int_equal(calls[i].result.code, AB_ERR_OK);
        assert_int_equal(calls[i].result.status, 200);
        ab_buf_fini(&calls[i].body);
    }
}

static void a_connection_that_says_nothing_more_is_not_called_on_again(void **state)
{
    (void)state;
    give_up_silent_connection((ab_http_request){.timeout_ms = 300});
    give_up_silent_connection((ab_http_request){.idle_ms = 300});
}

/* Else the loop would wait for more when a call has ended by a timer. */
static void stop_loop(call *c)
{
    uv_stop(&c->w->loop);
}

static void keep_connection_that_answers(ab_http_request request)
{
    world w;
    call calls[3] = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    get(&w, &calls[0], "some", "/");
    world_run(&w);
    assert_int_equal(calls[0].result.status, 200);
    request.method = "POST"; /* which gets no answer */
    start(&w, &calls[1], "some", "/", request);
    start(&w, &calls[2], "some", "/", (ab_http_request){.method = "POST"}); /* as a watch */
    while (calls[1].ends == 0) {
        call other = {.at_end = stop_loop};
        get(&w, &other, "some", "/");
        while (other.ends == 0)
            uv_run(&w.loop, UV_RUN_ONCE);
        check_answer(&other, 200, calls[0].body.ptr);
    }
    check_failure(&calls[1], AB_ERR_TIMEOUT, "in time");
    assert_int_equal(calls[2].ends, 0);
    world_close(&w);
    ab_buf_fini(&calls[0].body);
    ab_buf_fini(&calls[2].body);
}

static void a_call_that_gets_no_answer_leaves_others_their_connection(void **state)
{
    (void)state;
    keep_connection_that_answers((ab_http_request){.timeout_ms = 500});
    keep_connection_that_answers((ab_http_request){.idle_ms = 500});
}

static void a_server_of_another_authority_is_not_trusted(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "tls", "/hello", (ab_http_request){0});
    check_answer(&c, 200, "hello");
    o.ca = ab_peer_pem("stranger-ca.crt");
    c = fetch(&o, "tls", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_DENIED, "check the CA that signed it");
    o.ca = AB_STR_NONE; /* the system's */
    c = fetch(&o, "tls", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_DENIED, "check the CA that signed it");
}

static void a_server_of_another_name_is_not_trusted(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "other", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_DENIED, "the name it was issued for");
}

static void a_name_can_be_verified_instead_of_the_host(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    char host[64];
    snprintf(host, sizeof(host), "Host: localhost:%d\n", ab_peer_port("other"));
    o.sni = "kubernetes";
    call c = fetch(&o, "other", "/echo", (ab_http_request){0});
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_non_null(strstr(c.body.ptr, host));
    ab_buf_fini(&c.body);
    c = fetch(&o, "tls", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_DENIED, "the name it was issued for");
}

static void a_client_certificate_opens_the_door(void **state)
{
    (void)state;
    const char *const servers[] = {"mutual", "mutual12"};
    for (size_t i = 0; i < 2; i++) {
        ab_http_options o = trusting();
        call c = fetch(&o, servers[i], "/hello", (ab_http_request){0});
        check_failure(&c, i == 0 ? AB_ERR_DENIED : c.result.code, "");
        assert_int_not_equal(c.result.code, AB_ERR_OK);
        o.cert = ab_peer_pem("client.crt");
        o.key = ab_peer_pem("client.key");
        c = fetch(&o, servers[i], "/hello", (ab_http_request){0});
        check_answer(&c, 200, "hello");
        o.cert = ab_peer_pem("stranger.crt");
        o.key = ab_peer_pem("stranger.key");
        c = fetch(&o, servers[i], "/hello", (ab_http_request){0});
        check_failure(&c, AB_ERR_DENIED, "rejects the client certificate");
    }
}

static void tls_before_1_2_is_not_spoken(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "old", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_UNAVAILABLE, "TLS 1.2 or later");
}

static void unusable_certificates_are_refused_at_once(void **state)
{
    (void)state;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    ab_str ca = ab_peer_pem("ca.crt");
    ab_str cert = ab_peer_pem("client.crt");
    ab_str key = ab_peer_pem("client.key");
    const struct {
        ab_http_options options;
        const char *words;
    } bad[] = {
        {{.ca = AB_STR("nonsense")}, "the CA"},
        {{.ca = key}, "the CA"},
        {{.ca = AB_STR("")}, "the CA"},
        {{.ca = ca, .cert = cert}, "key is missing"},
        {{.ca = ca, .key = key}, "certificate is missing"},
        {{.cert = key, .key = key}, "client certificate"},
        {{.cert = cert, .key = cert}, "client key"},
        {{.cert = cert, .key = ab_peer_pem("locked.key")}, "without a passphrase"},
        {{.cert = cert, .key = ab_peer_pem("stranger.key")},
         "does not belong to the client certificate"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_http *http = NULL;
        ab_error err = {0};
        assert_int_equal(ab_http_new(&loop, &bad[i].options, &http, &err), AB_ERR_CONFIG);
        assert_null(http);
        if (strstr(err.text, bad[i].words) == NULL)
            fail_msg("not \"%s\": %s", bad[i].words, err.text);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void new_certificates_count_from_the_next_connection_on(void **state)
{
    (void)state;
    world w;
    call before = {0};
    call after = {0};
    call last = {0};
    ab_error err = {0};
    ab_http_options o = trusting();
    o.cert = ab_peer_pem("client.crt");
    o.key = ab_peer_pem("client.key");
    world_open(&w, &o);
    get(&w, &before, "mutual", "/hello");
    world_run(&w);
    o.cert = ab_peer_pem("stranger.crt");
    assert_int_equal(ab_http_reconfigure(w.http, &o, &err), AB_ERR_CONFIG);
    get(&w, &after, "mutual", "/hello");
    world_run(&w);
    o.key = ab_peer_pem("stranger.key");
    assert_int_equal(ab_http_reconfigure(w.http, &o, &err), AB_ERR_OK);
    get(&w, &last, "mutual", "/hello");
    world_run(&w);
    world_close(&w);
    check_answer(&before, 200, "hello");
    check_answer(&after, 200, "hello");
    check_failure(&last, AB_ERR_DENIED, "rejects the client certificate");
}

static void what_cannot_be_reached_is_said_to_be_so(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "refused", "/", (ab_http_request){0});
    assert_int_equal(c.result.status, 0);
    check_failure(&c, AB_ERR_UNAVAILABLE, "check that the server runs");
    c = fetch(&o, "", "", (ab_http_request){.url = "https://no-such-host.invalid/secret?token"});
    assert_null(strstr(c.err.text, "secret"));
    check_failure(&c, AB_ERR_UNAVAILABLE, "https://no-such-host.invalid: host not found");
    o.proxy = "http://no-such-proxy.invalid:3128";
    c = fetch(&o, "plain", "/hello", (ab_http_request){0});
    check_failure(&c, AB_ERR_UNAVAILABLE, "the proxy's host");
}

static void what_is_no_url_is_refused(void **state)
{
    (void)state;
    const char *const names[] = {NULL, "kubernetes"};
    for (size_t i = 0; i < 2; i++) {
        ab_http_options o = trusting();
        o.sni = names[i];
        call c = fetch(&o, "", "", (ab_http_request){.url = "https://:x/"});
        check_failure(&c, AB_ERR_INVALID, "not a URL");
        c = fetch(&o, "", "", (ab_http_request){.url = "ftp://user:word@localhost/"});
        assert_null(strstr(c.err.text, "word"));
        check_failure(&c, AB_ERR_INVALID, "only http and https");
        c = fetch(&o, "", "", (ab_http_request){.url = "file:///etc/passwd"});
        check_failure(&c, AB_ERR_INVALID, "");
    }
}

static void an_answer_cut_off_or_garbage_is_a_failure(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/half", (ab_http_request){0});
    assert_int_equal(c.result.status, 200);
    assert_true(ab_str_is(ab_buf_str(&c.body), "first"));
    check_failure(&c, AB_ERR_UNAVAILABLE, "broke");
    c = fetch(&o, "plain", "/garbage", (ab_http_request){0});
    check_failure(&c, AB_ERR_UNAVAILABLE, "not HTTP");
    /* TLS to a server without it. */
    char url[64];
    snprintf(url, sizeof(url), "https://localhost:%d/", ab_peer_port("plain"));
    c = fetch(&o, "", "", (ab_http_request){.url = url});
    check_failure(&c, AB_ERR_UNAVAILABLE, "speaks TLS");
}

static void silence_ends_a_call(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/silent", (ab_http_request){.timeout_ms = 100});
    assert_int_equal(c.result.status, 0);
    check_failure(&c, AB_ERR_TIMEOUT, "in time");
    c = fetch(&o, "plain", "/silent", (ab_http_request){.idle_ms = 100});
    check_failure(&c, AB_ERR_TIMEOUT, "nothing came");
    c = fetch(&o, "plain", "/stuck", (ab_http_request){.idle_ms = 2000});
    assert_int_equal(c.result.status, 200);
    assert_true(ab_str_is(ab_buf_str(&c.body), "first"));
    check_failure(&c, AB_ERR_TIMEOUT, "nothing came");
}

static void what_keeps_coming_is_not_idle(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "plain", "/endless", (ab_http_request){.idle_ms = 2000, .timeout_ms = 4000});
    check_failure(&c, AB_ERR_TIMEOUT, "timed out");
    assert_null(strstr(c.err.text, "nothing came"));
    assert_true(c.pieces > 10);
}

static void each_call_has_its_own_patience(void **state)
{
    (void)state;
    world w;
    call calls[4] = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    get(&w, &calls[3], "plain", "/hello");
    world_run(&w);
    start(&w, &calls[0], "plain", "/silent", (ab_http_request){.idle_ms = 3000});
    start(&w, &calls[1], "plain", "/silent", (ab_http_request){.idle_ms = 100});
    start(&w, &calls[2], "plain", "/silent", (ab_http_request){.idle_ms = 100000});
    while (calls[1].ends == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_equal(calls[0].ends, 0);
    while (calls[0].ends == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_equal(calls[2].ends, 0);
    ab_http_cancel(calls[2].handle);
    world_close(&w);
    check_failure(&calls[0], AB_ERR_TIMEOUT, "nothing came");
    check_failure(&calls[1], AB_ERR_TIMEOUT, "nothing came");
    assert_int_equal(calls[2].ends, 0);
    ab_buf_fini(&calls[2].body);
    check_answer(&calls[3], 200, "hello");
}

static void what_on_data_says_ends_the_call(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    world w;
    call c = {.refuse = AB_ERR_TOOBIG};
    world_open(&w, &o);
    get(&w, &c, "plain", "/endless");
    world_run(&w);
    world_close(&w);
    assert_int_equal(c.pieces, 1);
    assert_int_equal(c.result.status, 200);
    check_failure(&c, AB_ERR_TOOBIG, "rejected");
}

static void cancel_self(call *c)
{
    c->w->open--;
    ab_http_cancel(c->handle);
}

static void cancel_other(call *c)
{
    if (c->other->handle == NULL)
        return;
    ab_http_cancel(c->other->handle);
    c->other->handle = NULL;
    c->w->open--;
}

static void start_other(call *c)
{
    if (c->other->w == NULL)
        get(c->w, c->other, "plain", "/hello");
}

static void free_client(call *c)
{
    ab_http_free(c->w->http);
    c->w->http = NULL;
    c->w->open = 0;
}

static void a_cancelled_call_says_nothing_more(void **state)
{
    (void)state;
    void (*const when[])(call *) = {cancel_self, cancel_other};
    for (size_t i = 0; i < 2; i++) {
        world w;
        call first = {.at_data = when[i]};
        call second = {0};
        ab_http_options o = trusting();
        world_open(&w, &o);
        get(&w, &first, "plain", i == 0 ? "/endless" : "/hello");
        first.other = &second;
        if (i == 1)
            get(&w, &second, "plain", "/silent");
        world_run(&w);
        world_close(&w);
        assert_int_equal(first.ends, i);
        assert_int_equal(first.pieces, 1);
        assert_int_equal(second.ends + second.pieces, 0);
        ab_buf_fini(&first.body);
        ab_buf_fini(&second.body);
    }
}

static void a_call_may_be_cancelled_before_and_after_it_began(void **state)
{
    (void)state;
    world w;
    call calls[2] = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    get(&w, &calls[0], "plain", "/hello");
    ab_http_cancel(calls[0].handle);
    ab_http_cancel(NULL);
    calls[1].at_end = NULL;
    get(&w, &calls[1], "plain", "/hello");
    w.open = 1;
    world_run(&w);
    world_close(&w);
    assert_int_equal(calls[0].ends, 0);
    ab_buf_fini(&calls[0].body);
    check_answer(&calls[1], 200, "hello");
}

static void cancel_in_own_end(call *c)
{
    ab_http_cancel(c->other->handle);
    c->other->handle = NULL;
}

static void cancelling_a_call_in_its_own_end_does_nothing(void **state)
{
    (void)state;
    world w;
    call c = {.at_end = cancel_in_own_end};
    call mirror = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    c.other = &mirror;
    get(&w, &c, "plain", "/hello");
    mirror.handle = c.handle;
    world_run(&w);
    world_close(&w);
    check_answer(&c, 200, "hello");
}

static void a_call_may_begin_in_any_upcall(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world w;
        call second = {0};
        call first = {.other = &second};
        ab_http_options o = trusting();
        first.at_data = i == 0 ? start_other : NULL;
        first.at_end = i == 1 ? start_other : NULL;
        world_open(&w, &o);
        get(&w, &first, "plain", "/hello");
        world_run(&w);
        world_close(&w);
        check_answer(&first, 200, "hello");
        check_answer(&second, 200, "hello");
    }
}

static void the_client_may_be_freed_in_any_upcall(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        world w;
        call second = {0};
        call first = {0};
        ab_http_options o = trusting();
        first.at_data = i == 0 ? free_client : NULL;
        first.at_end = i > 0 ? free_client : NULL;
        world_open(&w, &o);
        start(&w, &second, "plain", "/silent", (ab_http_request){.idle_ms = 10000});
        start(&w, &first, "plain", i == 2 ? "/silent" : "/hello",
              (ab_http_request){.idle_ms = 100});
        world_run(&w);
        world_close(&w);
        assert_int_equal(first.ends, i > 0);
        assert_int_equal(second.ends, 0);
        ab_buf_fini(&first.body);
        ab_buf_fini(&second.body);
    }
}

static void freeing_the_client_ends_calls_without_a_word(void **state)
{
    (void)state;
    world w;
    call calls[3] = {0};
    ab_http_options o = trusting();
    world_open(&w, &o);
    get(&w, &calls[0], "tls", "/silent");
    get(&w, &calls[1], "plain", "/stuck");
    while (calls[1].pieces == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    get(&w, &calls[2], "h2", "/page");
    world_close(&w);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(calls[i].ends, 0);
        ab_buf_fini(&calls[i].body);
    }
    ab_http_free(NULL);
}

static void a_large_answer_comes_in_pieces(void **state)
{
    (void)state;
    ab_http_options o = trusting();
    call c = fetch(&o, "tls", "/large", (ab_http_request){0});
    assert_int_equal(c.result.code, AB_ERR_OK);
    assert_true(c.pieces > 100);
    ab_buf_fini(&c.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, for it counts the connections of this program to that server. */
        cmocka_unit_test(calls_share_one_connection_over_http2),
        cmocka_unit_test(a_connection_that_says_nothing_more_is_not_called_on_again),
        cmocka_unit_test(a_call_that_gets_no_answer_leaves_others_their_connection),
        cmocka_unit_test(an_answer_comes_with_its_status),
        cmocka_unit_test(method_headers_and_body_arrive),
        cmocka_unit_test(a_large_body_is_sent_at_once),
        cmocka_unit_test(a_large_answer_comes_in_pieces),
        cmocka_unit_test(a_redirection_is_not_followed),
        cmocka_unit_test(retry_after_is_understood),
        cmocka_unit_test(a_server_of_another_authority_is_not_trusted),
        cmocka_unit_test(a_server_of_another_name_is_not_trusted),
        cmocka_unit_test(a_name_can_be_verified_instead_of_the_host),
        cmocka_unit_test(a_client_certificate_opens_the_door),
        cmocka_unit_test(tls_before_1_2_is_not_spoken),
        cmocka_unit_test(unusable_certificates_are_refused_at_once),
        cmocka_unit_test(new_certificates_count_from_the_next_connection_on),
        cmocka_unit_test(what_cannot_be_reached_is_said_to_be_so),
        cmocka_unit_test(what_is_no_url_is_refused),
        cmocka_unit_test(an_answer_cut_off_or_garbage_is_a_failure),
        cmocka_unit_test(silence_ends_a_call),
        cmocka_unit_test(what_keeps_coming_is_not_idle),
        cmocka_unit_test(each_call_has_its_own_patience),
        cmocka_unit_test(what_on_data_says_ends_the_call),
        cmocka_unit_test(a_cancelled_call_says_nothing_more),
        cmocka_unit_test(a_call_may_be_cancelled_before_and_after_it_began),
        cmocka_unit_test(cancelling_a_call_in_its_own_end_does_nothing),
        cmocka_unit_test(a_call_may_begin_in_any_upcall),
        cmocka_unit_test(the_client_may_be_freed_in_any_upcall),
        cmocka_unit_test(freeing_the_client_ends_calls_without_a_word),
    };
    return cmocka_run_group_tests(tests, ab_peer_start, ab_peer_stop);
}
