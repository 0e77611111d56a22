/* SPDX-License-Identifier: Apache-2.0
 *
 * A server that cannot take the next connection: it has no descriptor left for it, or as many
 * connections as it takes.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define RETRY_MS      1000 /* of the server */
#define STRANGERS_MAX 5

/* The log goes to a pipe. */
typedef struct {
    world w;
    int log[2];
    char said[4096];
    size_t said_len;
    struct rlimit before;
    int strangers[STRANGERS_MAX]; /* sockets that are to connect; -1: closed */
} scene;

static int begin(void **state)
{
    scene *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    world_init(&s->w);
    ab_log_free(s->w.log);
    assert_int_equal(pipe(s->log), 0);
    assert_int_equal(ab_log_new(s->log[1], "info", AB_LOG_TEXT, &ab_clock_real, &s->w.log, NULL),
                     AB_ERR_OK);
    s->w.env.log = s->w.log;
    for (size_t i = 0; i < STRANGERS_MAX; i++) {
        s->strangers[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_true(s->strangers[i] >= 0);
    }
    *state = s;
    return 0;
}

static void stranger_goes(scene *s, size_t i)
{
    if (s->strangers[i] >= 0)
        close(s->strangers[i]);
    s->strangers[i] = -1;
}

static int end(void **state)
{
    scene *s = *state;
    world_fini(&s->w);
    for (size_t i = 0; i < STRANGERS_MAX; i++)
        stranger_goes(s, i);
    close(s->log[0]);
    close(s->log[1]);
    free(s);
    return 0;
}

static void leave_no_descriptor(scene *s)
{
    int lowest = dup(STDERR_FILENO);
    assert_true(lowest >= 0);
    assert_int_equal(close(lowest), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &s->before), 0);
    const struct rlimit none = {(rlim_t)lowest, s->before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void stranger_connects(scene *s, size_t i)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->w.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(s->strangers[i], (struct sockaddr *)&to, sizeof(to)), 0);
}

/* What has been logged by now. */
static const char *said(scene *s)
{
    struct pollfd p = {s->log[0], POLLIN, 0};
    while (poll(&p, 1, 0) == 1) {
        ssize_t n = read(s->log[0], s->said + s->said_len, sizeof(s->said) - 1 - s->said_len);
        assert_true(n > 0);
        s->said_len += (size_t)n;
    }
    s->said[s->said_len] = '\0';
    return s->said;
}

static unsigned times_said(scene *s, const char *text)
{
    unsigned times = 0;
    for (const char *at = strstr(said(s), text); at != NULL; at = strstr(at + 1, text))
        times++;
    return times;
}

static bool has_refused(void *arg)
{
    return times_said(arg, "cannot accept connections") > 0;
}

static bool has_room(void *arg)
{
    return times_said(arg, "accepting connections again") > 0;
}

static bool has_both(void *arg)
{
    const scene *s = arg;
    return ab_rpc_server_connections(s->w.server) == 2;
}

/* Nothing that the loop watches would wake it now. */
static bool is_at_rest(scene *s)
{
    struct pollfd p = {uv_backend_fd(&s->w.loop), POLLIN, 0};
    while (uv_backend_timeout(&s->w.loop) == 0)
        uv_run(&s->w.loop, UV_RUN_NOWAIT);
    return poll(&p, 1, 0) == 0;
}

static void without_descriptors_connections_wait_and_calls_go_on(void **state)
{
    scene *s = *state;
    seen call;
    world_start(&s->w);
    world_begin(&s->w, "Echo", 0, false, &call);
    world_wait_calls(&s->w, 1);
    leave_no_descriptor(s);
    stranger_connects(s, 0);
    world_wait(&s->w, has_refused, s);
    assert_non_null(strstr(said(s), "raise the limit of open files"));
    world_send(&call, 10, 'x');
    world_wait_messages(&s->w, &call, 1);
    assert_true(is_at_rest(s));
    s->w.skipped_ms += RETRY_MS;
    world_run_ms(&s->w, 600); /* the server looks at its clock twice a second */
    assert_int_equal(times_said(s, "cannot accept connections"), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &s->before), 0);
    s->w.skipped_ms += RETRY_MS;
    world_wait(&s->w, has_both, s);
    assert_int_equal(times_said(s, "accepting connections again"), 1);
    seen_fini(&call);
}

static void at_the_limit_connections_wait_and_that_is_said_once(void **state)
{
    scene *s = *state;
    seen call;
    s->w.limits.connections = 3;
    world_start(&s->w);
    world_begin(&s->w, "Echo", 0, false, &call);
    world_wait_calls(&s->w, 1);
    assert_int_equal(times_said(s, "cannot accept connections"), 0);
    for (size_t i = 0; i < STRANGERS_MAX; i++)
        stranger_connects(s, i);
    world_wait(&s->w, has_refused, s);
    assert_non_null(strstr(said(s), "the limit of connections"));
    assert_int_equal(ab_rpc_server_connections(s->w.server), 3);
    world_send(&call, 10, 'x');
    world_wait_messages(&s->w, &call, 1);
    assert_true(is_at_rest(s));
    /* For each that goes one is taken that has gone, too, and the limit is reached again. */
    for (size_t i = 0; i < STRANGERS_MAX - 1; i++)
        stranger_goes(s, i);
    world_wait(&s->w, has_room, s);
    assert_int_equal(ab_rpc_server_connections(s->w.server), 2);
    assert_int_equal(times_said(s, "cannot accept connections"), 1);
    assert_int_equal(times_said(s, "accepting connections again"), 1);
    seen_fini(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_descriptors_connections_wait_and_calls_go_on, begin,
                                        end),
        cmocka_unit_test_setup_teardown(at_the_limit_connections_wait_and_that_is_said_once, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
