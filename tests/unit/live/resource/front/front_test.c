/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask what, and of whom.
 */
#include "tests/unit/live/resource/front/front_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#define ANY "Host: x\r\nAuthorization: Bearer " TOKEN_ANY "\r\n"
#define UPGRADE                                                                                    \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void what_may_not_be_asked_is_refused_before_the_agent_hears_of_it(void **state)
{
    static const struct {
        const char *request;
        const char *status;
        const char *why;
    } cases[] = {
        {"GET /version HTTP/1.1\r\nHost: x\r\n\r\n", "401 ", "no identity"},
        {"GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN_W1 "x\r\n\r\n", "401 ",
         "no identity"},
        {"GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " TOKEN_W1 "\r\n\r\n", "401 ",
         "no identity"},
        {"GET /agents/w2/version HTTP/1.1\r\n" AS_W1 "\r\n", "403 ", "may reach agent w1 only"},
        {"GET /version HTTP/1.1\r\n" ANY "\r\n", "400 ", "/agents/NAME"},
        {"GET /agents/w1/api/v1/../version HTTP/1.1\r\n" ANY "\r\n", "400 ", ""},
        {"GET /agents/w1/api%2Fv1 HTTP/1.1\r\n" ANY "\r\n", "400 ", ""},
        {"GET /agents/w1/shell HTTP/1.1\r\n" ANY "\r\n", "400 ", ""},
        {"GET /agents/w2/version HTTP/1.1\r\n" ANY "\r\n", "503 ", "agent w2 is not connected"},
        {"GET " PODS "/a HTTP/1.1\r\n" AS_W1 UPGRADE "\r\n", "400 ", "exec and attach only"},
        {"GET " PODS "/a/exec?command=sh HTTP/1.1\r\n" AS_W1 UPGRADE
         "Sec-WebSocket-Protocol: chat\r\n\r\n",
         "400 ", "v4.channel.k8s.io"},
    };
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bed_refused(b, cases[i].request, &out);
        if (strncmp(out.ptr + strlen("HTTP/1.1 "), cases[i].status, 4) != 0 ||
            strstr(out.ptr, "\"kind\":\"Status\"") == NULL || strstr(out.ptr, cases[i].why) == NULL)
            fail_msg("%s\n--- not %s, %s:\n%s", cases[i].request, cases[i].status, cases[i].why,
                     out.ptr);
    }
    assert_int_equal(b->agent.count, 0);
    ab_buf_fini(&out);
}

static void what_is_asked_reaches_the_agent_without_who_asked(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_dial(b);
    bed_send(b, fd, "GET /agents/w1" PODS "?limit=5 HTTP/1.1\r\n" ANY "\r\n");
    JOINED_WAIT(&b->ends, b->agent.count == 1);
    assert_string_equal(bed_last(b)->service, "kubernetes");
    assert_string_equal(bed_last(b)->method, "GET");
    assert_string_equal(bed_last(b)->path, PODS "?limit=5");
    bed_answer(bed_last(b), 200, "listed");
    ab_live_stream_end(bed_last(b)->stream);
    bed_read(b, fd, "listed\r\n0\r\n\r\n", &out);
    close(fd);
    ab_buf_fini(&out);
}

static double answered(const bed *b, const char *code)
{
    const ab_label labels[] = {{"kind", AB_STR("request")}, {"code", ab_str_of(code)}};
    return ab_metric_value(ab_metric_get(b->ends.metrics, AB_METRIC_COUNTER,
                                         "argobus_live_requests_total", "", labels, 2));
}

static void who_has_no_identity_does_not_fill_the_log(void **state)
{
    bed *b = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    for (int i = 0; i < 30; i++)
        bed_refused(b, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n", &out);
    JOINED_WAIT(&b->ends, answered(b, "401") == 30);
    assert_true(logged_count(b->lines, "live request by=none code=401") < 30);
    b->ends.ahead_ms += 60000;
    bed_refused(b, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n", &out);
    JOINED_WAIT(&b->ends, logged_count(b->lines, "held_back=20") == 1);
    for (int i = 0; i < 30; i++)
        bed_refused(b, "GET /agents/w2/version HTTP/1.1\r\n" AS_W1 "\r\n", &out);
    JOINED_WAIT(&b->ends, answered(b, "403") == 30);
    assert_int_equal(logged_count(b->lines, "live request by=token"), 30);
    ab_buf_fini(&out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_start, bed_stop)
    const struct CMUnitTest tests[] = {
        TEST(what_may_not_be_asked_is_refused_before_the_agent_hears_of_it),
        TEST(what_is_asked_reaches_the_agent_without_who_asked),
        TEST(who_has_no_identity_does_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
