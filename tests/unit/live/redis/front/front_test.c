/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections as such: a control plane's redis that is away, peers that do not read, and a
 * principal that stops.
 */
#include "tests/unit/live/redis/front/redis_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUCH (32u * 1024 * 1024)
/* What may lie between an end that sends and one that does not read: queues and kernels. */
#define BETWEEN (12u * 1024 * 1024)

static char zeros[1024 * 1024];

static bool is_refused(const bed *b)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)ab_redis_front_port(b->front)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    bool refused = rc != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

/* ----- the control plane's redis ----- */

static void a_redis_that_is_away_is_told(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    close(b->redis);
    b->redis = -1;
    int client = bed_client(b);
    bed_send(b, client, bed_words("GET " TREE));
    bed_expect(b, client, "-ERR argobus: the control plane's redis cannot be reached: 127.0.0.1:");
    sockets_read(&b->ends, client, NULL, &out);
    assert_int_equal(b->agent.count, 0);
    close(client);
    ab_buf_fini(&out);
}

static void a_redis_that_closes_ends_the_connection_after_its_last_reply(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("QUIT"), &redis);
    bed_send(b, redis, "+OK\r\n");
    close(redis);
    bed_expect(b, client, "+OK\r\n");
    sockets_expect_end(&b->ends, client);
    close(client);
    client = bed_begin(b, bed_words("GET k"), &redis);
    bed_send(b, redis, "$100\r\nhalf");
    close(redis);
    sockets_expect_end(&b->ends, client); /* of a reply that is not whole nothing is shown */
    close(client);
}

/* What the agent has is the answer of redis, which was asked first. */
static void a_redis_that_closes_while_the_agent_is_asked_leaves_its_value(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET " TREE), &redis);
    bed_send(b, redis, "$-1\r\n");
    asked *a = bed_asked(b, "GET", TREE_PATH);
    close(redis);
    sockets_expect_silence(&b->ends, client);
    bed_has(a, 5, "value");
    bed_expect(b, client, "$5\r\nvalue\r\n");
    sockets_expect_end(&b->ends, client);
    close(client);
}

/* ----- who does not read ----- */

static size_t send_much(bed *b, int fd)
{
    size_t sent = 0;
    for (size_t n = 1; n > 0 && sent < MUCH; sent += n)
        n = sockets_offer(&b->ends, fd, (ab_str){zeros, sizeof(zeros)});
    return sent;
}

/* The rest of it, with the end of line that belongs to it. */
static void read_much(bed *b, int from, int to, size_t sent)
{
    static char part[1024 * 1024];
    size_t came = 0;
    while (sent < MUCH) {
        size_t left = MUCH - sent < sizeof(zeros) ? MUCH - sent : sizeof(zeros);
        sent += sockets_offer(&b->ends, from, (ab_str){zeros, left});
        for (ssize_t n = 1; n > 0; came += n > 0 ? (size_t)n : 0)
            n = recv(to, part, sizeof(part), 0);
    }
    bed_send(b, from, "\r\n");
    for (int64_t until = joined_now_ms() + 60000; came < MUCH + 2 && joined_now_ms() < until;) {
        ssize_t n = recv(to, part, sizeof(part), 0);
        came += n > 0 ? (size_t)n : 0;
        joined_turn(&b->ends);
    }
    assert_int_equal(came, MUCH + 2);
}

static void assert_serves_others(bed *b)
{
    int redis;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    close(client);
    close(redis);
}

static void a_client_that_does_not_read_holds_up_its_redis_and_no_other(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET k"), &redis);
    bed_send(b, redis, "$33554432\r\n");
    size_t sent = send_much(b, redis);
    assert_true(sent < BETWEEN);
    assert_serves_others(b);
    bed_expect(b, client, "$33554432\r\n");
    read_much(b, redis, client, sent);
    close(client);
    close(redis);
}

static void a_redis_that_does_not_read_holds_up_its_client_and_no_other(void **state)
{
    static const char head[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$33554432\r\n";
    bed *b = *state;
    int client = bed_client(b);
    bed_send(b, client, head);
    size_t sent = send_much(b, client);
    assert_true(sent < BETWEEN);
    int redis = bed_redis(b);
    assert_serves_others(b);
    bed_expect(b, redis, head);
    read_much(b, client, redis, sent);
    close(client);
    close(redis);
}

/* ----- the principal stops ----- */

static void who_is_owed_nothing_is_closed_and_nobody_new_comes_in(void **state)
{
    bed *b = *state;
    int redis, unused, redis_of_listener;
    int client = bed_begin(b, bed_words("PING"), &redis);
    bed_send(b, redis, "+PONG\r\n");
    bed_expect(b, client, "+PONG\r\n");
    unused = bed_client(b);
    int listener = bed_begin(b, bed_words("SUBSCRIBE " CHANNEL), &redis_of_listener);
    bed_send(b, redis_of_listener, "*3\r\n$9\r\nsubscribe\r\n$40\r\n" CHANNEL "\r\n:1\r\n");
    bed_expect(b, listener, "*3\r\n$9\r\nsubscribe\r\n$40\r\n" CHANNEL "\r\n:1\r\n");
    asked *a = bed_asked(b, "SUBSCRIBE", CHANNEL_PATH);
    assert_false(is_refused(b));
    ab_redis_front_stop(b->front);
    assert_true(is_refused(b));
    sockets_expect_end(&b->ends, client);
    sockets_expect_end(&b->ends, unused);
    sockets_expect_end(&b->ends, listener);
    JOINED_WAIT(&b->ends, ab_redis_front_is_drained(b->front) && a->stream == NULL);
    close(client);
    close(unused);
    close(listener);
    close(redis);
    close(redis_of_listener);
}

static void replies_that_are_owed_come_before_the_end(void **state)
{
    bed *b = *state;
    int redis, other_redis;
    int client = bed_begin(b, bed_words("GET " TREE), &redis);
    bed_tell(b, client, redis, "PING");
    int other = bed_begin(b, bed_words("GET k"), &other_redis);
    bed_send(b, other_redis, "$6\r\nfir");
    ab_redis_front_stop(b->front);
    bed_send(b, redis, "$-1\r\n+PONG\r\n");
    bed_has(bed_asked(b, "GET", TREE_PATH), 5, "value");
    bed_expect(b, client, "$5\r\nvalue\r\n+PONG\r\n");
    sockets_expect_end(&b->ends, client);
    sockets_expect_silence(&b->ends, other);
    assert_false(ab_redis_front_is_drained(b->front));
    bed_send(b, other_redis, "st!\r\n");
    bed_expect(b, other, "$6\r\nfirst!\r\n");
    sockets_expect_end(&b->ends, other);
    JOINED_WAIT(&b->ends, ab_redis_front_is_drained(b->front));
    close(client);
    close(other);
    close(redis);
    close(other_redis);
}

static void a_client_that_takes_its_time_gets_its_reply_whole(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET k"), &redis);
    bed_send(b, redis, "$33554432\r\n");
    size_t sent = send_much(b, redis);
    ab_redis_front_stop(b->front);
    bed_expect(b, client, "$33554432\r\n");
    read_much(b, redis, client, sent);
    sockets_expect_end(&b->ends, client);
    close(client);
    close(redis);
}

static void a_client_that_never_reads_is_waited_for_10_seconds(void **state)
{
    bed *b = *state;
    int redis;
    int client = bed_begin(b, bed_words("GET k"), &redis);
    ab_redis_conn *c = AB_LINK_OF(b->front->conns.next, ab_redis_conn, link);
    /* What is sent to redis's side may end up in the kernel, whose buffers grow as it likes. */
    for (size_t n = 0; n < MUCH; n += sizeof(zeros))
        ab_buf_put(ab_redis_wire_out(c->client), (ab_str){zeros, sizeof(zeros)});
    c->ops->end(c);
    int64_t until = joined_now_ms() + 1200; /* the front looks twice a second */
    while (joined_now_ms() < until)
        joined_turn(&b->ends);
    assert_false(ab_redis_front_is_drained(b->front));
    b->ends.ahead_ms += 10000;
    JOINED_WAIT(&b->ends, ab_redis_front_is_drained(b->front));
    close(client);
    close(redis);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(a_redis_that_is_away_is_told),
        TEST(a_redis_that_closes_ends_the_connection_after_its_last_reply),
        TEST(a_redis_that_closes_while_the_agent_is_asked_leaves_its_value),
        TEST(a_client_that_does_not_read_holds_up_its_redis_and_no_other),
        TEST(a_redis_that_does_not_read_holds_up_its_client_and_no_other),
        TEST(who_is_owed_nothing_is_closed_and_nobody_new_comes_in),
        TEST(replies_that_are_owed_come_before_the_end),
        TEST(a_client_that_takes_its_time_gets_its_reply_whole),
        TEST(a_client_that_never_reads_is_waited_for_10_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
