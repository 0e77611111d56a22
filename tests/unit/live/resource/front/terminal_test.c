/* SPDX-License-Identifier: Apache-2.0
 *
 * Terminals at the front: what goes through them, and how they end.
 */
#include "tests/unit/live/resource/front/front_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#define EXEC PODS "/a/exec?command=sh&stdin=true&stdout=true"
#define OPEN                                                                                       \
    "GET " EXEC " HTTP/1.1\r\n" AS_W1                                                              \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                                              \
    "Sec-WebSocket-Protocol: v4.channel.k8s.io, v5.channel.k8s.io\r\n\r\n"

/* A terminal that the agent's API server has accepted. */
static int open_terminal(bed *b)
{
    static const ab_http_field chosen = {{"sec-websocket-protocol", 22}, {"v5.channel.k8s.io", 17}};
    ab_buf out;
    ab_buf_init(&out, 65536);
    size_t before = b->agent.count;
    int fd = bed_dial(b);
    bed_send(b, fd, OPEN);
    JOINED_WAIT(&b->ends, b->agent.count == before + 1);
    assert_string_equal(bed_last(b)->service, "exec");
    assert_string_equal(bed_last(b)->path, EXEC);
    assert_int_equal(ab_live_stream_answer(bed_last(b)->stream, 200, &chosen, 1), AB_ERR_OK);
    bed_read(b, fd, "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n", &out);
    assert_non_null(memmem(out.ptr, out.len, "HTTP/1.1 101 ", strlen("HTTP/1.1 101 ")));
    ab_buf_fini(&out);
    return fd;
}

static void messages_go_both_ways_whole(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = open_terminal(b);
    asked *a = bed_last(b);
    bed_send(b, fd,
             "\x02\x81"
             "aaaa"
             "s"); /* in two parts, masked */
    bed_send(b, fd,
             "\x80\x81"
             "aaaa"
             "t");
    JOINED_WAIT(&b->ends, a->came > 0);
    assert_int_equal(a->came, 4 + 2); /* one message */
    const char shown[] = {0, 0, 0, 4, 1, 'o', 'n', 'e', 0, 0, 0, 2, 1, '2'};
    assert_int_equal(ab_live_stream_send(a->stream, (ab_str){shown, sizeof(shown)}), AB_ERR_OK);
    bed_read(b, fd,
             "\x82\x04\x01"
             "one"
             "\x82\x02\x01"
             "2",
             &out);
    ab_live_stream_end(a->stream);
    bed_read(b, fd, "\x88\x02\x03\xe8", &out); /* 1000 */
    close(fd);
    ab_buf_fini(&out);
}

static void
a_viewer_that_reads_late_gets_all_of_a_terminal_that_ended_before_its_agent_was_lost(void **state)
{
    enum { SHOWN = 65532 };
    static char shown[4 + SHOWN] = {0, 0, (char)(SHOWN >> 8), (char)(SHOWN & 0xff)};
    const ab_str message = {shown, sizeof(shown)};
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 64u * 1024 * 1024);
    int fd = open_terminal(b);
    ab_live_stream *s = bed_last(b)->stream;
    size_t sent = 0;
    while (b->front->held == 0) {
        ab_err e = AB_ERR_FULL;
        JOINED_WAIT(&b->ends,
                    b->front->held > 0 || (e = ab_live_stream_send(s, message)) == AB_ERR_OK);
        sent += e == AB_ERR_OK;
    }
    ab_live_stream_end(s);
    close(bed_begin(b, PODS, "beside")); /* what came before has come, too */
    bed_lose_agent(b);
    assert_true(b->front->held > 0);
    bed_read(b, fd, "\x88\x02\x03\xe8", &out); /* 1000 */
    assert_true(out.len > sent * SHOWN);
    close(fd);
    ab_buf_fini(&out);
}

static void what_the_api_server_refuses_is_passed_on(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    size_t before = b->agent.count;
    int fd = bed_dial(b);
    bed_send(b, fd, OPEN);
    JOINED_WAIT(&b->ends, b->agent.count == before + 1);
    bed_answer(bed_last(b), 403, "no terminal for you");
    ab_live_stream_end(bed_last(b)->stream);
    JOINED_WAIT(&b->ends, bed_last(b)->stream == NULL);
    bed_read(b, fd, "no terminal for you", &out);
    assert_non_null(memmem(out.ptr, out.len, "HTTP/1.1 403 ", strlen("HTTP/1.1 403 ")));
    close(fd);
    ab_buf_fini(&out);
}

static void an_agent_that_is_lost_closes_the_terminal_with_1011(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = open_terminal(b);
    bed_lose_agent(b);
    bed_read(b, fd, "\x03\xf3the connection to the agent was lost", &out);
    close(fd);
    ab_buf_fini(&out);
}

static void when_the_viewer_goes_the_agent_ends_the_terminal(void **state)
{
    bed *b = *state;
    close(open_terminal(b));
    JOINED_WAIT(&b->ends, bed_last(b)->stream == NULL);
    assert_int_equal(bed_last(b)->code, AB_ERR_UNAVAILABLE);
}

static void a_principal_that_stops_closes_the_terminal_with_1001(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = open_terminal(b);
    ab_resource_front_stop(b->front);
    ab_live_hub_stop(b->ends.hub);
    bed_read(b, fd, "\x03\xe9the principal is stopping", &out);
    assert_false(ab_resource_front_is_drained(b->front));
    bed_send(b, fd,
             "\x88\x82"
             "aaaa"
             "b\x88"); /* 1001, masked */
    bed_read(b, fd, NULL, &out);
    close(fd);
    JOINED_WAIT(&b->ends, ab_resource_front_is_drained(b->front));
    bed_refused(b, OPEN, &out);
    assert_non_null(strstr(out.ptr, "HTTP/1.1 503 "));
    ab_buf_fini(&out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(messages_go_both_ways_whole),
        TEST(a_viewer_that_reads_late_gets_all_of_a_terminal_that_ended_before_its_agent_was_lost),
        TEST(what_the_api_server_refuses_is_passed_on),
        TEST(an_agent_that_is_lost_closes_the_terminal_with_1011),
        TEST(when_the_viewer_goes_the_agent_ends_the_terminal),
        TEST(a_principal_that_stops_closes_the_terminal_with_1001),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
