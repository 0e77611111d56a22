/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent publishes, among the replies and messages of the control plane's redis.
 */
#include "tests/unit/live/redis/front/redis_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIRMED    "$9\r\nsubscribe\r\n$40\r\n" CHANNEL "\r\n:1\r\n"
#define UNSUBSCRIBED "$11\r\nunsubscribe\r\n$40\r\n" CHANNEL "\r\n:0\r\n"
#define MESSAGE(x)   "$7\r\nmessage\r\n$40\r\n" CHANNEL "\r\n" x

/* A client that is subscribed, and the agent knows. */
static asked *listen_to(bed *b, bool in_resp3, int *client, int *redis)
{
    const char *hello = in_resp3 ? "HELLO 3" : "HELLO 2";
    *client = bed_begin(b, bed_words(hello), redis);
    bed_send(b, *redis, in_resp3 ? "%0\r\n" : "*0\r\n");
    bed_expect(b, *client, in_resp3 ? "%0\r\n" : "*0\r\n");
    bed_tell(b, *client, *redis, "SUBSCRIBE " CHANNEL);
    assert_int_equal(b->agent.count, b->taken);
    bed_send(b, *redis, in_resp3 ? ">3\r\n" CONFIRMED : "*3\r\n" CONFIRMED);
    bed_expect(b, *client, in_resp3 ? ">3\r\n" CONFIRMED : "*3\r\n" CONFIRMED);
    return bed_asked(b, "SUBSCRIBE", CHANNEL_PATH);
}

static void publish(const asked *a, const char *bytes)
{
    assert_non_null(a->stream);
    assert_int_equal(ab_live_stream_send(a->stream, ab_str_of(bytes)), AB_ERR_OK);
}

static void messages_of_the_agent_come_until_the_client_unsubscribes(void **state)
{
    bed *b = *state;
    assert_int_equal(strlen(CHANNEL), 40);
    for (int i = 0; i < 2; i++) {
        int client, redis;
        bool in_resp3 = i == 1;
        asked *a = listen_to(b, in_resp3, &client, &redis);
        bed_answer(a, 200, NULL, NULL);
        publish(a, "$1\r\nx\r\n");
        bed_expect(b, client,
                   in_resp3 ? ">3\r\n" MESSAGE("$1\r\nx\r\n") : "*3\r\n" MESSAGE("$1\r\nx\r\n"));
        publish(a, "$0\r\n");
        sockets_expect_silence(&b->ends, client); /* it is not whole */
        publish(a, "\r\n");
        bed_expect(b, client,
                   in_resp3 ? ">3\r\n" MESSAGE("$0\r\n\r\n") : "*3\r\n" MESSAGE("$0\r\n\r\n"));
        bed_tell(b, client, redis, "UNSUBSCRIBE");
        assert_non_null(a->stream);
        bed_send(b, redis, in_resp3 ? ">3\r\n" UNSUBSCRIBED : "*3\r\n" UNSUBSCRIBED);
        bed_expect(b, client, in_resp3 ? ">3\r\n" UNSUBSCRIBED : "*3\r\n" UNSUBSCRIBED);
        JOINED_WAIT(&b->ends, a->stream == NULL);
        close(client);
        close(redis);
    }
    JOINED_WAIT(&b->ends, b->front->open_count == 0);
    assert_true(ab_metric_value(b->front->subscriptions) == 0);
}

static void an_agent_is_asked_only_for_its_channels_when_redis_has_confirmed_them(void **state)
{
    static const char *const replies[][2] = {
        {"SUBSCRIBE " CHANNEL, "-NOPERM No permissions to access a channel\r\n"},
        {"SUBSCRIBE local", "*3\r\n$9\r\nsubscribe\r\n$5\r\nlocal\r\n:1\r\n"},
        {"PSUBSCRIBE "
         "a*",
         "*3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:2\r\n"},
        {"SSUBSCRIBE " CHANNEL, "*3\r\n$10\r\nssubscribe\r\n$40\r\n" CHANNEL "\r\n:1\r\n"},
        {"UNSUBSCRIBE " CHANNEL, "*3\r\n$11\r\nunsubscribe\r\n$40\r\n" CHANNEL "\r\n:2\r\n"},
    };
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        bed_tell(b, client, redis, replies[i][0]);
        bed_send(b, redis, replies[i][1]);
        bed_expect(b, client, replies[i][1]);
    }
    bed_asked_only(b, 0);
    close(client);
    close(redis);
}

static void a_channel_is_asked_for_once_for_each_client(void **state)
{
    bed *b = *state;
    int client, redis, other, others;
    asked *a = listen_to(b, false, &client, &redis);
    bed_tell(b, client, redis, "SUBSCRIBE " CHANNEL);
    bed_send(b, redis, "*3\r\n" CONFIRMED);
    bed_expect(b, client, "*3\r\n" CONFIRMED);
    bed_asked_only(b, 1);
    asked *second = listen_to(b, false, &other, &others);
    bed_answer(a, 200, NULL, NULL);
    bed_answer(second, 200, NULL, NULL);
    publish(second, "$1\r\nx\r\n");
    bed_expect(b, other, "*3\r\n" MESSAGE("$1\r\nx\r\n"));
    sockets_expect_silence(&b->ends, client);
    close(client);
    JOINED_WAIT(&b->ends, a->stream == NULL);
    assert_non_null(second->stream);
    close(other);
    JOINED_WAIT(&b->ends, second->stream == NULL);
    close(redis);
    close(others);
}

static void a_message_waits_for_the_end_of_a_reply_and_the_last_of_several_counts(void **state)
{
    static char x[200000];
    bed *b = *state;
    int client, redis;
    asked *a = listen_to(b, true, &client, &redis);
    bed_answer(a, 200, NULL, NULL);
    bed_tell(b, client, redis, "GET k");
    memset(x, 'x', sizeof(x));
    bed_send(b, redis, "$200000\r\n");
    sockets_send(&b->ends, redis, (ab_str){x, 150000});
    bed_expect(b, client, "$200000\r\n");
    sockets_expect(&b->ends, client, (ab_str){x, 80000});
    publish(a, "$1\r\n1\r\n$1\r\n2\r\n");
    publish(a, "$1\r\n3\r\n");
    bed_asked_only(b, 1); /* they have come */
    sockets_send(&b->ends, redis, (ab_str){x, 50000});
    bed_send(b, redis, "\r\n");
    sockets_expect(&b->ends, client, (ab_str){x, 120000});
    bed_expect(b, client, "\r\n>3\r\n" MESSAGE("$1\r\n3\r\n"));
    sockets_expect_silence(&b->ends, client);
    close(client);
    close(redis);
}

static void a_message_does_not_come_within_the_value_of_an_agent(void **state)
{
    bed *b = *state;
    int client, redis;
    asked *a = listen_to(b, true, &client, &redis);
    bed_answer(a, 200, NULL, NULL);
    bed_tell(b, client, redis, "GET " TREE);
    bed_send(b, redis, "_\r\n");
    asked *get = bed_asked(b, "GET", TREE_PATH);
    bed_has(get, 6, "fir");
    bed_expect(b, client, "$6\r\nfir");
    publish(a, "$1\r\nx\r\n");
    sockets_expect_silence(&b->ends, client);
    assert_int_equal(ab_live_stream_send(get->stream, AB_STR("st!")), AB_ERR_OK);
    ab_live_stream_end(get->stream);
    bed_expect(b, client, "st!\r\n>3\r\n" MESSAGE("$1\r\nx\r\n"));
    close(client);
    close(redis);
}

/* After a pause the agent is asked again, and the client told that something may have changed. */
static asked *listen_again(bed *b, int client, const asked *before)
{
    JOINED_WAIT(&b->ends, before->stream == NULL);
    b->ends.ahead_ms += 20000;
    asked *a = bed_asked(b, "SUBSCRIBE", CHANNEL_PATH);
    bed_answer(a, 200, NULL, NULL);
    bed_expect(b, client, "*3\r\n" MESSAGE("$0\r\n\r\n"));
    return a;
}

static void an_agent_that_was_away_or_spoke_garbage_is_asked_again(void **state)
{
    static const char *const garbage[] = {"+x\r\n", "$-1\r\n", "hello\r\n", "$536870913\r\n",
                                          "*1\r\n$1\r\nx\r\n"};
    bed *b = *state;
    int client, redis;
    asked *a = listen_to(b, false, &client, &redis);
    bed_answer(a, 503, "argobus-error", "its redis is away");
    a = listen_again(b, client, a);
    bed_lose_agent(b);
    JOINED_WAIT(&b->ends, a->stream == NULL);
    bed_find_agent(b);
    a = listen_again(b, client, a);
    ab_live_stream_end(a->stream); /* it has lost its redis */
    a = listen_again(b, client, a);
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        publish(a, garbage[i]);
        a = listen_again(b, client, a);
    }
    publish(a, "$1\r\nx\r\n");
    bed_expect(b, client, "*3\r\n" MESSAGE("$1\r\nx\r\n"));
    close(client);
    close(redis);
}

static void a_connection_has_so_many_channels_and_no_more(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("SUBSCRIBE local"), &redis);
    for (int i = 0; i <= 1000; i++) {
        char reply[200];
        snprintf(reply, sizeof(reply),
                 "*3\r\n$9\r\nsubscribe\r\n$36\r\napp|managed-resources|w2_a%04d|1.8.3\r\n:%d\r\n",
                 i, i + 1);
        bed_send(b, redis, reply);
        if (i < 1000)
            bed_expect(b, client, reply);
    }
    ab_buf out;
    ab_buf_init(&out, 65536);
    sockets_read(&b->ends, client, NULL, &out);
    ab_buf_fini(&out);
    JOINED_WAIT(&b->ends, ab_metric_value(b->front->subscriptions) == 0);
    close(client);
    close(redis);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(messages_of_the_agent_come_until_the_client_unsubscribes),
        TEST(an_agent_is_asked_only_for_its_channels_when_redis_has_confirmed_them),
        TEST(a_channel_is_asked_for_once_for_each_client),
        TEST(a_message_waits_for_the_end_of_a_reply_and_the_last_of_several_counts),
        TEST(a_message_does_not_come_within_the_value_of_an_agent),
        TEST(an_agent_that_was_away_or_spoke_garbage_is_asked_again),
        TEST(a_connection_has_so_many_channels_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
