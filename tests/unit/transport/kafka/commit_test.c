/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/commit_priv.h"

#include "transport/kafka/kafka_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_MAX_MS 30000

/* A transport with one link, whose partition a group of one handle has. */
typedef struct {
    uv_loop_t loop;
    ab_config *config;
    ab_kafka kafka;
    ab_kafka_group group;
    ab_kafka_link *link;
} fixture;

static void set_up_transport(fixture *f)
{
    static const char *const set[] = {"kafka.brokers=127.0.0.1:1", "kafka.insecure=true"};
    const ab_options tables[] = {ab_transport_options, ab_kafka_options};
    const ab_config_sources sources = {.set = set, .set_count = 2};
    ab_kafka *k = &f->kafka;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(ab_config_load(tables, 2, &sources, &f->config, NULL), AB_ERR_OK);
    k->base.env =
        (ab_transport_env){.loop = &f->loop, .config = f->config, .clock = &ab_clock_real};
    assert_int_equal(ab_log_new(2, "warn", AB_LOG_TEXT, &ab_clock_real, &k->base.env.log, NULL),
                     AB_ERR_OK);
    k->base.env.metrics = ab_metrics_new();
    assert_int_equal(ab_kafka_settings_init(&k->settings, &k->base.env, NULL), AB_ERR_OK);
    ab_kafka_host_init(&k->host, &f->loop, k->base.env.log, &ab_clock_real);
    TAILQ_INIT(&k->links);
    TAILQ_INIT(&k->groups.list);
    ab_link_init(&k->to_measure);
    ab_wheel_init(&k->wheel, 100, 0);
    k->links_by_name = ab_map_new();
}

/* The handle is one that librdkafka takes no commit for. */
static void set_up(fixture *f)
{
    *f = (fixture){0};
    set_up_transport(f);
    ab_kafka *k = &f->kafka;
    f->group.kafka = k;
    ab_link_init(&f->group.moved);
    ab_link_init(&f->group.at_rest);
    TAILQ_INSERT_TAIL(&k->groups.list, &f->group, at);
    f->group.handle = ab_kafka_handle_open_admin(&k->host, &k->settings);
    assert_non_null(f->group.handle);
    assert_int_equal(ab_kafka_link_new(k, "w1", &f->link, NULL), AB_ERR_OK);
    ab_offsets_init(&f->link->in.offsets, 5);
    f->link->in.group = &f->group;
    ab_kafka_commit_begin(f->link, -1);
}

static void tear_down(fixture *f)
{
    ab_kafka *k = &f->kafka;
    int64_t until_ms = ab_clock_mono_ms(&ab_clock_real) + WAIT_MAX_MS;
    ab_kafka_commit_end(f->link);
    ab_kafka_handle_close(f->group.handle);
    while (!ab_kafka_host_reap(&k->host)) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_true(ab_clock_mono_ms(&ab_clock_real) < until_ms);
    }
    ab_kafka_link_unref(f->link);
    ab_map_free(k->links_by_name, NULL);
    ab_kafka_settings_fini(&k->settings);
    ab_metrics_free(k->base.env.metrics);
    ab_log_free(k->base.env.log);
    ab_config_free(f->config);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static void a_commit_that_was_not_even_queued_does_not_count(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    assert_false(ab_kafka_commit(&f.kafka));
    assert_false(f.group.committing);
    assert_int_equal(f.link->in.committed, -1);
    assert_true(ab_link_is_in_use(&f.group.moved));
    tear_down(&f);
}

/* The broker forgets the position of who has not committed for days. */
static void a_position_that_does_not_move_is_committed_again_after_a_day(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_commit_begin(f.link, 5);
    assert_true(ab_kafka_commit(&f.kafka));
    f.link->in.committed_ms -= 24LL * 3600 * 1000;
    assert_false(ab_kafka_commit(&f.kafka));
    tear_down(&f);
}

static void a_commit_that_is_under_way_is_waited_for(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_commit_begin(f.link, 5);
    f.group.committing = true;
    assert_false(ab_kafka_commit(&f.kafka));
    ab_kafka_commit_begin(f.link, 4);
    assert_false(ab_kafka_commit(&f.kafka));
    assert_int_equal(f.link->in.committed, 4); /* the next is made when it has been answered */
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_was_not_even_queued_does_not_count),
        cmocka_unit_test(a_position_that_does_not_move_is_committed_again_after_a_day),
        cmocka_unit_test(a_commit_that_is_under_way_is_waited_for),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
