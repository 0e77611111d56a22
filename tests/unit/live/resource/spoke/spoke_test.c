/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests at the agent, between the principal and the API server. The test is both: it asks by the
 * hub, and is told what is asked of the API server.
 */
#include "live/resource/spoke/spoke_priv.h"

#include "tests/unit/live/joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PODS    "/api/v1/namespaces/web/pods"
#define BETWEEN (8u * 1024 * 1024) /* what may lie between two ends of which one does not read */

/* The one under way at the API server. */
struct ab_resource_call {
    char method[16];
    char target[256];
    char accept[64];
    char authorization[64];
    size_t body;
    int64_t timeout_ms;
    const ab_resource_call_handler *handler;
    void *arg;
};

typedef struct {
    joined ends;
    ab_live_service services[3];
    ab_resource_spoke *spoke;
    /* the API server */
    ab_resource_call call;
    bool asked; /* a call is open */
    int begun, cancelled;
    bool paused;
    /* the principal's stream */
    ab_live_stream *stream; /* NULL: over */
    bool greedy;            /* it takes bytes, and gives no credits */
    size_t came;
    char text[512]; /* the first of them */
    int status;
    bool ended;
    ab_err code;
} fixture;

/* ----- the API server ----- */

static fixture *fixture_of(ab_resource_call *call)
{
    return (fixture *)(void *)((char *)call - offsetof(fixture, call));
}

static ab_resource_call *begin(void *self, const ab_resource_call_request *request,
                               const ab_resource_call_handler *handler, void *arg)
{
    fixture *f = self;
    ab_resource_call *c = &f->call;
    assert_false(f->asked);
    f->asked = true;
    f->begun++;
    *c = (ab_resource_call){.body = request->body.len,
                            .timeout_ms = request->timeout_ms,
                            .handler = handler,
                            .arg = arg};
    snprintf(c->method, sizeof(c->method), "%s", request->method);
    snprintf(c->target, sizeof(c->target), "%.*s", AB_STR_ARG(request->target));
    snprintf(c->accept, sizeof(c->accept), "%.*s",
             AB_STR_ARG(ab_http_field_find(request->fields, request->count, "accept")));
    snprintf(c->authorization, sizeof(c->authorization), "%.*s",
             AB_STR_ARG(ab_http_field_find(request->fields, request->count, "authorization")));
    return c;
}

static void pause_call(ab_resource_call *call)
{
    fixture_of(call)->paused = true;
}

static void resume_call(ab_resource_call *call)
{
    fixture_of(call)->paused = false;
}

static void cancel(ab_resource_call *call)
{
    fixture *f = fixture_of(call);
    assert_true(f->asked);
    f->asked = false;
    f->cancelled++;
}

static const ab_resource_api_ops OPS = {
    .begin = begin, .pause = pause_call, .resume = resume_call, .cancel = cancel};

static void server_begins(fixture *f, int status)
{
    JOINED_WAIT(&f->ends, f->asked);
    f->call.handler->on_head(f->call.arg, status, NULL, 0);
}

static void server_sends(const fixture *f, const char *text)
{
    f->call.handler->on_data(f->call.arg, ab_str_of(text));
}

static void server_ends(fixture *f, ab_err code)
{
    ab_error err = {0};
    (void)ab_fail(&err, code, "the API server is away");
    f->asked = false;
    f->call.handler->on_over(f->call.arg, code, code == AB_ERR_OK ? NULL : &err);
}

/* ----- the principal ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    (void)fields, (void)count;
    ((fixture *)arg)->status = status;
}

static void on_data(void *arg, ab_str bytes)
{
    fixture *f = arg;
    if (f->came == 0)
        snprintf(f->text, sizeof(f->text), "%.*s", AB_STR_ARG(bytes));
    f->came += bytes.len;
    if (!f->greedy)
        ab_live_stream_consumed(f->stream, bytes.len);
}

static void on_end(void *arg)
{
    ((fixture *)arg)->ended = true;
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    fixture *f = arg;
    (void)err;
    f->stream = NULL;
    f->code = code;
}

static const ab_live_handler handler = {
    .on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_over = on_over};

/* A request whose body follows. */
static void begin_asking(fixture *f, const char *method, const char *path)
{
    const char *type =
        strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
    const ab_http_field fields[] = {
        {AB_STR("accept"), AB_STR("application/vnd.kubernetes.protobuf")},
        {AB_STR("content-type"), ab_str_of(type)},
        {AB_STR("authorization"), AB_STR("Bearer another's")}};
    const ab_live_request request = {.service = AB_STR(AB_RESOURCE_SERVICE),
                                     .method = ab_str_of(method),
                                     .path = ab_str_of(path),
                                     .fields = fields,
                                     .count = 3,
                                     .deadline_ms = 20000};
    f->status = 0;
    f->came = 0;
    f->ended = false;
    assert_int_equal(
        ab_live_hub_request(f->ends.hub, "w1", &request, &handler, f, &f->stream, NULL), AB_ERR_OK);
}

static void ask(fixture *f, const char *method, const char *path)
{
    begin_asking(f, method, path);
    ab_live_stream_end(f->stream);
}

static void assert_refused(fixture *f, int status, const char *why)
{
    JOINED_WAIT(&f->ends, f->ended);
    if (f->stream != NULL)
        ab_live_stream_end(f->stream);
    JOINED_WAIT(&f->ends, f->stream == NULL);
    assert_int_equal(f->status, status);
    assert_non_null(strstr(f->text, "\"kind\":\"Status\""));
    assert_non_null(strstr(f->text, why));
}

/* ----- life ----- */

static int start(void **state, bool has_api)
{
    fixture *f = calloc(1, sizeof(*f));
    *state = f;
    f->services[0] = (ab_live_service){AB_RESOURCE_SERVICE, ab_resource_spoke_serve, NULL};
    ab_resource_policy policy = {.reach = AB_RESOURCE_ALL};
    for (size_t verb = 0; verb < AB_RESOURCE_DELETECOLLECTION; verb++)
        policy.verbs[verb] = true;
    joined_open(&f->ends, f->services);
    const ab_resource_spoke_env env = {.loop = &f->ends.loop,
                                       .clock = &f->ends.clock,
                                       .api = {has_api ? &OPS : NULL, f},
                                       .policy = policy,
                                       .metrics = f->ends.metrics};
    f->spoke = ab_resource_spoke_new(&env);
    assert_non_null(f->spoke);
    f->services[0].arg = f->spoke;
    return 0;
}

static int set_up(void **state)
{
    return start(state, true);
}

static int set_up_without_api(void **state)
{
    return start(state, false);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_live_hub_stop(f->ends.hub);
    ab_live_spoke_stop(f->ends.spoke);
    ab_resource_spoke_free(f->spoke);
    int rc = joined_close(&f->ends);
    free(f);
    return rc;
}

/* ----- tests ----- */

static void a_request_is_made_as_it_came_and_its_answer_streamed(void **state)
{
    fixture *f = *state;
    begin_asking(f, "PATCH", PODS "/a?fieldManager=x");
    assert_int_equal(ab_live_stream_send(f->stream, AB_STR("{\"half\":")), AB_ERR_OK);
    for (int i = 0; i < 20; i++)
        joined_turn(&f->ends);
    assert_int_equal(f->begun, 0); /* not before the body is whole */
    assert_int_equal(ab_live_stream_send(f->stream, AB_STR("1}")), AB_ERR_OK);
    ab_live_stream_end(f->stream);
    server_begins(f, 201);
    assert_string_equal(f->call.method, "PATCH");
    assert_string_equal(f->call.target, PODS "/a?fieldManager=x");
    assert_string_equal(f->call.accept, "application/vnd.kubernetes.protobuf");
    assert_string_equal(f->call.authorization, ""); /* the agent's own is the only one */
    assert_int_equal(f->call.body, strlen("{\"half\":1}"));
    assert_in_range(f->call.timeout_ms, 1, 20000);
    server_sends(f, "some");
    JOINED_WAIT(&f->ends, f->came == 4);
    assert_int_equal(f->status, 201);
    assert_false(f->ended);
    server_ends(f, AB_ERR_OK);
    JOINED_WAIT(&f->ends, f->ended);
    assert_int_equal(f->cancelled, 0);
}

static void when_the_viewer_goes_the_api_server_is_asked_no_more(void **state)
{
    fixture *f = *state;
    ask(f, "GET", PODS "/a");
    JOINED_WAIT(&f->ends, f->asked);
    ab_live_stream_cancel(f->stream);
    JOINED_WAIT(&f->ends, f->cancelled == 1);
    ask(f, "GET", PODS "?watch=true");
    server_begins(f, 200);
    server_sends(f, "event");
    JOINED_WAIT(&f->ends, f->came > 0);
    ab_live_stream_cancel(f->stream);
    JOINED_WAIT(&f->ends, f->cancelled == 2);
}

static void when_the_principal_is_lost_the_api_server_is_asked_no_more(void **state)
{
    fixture *f = *state;
    ask(f, "GET", PODS);
    server_begins(f, 200);
    ab_live_spoke_disconnected(f->ends.spoke);
    assert_int_equal(f->cancelled, 1);
}

static void a_principal_that_does_not_read_pauses_the_api_server(void **state)
{
    static char piece[65537];
    fixture *f = *state;
    size_t sent = 0;
    memset(piece, 'x', sizeof(piece) - 1);
    f->greedy = true;
    ask(f, "GET", PODS);
    server_begins(f, 200);
    for (; !f->paused && sent < BETWEEN; sent += strlen(piece)) {
        server_sends(f, piece);
        joined_turn(&f->ends);
    }
    assert_true(f->paused);
    JOINED_WAIT(&f->ends, f->came > 0);
    f->greedy = false;
    ab_live_stream_consumed(f->stream, f->came);
    JOINED_WAIT(&f->ends, !f->paused);
    server_ends(f, AB_ERR_OK);
    JOINED_WAIT(&f->ends, f->ended);
    assert_int_equal(f->came, sent);
}

static void an_api_server_that_fails_is_told_by_its_kind(void **state)
{
    fixture *f = *state;
    ask(f, "GET", PODS);
    JOINED_WAIT(&f->ends, f->asked);
    server_ends(f, AB_ERR_UNAVAILABLE);
    assert_refused(f, 502, "the API server is away");
    ask(f, "GET", PODS);
    JOINED_WAIT(&f->ends, f->asked);
    server_ends(f, AB_ERR_TIMEOUT);
    assert_refused(f, 504, "the API server is away");
    ask(f, "GET", PODS);
    server_begins(f, 200);
    server_sends(f, "half");
    JOINED_WAIT(&f->ends, f->came == 4);
    server_ends(f, AB_ERR_UNAVAILABLE);
    JOINED_WAIT(&f->ends, f->stream == NULL);
    assert_false(f->ended); /* nobody takes it for all */
    assert_int_equal(f->code, AB_ERR_UNAVAILABLE);
}

static void what_is_refused_is_not_asked_of_the_api_server(void **state)
{
    fixture *f = *state;
    ask(f, "DELETE", PODS);
    assert_refused(f, 403, "live.kubernetes.verbs");
    ask(f, "GET", PODS "/a/exec?command=sh");
    assert_refused(f, 403, "live.exec");
    ask(f, "GET", PODS "/../secrets");
    assert_refused(f, 400, "");
    ask(f, "PUT", "/api/v1/namespaces/web/secrets/s");
    assert_refused(f, 403, "live.kubernetes.secrets");
    assert_int_equal(f->begun, 0);
}

static void a_terminal_is_not_asked_for_as_a_request(void **state)
{
    fixture *f = *state;
    f->spoke->env.policy.exec = true;
    ask(f, "GET", PODS "/a/exec?command=sh");
    assert_refused(f, 400, "WebSocket");
    assert_int_equal(f->begun, 0);
}

static void why_a_watch_of_secrets_is_refused_is_told(void **state)
{
    fixture *f = *state;
    ask(f, "GET", "/api/v1/namespaces/web/secrets?watch=true");
    server_begins(f, 403);
    server_sends(f, "{\"kind\":\"Status\",\"message\":\"the agent may not\",\"code\":403}");
    server_ends(f, AB_ERR_OK);
    assert_refused(f, 403, "the agent may not");
}

static void a_body_that_is_too_long_is_refused(void **state)
{
    static char piece[16384];
    fixture *f = *state;
    begin_asking(f, "POST", PODS);
    for (size_t left = AB_RESOURCE_BODY_MAX + 1; left > 0 && f->status == 0;) {
        size_t len = left < sizeof(piece) ? left : sizeof(piece);
        if (ab_live_stream_send(f->stream, (ab_str){piece, len}) == AB_ERR_OK)
            left -= len;
        joined_turn(&f->ends);
    }
    assert_refused(f, 413, "3 MiB");
    assert_int_equal(f->begun, 0);
}

static void secrets_are_masked_whatever_form_was_asked_for(void **state)
{
    fixture *f = *state;
    ask(f, "GET", "/api/v1/namespaces/web/secrets/s");
    server_begins(f, 200);
    assert_string_equal(f->call.accept, "application/json");
    server_sends(f, "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"aHVudGVy");
    server_sends(f, "Mg==\"}}");
    assert_int_equal(f->came, 0);
    server_ends(f, AB_ERR_OK);
    JOINED_WAIT(&f->ends, f->ended);
    assert_int_equal(f->status, 200);
    assert_non_null(strstr(f->text, "++++++++"));
    assert_null(strstr(f->text, "aHVudGVy"));
}

/* As an API server says it (k8s.io/apiserver, handlers/patch.go). */
static void what_is_said_of_a_secret_that_a_patch_makes_invalid_is_not_told(void **state)
{
    static const char said[] =
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\" \\\"\\\" is invalid: patch: "
        "Invalid value: "
        "\\\"{\\\\\\\"data\\\\\\\":{\\\\\\\"a\\\\\\\":\\\\\\\"aHVudGVy\\\\\\\"}}\\\"\","
        "\"reason\":\"Invalid\",\"code\":422}";
    fixture *f = *state;
    begin_asking(f, "PATCH", "/api/v1/namespaces/web/secrets/s");
    assert_int_equal(ab_live_stream_send(f->stream, AB_STR("{\"metadata\":{\"labels\":5}}")),
                     AB_ERR_OK);
    ab_live_stream_end(f->stream);
    server_begins(f, 422);
    server_sends(f, said);
    server_ends(f, AB_ERR_OK);
    assert_refused(f, 422, "live.kubernetes.secrets: clear");
    assert_null(strstr(f->text, "aHVudGVy"));
    ask(f, "POST", "/api/v1/namespaces/web/secrets");
    server_begins(f, 422);
    server_sends(f, said);
    server_ends(f, AB_ERR_OK);
    assert_refused(f, 422, "is invalid: patch");
}

static void all_requests_together_hold_so_much_and_no_more(void **state)
{
    fixture *f = *state;
    f->spoke->held_max = 16;
    begin_asking(f, "POST", PODS);
    assert_int_equal(ab_live_stream_send(f->stream, AB_STR("{\"more\":\"than that\"}")), AB_ERR_OK);
    assert_refused(f, 429, "ask again");
    assert_int_equal(f->begun, 0);
    ask(f, "GET", "/api/v1/namespaces/web/secrets/s");
    server_begins(f, 200);
    server_sends(f, "{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}");
    assert_refused(f, 429, "ask again");
    assert_int_equal(f->cancelled, 1);
    assert_int_equal(f->spoke->held, 0);
    ask(f, "GET", "/api/v1/namespaces/web/secrets?watch=true");
    server_begins(f, 200);
    f->spoke->held_max = 100;
    for (int i = 0; i < 3; i++) /* what has been passed on is not held */
        server_sends(f, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\"}}\n");
    JOINED_WAIT(&f->ends, f->came > 100);
    assert_int_equal(f->status, 200);
}

static void an_agent_without_an_api_server_says_so(void **state)
{
    fixture *f = *state;
    ask(f, "GET", PODS);
    assert_refused(f, 503, "no access to a Kubernetes API server");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_made_as_it_came_and_its_answer_streamed),
        TEST(when_the_viewer_goes_the_api_server_is_asked_no_more),
        TEST(when_the_principal_is_lost_the_api_server_is_asked_no_more),
        TEST(a_principal_that_does_not_read_pauses_the_api_server),
        TEST(an_api_server_that_fails_is_told_by_its_kind),
        TEST(what_is_refused_is_not_asked_of_the_api_server),
        TEST(a_terminal_is_not_asked_for_as_a_request),
        TEST(why_a_watch_of_secrets_is_refused_is_told),
        TEST(a_body_that_is_too_long_is_refused),
        TEST(secrets_are_masked_whatever_form_was_asked_for),
        TEST(what_is_said_of_a_secret_that_a_patch_makes_invalid_is_not_told),
        TEST(all_requests_together_hold_so_much_and_no_more),
        cmocka_unit_test_setup_teardown(an_agent_without_an_api_server_says_so, set_up_without_api,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
