/* SPDX-License-Identifier: Apache-2.0
 *
 * When all handles are made again. No broker answers them here.
 */
#include "transport/kafka/credential_reload_priv.h"

#include "transport/kafka/group_priv.h"
#include "transport/kafka/kafka.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/positions_priv.h"
#include "transport/kafka/producer_priv.h"
#include "transport/kafka/send_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define CHECK_MS    1000
#define DRAIN_MS    5000
#define REMOVED_MAX 500
#define WAIT_MAX_MS 30000

typedef struct {
    uv_loop_t loop;
    ab_config *config;
    ab_kafka k;
} fixture;

static int64_t passed_ms;

static int64_t later_ms(void *arg)
{
    (void)arg;
    return passed_ms;
}

static int64_t same_us(void *arg)
{
    return ab_clock_real.wall_us(arg);
}

static void load_config(fixture *f)
{
    static const char *const set[] = {"kafka.brokers=127.0.0.1:1", "kafka.insecure=true"};
    const ab_options tables[] = {ab_transport_options, ab_kafka_options};
    const ab_config_sources sources = {.set = set, .set_count = 2};
    assert_int_equal(ab_config_load(tables, 2, &sources, &f->config, NULL), AB_ERR_OK);
}

static int set_up(void **state)
{
    static const ab_clock clock = {later_ms, same_us, NULL};
    static fixture f;
    f = (fixture){0};
    passed_ms = CHECK_MS;
    load_config(&f);
    assert_int_equal(uv_loop_init(&f.loop), 0);
    ab_transport_env *env = &f.k.base.env;
    *env = (ab_transport_env){.loop = &f.loop,
                              .config = f.config,
                              .clock = &clock,
                              .role = AB_ROLE_PRINCIPAL,
                              .metrics = ab_metrics_new()};
    assert_int_equal(ab_log_new(2, "error", AB_LOG_TEXT, &ab_clock_real, &env->log, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_kafka_transport.init(&f.k.base, env, NULL), AB_ERR_OK);
    assert_int_equal(ab_kafka_group_start(&f.k.groups, NULL), AB_ERR_OK);
    *state = &f;
    return 0;
}

static void await_end_of_handles(fixture *f)
{
    int64_t until_ms = ab_clock_mono_ms(&ab_clock_real) + WAIT_MAX_MS;
    while (!ab_kafka_host_reap(&f->k.host)) {
        assert_true(ab_clock_mono_ms(&ab_clock_real) < until_ms);
        uv_run(&f->loop, UV_RUN_NOWAIT);
    }
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_kafka_credential_reload_close(&f->k, AB_ERR_CLOSED);
    await_end_of_handles(f);
    ab_kafka_transport.fini(&f->k.base);
    ab_metrics_free(f->k.base.env.metrics);
    ab_log_free(f->k.base.env.log);
    ab_config_free(f->config);
    return uv_loop_close(&f->loop);
}

static void pass(fixture *f, int64_t ms)
{
    passed_ms += ms;
    ab_kafka_credential_reload_tick(&f->k);
}

static int renewals(const fixture *f)
{
    return (int)ab_metric_value(ab_metric_get(f->k.base.env.metrics, AB_METRIC_COUNTER,
                                              "argobus_kafka_renewals_total", "", NULL, 0));
}

static void add(fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        ab_kafka_link *l = NULL;
        char name[32];
        snprintf(name, sizeof(name), "w%d", i);
        assert_int_equal(ab_kafka_link_new(&f->k, name, &l, NULL), AB_ERR_OK);
        ab_kafka_positions_begin(l);
    }
}

static void remove_first(fixture *f, int count)
{
    for (int i = 0; i < count; i++)
        (void)ab_kafka_transport.remove_agent(&f->k.base, TAILQ_FIRST(&f->k.links)->name);
}

static void reason_to_renew(fixture *f)
{
    f->k.removed = REMOVED_MAX;
}

static void a_reason_is_looked_for_once_a_second(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 20; i++)
        pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 0);
    assert_false(f->k.renewing);
    reason_to_renew(f);
    pass(f, CHECK_MS - 1);
    assert_int_equal(renewals(f), 0);
    pass(f, 1);
    assert_int_equal(renewals(f), 1);
}

static void what_uses_the_handles_is_waited_for_however_long_it_takes(void **state)
{
    fixture *f = *state;
    ab_kafka_removal *const some = (ab_kafka_removal *)f; /* only whether it is there counts */
    reason_to_renew(f);
    f->k.topic_check_running = true;
    pass(f, 0);
    assert_true(f->k.renewing);
    pass(f, 10 * (int64_t)DRAIN_MS);
    f->k.topic_check_running = false;
    f->k.removing = some;
    pass(f, DRAIN_MS);
    f->k.removing = NULL;
    f->k.member.asking = true;
    pass(f, DRAIN_MS);
    assert_int_equal(renewals(f), 0);
    f->k.member.asking = false;
    pass(f, 0);
    assert_int_equal(renewals(f), 1);
    assert_false(f->k.renewing);
}

static void a_commit_is_waited_for(void **state)
{
    fixture *f = *state;
    reason_to_renew(f);
    TAILQ_FIRST(&f->k.groups.list)->committing = true;
    pass(f, 0);
    pass(f, DRAIN_MS - 1);
    assert_int_equal(renewals(f), 0);
    TAILQ_FIRST(&f->k.groups.list)->committing = false;
    pass(f, 0);
    assert_int_equal(renewals(f), 1);
}

static void wait_for_sends(fixture *f, ab_kafka_sends *sends)
{
    ab_kafka_send on_its_way = {0};
    int before = renewals(f);
    TAILQ_INSERT_TAIL(sends, &on_its_way, at);
    reason_to_renew(f);
    pass(f, CHECK_MS);
    pass(f, DRAIN_MS - 1);
    assert_int_equal(renewals(f), before);
    TAILQ_REMOVE(sends, &on_its_way, at);
    pass(f, 0);
    assert_int_equal(renewals(f), before + 1);
}

static void events_on_their_way_are_waited_for(void **state)
{
    fixture *f = *state;
    for (int lane = AB_LANE_STATE; lane <= AB_LANE_LIVE; lane++) {
        assert_int_equal(ab_kafka_producers_open(&f->k.producers[lane], NULL), AB_ERR_OK);
        wait_for_sends(f, &TAILQ_FIRST(&f->k.producers[lane].list)->sends);
    }
    wait_for_sends(f, &f->k.failed);
}

static void what_is_on_its_way_is_waited_for_some_seconds_at_most(void **state)
{
    fixture *f = *state;
    reason_to_renew(f);
    TAILQ_FIRST(&f->k.groups.list)->committing = true;
    pass(f, 0);
    pass(f, DRAIN_MS - 1);
    assert_int_equal(renewals(f), 0);
    pass(f, 1);
    assert_int_equal(renewals(f), 1);
}

static void links_go_on_with_new_handles(void **state)
{
    fixture *f = *state;
    add(f, 1);
    ab_kafka_link *l = TAILQ_FIRST(&f->k.links);
    l->phase = AB_LINK_READY;
    l->in.known = true;
    l->in.offsets.next = 7;
    for (int lane = AB_LANE_STATE; lane <= AB_LANE_LIVE; lane++)
        assert_int_equal(ab_kafka_producers_open(&f->k.producers[lane], NULL), AB_ERR_OK);
    f->k.asker = ab_kafka_handle_open_admin(&f->k.host, &f->k.settings);
    reason_to_renew(f);
    pass(f, 0);
    assert_int_equal(f->k.host.closing, 4);
    assert_null(f->k.asker);
    assert_null(TAILQ_FIRST(&f->k.producers[AB_LANE_STATE].list)->handle);
    assert_null(TAILQ_FIRST(&f->k.producers[AB_LANE_LIVE].list)->handle);
    assert_non_null(TAILQ_FIRST(&f->k.groups.list));
    assert_non_null(TAILQ_FIRST(&f->k.live_groups.list));
    assert_int_equal(l->phase, AB_LINK_ASK);
    assert_int_equal(l->in.offsets.next, 7);
}

static void many_removed_agents_are_a_reason_once(void **state)
{
    fixture *f = *state;
    add(f, REMOVED_MAX + 1);
    remove_first(f, REMOVED_MAX - 1);
    pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 0);
    remove_first(f, 1);
    pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 1);
    pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 1);
}

static void fewer_removed_agents_than_are_left_are_none(void **state)
{
    fixture *f = *state;
    add(f, 2 * REMOVED_MAX + 2);
    remove_first(f, REMOVED_MAX);
    pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 0);
    remove_first(f, 1);
    pass(f, CHECK_MS);
    assert_int_equal(renewals(f), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_reason_is_looked_for_once_a_second),
        CASE(what_uses_the_handles_is_waited_for_however_long_it_takes),
        CASE(a_commit_is_waited_for),
        CASE(events_on_their_way_are_waited_for),
        CASE(what_is_on_its_way_is_waited_for_some_seconds_at_most),
        CASE(links_go_on_with_new_handles),
        CASE(many_removed_agents_are_a_reason_once),
        CASE(fewer_removed_agents_than_are_left_are_none),
    };
    return cmocka_run_group_tests_name("credential_reload", tests, NULL, NULL);
}
