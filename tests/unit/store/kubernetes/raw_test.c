/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to a server that keeps what it was asked, and answers with the statuses that the test
 * lists.
 */
#include "store/kubernetes/raw.h"

#include "tests/unit/store/kubernetes/access/access_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ANSWER     "{\"kind\":\"Any\"}"
#define TIMEOUT_MS 30000 /* a test that would hang ends */
#define CUT        0     /* in place of a status: the connection ends without an answer */

typedef struct {
    world *w;
    uv_timer_t tick; /* a turn of the loop does not wait for long */
    ab_https_server *server;
    ab_kube_raw *raw;
    /* the server */
    const int *statuses; /* of its answers, in turn */
    size_t asked;
    char seen[1024]; /* of the last request: line, fields, body */
    ab_https_request *request;
    /* the caller */
    ab_kube_raw_call *call;
    int heads, status, overs;
    ab_err code;
    char type[64], body[256], why[AB_ERROR_TEXT_MAX];
    bool cancels; /* at the head */
} fixture;

/* --- the server --- */

static void see(fixture *f, const char *before, ab_str text)
{
    size_t len = strlen(f->seen);
    snprintf(f->seen + len, sizeof(f->seen) - len, "%s%.*s", before, AB_STR_ARG(text));
}

static void on_body(void *arg, ab_str piece)
{
    see(arg, "\n", piece);
}

static void on_asked(void *arg)
{
    fixture *f = arg;
    int status = f->statuses[f->asked++];
    if (status == CUT)
        ab_https_abort(f->request);
    else
        assert_int_equal(ab_https_reply(f->request, status, "application/any", AB_STR(ANSWER)),
                         AB_ERR_OK);
}

static void on_answered(void *arg, ab_err why, unsigned close_code)
{
    (void)arg, (void)why, (void)close_code;
}

static const ab_https_handler SERVER = {
    .on_data = on_body, .on_end = on_asked, .on_over = on_answered};

static void on_request(void *arg, ab_https_request *request, const ab_https_info *info)
{
    static const char *const fields[] = {"authorization", "content-type", "accept", "expect"};
    fixture *f = arg;
    const ab_http_head *head = info->head;
    f->seen[0] = '\0';
    f->request = request;
    see(f, "", head->method);
    see(f, " ", head->path);
    see(f, "?", head->query);
    for (size_t i = 0; i < 4; i++) {
        if (ab_http_head_find(head, fields[i]).ptr != NULL)
            see(f, i == 0 ? "\n" : ", ", ab_http_head_find(head, fields[i]));
    }
    ab_https_take(request, &SERVER, f);
}

/* --- the caller --- */

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    fixture *f = arg;
    f->heads++;
    f->status = status;
    for (size_t i = 0; i < count; i++) {
        if (ab_str_is(fields[i].name, "content-type"))
            snprintf(f->type, sizeof(f->type), "%.*s", AB_STR_ARG(fields[i].value));
    }
    if (f->cancels)
        ab_kube_raw_cancel(f->call);
}

static void on_data(void *arg, ab_str piece)
{
    fixture *f = arg;
    size_t len = strlen(f->body);
    snprintf(f->body + len, sizeof(f->body) - len, "%.*s", AB_STR_ARG(piece));
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    fixture *f = arg;
    f->overs++;
    f->code = code;
    snprintf(f->why, sizeof(f->why), "%s", err == NULL ? "" : err->text);
}

static void ask_server(fixture *f, const char *method, ab_str body, const ab_http_field *fields,
                       size_t count)
{
    f->call = ab_kube_raw_begin(f->raw, &(ab_kube_raw_request){.method = method,
                                                               .path = "/api/v1/pods?limit=5",
                                                               .fields = fields,
                                                               .count = count,
                                                               .body = body,
                                                               .timeout_ms = TIMEOUT_MS,
                                                               .on_head = on_head,
                                                               .on_data = on_data,
                                                               .on_over = on_over,
                                                               .arg = f});
    assert_non_null(f->call);
    assert_int_equal(f->heads + f->overs, 0); /* nothing from inside the call */
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static void wait_over(fixture *f)
{
    while (f->overs == 0 && uv_run(&f->w->loop, UV_RUN_ONCE) != 0)
        ;
    assert_int_equal(f->overs, 1);
}

static void stop_server(fixture *f)
{
    ab_https_server_free(f->server);
    f->server = NULL;
}

static int set_up(void **state)
{
    static const int OK_ALWAYS[] = {200, 200, 200, 200};
    fixture *f = calloc(1, sizeof(*f));
    f->w = begin();
    uv_timer_init(&f->w->loop, &f->tick);
    uv_timer_start(&f->tick, on_tick, 10, 10);
    f->statuses = OK_ALWAYS;
    f->server = must_serve(f->w, on_request, f);
    assert_int_equal(ab_kube_raw_new(&f->w->loop, f->w->access, &f->raw, &f->w->err), AB_ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    close_access(f->w);
    ab_kube_raw_free(f->raw);
    stop_server(f);
    uv_close((uv_handle_t *)&f->tick, NULL);
    end(f->w);
    free(f);
    return 0;
}

/* --- what is asked and answered --- */

static void a_request_is_made_as_it_is_given(void **state)
{
    fixture *f = *state;
    const ab_http_field fields[] = {{AB_STR("accept"), AB_STR("text/any")},
                                    {AB_STR("content-type"), AB_STR("application/merge")}};
    ask_server(f, "PATCH", AB_STR("{\"a\":1}"), fields, 2);
    wait_over(f);
    assert_string_equal(f->seen, "PATCH /api/v1/pods?limit=5\n"
                                 "Bearer first, application/merge, text/any\n{\"a\":1}");
    assert_int_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->type, "application/any");
    assert_string_equal(f->body, ANSWER);
}

static void a_body_without_a_type_is_given_none(void **state)
{
    fixture *f = *state;
    ask_server(f, "POST", AB_STR("{}"), NULL, 0);
    wait_over(f);
    assert_null(strstr(f->seen, "x-www-form"));
    assert_null(strstr(f->seen, "100-continue"));
}

static void what_the_server_refuses_is_an_answer(void **state)
{
    static const int statuses[] = {409};
    fixture *f = *state;
    f->statuses = statuses;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->status, 409);
    assert_string_equal(f->body, ANSWER);
}

/* libcurl takes a kept connection that ends without an answer for one that was closed before. */
static void what_may_have_changed_something_is_not_asked_again(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    static const int statuses[] = {200, CUT, 200, 200};
    fixture *f = *state;
    f->statuses = statuses;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        f->asked = 0;
        f->overs = 0;
        ask_server(f, "GET", AB_STR_NONE, NULL, 0);
        wait_over(f);
        assert_int_equal(f->status, 200);
        f->heads = f->overs = 0;
        ask_server(f, methods[i], AB_STR("{}"), NULL, 0);
        wait_over(f);
        assert_int_equal(f->asked, 2);
        assert_int_equal(f->heads, 0);
        assert_int_equal(f->code, AB_ERR_UNAVAILABLE);
        f->heads = f->overs = 0;
    }
}

/* --- who asks --- */

static void a_first_401_is_not_told_and_the_token_is_read_again(void **state)
{
    static const int statuses[] = {401, 200};
    fixture *f = *state;
    f->statuses = statuses;
    ask_server(f, "POST", AB_STR("{\"b\":2}"), NULL, 0);
    put(f->w, "token", "second");
    f->w->mono_ms += 2000;
    wait_over(f);
    assert_int_equal(f->asked, 2);
    assert_int_equal(f->heads, 1);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->body, ANSWER); /* nothing of the first */
    assert_string_equal(f->seen, "POST /api/v1/pods?limit=5\nBearer second, */*\n{\"b\":2}");
}

static void a_second_401_is_told(void **state)
{
    static const int statuses[] = {401, 401};
    fixture *f = *state;
    f->statuses = statuses;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->asked, 2);
    assert_int_equal(f->heads, 1);
    assert_int_equal(f->status, 401);
    assert_string_equal(f->body, ANSWER);
}

static void without_a_token_nothing_is_asked(void **state)
{
    fixture *f = *state;
    unlink(in(f->w, "token"));
    f->w->mono_ms += 120000;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->asked, 0);
    assert_int_not_equal(f->code, AB_ERR_OK);
    assert_non_null(strstr(f->why, "the request to the API server: "));
}

/* A server with TLS in place of the other; the file "ca.crt" is what it has to be of. */
static void serve_tls(fixture *f, const made_cert *leaf)
{
    char text[512];
    const ab_tls tls = {.cert = in(f->w, "api.crt"), .key = in(f->w, "api.key")};
    const ab_https_options options = {
        .host = "127.0.0.1", .tls = &tls, .on_request = on_request, .arg = f, .log = f->w->log};
    close_access(f->w);
    ab_kube_raw_free(f->raw);
    stop_server(f);
    put(f->w, "api.crt", leaf->cert);
    put(f->w, "api.key", leaf->key);
    assert_int_equal(ab_https_server_start(&f->w->loop, &options, &f->server, &f->w->err),
                     AB_ERR_OK);
    snprintf(text, sizeof(text),
             HEAD "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d', "
                  "certificate-authority: ca.crt}}]\n"
                  "users: [{name: u, user: {tokenFile: token}}]\n",
             ab_https_server_port(f->server));
    put(f->w, "kubeconfig", text);
    must_open(f->w);
    assert_int_equal(ab_kube_raw_new(&f->w->loop, f->w->access, &f->raw, &f->w->err), AB_ERR_OK);
}

static void certificates_that_changed_are_used_for_the_next_connection(void **state)
{
    fixture *f = *state;
    made_cert ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    made_cert old = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "old", .ca = true});
    made_cert leaf = make_cert(
        &(made_cert_spec){.type = "EC-P-256", .name = "api", .san = "IP:127.0.0.1", .issuer = &ca});
    put(f->w, "ca.crt", old.cert);
    serve_tls(f, &leaf);
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->code, AB_ERR_DENIED);
    assert_int_equal(f->asked, 0);
    f->overs = 0;
    put(f->w, "ca.crt", ca.cert);
    f->w->mono_ms += 60000;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->status, 200);
    made_cert_free(&leaf);
    made_cert_free(&old);
    made_cert_free(&ca);
}

/* --- its end --- */

static void a_server_that_is_not_there_is_told(void **state)
{
    fixture *f = *state;
    stop_server(f);
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    wait_over(f);
    assert_int_equal(f->code, AB_ERR_UNAVAILABLE);
    assert_int_equal(f->heads, 0);
}

static void nothing_is_told_of_what_was_cancelled(void **state)
{
    fixture *f = *state;
    f->cancels = true;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    while (f->heads == 0 && uv_run(&f->w->loop, UV_RUN_ONCE) != 0)
        ;
    stop_server(f);
    close_access(f->w);
    ab_kube_raw_free(f->raw);
    f->raw = NULL;
    for (int turn = 0; turn < 100; turn++)
        uv_run(&f->w->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->overs, 0);
    assert_string_equal(f->body, "");
}

static void what_is_paused_tells_no_body(void **state)
{
    fixture *f = *state;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    ab_kube_raw_pause(f->call);
    while (f->asked == 0 && uv_run(&f->w->loop, UV_RUN_ONCE) != 0)
        ;
    for (int turn = 0; turn < 100; turn++)
        uv_run(&f->w->loop, UV_RUN_NOWAIT);
    assert_string_equal(f->body, "");
    assert_int_equal(f->overs, 0);
    ab_kube_raw_resume(f->call);
    wait_over(f);
    assert_string_equal(f->body, ANSWER);
}

static void what_is_under_way_at_the_end_is_not_told(void **state)
{
    fixture *f = *state;
    ask_server(f, "GET", AB_STR_NONE, NULL, 0);
    close_access(f->w);
    ab_kube_raw_free(f->raw);
    f->raw = NULL;
    assert_int_equal(f->heads + f->overs, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_made_as_it_is_given),
        TEST(a_body_without_a_type_is_given_none),
        TEST(what_the_server_refuses_is_an_answer),
        TEST(what_may_have_changed_something_is_not_asked_again),
        TEST(a_first_401_is_not_told_and_the_token_is_read_again),
        TEST(a_second_401_is_told),
        TEST(without_a_token_nothing_is_asked),
        TEST(certificates_that_changed_are_used_for_the_next_connection),
        TEST(a_server_that_is_not_there_is_told),
        TEST(nothing_is_told_of_what_was_cancelled),
        TEST(what_is_paused_tells_no_body),
        TEST(what_is_under_way_at_the_end_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
