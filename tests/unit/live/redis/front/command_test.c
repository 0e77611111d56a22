/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a client's commands: who answers them, what is refused, and what is not a
 * command.
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

/* What goes to redis in the place of a command that is refused, and what that says to it. */
#define NOTHING "*1\r\n$3\r\nGET\r\n"
#define NO      "-ERR wrong number of arguments for 'get' command\r\n"

#define NOT_POSSIBLE "-ERR argobus: the command is not possible through this proxy\r\n"
#define NOT_IN_MULTI "-ERR argobus: keys of agents cannot be read in a transaction\r\n"
#define BY_NAME      "-ERR argobus: channels of Applications can only be subscribed to by name\r\n"

/* ----- who answers ----- */

/* The client has sent a GET of an agent's key, which redis does not know. */
static void assert_agent_answers(bed *b, int client, int redis, const char *path)
{
    bed_send(b, redis, "$-1\r\n");
    bed_has(bed_asked(b, "GET", path), 5, "value");
    bed_expect(b, client, "$5\r\nvalue\r\n");
}

static void the_agent_of_the_namespace_answers_under_its_own_name(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET " TREE), &redis);
    assert_agent_answers(b, client, redis, TREE_PATH);
    const char *shard = bed_words("GET app|resources-tree|w1_a.b|2|1.8.3");
    bed_send(b, client, shard);
    bed_expect(b, redis, shard);
    assert_agent_answers(b, client, redis, "/app%7Cresources-tree%7Ca.b%7C2%7C1.8.3");
    close(client);
    close(redis);
}

static void the_agent_of_the_destination_answers_under_the_same_name(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET app|managed-resources|team_guestbook|1"), &redis);
    assert_agent_answers(b, client, redis, "/app%7Cmanaged-resources%7Cteam_guestbook%7C1");
    bed_tell(b, client, redis, "GET " TREE);
    bed_send(b, redis, "$-1\r\n");
    bed_expect(b, client, "$-1\r\n");
    assert_int_equal(b->agent.count, 1);
    close(client);
    close(redis);
}

static void the_control_planes_redis_answers_all_else(void **state)
{
    static const char *const commands[] = {
        "GET app|resources-tree|w3_guestbook|1.8.3.gz", /* not served */
        "GET app|resources-tree|guestbook|1.8.3.gz",
        "GET mfst|w1_guestbook|1.8.3",
        "GET",
        "GET " TREE " " TREE,
        "MGET " TREE,
        "SET " TREE " x",
        "STRLEN " TREE,
        "GETEX " TREE,
        "PUBLISH " CHANNEL " x",
        "CLIENT GETNAME",
        "SCRIPT LOAD x",
        "FOO " TREE,
    };
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char reply[100];
        bed_tell(b, client, redis, commands[i]);
        snprintf(reply, sizeof(reply), "$6\r\nits %02zu\r\n", i);
        bed_send(b, redis, reply);
        bed_expect(b, client, reply);
    }
    assert_int_equal(b->agent.count, 0);
    close(client);
    close(redis);
}

static void a_command_is_known_however_it_is_written(void **state)
{
    static const char *const commands[] = {"*2\r\n$3\r\ngEt\r\n$40\r\n" TREE "\r\n",
                                           "get " TREE "\r\n", "\r\n  GET \"" TREE "\"\n",
                                           "*0\r\n*-1\r\n*2\r\n$3\r\nget\r\n$40\r\n" TREE "\r\n"};
    static const char *const heard[] = {"gEt " TREE, "get " TREE, "GET " TREE, "get " TREE};
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    assert_int_equal(strlen(TREE), 40);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        for (const char *c = commands[i]; *c != '\0'; c++) {
            sockets_send(&b->ends, client, (ab_str){c, 1});
            joined_turn(&b->ends);
        }
        bed_expect(b, redis, bed_words(heard[i]));
        assert_agent_answers(b, client, redis, TREE_PATH);
    }
    close(client);
    close(redis);
}

/* ----- what is refused ----- */

/* In the middle of a pipeline: redis gets a command that it refuses, and the client our reason. */
static void assert_refused(bed *b, int client, int redis, const char *command, const char *why)
{
    bed_send(b, client, bed_words("ECHO a"));
    bed_send(b, client, bed_words(command));
    bed_send(b, client, bed_words("ECHO b"));
    bed_expect(b, redis, bed_words("ECHO a"));
    bed_expect(b, redis, NOTHING);
    bed_expect(b, redis, bed_words("ECHO b"));
    bed_send(b, redis, "$1\r\na\r\n" NO "$1\r\nb\r\n");
    bed_expect(b, client, "$1\r\na\r\n");
    bed_expect(b, client, why);
    bed_expect(b, client, "$1\r\nb\r\n");
}

static void what_makes_replies_hard_to_tell_apart_is_refused_in_its_place(void **state)
{
    static const char *const commands[] = {
        "MONITOR",           "SYNC",           "PSYNC ? -1",        "CLIENT REPLY OFF",
        "client rePly skip", "REPLCONF ACK 1", "replconf getack *", "SCRIPT DEBUG YES",
        "script debug sync"};
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        assert_refused(b, client, redis, commands[i], NOT_POSSIBLE);
    close(client);
    close(redis);
}

static void patterns_of_agents_channels_are_refused_and_others_are_not(void **state)
{
    static const char *const refused[] = {"PSUBSCRIBE app|managed-resources|*",
                                          "PSUBSCRIBE local app|resources-tree|w1_?|1",
                                          "PSUBSCRIBE app|*"};
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_refused(b, client, redis, refused[i], BY_NAME);
    bed_tell(b, client, redis, "PSUBSCRIBE *");
    close(client);
    close(redis);
}

static void a_transaction_has_nothing_of_an_agent_in_it(void **state)
{
    static const char *const ends[] = {"EXEC", "DISCARD", "RESET"};
    static const char *const refused[][2] = {
        {"GET " TREE, NOT_IN_MULTI},        {"SUBSCRIBE local", NOT_POSSIBLE},
        {"PSUBSCRIBE local", NOT_POSSIBLE}, {"SSUBSCRIBE local", NOT_POSSIBLE},
        {"UNSUBSCRIBE", NOT_POSSIBLE},      {"PUNSUBSCRIBE", NOT_POSSIBLE},
        {"SUNSUBSCRIBE", NOT_POSSIBLE},     {"HELLO 3", NOT_POSSIBLE}};
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        bed_tell(b, client, redis, "MULTI");
        bed_send(b, redis, "+OK\r\n");
        bed_expect(b, client, "+OK\r\n");
        for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
            assert_refused(b, client, redis, refused[k][0], refused[k][1]);
        bed_send(b, client, bed_words(ends[i]));
        bed_send(b, client, bed_words("GET " TREE));
        bed_expect(b, redis, bed_words(ends[i]));
        bed_expect(b, redis, bed_words("GET " TREE));
        bed_send(b, redis, "+OK\r\n");
        bed_expect(b, client, "+OK\r\n");
        assert_agent_answers(b, client, redis, TREE_PATH);
    }
    close(client);
    close(redis);
}

/* Each of these is sent as a whole, then redis answers, then the client goes on. */
static void only_what_redis_takes_for_a_transaction_is_one(void **state)
{
    static const struct {
        const char *sent[4];
        const char *replies;
        bool in_multi;
    } cases[] = {
        {{"MULTI"}, "+OK\r\n", true},
        {{"MULTI x"}, "-ERR\r\n", false},
        {{"MULTI", "MULTI"}, "+OK\r\n-ERR nested\r\n", true},
        {{"MULTI x", "MULTI"}, "-ERR\r\n+OK\r\n", true},
        {{"MULTI", "MULTI x", "EXEC"}, "+OK\r\n-ERR\r\n-EXECABORT\r\n", false},
        {{"MULTI x", "DISCARD", "MULTI"}, "-ERR\r\n-ERR\r\n+OK\r\n", true},
        {{"MULTI x", "EXEC", "MULTI"}, "-ERR\r\n-ERR\r\n+OK\r\n", true},
        {{"MULTI x", "RESET", "MULTI"}, "-ERR\r\n+RESET\r\n+OK\r\n", true},
        {{"MULTI", "EXEC", "MULTI x"}, "+OK\r\n*0\r\n-ERR\r\n", false},
    };
    bed *b = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int client = bed_client(b);
        for (size_t k = 0; k < 4 && cases[i].sent[k] != NULL; k++)
            bed_send(b, client, bed_words(cases[i].sent[k]));
        int redis = bed_redis(b);
        for (size_t k = 0; k < 4 && cases[i].sent[k] != NULL; k++)
            bed_expect(b, redis, bed_words(cases[i].sent[k]));
        bed_send(b, redis, cases[i].replies);
        bed_expect(b, client, cases[i].replies);
        bed_send(b, client, bed_words("SUBSCRIBE local"));
        bed_expect(b, redis, cases[i].in_multi ? NOTHING : bed_words("SUBSCRIBE local"));
        close(client);
        close(redis);
    }
}

/* ----- what is not a command ----- */

static void what_cannot_be_read_is_told_in_its_place_and_ends_the_connection(void **state)
{
    static const struct {
        const char *bytes;
        const char *why;
    } cases[] = {
        {"*1\r\n$536870912\r\n", "invalid bulk length"},
        {"*2\r\n$3\r\nGET\r\n$-1\r\n", "invalid bulk length"},
        {"*1048577\r\n", "invalid multibulk length"},
        {"*1\r\n:1\r\n", "expected '$'"},
        {"*1\r\n$4\r\nPINGPING\r\n", "an argument is longer than its length"},
        {"GET \"a\r\n", "unbalanced quotes in request"},
    };
    bed *b = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[100];
        int client = bed_client(b);
        bed_send(b, client, bed_words("PING"));
        bed_send(b, client, cases[i].bytes);
        bed_send(b, client, bed_words("GET " TREE)); /* is not looked at any more */
        int redis = bed_redis(b);
        bed_expect(b, redis, bed_words("PING"));
        bed_expect(b, redis, NOTHING);
        sockets_expect_silence(&b->ends, redis);
        bed_send(b, redis, "+PONG\r\n" NO);
        bed_expect(b, client, "+PONG\r\n");
        snprintf(why, sizeof(why), "-ERR Protocol error: %s\r\n", cases[i].why);
        bed_expect(b, client, why);
        sockets_expect_end(&b->ends, client);
        close(client);
        close(redis);
    }
    assert_int_equal(b->agent.count, 0);
}

static void a_long_command_passes_in_pieces_unless_it_must_be_understood(void **state)
{
    static char x[500000];
    static const char head[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000\r\n";
    static const char get[] = "*2\r\n$3\r\nGET\r\n$500000\r\n";
    bed *b = *state;
    memset(x, 'x', sizeof(x));
    int client = bed_client(b);
    bed_send(b, client, head);
    sockets_send(&b->ends, client, (ab_str){x, 200000});
    int redis = bed_redis(b);
    bed_expect(b, redis, head);
    sockets_expect(&b->ends, redis, (ab_str){x, 100000}); /* before the rest has come */
    sockets_send(&b->ends, client, (ab_str){x, 300000});
    bed_send(b, client, "\r\n");
    sockets_expect(&b->ends, redis, (ab_str){x, 400000});
    bed_expect(b, redis, "\r\n");
    bed_send(b, client, get);
    sockets_send(&b->ends, client, (ab_str){x, 70000});
    bed_expect(b, redis, NOTHING);
    bed_send(b, redis, "+OK\r\n" NO);
    bed_expect(b, client, "+OK\r\n-ERR Protocol error: too long a request for this command\r\n");
    sockets_expect_end(&b->ends, client);
    close(client);
    close(redis);
}

/* Notes of what is to come are bounded, and so is what waits for redis. */
static void a_client_that_is_far_ahead_of_its_replies_is_held_up(void **state)
{
    static char gets[400 * 1024];
    bed *b = *state;
    const char *one = bed_words("GET " AWAY);
    size_t len = strlen(one);
    size_t count = sizeof(gets) / len;
    for (size_t i = 0; i < count; i++)
        memcpy(gets + i * len, one, len);
    int client = bed_client(b);
    size_t sent = sockets_offer(&b->ends, client, (ab_str){gets, count * len});
    assert_true(sent > 4096 * len);
    int redis = bed_redis(b);
    sockets_expect(&b->ends, redis, (ab_str){gets, 4096 * len});
    sockets_expect_silence(&b->ends, redis);
    bed_send(b, redis, "$-1\r\n$-1\r\n");
    for (int i = 0; i < 2; i++)
        bed_expect(b, client, "-ERR argobus: agent \"w2\": agent w2 is not connected\r\n");
    sockets_expect(&b->ends, redis, (ab_str){gets, 2 * len});
    sockets_expect_silence(&b->ends, redis);
    close(client);
    close(redis);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(the_agent_of_the_namespace_answers_under_its_own_name),
        cmocka_unit_test_setup_teardown(the_agent_of_the_destination_answers_under_the_same_name,
                                        bed_start_by_destination, bed_stop),
        TEST(the_control_planes_redis_answers_all_else),
        TEST(a_command_is_known_however_it_is_written),
        TEST(what_makes_replies_hard_to_tell_apart_is_refused_in_its_place),
        TEST(patterns_of_agents_channels_are_refused_and_others_are_not),
        TEST(a_transaction_has_nothing_of_an_agent_in_it),
        TEST(only_what_redis_takes_for_a_transaction_is_one),
        TEST(what_cannot_be_read_is_told_in_its_place_and_ends_the_connection),
        TEST(a_long_command_passes_in_pieces_unless_it_must_be_understood),
        TEST(a_client_that_is_far_ahead_of_its_replies_is_held_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
