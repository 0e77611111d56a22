/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's value in its place among the replies, and agents and clients that go, or do not do
 * what they should, while it comes.
 */
#include "tests/unit/live/redis/front/redis_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#define MUCH (32u * 1024 * 1024)
/* What may lie between an agent that sends and a client that does not read: windows, queues and
 * kernels. */
#define BETWEEN (8u * 1024 * 1024)

/* A client whose GET has reached the agent, and a PING behind it that redis has answered. */
static asked *ask(bed *b, int *client, int *redis)
{
    *client = bed_begin(b, bed_words("GET " TREE), redis);
    bed_tell(b, *client, *redis, "PING");
    bed_send(b, *redis, "$-1\r\n+PONG\r\n");
    return bed_asked(b, "GET", TREE_PATH);
}

static unsigned got(const bed *b, ab_redis_got what)
{
    return (unsigned)ab_metric_value(b->front->gets[what]);
}

static void what_is_behind_an_agents_value_waits_for_it(void **state)
{
    bed *b = *state;
    int client = bed_client(b);
    bed_send(b, client, bed_words("GET k"));
    int redis = bed_redis(b);
    bed_expect(b, redis, bed_words("GET k"));
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "INCR n");
    bed_tell(b, client, redis, "GET " AWAY);
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "PING");
    bed_send(b, redis, "$3\r\nhub\r\n$-1\r\n:1\r\n$-1\r\n$-1\r\n+PONG\r\n");
    bed_expect(b, client, "$3\r\nhub\r\n");
    asked *first = bed_asked(b, "GET", TREE_PATH);
    sockets_expect_silence(&b->ends, client);
    bed_has(first, 6, "fir");
    bed_expect(b, client, "$6\r\nfir");
    sockets_expect_silence(&b->ends, client);
    assert_int_equal(b->agent.count, 1); /* one at a time */
    assert_int_equal(ab_live_stream_send(first->stream, AB_STR("st!")), AB_ERR_OK);
    ab_live_stream_end(first->stream);
    bed_expect(b, client, "st!\r\n:1\r\n");
    bed_expect(b, client, "-ERR argobus: agent \"w2\": agent w2 is not connected\r\n");
    bed_has(bed_asked(b, "GET", TREE_PATH), 6, "second");
    bed_expect(b, client, "$6\r\nsecond\r\n+PONG\r\n");
    JOINED_WAIT(&b->ends, first->stream == NULL);
    assert_int_equal(first->code, AB_ERR_OK);
    assert_int_equal(got(b, AB_REDIS_GOT_VALUE), 2);
    assert_int_equal(got(b, AB_REDIS_GOT_ERROR), 1);
    close(client);
    close(redis);
}

static void an_agent_without_the_key_or_with_a_reason_says_so(void **state)
{
    static const struct {
        int status;
        const char *name;
        const char *value;
        const char *reply;
    } cases[] = {
        {404, NULL, NULL, "$-1\r\n"},
        {502, "argobus-error", "WRONGTYPE of \"it\"",
         "-ERR argobus: agent \"w1\": WRONGTYPE of \"it\"\r\n"},
        {503, NULL, NULL, "-ERR argobus: agent \"w1\": \r\n"},
        {200, NULL, NULL, "-ERR argobus: agent \"w1\": the answer has no length\r\n"},
        {200, "content-length", "536870913",
         "-ERR argobus: agent \"w1\": the answer has no length\r\n"},
    };
    bed *b = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int client, redis;
        asked *a = ask(b, &client, &redis);
        bed_answer(a, cases[i].status, cases[i].name, cases[i].value);
        assert_int_equal(ab_live_stream_send(a->stream, AB_STR("not a value")), AB_ERR_OK);
        ab_live_stream_end(a->stream);
        bed_expect(b, client, cases[i].reply);
        bed_expect(b, client, "+PONG\r\n");
        close(client);
        close(redis);
    }
    assert_int_equal(got(b, AB_REDIS_GOT_NOTHING), 1);
    assert_int_equal(got(b, AB_REDIS_GOT_ERROR), 4);
}

static void an_agent_that_is_lost_or_late_before_it_answers_is_an_error_in_its_place(void **state)
{
    static const char *const reasons[] = {
        "-ERR argobus: agent \"w1\": ", "-ERR argobus: agent \"w1\": the deadline has passed",
        "-ERR argobus: agent \"w1\": the agent broke the request off"};
    bed *b = *state;
    for (int i = 0; i < 3; i++) {
        int client, redis;
        ab_buf out;
        ab_buf_init(&out, 65536);
        asked *a = ask(b, &client, &redis);
        if (i == 0)
            bed_lose_agent(b);
        else if (i == 1)
            b->ends.ahead_ms += 11000;
        else
            ab_live_stream_cancel(a->stream);
        if (i == 2)
            a->stream = NULL;
        bed_expect(b, client, reasons[i]);
        sockets_read(&b->ends, client, "\r\n+PONG\r\n", &out);
        bed_tell(b, client, redis, "ECHO x"); /* it goes on */
        bed_send(b, redis, "$1\r\nx\r\n");
        bed_expect(b, client, "$1\r\nx\r\n");
        JOINED_WAIT(&b->ends, a->stream == NULL); /* it works for nobody */
        if (i == 0)
            bed_find_agent(b);
        close(client);
        close(redis);
        ab_buf_fini(&out);
    }
    assert_int_equal(got(b, AB_REDIS_GOT_ERROR), 3);
}

/* The half that has come cannot be taken back. */
static void a_value_that_is_cut_short_or_too_long_ends_the_connection(void **state)
{
    bed *b = *state;
    for (int i = 0; i < 3; i++) {
        int client, redis;
        asked *a = ask(b, &client, &redis);
        bed_has(a, 10, "half");
        bed_expect(b, client, "$10\r\nhalf");
        if (i == 0)
            ab_live_stream_end(a->stream);
        else if (i == 1)
            assert_int_equal(ab_live_stream_send(a->stream, AB_STR("too much")), AB_ERR_OK);
        else
            bed_lose_agent(b);
        sockets_expect_end(&b->ends, client);
        JOINED_WAIT(&b->ends, a->stream == NULL);
        close(client);
        close(redis);
        if (i == 2)
            bed_find_agent(b);
    }
    JOINED_WAIT(&b->ends, b->front->open_count == 0);
    assert_int_equal(got(b, AB_REDIS_GOT_ERROR), 3); /* each once */
    assert_int_equal(got(b, AB_REDIS_GOT_VALUE), 0);
}

static void an_agent_that_was_removed_meanwhile_is_an_error(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET " TREE), &redis);
    b->is_removed = true;
    bed_send(b, redis, "$-1\r\n");
    bed_expect(b, client, "-ERR argobus: agent \"removed\": agent removed is not connected\r\n");
    close(client);
    close(redis);
}

static void when_the_client_goes_the_agent_stops(void **state)
{
    bed *b = *state;
    for (int i = 0; i < 2; i++) {
        int client, redis;
        asked *a = ask(b, &client, &redis);
        if (i == 1) {
            bed_has(a, 10, "half");
            bed_expect(b, client, "$10\r\nhalf");
        }
        close(client);
        JOINED_WAIT(&b->ends, a->stream == NULL);
        assert_int_equal(a->code, AB_ERR_UNAVAILABLE);
        sockets_expect_end(&b->ends, redis);
        close(redis);
    }
}

static void a_client_that_does_not_read_stops_its_own_agents_value_and_no_other(void **state)
{
    bed *b = *state;
    int slow, other, redis, others;
    ab_buf out;
    ab_buf_init(&out, 2 * MUCH);
    asked *much = ask(b, &slow, &redis);
    bed_flood(much, MUCH);
    for (size_t left = 0; left != much->left;) { /* until it moves no more */
        left = much->left;
        sockets_expect_silence(&b->ends, redis);
    }
    assert_true(MUCH - much->left > 0 && MUCH - much->left < BETWEEN);
    bed_has(ask(b, &other, &others), 5, "other");
    bed_expect(b, other, "$5\r\nother\r\n+PONG\r\n");
    sockets_read(&b->ends, slow, "\r\n+PONG\r\n", &out);
    assert_int_equal(out.len, strlen("$33554432\r\n") + MUCH + strlen("\r\n+PONG\r\n"));
    JOINED_WAIT(&b->ends, much->stream == NULL);
    assert_int_equal(much->code, AB_ERR_OK); /* its end has come, not the deadline */
    close(slow);
    close(other);
    close(redis);
    close(others);
    ab_buf_fini(&out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(what_is_behind_an_agents_value_waits_for_it),
        TEST(an_agent_without_the_key_or_with_a_reason_says_so),
        TEST(an_agent_that_is_lost_or_late_before_it_answers_is_an_error_in_its_place),
        TEST(a_value_that_is_cut_short_or_too_long_ends_the_connection),
        TEST(an_agent_that_was_removed_meanwhile_is_an_error),
        TEST(when_the_client_goes_the_agent_stops),
        TEST(a_client_that_does_not_read_stops_its_own_agents_value_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
