/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to requests under way: limits, agents and clients that go, and ends that do not
 * read.
 */
#include "tests/unit/live/resource/front/front_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MUCH (32u * 1024 * 1024)
/* What may lie between an end that sends and one that does not read: windows and kernels. */
#define BETWEEN (8u * 1024 * 1024)
#define LAST    "\r\n0\r\n\r\n" /* of an answer in chunks that is whole */

static bool has_last(ab_buf *out)
{
    size_t len = strlen(LAST);
    return out->len >= len && memcmp(out->ptr + out->len - len, LAST, len) == 0;
}

static void turn_much(bed *b)
{
    for (int i = 0; i < 200; i++)
        joined_turn(&b->ends);
}

static void an_agent_has_so_many_requests_and_then_429(void **state)
{
    bed *b = *state;
    int fds[AB_LIVE_STREAMS_MAX];
    ab_buf out;
    ab_buf_init(&out, 65536);
    for (size_t i = 0; i < AB_LIVE_STREAMS_MAX; i++)
        fds[i] = bed_ask(b, "GET", "/version");
    bed_refused(b, "GET /version HTTP/1.1\r\n" AS_W1 "\r\n", &out);
    assert_non_null(strstr(out.ptr, "HTTP/1.1 429 "));
    assert_non_null(strstr(out.ptr, "retry-after: 1\r\n"));
    close(fds[7]);
    JOINED_WAIT(&b->ends, b->agent.items[7].stream == NULL);
    close(bed_ask(b, "GET", "/version"));
    for (size_t i = 0; i < AB_LIVE_STREAMS_MAX; i++) {
        if (i != 7)
            close(fds[i]);
    }
    ab_buf_fini(&out);
}

static void what_is_not_answered_in_time_is_504_and_a_watch_has_no_end(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int watch = bed_begin(b, PODS "?watch=true", "first");
    asked *watched = bed_last(b);
    int fd = bed_ask(b, "GET", PODS);
    b->ends.ahead_ms += AB_RESOURCE_DEADLINE_MS + 1000;
    bed_read(b, fd, "\"code\":504", &out);
    JOINED_WAIT(&b->ends, bed_last(b)->stream == NULL); /* the agent works for nobody */
    assert_int_equal(ab_live_stream_send(watched->stream, AB_STR("second")), AB_ERR_OK);
    bed_read(b, watch, "second", &out);
    close(fd);
    close(watch);
    ab_buf_fini(&out);
}

static void an_agent_that_is_lost_is_told_and_what_is_not_whole_is_cut(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int listed = bed_begin(b, PODS, "half");
    int asks = bed_ask(b, "GET", PODS "/a");
    int creates = bed_ask(b, "POST", PODS);
    bed_lose_agent(b);
    bed_read(b, asks, "\"code\":502", &out);
    bed_read(b, creates, "\"code\":502", &out);
    ab_buf_clear(&out);
    bed_read(b, listed, NULL, &out);
    assert_false(has_last(&out));
    bed_refused(b, "GET /version HTTP/1.1\r\n" AS_W1 "\r\n", &out);
    assert_non_null(strstr(out.ptr, "HTTP/1.1 503 "));
    assert_null(strstr(out.ptr, "retry-after"));
    close(listed);
    close(asks);
    close(creates);
    ab_buf_fini(&out);
}

static void lose_agent_and_find_it_again(bed *b)
{
    size_t before = b->agent.count;
    bed_lose_agent(b);
    assert_int_equal(ab_live_hub_connected(b->ends.hub, "w1"), AB_ERR_OK);
    JOINED_WAIT(&b->ends, b->agent.count == before + 1);
}

/* As of an argocd-agent, which answers for a log that is silent, too. */
static void a_log_that_was_silent_misses_nothing_of_when_its_agent_was_lost(void **state)
{
    static const char target[] = PODS "/a/log?follow=true&timestamps=true";
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_begin(b, PODS "/a/log?follow=true&timestamps=true&tailLines=2", "");
    lose_agent_and_find_it_again(b);
    assert_null(strstr(bed_last(b)->path, "sinceTime"));
    size_t before = b->agent.count;
    bed_answer(bed_last(b), 200, "2999-01-01T00:00:02Z b\n2999-01-01T00:00:03Z c\n");
    JOINED_WAIT(&b->ends, b->agent.count == before + 1);
    assert_memory_equal(bed_last(b)->path, target, strlen(target));
    assert_non_null(strstr(bed_last(b)->path, "&sinceTime="));
    assert_null(strstr(bed_last(b)->path, "tailLines"));
    bed_answer(bed_last(b), 200, "2999-01-01T00:00:01Z a\n2999-01-01T00:00:02Z b\n");
    bed_read(b, fd, "02Z b", &out);
    assert_non_null(strstr(out.ptr, "01Z a"));
    close(fd);
    ab_buf_fini(&out);
}

static void a_log_that_cannot_go_on_is_cut_and_gets_no_other_text(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_begin(b, PODS "/a/log?follow=true&timestamps=true",
                       "2999-01-01T00:00:01Z a\n2999-01-01T00:00:02Z b\n");
    lose_agent_and_find_it_again(b);
    bed_answer(bed_last(b), 404, "2999-01-01T00:00:03Z no such pod\n");
    bed_read(b, fd, NULL, &out);
    const bool passed = out.len > 0 && memmem(out.ptr, out.len, "no such pod", 11) != NULL;
    assert_false(passed);
    assert_false(has_last(&out));
    close(fd);
    ab_buf_fini(&out);
}

/* An API server answers for a log with its first line. */
static void a_log_that_is_not_answered_goes_on_when_it_was_silent_for_long(void **state)
{
    static const char target[] = PODS "/a/log?follow=true&timestamps=true&tailLines=0";
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int young = bed_ask(b, "GET", target);
    bed_lose_agent(b);
    bed_read(b, young, "\"code\":502", &out);
    assert_int_equal(ab_live_hub_connected(b->ends.hub, "w1"), AB_ERR_OK);
    int fd = bed_ask(b, "GET", target);
    b->ends.ahead_ms += AB_RESOURCE_DEADLINE_MS + 1000;
    lose_agent_and_find_it_again(b);
    assert_non_null(strstr(bed_last(b)->path, "&sinceTime="));
    bed_answer(bed_last(b), 200, "2999-01-01T00:00:02Z b\n");
    bed_read(b, fd, "02Z b", &out);
    close(young);
    close(fd);
    ab_buf_fini(&out);
}

static void a_log_that_is_not_answered_is_refused_when_its_agent_does_not_come_back(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_ask(b, "GET", PODS "/a/log?follow=true&timestamps=true");
    b->ends.ahead_ms += AB_RESOURCE_DEADLINE_MS + 1000;
    bed_lose_agent(b);
    JOINED_WAIT(&b->ends, !LIST_EMPTY(&b->front->waiting));
    b->ends.ahead_ms += 60000;
    bed_read(b, fd, "\"code\":503", &out);
    close(fd);
    ab_buf_fini(&out);
}

/* client-go follows one with its token, whatever the host. */
static void a_redirect_of_an_agent_is_not_passed_on(void **state)
{
    static const int statuses[] = {300, 301, 302, 303, 307, 308};
    static const ab_http_field elsewhere[] = {
        {{"location", 8}, {"http://elsewhere/agents/w2/api", 30}}};
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        int fd = bed_ask(b, i % 2 == 0 ? "GET" : "DELETE", PODS "/a");
        ab_live_stream *s = bed_last(b)->stream;
        assert_int_equal(ab_live_stream_answer(s, statuses[i], elsewhere, 1), AB_ERR_OK);
        assert_int_equal(ab_live_stream_send(s, AB_STR("moved")), AB_ERR_OK);
        ab_live_stream_end(s);
        ab_buf_clear(&out);
        bed_read(b, fd, "\r\n\r\n", &out);
        ab_buf_putc(&out, '\0');
        assert_non_null(strstr(out.ptr, "HTTP/1.1 502 "));
        assert_null(strstr(out.ptr, "elsewhere"));
        assert_null(strstr(out.ptr, "moved"));
        bed_send(b, fd, "GET " PODS "/b HTTP/1.1\r\n" AS_W1 "\r\n");
        JOINED_WAIT(&b->ends, strcmp(bed_last(b)->path, PODS "/b") == 0);
        bed_answer(bed_last(b), 200, "next");
        bed_read(b, fd, "next", &out);
        close(fd);
    }
    int fd = bed_ask(b, "GET", PODS "/a");
    assert_int_equal(ab_live_stream_answer(bed_last(b)->stream, 304, NULL, 0), AB_ERR_OK);
    bed_read(b, fd, "HTTP/1.1 304 ", &out);
    close(fd);
    ab_buf_fini(&out);
}

static void when_a_client_goes_the_agent_stops(void **state)
{
    static const char *const targets[] = {PODS, PODS "?watch=true", PODS "/a/log?follow=true"};
    bed *b = *state;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        close(bed_ask(b, "GET", targets[i]));
        JOINED_WAIT(&b->ends, bed_last(b)->stream == NULL);
        close(bed_begin(b, targets[i], "some"));
        JOINED_WAIT(&b->ends, bed_last(b)->stream == NULL);
        assert_int_equal(bed_last(b)->code, AB_ERR_UNAVAILABLE);
    }
}

static void a_client_that_does_not_read_stops_its_own_answer_and_no_other(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 2 * MUCH);
    int slow = bed_ask(b, "GET", PODS);
    asked *much = bed_last(b);
    bed_flood(much, MUCH);
    turn_much(b);
    assert_true(MUCH - much->left > 0 && MUCH - much->left < BETWEEN);
    close(bed_begin(b, PODS "/other", "beside"));
    bed_read(b, slow, LAST, &out);
    assert_true(out.len > MUCH);
    close(slow);
    ab_buf_fini(&out);
}

static void clients_that_do_not_read_hold_so_much_in_all_and_no_more(void **state)
{
    enum { CLIENTS = 8 };
    bed *b = *state;
    int slow[CLIENTS];
    ab_buf out;
    ab_buf_init(&out, 2 * MUCH);
    b->front->held_max = 3u * 1024 * 1024;
    for (size_t i = 0; i < CLIENTS; i++) {
        slow[i] = bed_ask(b, "GET", PODS);
        bed_flood(bed_last(b), MUCH);
    }
    JOINED_WAIT(&b->ends, b->agent.items[0].stream == NULL);
    int fd = bed_ask(b, "GET", PODS "/other");
    bed_flood(bed_last(b), MUCH);
    bed_read(b, fd, LAST, &out);
    assert_true(out.len > MUCH);
    assert_true(b->front->held > 0 && b->front->held <= b->front->held_max);
    assert_non_null(b->agent.items[CLIENTS - 1].stream);
    ab_buf_clear(&out);
    bed_read(b, slow[0], NULL, &out);
    assert_false(has_last(&out));
    for (size_t i = 0; i < CLIENTS; i++)
        close(slow[i]);
    close(fd);
    JOINED_WAIT(&b->ends, b->front->held == 0);
    ab_buf_fini(&out);
}

static void an_agent_that_does_not_read_stops_its_client_and_gets_all_later(void **state)
{
    bed *b = *state;
    char head[256];
    static char zeros[65536];
    size_t sent = 0;
    b->agent.greedy = true;
    int fd = bed_dial(b);
    snprintf(head, sizeof(head), "POST " PODS " HTTP/1.1\r\n" AS_W1 "Content-Length: %u\r\n\r\n",
             MUCH);
    bed_send(b, fd, head);
    for (size_t n = 1; n > 0 && sent < MUCH; sent += n)
        n = bed_offer(b, fd, (ab_str){zeros, sizeof(zeros)});
    assert_true(sent < BETWEEN);
    asked *a = bed_last(b);
    b->agent.greedy = false;
    ab_live_stream_consumed(a->stream, a->came);
    while (sent < MUCH) {
        size_t left = MUCH - sent < sizeof(zeros) ? MUCH - sent : sizeof(zeros);
        sent += bed_offer(b, fd, (ab_str){zeros, left});
    }
    JOINED_WAIT(&b->ends, a->ended);
    assert_int_equal(a->came, MUCH);
    close(fd);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(an_agent_has_so_many_requests_and_then_429),
        TEST(what_is_not_answered_in_time_is_504_and_a_watch_has_no_end),
        TEST(an_agent_that_is_lost_is_told_and_what_is_not_whole_is_cut),
        TEST(a_log_that_was_silent_misses_nothing_of_when_its_agent_was_lost),
        TEST(a_log_that_cannot_go_on_is_cut_and_gets_no_other_text),
        TEST(a_log_that_is_not_answered_goes_on_when_it_was_silent_for_long),
        TEST(a_log_that_is_not_answered_is_refused_when_its_agent_does_not_come_back),
        TEST(a_redirect_of_an_agent_is_not_passed_on),
        TEST(when_a_client_goes_the_agent_stops),
        TEST(a_client_that_does_not_read_stops_its_own_answer_and_no_other),
        TEST(clients_that_do_not_read_hold_so_much_in_all_and_no_more),
        TEST(an_agent_that_does_not_read_stops_its_client_and_gets_all_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
