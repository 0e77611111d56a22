/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/handle.h"

#include "schema/attributes.h"
#include "tests/unit/logged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HANDLES 12
#define EVENTS  20 /* of each */
/* What one event takes its receiver. Two of them begin in a handle's millisecond, and four handles
 * have their turn before four milliseconds are over. */
#define EVENT_NS       600000
#define EVENTS_OF_TURN 8
#define WAIT_MS        30000

/* Producers that reach no broker, with reports of events that were given up. */
typedef struct {
    uv_loop_t loop;
    uv_prepare_t prepare; /* begins a turn */
    uv_timer_t deadline;
    ab_config *config;
    ab_log *log;
    ab_kafka_settings settings;
    ab_kafka_host host;
    ab_kafka_handle *handles[HANDLES];
    unsigned given[HANDLES];
    unsigned of_turn;
    unsigned most_of_turn;
    unsigned most_apart; /* events that two handles were apart */
} fixture;

static fixture *at; /* of the test that runs */

static void note_apart(void)
{
    unsigned least = EVENTS;
    unsigned most = 0;
    for (size_t i = 0; i < HANDLES; i++) {
        least = at->given[i] < least ? at->given[i] : least;
        most = at->given[i] > most ? at->given[i] : most;
    }
    if (most - least > at->most_apart)
        at->most_apart = most - least;
}

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        ab_kafka_host_error(&at->host, rd_kafka_event_error(event),
                            rd_kafka_event_error_string(event));
    if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_DR)
        return;
    uint64_t end_ns = uv_hrtime() + EVENT_NS;
    while (uv_hrtime() < end_ns) {
    }
    ++*(unsigned *)arg;
    if (++at->of_turn > at->most_of_turn)
        at->most_of_turn = at->of_turn;
    note_apart();
}

static void on_turn(uv_prepare_t *prepare)
{
    (void)prepare;
    at->of_turn = 0;
}

static void on_deadline(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("not all events were given out in time");
}

static void set_up(fixture *f)
{
    static const char *const set[] = {"kafka.brokers=127.0.0.1:1", "kafka.insecure=true"};
    const ab_options tables[] = {ab_transport_options, ab_kafka_options};
    const ab_config_sources sources = {.set = set, .set_count = 2};
    *f = (fixture){0};
    at = f;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(ab_config_load(tables, 2, &sources, &f->config, NULL), AB_ERR_OK);
    assert_int_equal(ab_log_new(2, "error", AB_LOG_TEXT, &ab_clock_real, &f->log, NULL), AB_ERR_OK);
    const ab_transport_env env = {.loop = &f->loop, .config = f->config, .clock = &ab_clock_real};
    assert_int_equal(ab_kafka_settings_init(&f->settings, &env, NULL), AB_ERR_OK);
    ab_kafka_host_init(&f->host, &f->loop, f->log, &ab_clock_real);
    for (size_t i = 0; i < HANDLES; i++)
        assert_int_equal(ab_kafka_handle_open(&f->host, &f->settings, AB_KAFKA_LIVE_PRODUCER,
                                              on_event, &f->given[i], &f->handles[i], NULL),
                         AB_ERR_OK);
    (void)uv_prepare_init(&f->loop, &f->prepare);
    (void)uv_prepare_start(&f->prepare, on_turn);
    (void)uv_timer_init(&f->loop, &f->deadline);
    (void)uv_timer_start(&f->deadline, on_deadline, WAIT_MS, 0);
}

static void tear_down(fixture *f)
{
    for (size_t i = 0; i < HANDLES; i++)
        ab_kafka_handle_close(f->handles[i]);
    uv_close((uv_handle_t *)&f->prepare, NULL);
    uv_close((uv_handle_t *)&f->deadline, NULL);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    ab_kafka_host_abandon(&f->host);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    ab_kafka_settings_fini(&f->settings);
    ab_config_free(f->config);
    ab_log_free(f->log);
}

/* Give up each event at once, so that each has a report of its own. */
static void fill(ab_kafka_handle *h)
{
    rd_kafka_t *rk = ab_kafka_handle_rk(h);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, "t", NULL);
    assert_non_null(topic);
    for (int n = 0; n < EVENTS; n++) {
        char text[] = "x";
        assert_int_equal(rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, text,
                                          sizeof(text), NULL, 0, NULL),
                         0);
        assert_int_equal(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE), RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    rd_kafka_topic_destroy(topic);
}

static bool is_done(const fixture *f)
{
    for (size_t i = 0; i < HANDLES; i++)
        if (f->given[i] < EVENTS)
            return false;
    return true;
}

static void all_handles_share_a_turn_and_take_turns(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < HANDLES; i++)
        fill(f.handles[i]);
    while (!is_done(&f))
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    assert_in_range(f.most_of_turn, 1, EVENTS_OF_TURN);
    /* A busy machine lets some have less of their time than others, but none comes last. */
    assert_in_range(f.most_apart, 1, EVENTS * 3 / 4);
    tear_down(&f);
}

static void a_handle_that_is_closed_leaves_no_other_behind(void **state)
{
    enum { LAST = HANDLES - 1 };
    (void)state;
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < HANDLES; i++)
        fill(f.handles[i]);
    while (f.most_of_turn == 0)
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    for (size_t i = 0; i < LAST; i++)
        ab_kafka_handle_close(f.handles[i]);
    while (f.given[LAST] < EVENTS)
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    for (size_t i = 0; i < LAST; i++)
        f.handles[i] = NULL;
    tear_down(&f);
}

static void a_broker_that_is_not_reached_has_one_line(void **state)
{
    (void)state;
    fixture f;
    ab_log *log = NULL;
    FILE *lines = tmpfile();
    assert_non_null(lines);
    assert_int_equal(ab_log_new(fileno(lines), "info", AB_LOG_TEXT, &ab_clock_real, &log, NULL),
                     AB_ERR_OK);
    set_up(&f);
    f.host.log = log;
    for (size_t i = 0; i < HANDLES; i++)
        fill(f.handles[i]);
    while (f.host.downs < HANDLES)
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    assert_int_equal(logged_count(lines, "Connect to ipv4#127.0.0.1:1 failed"), 1);
    tear_down(&f);
    ab_log_free(log);
    (void)fclose(lines);
}

static const char *reason_kept(fixture *f, const char *text)
{
    ab_kafka_host_error(&f->host, RD_KAFKA_RESP_ERR__TRANSPORT, text);
    return f->host.broker_why;
}

/* Brokers in Java say this of one that has expired, too. */
static void who_has_a_certificate_that_the_broker_refuses_learns_what_to_look_at(void **state)
{
    static const char unknown[] = "ssl://b:1: Receive failed: error:0A000416:SSL routines::sslv3 "
                                  "alert certificate unknown: SSL alert number 46 (after 1ms)";
    static const char other[] = "ssl://b:1: SSL handshake failed: error:0A000410:SSL routines::"
                                "sslv3 alert handshake failure: SSL alert number 40 (after 1ms)";
    (void)state;
    fixture f;
    set_up(&f);
    assert_non_null(strstr(reason_kept(&f, unknown), "argobusctl check says what is wrong: ssl:"));
    assert_string_equal(reason_kept(&f, other), other);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_handles_share_a_turn_and_take_turns),
        cmocka_unit_test(a_handle_that_is_closed_leaves_no_other_behind),
        cmocka_unit_test(a_broker_that_is_not_reached_has_one_line),
        cmocka_unit_test(who_has_a_certificate_that_the_broker_refuses_learns_what_to_look_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
