/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients see of a principal that stops.
 */
#include "tests/unit/live/resource/front/front_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#define LAST "\r\n0\r\n\r\n" /* of an answer in chunks that is whole */
#define LINE "2026-01-02T03:04:05.000000001Z one\n"
#define MUCH (16u * 1024 * 1024)

/* As the principal does. */
static void stop(bed *b)
{
    ab_resource_front_stop(b->front);
    ab_live_hub_stop(b->ends.hub);
}

static void read_end(bed *b, int fd, bool whole)
{
    ab_buf out;
    ab_buf_init(&out, 65536);
    bed_read(b, fd, NULL, &out);
    assert_int_equal(out.len >= 5 && memcmp(out.ptr + out.len - 5, "0\r\n\r\n", 5) == 0, whole);
    close(fd);
    ab_buf_fini(&out);
}

static void new_requests_are_refused_and_may_be_asked_again(void **state)
{
    static const char *const requests[] = {"GET /version HTTP/1.1\r\n" AS_W1 "\r\n",
                                           "POST " PODS " HTTP/1.1\r\n" AS_W1 "\r\n"};
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    stop(b);
    for (size_t i = 0; i < 2; i++) {
        bed_refused(b, requests[i], &out);
        assert_non_null(strstr(out.ptr, "HTTP/1.1 503 Service Unavailable\r\n"));
        assert_non_null(strstr(out.ptr, "retry-after: 1\r\n"));
        assert_non_null(strstr(out.ptr, "connection: close\r\n"));
        assert_non_null(strstr(out.ptr, "\"message\":\"the principal is stopping; ask again\""));
        assert_non_null(strstr(out.ptr, "\"reason\":\"ServiceUnavailable\""));
    }
    assert_int_equal(b->agent.count, 0);
    JOINED_WAIT(&b->ends, ab_resource_front_is_drained(b->front));
    ab_buf_fini(&out);
}

static void answers_without_an_end_of_their_own_end_in_order(void **state)
{
    static const char *const targets[] = {PODS "?watch=true", PODS "/a/log?follow=true",
                                          PODS "/a/log?follow=true&timestamps=true"};
    bed *b = *state;
    int fds[3];
    for (size_t i = 0; i < 3; i++)
        fds[i] = bed_begin(b, targets[i], LINE);
    stop(b);
    assert_false(ab_resource_front_is_drained(b->front));
    for (size_t i = 0; i < 3; i++)
        read_end(b, fds[i], true);
    JOINED_WAIT(&b->ends, ab_resource_front_is_drained(b->front));
}

static void a_log_that_waits_for_its_agent_ends_in_order(void **state)
{
    bed *b = *state;
    int fd = bed_begin(b, PODS "/a/log?follow=true&timestamps=true", LINE);
    bed_lose_agent(b);
    JOINED_WAIT(&b->ends, !LIST_EMPTY(&b->front->waiting));
    stop(b);
    read_end(b, fd, true);
}

static void a_silent_log_that_waits_for_its_agent_may_be_asked_again(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_ask(b, "GET", PODS "/a/log?follow=true&timestamps=true");
    b->ends.ahead_ms += AB_RESOURCE_DEADLINE_MS + 1000;
    bed_lose_agent(b);
    JOINED_WAIT(&b->ends, !LIST_EMPTY(&b->front->waiting));
    stop(b);
    bed_read(b, fd, "\"code\":503", &out);
    close(fd);
    ab_buf_fini(&out);
}

static void what_is_not_whole_is_cut_and_what_is_not_answered_is_told(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int listed = bed_begin(b, PODS, "half");
    int log = bed_begin(b, PODS "/a/log", "half");
    int asks = bed_ask(b, "GET", PODS "/a");
    int creates = bed_ask(b, "POST", PODS);
    stop(b);
    read_end(b, listed, false);
    read_end(b, log, false);
    bed_read(b, asks, "\"code\":503", &out); /* nothing was done */
    bed_read(b, creates, "\"code\":502", &out);
    close(asks);
    close(creates);
    ab_buf_fini(&out);
}

static void a_client_that_takes_its_time_gets_what_was_sent_to_it(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 2 * MUCH);
    int fd = bed_ask(b, "GET", PODS "?watch=true");
    bed_flood(bed_last(b), MUCH);
    for (int i = 0; i < 200; i++)
        joined_turn(&b->ends);
    assert_true(bed_last(b)->left > 0);
    stop(b);
    for (int i = 0; i < 200; i++)
        joined_turn(&b->ends);
    assert_false(ab_resource_front_is_drained(b->front));
    bed_read(b, fd, NULL, &out);
    assert_true(out.len > 1024 * 1024);
    assert_memory_equal(out.ptr + out.len - strlen(LAST), LAST, strlen(LAST));
    close(fd);
    JOINED_WAIT(&b->ends, ab_resource_front_is_drained(b->front));
    ab_buf_fini(&out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(new_requests_are_refused_and_may_be_asked_again),
        TEST(answers_without_an_end_of_their_own_end_in_order),
        TEST(a_log_that_waits_for_its_agent_ends_in_order),
        TEST(a_silent_log_that_waits_for_its_agent_may_be_asked_again),
        TEST(what_is_not_whole_is_cut_and_what_is_not_answered_is_told),
        TEST(a_client_that_takes_its_time_gets_what_was_sent_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
