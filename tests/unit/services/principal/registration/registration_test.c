/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cluster Secrets are written and when: how many in a second, and when again after the API
 * server has refused one. The store keeps what is asked of it until the test answers.
 */
#include "services/principal/registration/registration.h"

#include "base/core/file.h"
#include "base/observe/log_quota.h"
#include "services/principal/registration/secret.h"
#include "store/op.h"
#include "tests/unit/logged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    int64_t ms;
    ab_clock clock;
    ab_store store;
    ab_store_line asked; /* not yet answered */
    size_t count;        /* of those */
    char last[AB_OBJECT_KEY_MAX];
    const char *named; /* the agent that another Secret names since it asked; NULL: none */
    char key_file[64];
    ab_config *config;
    ab_metrics *metrics;
    ab_log *log;
    FILE *lines; /* of the log */
    ab_registration *r;
} t;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return t.ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return t.ms * 1000;
}

static void submit(ab_store *self, ab_store_op *op)
{
    (void)self;
    snprintf(t.last, sizeof(t.last), "%s",
             op->object == NULL ? op->key : ab_object_key(op->object));
    ab_store_line_append(&t.asked, op);
    t.count++;
}

static const ab_store_ops ops = {
    .name = "kubernetes", .op_size = sizeof(ab_store_op), .submit = submit};

/* Everything that was asked gets this answer. @return how much that was */
static size_t answer(ab_err code)
{
    const ab_error refused = {.text = "secrets is forbidden"};
    size_t count = t.count;
    for (ab_store_op *op; (op = ab_store_line_pop(&t.asked)) != NULL; ab_store_op_free(op))
        op->done(op->arg, code, code == AB_ERR_OK ? op->object : NULL,
                 code == AB_ERR_OK ? NULL : &refused);
    t.count = 0;
    return count;
}

static bool is_served(void *arg, const char *agent)
{
    (void)arg;
    return t.named != NULL && strcmp(t.named, agent) == 0;
}

static void make_key_file(void)
{
    snprintf(t.key_file, sizeof(t.key_file), "/tmp/registration-XXXXXX");
    int fd = mkstemp(t.key_file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
    close(fd);
}

static void load_config(void)
{
    static const ab_option others[] = {
        {.name = "store.namespace", .kind = AB_OPT_STRING, .deflt = "argocd", .help = "x"},
        {.name = "grpc.tls.ca", .kind = AB_OPT_FILE, .help = "x"}};
    const ab_options tables[] = {ab_registration_options, {others, 2}};
    char key[128];
    snprintf(key, sizeof(key), "registration.token-key=%s", t.key_file);
    const char *const set[] = {"registration.enabled=true",
                               "registration.server=https://principal:9090",
                               "registration.names=w*,e*,other,argocd,in-cluster",
                               "registration.labels=*",
                               "registration.max=45",
                               key};
    const ab_config_sources sources = {.set = set, .set_count = 6};
    ab_error err = {0};
    if (ab_config_load(tables, 2, &sources, &t.config, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.ms = 1000000;
    t.clock = (ab_clock){mono_ms, wall_us, NULL};
    t.store.ops = &ops;
    t.metrics = ab_metrics_new();
    assert_non_null(t.metrics);
    t.lines = logged_open(&t.clock, &t.log);
    make_key_file();
    load_config();
    const ab_registration_env env = {.config = t.config,
                                     .store = &t.store,
                                     .clock = &t.clock,
                                     .log = t.log,
                                     .metrics = t.metrics,
                                     .is_served = is_served};
    assert_int_equal(ab_registration_new(&env, &t.r, NULL), AB_ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    answer(AB_ERR_CLOSED);
    ab_registration_free(t.r);
    ab_metrics_free(t.metrics);
    ab_log_free(t.log);
    assert_int_equal(fclose(t.lines), 0);
    ab_config_free(t.config);
    unlink(t.key_file);
    return 0;
}

static void agents_ask(size_t count)
{
    char agent[16];
    for (size_t i = 0; i < count; i++) {
        snprintf(agent, sizeof(agent), "w%zu", i);
        assert_true(ab_registration_ask(t.r, agent, "managed", AB_STR_NONE, true, NULL));
    }
}

/* As the principal does: ticks to the end of this time. */
static void pass(int64_t ms)
{
    for (int64_t end = t.ms + ms; t.ms < end; ab_registration_tick(t.r))
        t.ms += end - t.ms < 250 ? end - t.ms : 250;
}

/* One agent, whose Secret the API server refuses so many times. */
static void is_refused(size_t times)
{
    agents_ask(1);
    for (size_t i = 0; i < times; i++) {
        pass(60000);
        assert_int_equal(answer(AB_ERR_DENIED), 1);
    }
}

static void however_many_ask_ten_secrets_are_written_a_second(void **state)
{
    (void)state;
    agents_ask(35);
    for (size_t second = 1; second <= 3; second++) {
        ab_registration_tick(t.r);
        pass(999);
        assert_int_equal(answer(AB_ERR_OK), AB_REGISTRATION_RATE);
        t.ms++;
    }
    pass(60000);
    assert_int_equal(answer(AB_ERR_OK), 5);
}

static void secrets_that_are_under_way_count(void **state)
{
    (void)state;
    agents_ask(35);
    ab_registration_tick(t.r);
    pass(500);
    assert_int_equal(t.count, AB_REGISTRATION_RATE);
    pass(500);
    assert_int_equal(t.count, 2 * AB_REGISTRATION_RATE);
}

/* A Secret with data that is not what the principal would write. */
static ab_object *make_secret(size_t number, const char *registered)
{
    char text[512];
    ab_object *secret = NULL;
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"cluster-e%zu\","
             "\"namespace\":\"argocd\",\"resourceVersion\":\"7\","
             "\"labels\":{\"argocd.argoproj.io/secret-type\":\"cluster\","
             "\"" AB_LABEL_AGENT_NAME "\":\"e%zu\",\"" AB_LABEL_REGISTERED "\":\"%s\"}}}",
             number, number, registered);
    assert_int_equal(ab_object_parse(ab_str_of(text), &secret, NULL), AB_ERR_OK);
    return secret;
}

static void stale_secret(size_t number)
{
    ab_object *secret = make_secret(number, "true");
    ab_registration_on_updated(t.r, secret);
    ab_object_unref(secret);
}

static void secrets_that_are_refreshed_share_the_rate(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++)
        stale_secret(i);
    agents_ask(5);
    ab_registration_tick(t.r);
    assert_int_equal(t.count, AB_REGISTRATION_RATE);
    pass(1000);
    assert_int_equal(t.count, 2 * AB_REGISTRATION_RATE);
}

static void after_a_refusal_nothing_is_written_for_half_a_second(void **state)
{
    (void)state;
    is_refused(1);
    pass(499);
    assert_int_equal(t.count, 0);
    pass(501);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.last, "Secret/argocd/cluster-w0");
}

static void after_a_refusal_others_wait_too(void **state)
{
    (void)state;
    is_refused(1);
    agents_ask(5);
    pass(499);
    assert_int_equal(t.count, 0);
    pass(501);
    assert_int_equal(t.count, 5);
}

static void each_further_refusal_doubles_the_delay(void **state)
{
    (void)state;
    is_refused(3); /* 1 s, 2 s, 4 s, of which the upper half is drawn */
    pass(1999);
    assert_int_equal(t.count, 0);
    pass(2001);
    assert_int_equal(t.count, 1);
}

static void the_delay_ends_at_a_minute(void **state)
{
    (void)state;
    is_refused(30);
    pass(29999);
    assert_int_equal(t.count, 0);
    pass(30001);
    assert_int_equal(t.count, 1);
}

static void refusals_of_writes_that_were_under_way_together_are_one(void **state)
{
    (void)state;
    agents_ask(AB_REGISTRATION_RATE);
    ab_registration_tick(t.r);
    assert_int_equal(answer(AB_ERR_UNAVAILABLE), AB_REGISTRATION_RATE);
    pass(499);
    assert_int_equal(t.count, 0);
    pass(501);
    assert_int_equal(t.count, AB_REGISTRATION_RATE);
}

static void a_write_that_succeeds_ends_the_delays(void **state)
{
    (void)state;
    is_refused(10);
    agents_ask(2);
    pass(60000);
    assert_int_equal(answer(AB_ERR_OK), 2);
    assert_true(ab_registration_ask(t.r, "other", NULL, AB_STR_NONE, true, NULL));
    pass(250);
    assert_int_equal(answer(AB_ERR_DENIED), 1);
    pass(1000);
    assert_int_equal(t.count, 1);
}

static void a_secret_that_exists_is_not_tried_again_and_delays_nothing(void **state)
{
    (void)state;
    agents_ask(1);
    ab_registration_tick(t.r);
    assert_int_equal(answer(AB_ERR_EXISTS), 1);
    assert_true(ab_registration_ask(t.r, "other", NULL, AB_STR_NONE, true, NULL));
    ab_registration_tick(t.r);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.last, "Secret/argocd/cluster-other");
    pass(60000);
    assert_int_equal(t.count, 1);
}

/* Before the store is listed, nobody knows which Secrets there are. */
static void who_asks_before_the_store_is_listed_is_judged_afterwards(void **state)
{
    (void)state;
    assert_true(ab_registration_ask(t.r, "stranger", NULL, AB_STR_NONE, false, NULL));
    assert_true(ab_registration_ask(t.r, "w1", NULL, AB_STR_NONE, false, NULL));
    pass(5000);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.last, "Secret/argocd/cluster-w1");
}

static void who_is_served_by_now_gets_no_secret(void **state)
{
    (void)state;
    agents_ask(2);
    t.named = "w0";
    pass(5000);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.last, "Secret/argocd/cluster-w1");
}

/* Whoever made it, it may have what gives access to another cluster. */
static void a_secret_that_exists_is_not_overwritten(void **state)
{
    (void)state;
    agents_ask(1);
    pass(250);
    assert_int_equal(t.count, 1);
    assert_true(t.asked.first->must_not_exist);
}

/* It could approve itself. */
static void an_agent_brings_no_label_that_is_reserved(void **state)
{
    (void)state;
    assert_true(ab_registration_ask(t.r, "w1", NULL, AB_STR(AB_LABEL_APPROVED "=true,region=eu"),
                                    true, NULL));
    pass(250);
    assert_int_equal(t.count, 1);
    ab_spanv labels = ab_object_meta(t.asked.first->object, "labels");
    assert_true(ab_span_is(ab_span_get(labels, "region"), "eu"));
    assert_false(ab_span_present(ab_span_get(labels, AB_LABEL_APPROVED)));
}

/* As no agent of ours sends them. A Secret that cannot be made would delay all the others. */
static void labels_without_end_are_none(void **state)
{
    (void)state;
    char labels[2 * 4096] = "";
    for (size_t i = 0, at = 0; at + 16 < sizeof(labels); i++)
        at += (size_t)snprintf(labels + at, sizeof(labels) - at, "%slabel%03zu=a",
                               i == 0 ? "" : ",", i);
    assert_true(ab_registration_ask(t.r, "w1", NULL, ab_str_of(labels), true, NULL));
    pass(250);
    assert_int_equal(t.count, 1);
    assert_int_equal(ab_span_count(ab_object_meta(t.asked.first->object, "labels")), 3);
}

/* The first operation that was asked is answered. @param version  that it is to be conditional on
 */
static void answer_first(const char *version, ab_err code, ab_object *object)
{
    ab_store_op *op = ab_store_line_pop(&t.asked);
    assert_non_null(op);
    assert_true(ab_str_eq(ab_str_of(op->want_version), ab_str_of(version)));
    t.count--;
    op->done(op->arg, code, object, NULL);
    ab_store_op_free(op);
}

static void a_refresh_does_not_overwrite_a_change_of_somebody_else(void **state)
{
    (void)state;
    ab_object *read = make_secret(0, "true");
    ab_registration_on_updated(t.r, read);
    pass(250);
    answer_first(NULL, AB_ERR_OK, read);
    answer_first("7", AB_ERR_CONFLICT, NULL);
    ab_object_unref(read);
    agents_ask(1);
    pass(250);
    assert_int_equal(t.count, 1); /* it is no failure: others are not delayed */
}

static void a_refresh_leaves_a_secret_that_somebody_else_keeps_by_now(void **state)
{
    (void)state;
    stale_secret(0);
    pass(250);
    ab_object *read = make_secret(0, "false");
    answer_first(NULL, AB_ERR_OK, read);
    ab_object_unref(read);
    assert_int_equal(t.count, 0);
}

static void who_is_not_allowed_is_told_so(void **state)
{
    ab_error why = {0};
    (void)state;
    assert_false(ab_registration_ask(t.r, "stranger", NULL, AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, "registration.names"));
    pass(5000);
    assert_int_equal(t.count, 0);
}

/* What is the control plane's own would be the agent's, whatever registration.names says. */
static void the_control_planes_own_names_are_not_given_away(void **state)
{
    ab_error why = {0};
    (void)state;
    assert_true(ab_registration_ask(t.r, "argocd", NULL, AB_STR_NONE, false, NULL));
    assert_true(ab_registration_ask(t.r, "in-cluster", NULL, AB_STR_NONE, false, NULL));
    pass(5000);
    assert_int_equal(t.count, 0);
    assert_false(ab_registration_ask(t.r, "argocd", NULL, AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, "the principal's own namespace"));
    assert_false(ab_registration_ask(t.r, "in-cluster", NULL, AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, "the control plane's own cluster"));
    pass(5000);
    assert_int_equal(t.count, 0);
}

/* A cluster that Argo CD reaches itself. @param name  what it calls it, in base64 */
static ab_object *make_cluster(const char *name)
{
    char text[512];
    ab_object *secret = NULL;
    snprintf(
        text, sizeof(text),
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"cluster-10.0.0.1-1\","
        "\"namespace\":\"argocd\",\"labels\":{\"argocd.argoproj.io/secret-type\":\"cluster\"}},"
        "\"data\":{\"name\":\"%s\"}}",
        name);
    assert_int_equal(ab_object_parse(ab_str_of(text), &secret, NULL), AB_ERR_OK);
    return secret;
}

static void see_cluster(const char *name)
{
    ab_object *secret = make_cluster(name);
    ab_registration_on_updated(t.r, secret);
    ab_object_unref(secret);
}

/* Argo CD serves neither of two clusters of one name, and in destination mapping the agent would
 * get what is for the other one. */
static void the_name_of_another_cluster_is_not_given_away(void **state)
{
    ab_error why = {0};
    (void)state;
    assert_true(ab_registration_ask(t.r, "w1", NULL, AB_STR_NONE, false, NULL));
    see_cluster("dzE=");
    pass(5000);
    assert_int_equal(t.count, 0);
    assert_false(ab_registration_ask(t.r, "w1", NULL, AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, "another cluster of Argo CD has its name"));
    agents_ask(1);
    pass(250);
    assert_int_equal(answer(AB_ERR_OK), 1);
}

static void a_name_that_no_other_cluster_has_any_more_is_free(void **state)
{
    (void)state;
    see_cluster("dzA=");
    see_cluster("dzE=");
    agents_ask(1);
    see_cluster("not base64");
    assert_true(ab_registration_ask(t.r, "w1", NULL, AB_STR_NONE, true, NULL));
    see_cluster("dzI=");
    ab_object *secret = make_cluster("dzI=");
    ab_registration_on_deleted(t.r, secret);
    ab_object_unref(secret);
    assert_true(ab_registration_ask(t.r, "w2", NULL, AB_STR_NONE, true, NULL));
}

/* Agents that have a Secret count as well as those that are to get one. */
static void no_more_register_than_there_may_be(void **state)
{
    ab_error why = {0};
    (void)state;
    for (size_t i = 0; i < 10; i++)
        stale_secret(i);
    agents_ask(35);
    assert_false(ab_registration_ask(t.r, "other", NULL, AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, "registration.max"));
    assert_true(ab_registration_ask(t.r, "w0", NULL, AB_STR_NONE, true, NULL));
    assert_true(ab_registration_ask(t.r, "e0", NULL, AB_STR_NONE, true, NULL));
}

static void write_key(const char *key)
{
    assert_int_equal(ab_file_replace(t.key_file, ab_str_of(key), NULL), AB_ERR_OK);
}

/* Their tokens are of the former one. */
static void another_key_refreshes_all_secrets(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        stale_secret(i);
    pass(250);
    assert_int_equal(answer(AB_ERR_NOTFOUND), 3);
    pass(5000);
    assert_int_equal(t.count, 0);
    write_key("another key, which is as long as it must be");
    pass(5000);
    assert_int_equal(t.count, 3);
}

static double refused(void)
{
    const ab_label label = {"result", AB_STR("refused")};
    return ab_metric_value(
        ab_metric_get(t.metrics, AB_METRIC_COUNTER, "argobus_registrations_total", "", &label, 1));
}

static void ask_in_vain(size_t number)
{
    char agent[16];
    ab_error why = {0};
    snprintf(agent, sizeof(agent), "x%zu", number);
    assert_false(ab_registration_ask(t.r, agent, "managed", AB_STR_NONE, true, &why));
    assert_non_null(strstr(why.text, agent));
}

static void of_those_that_may_not_register_ten_a_minute_are_logged(void **state)
{
    (void)state;
    for (size_t i = 0; i < 40; i++)
        ask_in_vain(i);
    assert_int_equal(logged_count(t.lines, "agent may not register"), AB_LOG_QUOTA_LINES);
    assert_int_equal(refused(), 40);
    t.ms += 60000;
    ask_in_vain(40);
    assert_int_equal(logged_count(t.lines, "held_back=30"), 1);
}

/* The same agent asks at each of its logins. @param labels  that it brings */
static void asks_again_and_again(const char *labels, ab_err outcome)
{
    for (size_t i = 0; i < 2 * AB_LOG_QUOTA_LINES; i++) {
        assert_true(ab_registration_ask(t.r, "w0", "managed", ab_str_of(labels), true, NULL));
        pass(1000);
        assert_int_equal(answer(outcome), 1);
    }
}

static void a_name_that_is_taken_does_not_fill_the_log(void **state)
{
    (void)state;
    asks_again_and_again("", AB_ERR_EXISTS);
    assert_int_equal(logged_count(t.lines, "a Secret of this name exists"), AB_LOG_QUOTA_LINES);
    assert_int_equal(refused(), 2 * AB_LOG_QUOTA_LINES);
}

static void labels_that_an_agent_may_not_bring_do_not_fill_the_log(void **state)
{
    (void)state;
    asks_again_and_again(AB_LABEL_APPROVED "=true", AB_ERR_OK);
    assert_int_equal(logged_count(t.lines, "agent may not bring this label"), AB_LOG_QUOTA_LINES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(however_many_ask_ten_secrets_are_written_a_second),
        TEST(secrets_that_are_under_way_count),
        TEST(secrets_that_are_refreshed_share_the_rate),
        TEST(of_those_that_may_not_register_ten_a_minute_are_logged),
        TEST(a_name_that_is_taken_does_not_fill_the_log),
        TEST(labels_that_an_agent_may_not_bring_do_not_fill_the_log),
        TEST(after_a_refusal_nothing_is_written_for_half_a_second),
        TEST(after_a_refusal_others_wait_too),
        TEST(each_further_refusal_doubles_the_delay),
        TEST(the_delay_ends_at_a_minute),
        TEST(refusals_of_writes_that_were_under_way_together_are_one),
        TEST(a_write_that_succeeds_ends_the_delays),
        TEST(a_secret_that_exists_is_not_tried_again_and_delays_nothing),
        TEST(who_asks_before_the_store_is_listed_is_judged_afterwards),
        TEST(who_is_served_by_now_gets_no_secret),
        TEST(a_secret_that_exists_is_not_overwritten),
        TEST(an_agent_brings_no_label_that_is_reserved),
        TEST(labels_without_end_are_none),
        TEST(a_refresh_does_not_overwrite_a_change_of_somebody_else),
        TEST(a_refresh_leaves_a_secret_that_somebody_else_keeps_by_now),
        TEST(who_is_not_allowed_is_told_so),
        TEST(the_control_planes_own_names_are_not_given_away),
        TEST(the_name_of_another_cluster_is_not_given_away),
        TEST(a_name_that_no_other_cluster_has_any_more_is_free),
        TEST(no_more_register_than_there_may_be),
        TEST(another_key_refreshes_all_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
