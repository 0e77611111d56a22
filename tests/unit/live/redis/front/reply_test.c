/* SPDX-License-Identifier: Apache-2.0
 *
 * To which command a reply of redis belongs, in both protocols: if the front were wrong about that,
 * a client would be shown an agent's value that redis has refused to it.
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

#define NOPERM    "-NOPERM No permissions to access a key\r\n"
#define MESSAGE   "$7\r\nmessage\r\n$5\r\nlocal\r\n$1\r\nx\r\n"
#define CONFIRMED "$9\r\nsubscribe\r\n$5\r\nlocal\r\n:1\r\n"
#define IN_RESP3  "%1\r\n$5\r\nproto\r\n:3\r\n"
#define IN_RESP2  "*2\r\n$5\r\nproto\r\n:2\r\n"

static void pass(bed *b, int client, int redis, const char *command, const char *reply)
{
    bed_tell(b, client, redis, command);
    bed_send(b, redis, reply);
    bed_expect(b, client, reply);
}

static int begin(bed *b, int *redis)
{
    int client = bed_begin(b, bed_words("PING"), redis);
    bed_send(b, *redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    return client;
}

/* The agent is asked, and has nothing. */
static void assert_asks(bed *b, int client, int redis, const char *nothing)
{
    bed_tell(b, client, redis, "GET " TREE);
    bed_send(b, redis, "$-1\r\n");
    asked *a = bed_asked(b, "GET", TREE_PATH);
    bed_answer(a, 404, NULL, NULL);
    ab_live_stream_end(a->stream);
    bed_expect(b, client, nothing);
}

static void only_a_value_or_none_of_redis_lets_the_agent_be_asked(void **state)
{
    static const char *const replies[] = {
        NOPERM,
        "-NOAUTH Authentication required.\r\n",
        "-WRONGTYPE Operation against a key\r\n",
        "!21\r\nNOPERM No permissions\r\n",
        "+QUEUED\r\n",
        "*1\r\n$1\r\nx\r\n",
        ":1\r\n",
        "%1\r\n$1\r\na\r\n$1\r\nb\r\n",
    };
    static const char *const allowed[] = {"$-1\r\n", "_\r\n", "$0\r\n\r\n", "$5\r\nlocal\r\n"};
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
        pass(b, client, redis, "GET " TREE, replies[i]);
    pass(b, client, redis, "PING", "+PONG\r\n");
    assert_int_equal(b->agent.count, 0);
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        bed_tell(b, client, redis, "GET " TREE);
        bed_send(b, redis, allowed[i]);
        bed_has(bed_asked(b, "GET", TREE_PATH), 2, "it");
        bed_expect(b, client, "$2\r\nit\r\n");
    }
    close(client);
    close(redis);
}

static void a_long_value_and_a_long_error_are_taken_whole(void **state)
{
    static char x[300000];
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    memset(x, 'x', sizeof(x));
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "PING");
    bed_send(b, redis, "$300000\r\n");
    sockets_send(&b->ends, redis, (ab_str){x, sizeof(x)});
    bed_send(b, redis, "\r\n+PONG\r\n");
    bed_has(bed_asked(b, "GET", TREE_PATH), 2, "it");
    bed_expect(b, client, "$2\r\nit\r\n+PONG\r\n");
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "PING");
    bed_send(b, redis, "!300000\r\n");
    sockets_send(&b->ends, redis, (ab_str){x, sizeof(x)});
    bed_send(b, redis, "\r\n+PONG\r\n");
    bed_expect(b, client, "!300000\r\n");
    sockets_expect(&b->ends, client, (ab_str){x, sizeof(x)});
    bed_expect(b, client, "\r\n+PONG\r\n");
    assert_int_equal(b->agent.count, 1);
    close(client);
    close(redis);
}

static void in_resp2_messages_and_confirmations_are_not_replies(void **state)
{
    static const char replies[] =
        "*3\r\n" MESSAGE "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nb\r\n"
        "-ERR Can't execute 'get'\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n"
        "*3\r\n" MESSAGE "*3\r\n$11\r\nunsubscribe\r\n$5\r\nlocal\r\n:0\r\n";
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    pass(b, client, redis, "SUBSCRIBE local", "*3\r\n" CONFIRMED);
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "PING");
    bed_tell(b, client, redis, "UNSUBSCRIBE");
    bed_tell(b, client, redis, "LRANGE l 0 -1");
    bed_tell(b, client, redis, "GET " TREE);
    bed_send(b, redis, replies);
    bed_expect(b, client, replies);
    bed_asked_only(b, 0);
    bed_send(b, redis, "*3\r\n" MESSAGE "$-1\r\n"); /* a list that looks like a message */
    bed_expect(b, client, "*3\r\n" MESSAGE);
    bed_has(bed_asked(b, "GET", TREE_PATH), 2, "it");
    bed_expect(b, client, "$2\r\nit\r\n");
    close(client);
    close(redis);
}

static void in_resp3_pushes_are_not_replies_and_all_arrays_are(void **state)
{
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    pass(b, client, redis, "HELLO 3", IN_RESP3);
    pass(b, client, redis, "SUBSCRIBE local", ">3\r\n" CONFIRMED);
    bed_tell(b, client, redis, "LRANGE l 0 -1");
    bed_tell(b, client, redis, "GET " TREE);
    bed_tell(b, client, redis, "PING");
    bed_send(b, redis,
             ">3\r\n" MESSAGE "*3\r\n" CONFIRMED ">3\r\n" MESSAGE
             ">2\r\n$10\r\ninvalidate\r\n*0\r\n" NOPERM "+PONG\r\n");
    bed_expect(b, client,
               ">3\r\n" MESSAGE "*3\r\n" CONFIRMED ">3\r\n" MESSAGE
               ">2\r\n$10\r\ninvalidate\r\n*0\r\n" NOPERM "+PONG\r\n");
    bed_asked_only(b, 0);
    assert_asks(b, client, redis, "_\r\n");
    close(client);
    close(redis);
}

static void the_protocol_is_what_redis_says_it_is(void **state)
{
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    pass(b, client, redis, "HELLO 3 AUTH u wrong", "-WRONGPASS\r\n");
    assert_asks(b, client, redis, "$-1\r\n");
    pass(b, client, redis, "HELLO 3", IN_RESP3);
    assert_asks(b, client, redis, "_\r\n");
    pass(b, client, redis, "HELLO 9", "-NOPROTO\r\n");
    assert_asks(b, client, redis, "_\r\n");
    pass(b, client, redis, "HELLO 2", IN_RESP2);
    assert_asks(b, client, redis, "$-1\r\n");
    pass(b, client, redis, "HELLO 3", IN_RESP3);
    pass(b, client, redis, "RESET", "+RESET\r\n");
    assert_asks(b, client, redis, "$-1\r\n");
    close(client);
    close(redis);
}

static void a_subscription_has_a_confirmation_for_each_channel_or_one_error(void **state)
{
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    pass(b, client, redis, "HELLO 3", IN_RESP3);
    for (int i = 0; i < 2; i++) { /* with the patterns, which are counted with them */
        bed_tell(b, client, redis, "SUBSCRIBE a b");
        bed_tell(b, client, redis, "PSUBSCRIBE c");
        bed_tell(b, client, redis, "SSUBSCRIBE d e");
        bed_tell(b, client, redis, "UNSUBSCRIBE");
        bed_tell(b, client, redis, "PUNSUBSCRIBE");
        bed_tell(b, client, redis, "SUNSUBSCRIBE");
        bed_tell(b, client, redis, "UNSUBSCRIBE");
        bed_tell(b, client, redis, "SUBSCRIBE f g h");
        bed_tell(b, client, redis, "GET " TREE);
        bed_tell(b, client, redis, "PING");
        const char *replies =
            ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
            ">3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
            ">3\r\n$10\r\npsubscribe\r\n$1\r\nc\r\n:3\r\n"
            ">3\r\n$10\r\nssubscribe\r\n$1\r\nd\r\n:1\r\n"
            ">3\r\n$10\r\nssubscribe\r\n$1\r\ne\r\n:2\r\n"
            ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n"
            ">3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n"
            ">3\r\n$12\r\npunsubscribe\r\n$1\r\nc\r\n:0\r\n"
            ">3\r\n$12\r\nsunsubscribe\r\n$1\r\nd\r\n:1\r\n"
            ">3\r\n$12\r\nsunsubscribe\r\n$1\r\ne\r\n:0\r\n"
            ">3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n-NOPERM one of three\r\n" NOPERM "+PONG\r\n";
        bed_send(b, redis, replies);
        bed_expect(b, client, replies);
    }
    bed_asked_only(b, 0);
    assert_asks(b, client, redis, "_\r\n");
    close(client);
    close(redis);
}

/* From then on the front would not know a message from a reply. */
static void a_confirmation_whose_number_cannot_be_read_ends_the_connection(void **state)
{
    static char x[65507];
    static const char head[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$65507\r\n";
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    memset(x, 'x', sizeof(x));
    bed_send(b, client, head);
    sockets_send(&b->ends, client, (ab_str){x, sizeof(x)});
    bed_send(b, client, "\r\n");
    bed_expect(b, redis, head);
    sockets_expect(&b->ends, redis, (ab_str){x, sizeof(x)});
    bed_send(b, redis, "*3\r\n$9\r\nsubscribe\r\n$65507\r\n");
    sockets_send(&b->ends, redis, (ab_str){x, sizeof(x)});
    sockets_send(&b->ends, redis, AB_STR("\r\n"));
    ab_buf out;
    ab_buf_init(&out, 1u << 20);
    sockets_read(&b->ends, client, NULL, &out);
    ab_buf_fini(&out);
    close(client);
    close(redis);
}

static void what_is_not_a_reply_ends_the_connection(void **state)
{
    static const char *const garbage[] = {"hello\r\n",    "$536870913\r\n", "*268435457\r\n",
                                          "*1\r\n>1\r\n", "$1\r\nabc\r\n",  "+a\nb\r\n"};
    bed *b = *state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        int redis;
        int client = begin(b, &redis);
        bed_tell(b, client, redis, "GET " TREE);
        bed_send(b, redis, garbage[i]);
        sockets_expect_end(&b->ends, client);
        close(client);
        close(redis);
    }
    assert_int_equal(b->agent.count, 0);
}

/* Each client has a connection of its own to such a redis. */
static void what_is_not_a_reply_is_logged_for_ten_clients_a_minute(void **state)
{
    bed *b = *state;
    for (int i = 0; i <= 3 * AB_LOG_QUOTA_LINES; i++) {
        int redis;
        int client = begin(b, &redis);
        b->ends.ahead_ms += i == 3 * AB_LOG_QUOTA_LINES ? 60000 : 0;
        bed_send(b, redis, "hello\r\n");
        sockets_expect_end(&b->ends, client);
        close(client);
        close(redis);
    }
    assert_true(logged_count(b->lines, "cannot read a reply") < 3 * AB_LOG_QUOTA_LINES);
    assert_int_equal(logged_count(b->lines, "held_back=20"), 1);
}

static void what_redis_says_without_being_asked_is_passed_on(void **state)
{
    bed *b = *state;
    int redis;
    int client = begin(b, &redis);
    bed_send(b, redis, "-ERR max number of clients reached\r\n");
    bed_expect(b, client, "-ERR max number of clients reached\r\n");
    assert_asks(b, client, redis, "$-1\r\n");
    close(redis);
    sockets_expect_end(&b->ends, client);
    close(client);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(only_a_value_or_none_of_redis_lets_the_agent_be_asked),
        TEST(a_long_value_and_a_long_error_are_taken_whole),
        TEST(in_resp2_messages_and_confirmations_are_not_replies),
        TEST(in_resp3_pushes_are_not_replies_and_all_arrays_are),
        TEST(the_protocol_is_what_redis_says_it_is),
        TEST(a_subscription_has_a_confirmation_for_each_channel_or_one_error),
        TEST(a_confirmation_whose_number_cannot_be_read_ends_the_connection),
        TEST(what_is_not_a_reply_ends_the_connection),
        TEST(what_is_not_a_reply_is_logged_for_ten_clients_a_minute),
        TEST(what_redis_says_without_being_asked_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
