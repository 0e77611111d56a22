/* SPDX-License-Identifier: Apache-2.0
 *
 * A name server that does not answer: libcurl asks on a thread of its own, and must not wait for
 * that thread when a call ends. And what is told of a proxy that cannot be used.
 */
#include "net/http/client.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define NEVER_MS 5000

static struct {
    uv_mutex_t lock;
    uv_cond_t changed;
    bool asked;
    bool answers; /* it may answer now */
    bool expired; /* nobody let it: the loop waited for it */
} names;

/* In place of the C library's, whose parameters have other names.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)out;
    uv_mutex_lock(&names.lock);
    names.asked = true;
    while (!names.answers && !names.expired)
        names.expired = uv_cond_timedwait(&names.changed, &names.lock,
                                          (uint64_t)NEVER_MS * 1000000) == UV_ETIMEDOUT;
    uv_mutex_unlock(&names.lock);
    return EAI_AGAIN;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

typedef struct {
    uv_loop_t loop;
    uv_timer_t turn;
    ab_http *http;
    ab_http_call *call;
    size_t turns;
    bool cancels;
    bool ended;
    ab_err code;
    char said[AB_ERROR_TEXT_MAX];
} fixture;

static bool is_asked(void)
{
    uv_mutex_lock(&names.lock);
    bool asked = names.asked;
    uv_mutex_unlock(&names.lock);
    return asked;
}

static void on_turn(uv_timer_t *timer)
{
    fixture *f = timer->data;
    f->turns++;
    if (f->cancels && f->call != NULL && is_asked()) {
        ab_http_cancel(f->call);
        f->call = NULL;
        f->ended = true;
    }
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){0};
    uv_mutex_lock(&names.lock);
    names.asked = names.answers = names.expired = false;
    uv_mutex_unlock(&names.lock);
    assert_int_equal(uv_loop_init(&f.loop), 0);
    assert_int_equal(uv_timer_init(&f.loop, &f.turn), 0);
    f.turn.data = &f;
    const ab_http_options options = {.agent = "test", .connect_ms = 100};
    assert_int_equal(ab_http_new(&f.loop, &options, &f.http, NULL), AB_ERR_OK);
    assert_int_equal(uv_timer_start(&f.turn, on_turn, 1, 1), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_http_free(f->http);
    uv_close((uv_handle_t *)&f->turn, NULL);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    return 0;
}

static void on_done(void *arg, const ab_http_result *result)
{
    fixture *f = arg;
    f->call = NULL;
    f->ended = true;
    f->code = result->code;
    if (result->err != NULL)
        snprintf(f->said, sizeof(f->said), "%s", result->err->text);
}

static void run_until_ended(fixture *f)
{
    const ab_http_request request = {
        .method = "GET", .url = "http://name.test/", .on_done = on_done, .arg = f};
    f->call = ab_http_start(f->http, &request);
    assert_non_null(f->call);
    while (!f->ended)
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    uv_mutex_lock(&names.lock);
    assert_true(names.asked);
    assert_false(names.expired);
    names.answers = true;
    uv_cond_broadcast(&names.changed);
    uv_mutex_unlock(&names.lock);
}

static void a_name_server_that_is_silent_does_not_hold_a_call_that_timed_out(void **state)
{
    fixture *f = *state;
    run_until_ended(f);
    assert_int_equal(f->code, AB_ERR_TIMEOUT);
    assert_true(f->turns > 0); /* an emulated processor has few of them in 100 ms */
}

static void nor_one_that_is_cancelled(void **state)
{
    fixture *f = *state;
    f->cancels = true;
    run_until_ended(f);
}

/* With a # in it, which the operator forgot to escape. */
static void the_password_of_a_proxy_is_not_told(void **state)
{
    fixture *f = *state;
    const ab_http_options options = {.agent = "test",
                                     .proxy = "http://user:hun#ter2@127.0.0.1:3128"};
    const ab_http_request request = {
        .method = "GET", .url = "http://127.0.0.1:1/", .on_done = on_done, .arg = f};
    assert_int_equal(ab_http_reconfigure(f->http, &options, NULL), AB_ERR_OK);
    assert_non_null(ab_http_start(f->http, &request));
    while (!f->ended)
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_not_equal(f->code, AB_ERR_OK);
    assert_non_null(strstr(f->said, "Unsupported proxy"));
    assert_null(strstr(f->said, "ter2"));
}

static void of_what_is_said_of_a_proxy_only_its_url_is_hidden(void **state)
{
    static const struct {
        const char *said, *left;
    } rows[] = {
        {"Unsupported proxy syntax in 'http://u:p'q@h': no host",
         "Unsupported proxy syntax in '': no host"},
        {"Unsupported proxy scheme for 'socks9://u:p", "Unsupported proxy scheme for '"},
        {"Unsupported proxy", "Unsupported proxy"},
        {"Could not resolve proxy: 'h'", "Could not resolve proxy: 'h'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char said[128];
        snprintf(said, sizeof(said), "%s", rows[i].said);
        ab_http_hide_proxy(said);
        assert_string_equal(said, rows[i].left);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_name_server_that_is_silent_does_not_hold_a_call_that_timed_out),
        CASE(nor_one_that_is_cancelled),
        CASE(the_password_of_a_proxy_is_not_told),
        cmocka_unit_test(of_what_is_said_of_a_proxy_only_its_url_is_hidden),
    };
    if (uv_mutex_init(&names.lock) != 0 || uv_cond_init(&names.changed) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
