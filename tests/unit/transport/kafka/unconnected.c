/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_MAX_MS 30000
#define SET_MAX     4

static void load_config(ab_unconnected *u, const char *const *set)
{
    const char *all[SET_MAX] = {"kafka.brokers=127.0.0.1:1", "kafka.insecure=true"};
    const ab_options tables[] = {ab_transport_options, ab_kafka_options};
    ab_config_sources sources = {.set = all, .set_count = 2};
    for (; set != NULL && *set != NULL; set++) {
        assert_true(sources.set_count < SET_MAX);
        all[sources.set_count++] = *set;
    }
    assert_int_equal(ab_config_load(tables, 2, &sources, &u->config, NULL), AB_ERR_OK);
}

void ab_unconnected_open(ab_unconnected *u, const char *const *set)
{
    *u = (ab_unconnected){0};
    ab_kafka *k = &u->kafka;
    assert_int_equal(uv_loop_init(&u->loop), 0);
    load_config(u, set);
    k->base.env =
        (ab_transport_env){.loop = &u->loop, .config = u->config, .clock = &ab_clock_real};
    assert_int_equal(ab_log_new(2, "warn", AB_LOG_TEXT, &ab_clock_real, &k->base.env.log, NULL),
                     AB_ERR_OK);
    k->base.env.metrics = ab_metrics_new();
    assert_int_equal(ab_kafka_settings_init(&k->settings, &k->base.env, NULL), AB_ERR_OK);
    ab_kafka_host_init(&k->host, &u->loop, k->base.env.log, &ab_clock_real);
    TAILQ_INIT(&k->links);
    TAILQ_INIT(&k->groups.list);
    ab_link_init(&k->to_measure);
    ab_wheel_init(&k->wheel, 100, 0);
    k->links_by_name = ab_map_new();
    assert_int_equal(ab_kafka_link_new(k, "w1", &u->link, NULL), AB_ERR_OK);
}

void ab_unconnected_until(ab_unconnected *u, bool (*holds)(void *arg), void *arg)
{
    int64_t until_ms = ab_clock_mono_ms(&ab_clock_real) + WAIT_MAX_MS;
    while (!holds(arg)) {
        uv_run(&u->loop, UV_RUN_NOWAIT);
        assert_true(ab_clock_mono_ms(&ab_clock_real) < until_ms);
    }
}

static bool no_handle_is_left(void *arg)
{
    return ab_kafka_host_reap(arg);
}

void ab_unconnected_close(ab_unconnected *u)
{
    ab_kafka *k = &u->kafka;
    ab_unconnected_until(u, no_handle_is_left, &k->host);
    ab_kafka_link_unref(u->link);
    ab_map_free(k->links_by_name, NULL);
    ab_kafka_settings_fini(&k->settings);
    ab_metrics_free(k->base.env.metrics);
    ab_log_free(k->base.env.log);
    ab_config_free(u->config);
    assert_int_equal(uv_loop_close(&u->loop), 0);
}
