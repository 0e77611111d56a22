/* SPDX-License-Identifier: Apache-2.0
 *
 * Our server and our client, each other's peers.
 */
#include "tests/integration/grpc/world.h"

#include "net/listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int secure(void **state)
{
    world_set_up(state);
    world_use_tls(*state);
    return 0;
}

static void echo_some(world *w, bool compress)
{
    seen s;
    static const size_t sizes[] = {0, 1, 5, 300, 16384, 70000, 3000000};
    world_start(w);
    world_begin(w, "Echo", 0, compress, &s);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        world_send(&s, sizes[i], (char)('a' + i));
        world_wait_messages(w, &s, i + 1);
        assert_int_equal(s.last.len, sizes[i]);
        if (sizes[i] > 0) {
            assert_int_equal(s.last.ptr[0], 'a' + i);
            assert_int_equal(s.last.ptr[sizes[i] - 1], 'a' + i);
        }
    }
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    assert_int_equal(s.ended, 1);
    assert_int_equal(w->calls[0].status, AB_RPC_OK);
    assert_int_equal(w->calls[0].ended, 1);
    seen_fini(&s);
}

static void messages_go_both_ways(void **state)
{
    echo_some(*state, false);
}

static void messages_go_both_ways_compressed(void **state)
{
    echo_some(*state, true);
}

static void a_client_shows_its_certificate(void **state)
{
    world *w = *state;
    echo_some(w, true);
    assert_string_equal(w->server_peer, "/CN=w1");
}

/* ---- unary calls, statuses, metadata ---- */

typedef struct {
    bool done;
    ab_rpc_status status;
    char text[128];
    char response[128];
} answer;

static void on_answer(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    answer *a = arg;
    a->done = true;
    a->status = status;
    snprintf(a->text, sizeof(a->text), "%.*s", AB_STR_ARG(text));
    snprintf(a->response, sizeof(a->response), "%.*s", AB_STR_ARG(response));
}

static bool is_answered(void *arg)
{
    return ((answer *)arg)->done;
}

static void ask(world *w, const char *path, answer *a)
{
    memset(a, 0, sizeof(*a));
    ab_rpc_begin begin = {.path = path};
    assert_int_equal(ab_rpc_unary(w->client, &begin, AB_STR("hello"), on_answer, a), AB_ERR_OK);
    world_wait(w, is_answered, a);
}

static void a_unary_call_is_answered(void **state)
{
    world *w = *state;
    answer a;
    world_start(w);
    ask(w, "/test.Echo/Echo", &a);
    assert_int_equal(a.status, AB_RPC_OK);
    assert_string_equal(a.response, "hello");
}

static void a_unary_call_without_answer_is_an_error(void **state)
{
    world *w = *state;
    answer a;
    world_start(w);
    ask(w, "/test.Echo/Count", &a);
    assert_int_equal(a.status, AB_RPC_INTERNAL);
}

static void an_unknown_method_is_unimplemented(void **state)
{
    world *w = *state;
    answer a;
    world_start(w);
    ask(w, "/test.Echo/None", &a);
    assert_int_equal(a.status, AB_RPC_UNIMPLEMENTED);
}

static void a_status_comes_with_its_text(void **state)
{
    world *w = *state;
    answer a;
    world_start(w);
    ask(w, "/test.Echo/Deny", &a);
    assert_int_equal(a.status, AB_RPC_PERMISSION_DENIED);
    assert_string_equal(a.text, "ne: prosím, 100% nein");
}

static bool has_headers(void *arg)
{
    return ((const seen *)arg)->headers.len > 0;
}

static void metadata_goes_both_ways(void **state)
{
    world *w = *state;
    seen s = {0};
    static const ab_rpc_field metadata[] = {
        {{"authorization", 13}, {"a.b.c", 5}},
        {{"key-bin", 7}, {"\xff\x00\x01z", 4}},
    };
    world_start(w);
    ab_buf_init(&s.headers, 4096);
    ab_buf_init(&s.last, 4096);
    ab_rpc_begin begin = {.path = "/test.Echo/Meta", .metadata = metadata, .metadata_count = 2};
    assert_int_equal(ab_rpc_call_begin(w->client, &begin, &seen_handler, &s, &s.call), AB_ERR_OK);
    world_wait(w, has_headers, &s);
    const char expected[] = "authorization=a.b.c\nkey-bin=\xff\x00\x01z\n";
    assert_non_null(memmem(s.headers.ptr, s.headers.len, expected, sizeof(expected) - 1));
    assert_null(memmem(s.headers.ptr, s.headers.len, "grpc-", 5));
    ab_rpc_cancel(s.call);
    world_wait_end(w, &s);
    seen_fini(&s);
}

static void metadata_that_cannot_be_sent_is_refused(void **state)
{
    world *w = *state;
    seen s = {0};
    static const ab_rpc_field bad[] = {
        {{"Upper", 5}, {"x", 1}},       {{"grpc-status", 11}, {"0", 1}}, {{":path", 5}, {"/", 1}},
        {{"with space", 10}, {"x", 1}}, {{"key", 3}, {"line\nfeed", 9}},
    };
    world_start(w);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_rpc_begin begin = {.path = "/test.Echo/Echo", .metadata = &bad[i], .metadata_count = 1};
        assert_int_equal(ab_rpc_call_begin(w->client, &begin, &seen_handler, &s, &s.call),
                         AB_ERR_INVALID);
    }
    assert_int_equal(w->call_count, 0);
}

/* ---- ends of a call ---- */

static void a_cancelled_call_ends_at_both_ends(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    world_send(&s, 10, 'x');
    world_wait_messages(w, &s, 1);
    ab_rpc_cancel(s.call);
    assert_int_equal(ab_rpc_send(s.call, AB_STR("late"), false), AB_ERR_CLOSED);
    assert_int_equal(s.ended, 0); /* not from inside the call */
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_CANCELLED);
    world_wait_end(w, &w->calls[0]);
    assert_int_equal(w->calls[0].status, AB_RPC_CANCELLED);
    seen_fini(&s);
}

static void a_call_cancelled_before_it_was_sent_ends(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    ab_rpc_cancel(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_CANCELLED);
    assert_int_equal(w->call_count, 0);
    seen_fini(&s);
}

static void a_deadline_ends_a_call_at_both_ends(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Hold", 500, false, &s);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_DEADLINE_EXCEEDED);
    world_wait_end(w, &w->calls[0]);
    assert_true(w->calls[0].status == AB_RPC_DEADLINE_EXCEEDED ||
                w->calls[0].status == AB_RPC_CANCELLED);
    seen_fini(&s);
}

static void a_server_may_finish_before_the_client(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Hold", 0, false, &s);
    world_send(&s, 10, 'x');
    world_wait_calls(w, 1);
    assert_int_equal(ab_rpc_send(w->calls[0].call, AB_STR("bye"), false), AB_ERR_OK);
    ab_rpc_finish(w->calls[0].call, AB_RPC_ABORTED, "replaced by a newer stream");
    world_wait_end(w, &s);
    assert_int_equal(s.messages, 1);
    assert_int_equal(s.status, AB_RPC_ABORTED);
    assert_string_equal(s.text, "replaced by a newer stream");
    world_wait_end(w, &w->calls[0]);
    assert_int_equal(w->calls[0].status, AB_RPC_OK);
    seen_fini(&s);
}

/* ---- bounds ---- */

static bool is_writable(void *arg)
{
    return ((const seen *)arg)->writable > 0;
}

static void a_full_queue_says_so_and_when_there_is_room(void **state)
{
    world *w = *state;
    seen s;
    static char block[60000];
    ab_err e = AB_ERR_OK;
    size_t sent = 0;
    world_start(w);
    world_begin(w, "Count", 0, false, &s);
    while ((e = ab_rpc_send(s.call, (ab_str){block, sizeof(block)}, false)) == AB_ERR_OK)
        sent++;
    assert_int_equal(e, AB_ERR_FULL);
    assert_int_equal(sent, (w->limits.send_high_bytes + sizeof(block)) / sizeof(block));
    assert_int_equal(s.writable, 0);
    world_wait(w, is_writable, &s);
    assert_int_equal(s.writable, 1);
    assert_int_equal(ab_rpc_send(s.call, (ab_str){block, sizeof(block)}, false), AB_ERR_OK);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(w->calls[0].messages, sent + 1);
    seen_fini(&s);
}

static void a_paused_call_gets_nothing_and_stops_its_peer(void **state)
{
    world *w = *state;
    seen s;
    static char block[60000];
    size_t sent = 0;
    world_start(w);
    world_begin(w, "Count", 0, false, &s);
    world_send(&s, 1, 'x');
    world_wait_calls(w, 1);
    seen *at_server = &w->calls[0];
    world_wait_messages(w, at_server, 1);
    ab_rpc_pause(at_server->call);
    for (int quiet = 0; quiet < 5; quiet++) {
        while (ab_rpc_send(s.call, (ab_str){block, sizeof(block)}, false) == AB_ERR_OK) {
            sent++;
            quiet = 0;
        }
        world_run_ms(w, 20);
    }
    assert_int_equal(at_server->messages, 1);
    assert_true(sent * sizeof(block) < w->limits.window_bytes + 2 * w->limits.send_high_bytes);
    ab_rpc_half_close(s.call);
    ab_rpc_resume(at_server->call);
    assert_int_equal(at_server->messages, 1); /* not from inside the call */
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    assert_int_equal(at_server->messages, sent + 1);
    seen_fini(&s);
}

static void a_call_is_quiet_for_as_long_as_it_listens_in_vain(void **state)
{
    world *w = *state;
    seen s = {0};
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    w->skipped_ms += 10000;
    assert_true(ab_rpc_quiet_ms(s.call) >= 10000);
    world_send(&s, 10, 'a');
    world_wait_messages(w, &s, 1);
    assert_true(ab_rpc_quiet_ms(s.call) < 10000);
    ab_rpc_pause(s.call);
    w->skipped_ms += 10000;
    assert_int_equal(ab_rpc_quiet_ms(s.call), 0);
    ab_rpc_resume(s.call);
    assert_true(ab_rpc_quiet_ms(s.call) < 10000);
    ab_rpc_cancel(s.call);
    world_wait_end(w, &s);
    seen_fini(&s);
}

static void messages_that_were_held_come_before_the_end(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    s.pause_each = true;
    for (int i = 0; i < 5; i++)
        world_send(&s, 100, 'x');
    ab_rpc_half_close(s.call);
    for (size_t i = 1; i < 5; i++) {
        world_wait_messages(w, &s, i);
        world_run_ms(w, 5);
        assert_int_equal(s.messages, i);
        assert_int_equal(s.ended, 0);
        ab_rpc_resume(s.call);
    }
    world_wait_end(w, &s); /* a pause holds messages only */
    assert_int_equal(s.messages, 5);
    assert_int_equal(s.status, AB_RPC_OK);
    seen_fini(&s);
}

static void a_call_cancelled_while_held_ends(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    s.pause_each = true;
    world_send(&s, 100, 'x');
    world_send(&s, 100, 'x');
    ab_rpc_half_close(s.call);
    world_wait_messages(w, &s, 1);
    world_wait_end(w, &w->calls[0]);
    world_run_ms(w, 20);
    ab_rpc_cancel(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.messages, 1);
    seen_fini(&s);
}

static void a_message_past_the_limit_ends_the_call(void **state)
{
    world *w = *state;
    seen s;
    w->limits.message_bytes = 1000;
    world_start_server(w);
    w->limits.message_bytes = 2000;
    world_start_client(w);
    world_wait_link(w, AB_RPC_UP);
    static char block[2001];
    for (int compress = 0; compress < 2; compress++) {
        world_begin(w, "Count", 0, compress == 1, &s);
        assert_int_equal(ab_rpc_send(s.call, (ab_str){block, sizeof(block)}, false), AB_ERR_TOOBIG);
        world_send(&s, 1000, 'x');
        world_send(&s, 1001, 'x');
        world_wait_end(w, &s);
        assert_int_equal(s.status, AB_RPC_RESOURCE_EXHAUSTED);
        assert_int_equal(w->calls[w->call_count - 1].messages, 1);
        assert_int_equal(w->calls[w->call_count - 1].status, AB_RPC_RESOURCE_EXHAUSTED);
        seen_fini(&s);
    }
    assert_true(world_refused(w, "message") == 2);
}

static void all_calls_together_are_bounded(void **state)
{
    world *w = *state;
    seen s[3];
    static char block[300000];
    w->limits.buffered_bytes = 1000000;
    w->limits.send_high_bytes = 1000000;
    world_start(w);
    for (int i = 0; i < 3; i++)
        world_begin(w, "Count", 0, false, &s[i]);
    assert_int_equal(ab_rpc_send(s[0].call, (ab_str){block, sizeof(block)}, false), AB_ERR_OK);
    assert_int_equal(ab_rpc_send(s[1].call, (ab_str){block, sizeof(block)}, false), AB_ERR_OK);
    assert_int_equal(ab_rpc_send(s[0].call, (ab_str){block, sizeof(block)}, false), AB_ERR_OK);
    assert_int_equal(ab_rpc_send(s[2].call, (ab_str){block, sizeof(block)}, false), AB_ERR_FULL);
    world_wait(w, is_writable, &s[2]);
    assert_int_equal(s[2].writable, 1);
    assert_int_equal(ab_rpc_send(s[2].call, (ab_str){block, sizeof(block)}, false), AB_ERR_OK);
    for (int i = 0; i < 3; i++) {
        ab_rpc_half_close(s[i].call);
        world_wait_end(w, &s[i]);
        assert_int_equal(s[i].status, AB_RPC_OK);
        seen_fini(&s[i]);
    }
}

static void a_64_mib_message_passes(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    world_send(&s, 64u << 20, 'x');
    world_wait_messages(w, &s, 1);
    assert_int_equal(s.last.len, 64u << 20);
    assert_int_equal(s.last.ptr[(64u << 20) - 1], 'x');
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    seen_fini(&s);
}

static void calls_past_the_number_allowed_are_refused(void **state)
{
    world *w = *state;
    seen s[3];
    w->limits.streams = 2;
    world_start(w);
    world_begin(w, "Hold", 0, false, &s[0]);
    world_begin(w, "Hold", 0, false, &s[1]);
    ab_rpc_begin begin = {.path = "/test.Echo/Hold"};
    assert_int_equal(ab_rpc_call_begin(w->client, &begin, &seen_handler, &s[2], &s[2].call),
                     AB_ERR_FULL);
    for (int i = 0; i < 2; i++) {
        ab_rpc_cancel(s[i].call);
        world_wait_end(w, &s[i]);
        seen_fini(&s[i]);
    }
}

/* ---- the connection ---- */

static void on_drained(void *arg)
{
    world *w = arg;
    w->drained = true;
    ab_rpc_server_free(w->server);
    w->server = NULL;
}

static bool is_drained(void *arg)
{
    return ((world *)arg)->drained;
}

static void draining_lets_calls_end(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    world_send(&s, 10, 'x');
    world_wait_messages(w, &s, 1);
    ab_rpc_server_drain(w->server, 120000, on_drained, w);
    world_wait_link(w, AB_RPC_DRAINING);
    ab_rpc_begin begin = {.path = "/test.Echo/Echo"};
    assert_int_equal(ab_rpc_call_begin(w->client, &begin, &seen_handler, &s, &s.call),
                     AB_ERR_UNAVAILABLE);
    world_send(&s, 10, 'x');
    world_wait_messages(w, &s, 2);
    assert_false(w->drained);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    world_wait(w, is_drained, w);
    seen_fini(&s);
}

static void draining_cuts_calls_off_in_the_end(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Hold", 0, false, &s);
    world_wait_calls(w, 1);
    ab_rpc_server_drain(w->server, 50, on_drained, w);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_UNAVAILABLE);
    world_wait_end(w, &w->calls[0]);
    assert_int_equal(w->calls[0].status, AB_RPC_UNAVAILABLE);
    world_wait(w, is_drained, w);
    seen_fini(&s);
}

static void a_client_comes_back(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Hold", 0, false, &s);
    world_wait_calls(w, 1);
    ab_rpc_server_free(w->server);
    w->server = NULL;
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_UNAVAILABLE);
    world_wait_link(w, AB_RPC_DOWN);
    world_run_ms(w, 50);
    ab_rpc_server_events events = {NULL, NULL};
    assert_int_equal(ab_rpc_server_new(&w->env, "127.0.0.1", w->port, &w->server_tls, &w->limits,
                                       &events, &w->server, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_rpc_server_start(w->server, NULL), AB_ERR_OK);
    world_wait_link(w, AB_RPC_UP);
    assert_int_equal(w->ups, 2);
    seen_fini(&s);
}

static void a_client_gives_up_a_connection_when_told(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Hold", 0, false, &s);
    world_run_ms(w, 20);
    ab_rpc_client_reconnect(w->client);
    assert_int_equal(s.ended, 0);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_UNAVAILABLE);
    world_wait_link(w, AB_RPC_DOWN);
    world_wait_link(w, AB_RPC_UP);
    assert_int_equal(w->ups, 2);
    seen_fini(&s);
}

static bool has_link_error(void *arg)
{
    return ((world *)arg)->link_error.code != AB_ERR_OK;
}

/* The kernel accepts for it, and nobody reads. */
static void a_server_that_does_not_answer_is_given_up(void **state)
{
    world *w = *state;
    ab_error err = {0};
    int fd = -1;
    w->limits.handshake_ms = 100;
    assert_int_equal(ab_listener_open("127.0.0.1", 0, &fd, &w->port, &err), AB_ERR_OK);
    world_start_client(w);
    world_wait(w, has_link_error, w);
    if (strstr(w->link_error.text, "handshake") == NULL)
        fail_msg("%s", w->link_error.text);
    assert_int_equal(w->ups, 0);
    close(fd);
}

/* ---- TLS ---- */

static void expect_refusal(world *w, const char *text)
{
    world_start_server(w);
    world_start_client(w);
    world_wait(w, has_link_error, w);
    assert_int_equal(w->call_count, 0);
    assert_int_equal(w->ups, 0);
    if (strstr(w->link_error.text, text) == NULL)
        fail_msg("not \"%s\" but: %s", text, w->link_error.text);
}

static void a_client_without_certificate_is_refused(void **state)
{
    world *w = *state;
    w->client_tls.cert = NULL;
    w->client_tls.key = NULL;
    expect_refusal(w, "certificate required");
}

static void a_client_with_a_foreign_certificate_is_refused(void **state)
{
    world *w = *state;
    world_foreign_client(w);
    expect_refusal(w, "unknown ca");
}

static void a_client_may_come_without_certificate_where_it_is_only_asked_for(void **state)
{
    world *w = *state;
    w->server_tls.client_cert = AB_TLS_CLIENT_CERT_REQUEST;
    w->client_tls.cert = NULL;
    w->client_tls.key = NULL;
    echo_some(w, false);
    assert_string_equal(w->server_peer, "");
}

static void a_server_that_is_not_trusted_is_refused(void **state)
{
    world *w = *state;
    w->client_tls.ca = w->client_tls.cert;
    expect_refusal(w, "unable to get local issuer certificate");
}

static void a_server_of_another_name_is_refused(void **state)
{
    world *w = *state;
    w->client_tls.server_name = "principal.example.com";
    expect_refusal(w, "hostname mismatch");
}

static void plaintext_to_a_tls_server_is_refused(void **state)
{
    world *w = *state;
    w->client_tls.insecure = true;
    expect_refusal(w, "");
    assert_true(world_refused(w, "tls") >= 1);
}

static bool shows_renewed(void *arg)
{
    return world_server_shows(arg, "renewed");
}

static void certificates_are_read_again_without_dropping_calls(void **state)
{
    world *w = *state;
    seen s;
    world_copy_server_cert(w, "server");
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    world_send(&s, 10, 'x');
    world_wait_messages(w, &s, 1);
    assert_false(world_server_shows(w, "renewed"));
    world_copy_server_cert(w, "renewed");
    w->skipped_ms += 6000;
    world_wait(w, shows_renewed, w);
    assert_int_equal(w->ups, 1);
    world_send(&s, 10, 'x');
    world_wait_messages(w, &s, 2);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    seen_fini(&s);
}

static void certificates_that_do_not_load_leave_the_old_ones_in_use(void **state)
{
    world *w = *state;
    world_copy_server_cert(w, "server");
    world_start(w);
    world_copy_server_cert(w, NULL);
    w->skipped_ms += 6000;
    world_run_ms(w, 600); /* the server looks at its clock twice a second */
    assert_true(world_server_shows(w, "server"));
    world_copy_server_cert(w, "renewed");
    w->skipped_ms += 6000;
    world_wait(w, shows_renewed, w);
}

static void a_server_with_bad_settings_is_not_made(void **state)
{
    world *w = *state;
    ab_rpc_server_events events = {NULL, NULL};
    const ab_tls good = w->server_tls;
    ab_tls bad[4] = {good, good, good, good};
    bad[0].cert = "/nonexistent";
    bad[1].key = w->client_tls.key;
    bad[2].min_version = "1.1";
    bad[3].ca = NULL;
    for (size_t i = 0; i < 4; i++) {
        ab_error err = {0};
        assert_int_equal(ab_rpc_server_new(&w->env, "127.0.0.1", 0, &bad[i], &w->limits, &events,
                                           &w->server, &err),
                         AB_ERR_CONFIG);
        assert_null(w->server);
        assert_true(strlen(err.text) > 10);
    }
}

#define PLAIN(name)  cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
#define SECURE(name) cmocka_unit_test_setup_teardown(name, secure, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(messages_go_both_ways),
        PLAIN(messages_go_both_ways_compressed),
        PLAIN(a_unary_call_is_answered),
        PLAIN(a_unary_call_without_answer_is_an_error),
        PLAIN(an_unknown_method_is_unimplemented),
        PLAIN(a_status_comes_with_its_text),
        PLAIN(metadata_goes_both_ways),
        PLAIN(metadata_that_cannot_be_sent_is_refused),
        PLAIN(a_cancelled_call_ends_at_both_ends),
        PLAIN(a_call_cancelled_before_it_was_sent_ends),
        PLAIN(a_deadline_ends_a_call_at_both_ends),
        PLAIN(a_server_may_finish_before_the_client),
        PLAIN(a_full_queue_says_so_and_when_there_is_room),
        PLAIN(messages_that_were_held_come_before_the_end),
        PLAIN(a_call_cancelled_while_held_ends),
        PLAIN(a_message_past_the_limit_ends_the_call),
        PLAIN(all_calls_together_are_bounded),
        SECURE(a_64_mib_message_passes),
        PLAIN(draining_cuts_calls_off_in_the_end),
        PLAIN(a_client_comes_back),
        SECURE(a_client_comes_back),
        PLAIN(a_client_gives_up_a_connection_when_told),
        SECURE(a_client_shows_its_certificate),
        SECURE(a_client_may_come_without_certificate_where_it_is_only_asked_for),
        SECURE(a_server_that_is_not_trusted_is_refused),
        SECURE(a_server_of_another_name_is_refused),
        SECURE(certificates_are_read_again_without_dropping_calls),
        SECURE(certificates_that_do_not_load_leave_the_old_ones_in_use),
        SECURE(a_server_with_bad_settings_is_not_made),
    };
    /* A connection of several calls, and a link that is up when the server has answered. */
    const struct CMUnitTest http2[] = {
        PLAIN(a_paused_call_gets_nothing_and_stops_its_peer),
        PLAIN(a_call_is_quiet_for_as_long_as_it_listens_in_vain),
        PLAIN(calls_past_the_number_allowed_are_refused),
        PLAIN(draining_lets_calls_end),
        PLAIN(a_server_that_does_not_answer_is_given_up),
        SECURE(a_server_that_does_not_answer_is_given_up),
        SECURE(a_client_without_certificate_is_refused),
        SECURE(a_client_with_a_foreign_certificate_is_refused),
        SECURE(plaintext_to_a_tls_server_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (getenv("AB_GRPC_WEBSOCKET") == NULL)
        failed += cmocka_run_group_tests(http2, NULL, NULL);
    return failed;
}
