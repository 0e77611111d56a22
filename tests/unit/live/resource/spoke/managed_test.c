/* SPDX-License-Identifier: Apache-2.0
 *
 * The test is the API server: it is told each path that is read, and says what is there.
 */
#include "live/resource/spoke/managed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define POD     "/api/v1/namespaces/a/pods/p"
#define TRACKED "\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"x\"}"
#define OWNED                                                                                      \
    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\","     \
    "\"uid\":\"u1\"}]"
#define GROUP                                                                                      \
    "{\"resources\":[{\"name\":\"replicasets\",\"kind\":\"ReplicaSet\",\"namespaced\":true},"      \
    "{\"name\":\"nodes\",\"kind\":\"Node\",\"namespaced\":false}]}"

struct ab_resource_call {
    char target[512];
    const ab_resource_call_handler *handler;
    void *arg;
};

typedef struct {
    ab_resource_api api;
    ab_resource_map map;
    ab_resource_call call; /* the one under way */
    bool asking;
    bool full; /* no call can be made */
    ab_resource_question *question;
    int verdicts;
    bool managed;
    int status;
    char why[256], body[512];
} fixture;

/* --- the API server --- */

static ab_resource_call *begin(void *self, const ab_resource_call_request *request,
                               const ab_resource_call_handler *handler, void *arg)
{
    fixture *f = self;
    assert_false(f->asking);
    assert_string_equal(request->method, "GET");
    if (f->full)
        return NULL;
    f->asking = true;
    snprintf(f->call.target, sizeof(f->call.target), "%.*s", AB_STR_ARG(request->target));
    f->call.handler = handler;
    f->call.arg = arg;
    return &f->call;
}

static void cancel(ab_resource_call *call)
{
    fixture *f = (fixture *)((char *)call - offsetof(fixture, call));
    assert_true(f->asking);
    f->asking = false;
}

static const ab_resource_api_ops OPS = {.begin = begin, .cancel = cancel};

/* What was read at `target`, in two pieces. */
static void answer(fixture *f, const char *target, int status, const char *body)
{
    const ab_resource_call c = f->call;
    size_t half = strlen(body) / 2;
    assert_true(f->asking);
    assert_string_equal(c.target, target);
    f->asking = false;
    c.handler->on_head(c.arg, status, NULL, 0);
    c.handler->on_data(c.arg, (ab_str){body, half});
    c.handler->on_data(c.arg, ab_str_of(body + half));
    c.handler->on_over(c.arg, AB_ERR_OK, NULL);
}

static void fail_call(fixture *f, ab_err code)
{
    ab_error err = {0};
    (void)ab_fail(&err, code, "the server is on fire");
    f->asking = false;
    f->call.handler->on_over(f->call.arg, code, &err);
}

/* --- who asks --- */

static void on_verdict(void *arg, const ab_resource_verdict *v)
{
    fixture *f = arg;
    f->verdicts++;
    f->managed = v->managed;
    f->status = v->status;
    snprintf(f->why, sizeof(f->why), "%s", v->why == NULL ? "" : v->why);
    snprintf(f->body, sizeof(f->body), "%.*s", AB_STR_ARG(v->body));
}

static void ask_for(fixture *f, const char *method, const char *path, ab_str body)
{
    assert_int_equal(ab_resource_map_read(ab_str_of(method), ab_str_of(path), &f->map, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_resource_managed_ask(&f->api, &f->map, body, on_verdict, f, &f->question),
                     AB_ERR_OK);
}

static void assert_verdict(const fixture *f, bool managed, int status)
{
    assert_int_equal(f->verdicts, 1);
    assert_int_equal(f->managed, managed);
    assert_int_equal(f->status, status);
    assert_false(f->asking);
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.api = {&OPS, &f}};
    *state = &f;
    return 0;
}

/* --- an object --- */

static void an_object_with_a_mark_is_managed(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{" TRACKED "}}");
    assert_verdict(*state, true, 0);
}

static void the_label_is_a_mark_too(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{\"labels\":{\"app.kubernetes.io/instance\":\"x\"}}}");
    assert_verdict(*state, true, 0);
}

static void a_mark_that_is_empty_or_no_text_is_none(void **state)
{
    static const char *const marks[] = {"\"\"", "5", "null", "{}"};
    for (size_t i = 0; i < 4; i++) {
        char object[256];
        fixture *f = *state;
        f->verdicts = 0;
        snprintf(object, sizeof(object),
                 "{\"metadata\":{\"annotations\":{\"argocd.argoproj.io/tracking-id\":%s}}}",
                 marks[i]);
        ask_for(f, "GET", POD, AB_STR_NONE);
        answer(f, POD, 200, object);
        assert_verdict(f, false, 0);
        assert_non_null(strstr(f->why, "live.kubernetes.policy"));
    }
}

static void a_subresource_is_judged_by_its_object(void **state)
{
    ask_for(*state, "GET", POD "/log?follow=true", AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{" TRACKED "}}");
    assert_verdict(*state, true, 0);
}

static void what_the_server_says_of_the_object_is_passed_on(void **state)
{
    const fixture *f = *state;
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 404, "{\"reason\":\"NotFound\"}");
    assert_verdict(f, false, 404);
    assert_string_equal(f->body, "{\"reason\":\"NotFound\"}");
}

static void an_answer_that_cannot_be_read_is_no_permission(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{" TRACKED);
    assert_verdict(*state, false, 502);
}

static void a_server_that_does_not_answer_is_said(void **state)
{
    fixture *f = *state;
    ask_for(f, "GET", POD, AB_STR_NONE);
    fail_call(f, AB_ERR_TIMEOUT);
    assert_verdict(f, false, 504);
    f->verdicts = 0;
    ask_for(f, "GET", POD, AB_STR_NONE);
    fail_call(f, AB_ERR_UNAVAILABLE);
    assert_verdict(f, false, 502);
    assert_non_null(strstr(f->body, "the server is on fire"));
}

static void without_memory_for_a_call_it_is_refused(void **state)
{
    fixture *f = *state;
    f->full = true;
    ask_for(f, "GET", POD, AB_STR_NONE);
    assert_verdict(f, false, 503);
}

/* --- its owners --- */

static void an_owner_with_a_mark_counts_if_it_is_the_one_that_is_named(void **state)
{
    fixture *f = *state;
    for (int same = 0; same <= 1; same++) {
        f->verdicts = 0;
        ask_for(f, "GET", POD, AB_STR_NONE);
        answer(f, POD, 200, "{\"metadata\":{" OWNED "}}");
        answer(f, "/apis/apps/v1", 200, GROUP);
        answer(f, "/apis/apps/v1/namespaces/a/replicasets/r", 200,
               same ? "{\"metadata\":{\"uid\":\"u1\"," TRACKED "}}"
                    : "{\"metadata\":{\"uid\":\"u2\"," TRACKED "}}");
        assert_verdict(f, same, 0);
    }
}

static void the_controller_is_followed_where_there_is_one(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200,
           "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"X\",\"name\":"
           "\"x\",\"uid\":\"u\"},{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":"
           "\"u1\",\"controller\":true}]}}");
    answer(*state, "/api/v1", 200, GROUP);
    answer(*state, "/api/v1/nodes/n", 200, "{\"metadata\":{\"uid\":\"u1\"," TRACKED "}}");
    assert_verdict(*state, true, 0);
}

static void owners_are_followed_five_up(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{" OWNED "}}");
    for (int i = 0; i < AB_RESOURCE_OWNERS_MAX; i++) {
        answer(*state, "/apis/apps/v1", 200, GROUP);
        answer(*state, "/apis/apps/v1/namespaces/a/replicasets/r", 200,
               "{\"metadata\":{\"uid\":\"u1\"," OWNED "}}");
    }
    assert_verdict(*state, false, 0);
}

static void an_owner_cannot_lead_to_another_path(void **state)
{
    static const char *const owners[][2] = {
        {"{\"apiVersion\":\"apps/v1/../../api/v1\",\"kind\":\"K\",\"name\":\"n\",\"uid\":\"u\"}",
         "/apis/apps/v1%2F..%2F..%2Fapi%2Fv1"},
        {"{\"apiVersion\":\"v1?x=\",\"kind\":\"K\",\"name\":\"n\",\"uid\":\"u\"}",
         "/api/v1%3Fx%3D"},
    };
    for (size_t i = 0; i < 2; i++) {
        char object[512];
        fixture *f = *state;
        f->verdicts = 0;
        snprintf(object, sizeof(object), "{\"metadata\":{\"ownerReferences\":[%s]}}", owners[i][0]);
        ask_for(f, "GET", POD, AB_STR_NONE);
        answer(f, POD, 200, object);
        answer(f, owners[i][1], 404, "{}");
        assert_verdict(f, false, 0);
    }
}

static void a_name_of_an_owner_is_one_part_of_the_path(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200,
           "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":"
           "\"../x/y\",\"uid\":\"u\"}]}}");
    answer(*state, "/api/v1", 200, GROUP);
    answer(*state, "/api/v1/nodes/..%2Fx%2Fy", 404, "{}");
    assert_verdict(*state, false, 0);
}

static void an_owner_of_a_kind_that_is_not_served_is_none(void **state)
{
    ask_for(*state, "GET", POD, AB_STR_NONE);
    answer(*state, POD, 200, "{\"metadata\":{" OWNED "}}");
    answer(*state, "/apis/apps/v1", 200,
           "{\"resources\":[{\"name\":\"../secrets\",\"kind\":\"ReplicaSet\",\"namespaced\":true},"
           "{\"name\":\"replicasets/scale\",\"kind\":\"ReplicaSet\",\"namespaced\":true}]}");
    assert_verdict(*state, false, 0);
}

/* --- one that is to be created --- */

static void what_is_created_is_judged_by_what_was_sent(void **state)
{
    fixture *f = *state;
    ask_for(f, "POST", "/api/v1/namespaces/a/pods", AB_STR("{\"metadata\":{" TRACKED "}}"));
    assert_verdict(f, true, 0);
    f->verdicts = 0;
    ask_for(f, "POST", "/api/v1/namespaces/a/pods", AB_STR("apiVersion: v1"));
    assert_verdict(f, false, 400);
    f->verdicts = 0;
    ask_for(f, "POST", "/api/v1/namespaces/a/pods", AB_STR("{\"metadata\":{" OWNED "}}"));
    answer(f, "/apis/apps/v1", 200, GROUP);
    answer(f, "/apis/apps/v1/namespaces/a/replicasets/r", 404, "{}");
    assert_verdict(f, false, 0); /* of the owner nothing is told */
}

static void a_question_that_is_cancelled_asks_no_more(void **state)
{
    fixture *f = *state;
    ask_for(f, "GET", POD, AB_STR_NONE);
    ab_resource_managed_cancel(f->question);
    assert_false(f->asking);
    assert_int_equal(f->verdicts, 0);
    ab_resource_managed_cancel(NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        TEST(an_object_with_a_mark_is_managed),
        TEST(the_label_is_a_mark_too),
        TEST(a_mark_that_is_empty_or_no_text_is_none),
        TEST(a_subresource_is_judged_by_its_object),
        TEST(what_the_server_says_of_the_object_is_passed_on),
        TEST(an_answer_that_cannot_be_read_is_no_permission),
        TEST(a_server_that_does_not_answer_is_said),
        TEST(without_memory_for_a_call_it_is_refused),
        TEST(an_owner_with_a_mark_counts_if_it_is_the_one_that_is_named),
        TEST(the_controller_is_followed_where_there_is_one),
        TEST(owners_are_followed_five_up),
        TEST(an_owner_cannot_lead_to_another_path),
        TEST(a_name_of_an_owner_is_one_part_of_the_path),
        TEST(an_owner_of_a_kind_that_is_not_served_is_none),
        TEST(what_is_created_is_judged_by_what_was_sent),
        TEST(a_question_that_is_cancelled_asks_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
