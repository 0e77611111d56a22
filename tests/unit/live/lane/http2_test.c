/* SPDX-License-Identifier: Apache-2.0
 *
 * Both ends of a connection, joined by two buffers.
 */
#include "live/lane/stream_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 8

/* What one stream heard, at either end. */
typedef struct {
    ab_live_stream *stream;
    int status, answers, ends, overs, rooms;
    ab_err code;
    size_t bytes;
    uint64_t sum;
    bool hoards; /* gives no credits back */
    ab_buf data;
    char text[200];
} ear;

typedef struct end {
    ab_live_http2 *h2;
    struct end *peer;
    ab_buf wire; /* what was written and the peer has not read */
    size_t room;
    int works;
    ear ears[KEPT]; /* AGENT: in order of arrival */
    size_t count;
    bool refuses;
} end;

static int64_t now = 1000;

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ear *e = arg;
    e->status = status;
    e->answers++;
    ab_str type = ab_http_field_find(fields, count, "content-type");
    snprintf(e->text, sizeof(e->text), "%.*s", AB_STR_ARG(type));
}

static void on_data(void *arg, ab_str bytes)
{
    ear *e = arg;
    e->bytes += bytes.len;
    if (e->data.len + bytes.len < 4096)
        ab_buf_put(&e->data, bytes);
    if (!e->hoards)
        ab_live_stream_consumed(e->stream, bytes.len);
}

static void on_end(void *arg)
{
    ((ear *)arg)->ends++;
}

static void on_room(void *arg)
{
    ((ear *)arg)->rooms++;
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ear *e = arg;
    e->overs++;
    e->code = code;
    e->stream = NULL;
    assert_true((code == AB_ERR_OK) == (err == NULL));
}

static const ab_live_handler handler = {on_answer, on_data, on_end, on_room, on_over};

static ab_err end_write(void *arg, ab_str bytes)
{
    ab_buf_put(&((end *)arg)->wire, bytes);
    return ab_buf_status(&((end *)arg)->wire);
}

static bool end_has_room(void *arg)
{
    return ((end *)arg)->wire.len < ((end *)arg)->room;
}

static void end_on_work(void *arg)
{
    ((end *)arg)->works++;
}

static void end_on_request(void *arg, ab_live_stream *s, const ab_live_request *r)
{
    end *e = arg;
    if (e->refuses || e->count == KEPT)
        return;
    ear *heard = &e->ears[e->count++];
    heard->stream = s;
    snprintf(heard->text, sizeof(heard->text), "%.*s %.*s %.*s %.*s %d", AB_STR_ARG(r->service),
             AB_STR_ARG(r->method), AB_STR_ARG(r->path),
             AB_STR_ARG(ab_http_field_find(r->fields, r->count, "accept")), (int)r->deadline_ms);
    ab_live_stream_serve(s, &handler, heard);
}

static void end_open(end *e, end *peer, bool client)
{
    *e = (end){.peer = peer, .room = 1024 * 1024};
    ab_buf_init(&e->wire, 64 * 1024 * 1024);
    for (size_t i = 0; i < KEPT; i++)
        ab_buf_init(&e->ears[i].data, 8192);
    const ab_live_http2_env env = {
        client, end_write, end_has_room, end_on_work, end_on_work, end_on_request, e};
    assert_int_equal(ab_live_http2_new(&env, &e->h2), AB_ERR_OK);
}

static bool pass(end *from)
{
    assert_int_equal(ab_live_http2_flush(from->h2, NULL), AB_ERR_OK);
    if (from->wire.len == 0)
        return false;
    ab_error err = {0};
    ab_str bytes = ab_buf_str(&from->wire);
    assert_int_equal(ab_live_http2_receive(from->peer->h2, bytes, now, &err), AB_ERR_OK);
    ab_buf_clear(&from->wire);
    return true;
}

/* Until nothing is left to be passed on. */
static void run(end *a, end *b)
{
    int turns = 0;
    for (bool moved = true; moved; turns++) {
        moved = pass(a);
        moved = pass(b) || moved;
        assert_true(turns < 10000);
    }
}

typedef struct {
    end hub, agent;
} ends;

static int set_up(void **state)
{
    ends *p = calloc(1, sizeof(*p));
    end_open(&p->hub, &p->agent, true);
    end_open(&p->agent, &p->hub, false);
    *state = p;
    return 0;
}

static void close_end(end *e)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_UNAVAILABLE, "the way is lost");
    ab_live_http2_end(e->h2, AB_ERR_UNAVAILABLE, &err);
    e->h2 = NULL;
    ab_buf_fini(&e->wire);
    for (size_t i = 0; i < KEPT; i++)
        ab_buf_fini(&e->ears[i].data);
}

static int tear_down(void **state)
{
    ends *p = *state;
    close_end(&p->hub);
    close_end(&p->agent);
    free(p);
    return 0;
}

static ear *ask(ends *p, size_t i, int64_t deadline_ms)
{
    const ab_http_field fields[] = {{AB_STR("accept"), AB_STR("application/json")}};
    const ab_live_request r = {.service = AB_STR("kubernetes"),
                               .method = AB_STR("GET"),
                               .path = AB_STR("/api/v1/pods?limit=1"),
                               .fields = fields,
                               .count = 1,
                               .deadline_ms = deadline_ms};
    ear *e = &p->hub.ears[i];
    ab_err rc = ab_live_http2_begin(p->hub.h2, &r, now, &handler, e, &e->stream);
    assert_int_equal(rc, AB_ERR_OK);
    return e;
}

static void a_request_is_answered(void **state)
{
    ends *p = *state;
    ear *hub = ask(p, 0, 5000);
    assert_int_equal(ab_live_stream_send(hub->stream, AB_STR("question")), AB_ERR_OK);
    ab_live_stream_end(hub->stream);
    run(&p->hub, &p->agent);
    ear *agent = &p->agent.ears[0];
    assert_string_equal(agent->text, "kubernetes GET /api/v1/pods?limit=1 application/json 5000");
    assert_true(ab_str_is(ab_buf_str(&agent->data), "question"));
    assert_int_equal(agent->ends, 1);
    const ab_http_field fields[] = {{AB_STR("content-type"), AB_STR("text/plain")}};
    assert_int_equal(ab_live_stream_answer(agent->stream, 404, fields, 1), AB_ERR_OK);
    assert_int_equal(ab_live_stream_answer(agent->stream, 200, NULL, 0), AB_ERR_CLOSED);
    assert_int_equal(ab_live_stream_send(agent->stream, AB_STR("answer")), AB_ERR_OK);
    ab_live_stream_end(agent->stream);
    assert_int_equal(ab_live_stream_send(agent->stream, AB_STR("x")), AB_ERR_CLOSED);
    run(&p->hub, &p->agent);
    assert_int_equal(hub->status, 404);
    assert_int_equal(hub->answers, 1);
    assert_string_equal(hub->text, "text/plain");
    assert_true(ab_str_is(ab_buf_str(&hub->data), "answer"));
    assert_int_equal(hub->overs, 1);
    assert_int_equal(hub->code, AB_ERR_OK);
    assert_int_equal(agent->overs, 1);
    assert_int_equal(agent->code, AB_ERR_OK);
    assert_int_equal(ab_live_http2_streams(p->hub.h2), 0);
    assert_int_equal(ab_live_http2_streams(p->agent.h2), 0);
}

/* Sends until FULL or `max`; returns how many bytes were taken. */
static size_t pour(end *from, end *to, ab_live_stream *s, size_t max)
{
    static const char block[16384];
    size_t taken = 0;
    while (taken < max) {
        ab_err e = ab_live_stream_send(s, (ab_str){block, sizeof(block)});
        if (e == AB_ERR_OK) {
            taken += sizeof(block);
            continue;
        }
        assert_int_equal(e, AB_ERR_FULL);
        size_t before = to->ears[0].bytes;
        run(from, to);
        if (to->ears[0].bytes == before)
            break;
    }
    return taken;
}

static void who_does_not_consume_gets_no_more_and_holds_up_no_other(void **state)
{
    ends *p = *state;
    ear *slow = ask(p, 0, 0);
    ear *quick = ask(p, 1, 0);
    slow->hoards = true;
    run(&p->hub, &p->agent);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ab_live_stream_answer(p->agent.ears[i].stream, 200, NULL, 0), AB_ERR_OK);
    size_t taken = pour(&p->agent, &p->hub, p->agent.ears[0].stream, 8 * 1024 * 1024);
    assert_in_range(taken, 1024 * 1024, 1536 * 1024);
    assert_int_equal(slow->bytes, 1024 * 1024);
    assert_int_equal(p->agent.ears[0].rooms, taken > 0 ? p->agent.ears[0].rooms : -1);
    assert_int_equal(ab_live_stream_send(p->agent.ears[1].stream, AB_STR("at once")), AB_ERR_OK);
    run(&p->hub, &p->agent);
    assert_true(ab_str_is(ab_buf_str(&quick->data), "at once"));
    int rooms = p->agent.ears[0].rooms;
    ab_live_stream_consumed(slow->stream, 1024 * 1024);
    run(&p->hub, &p->agent);
    assert_true(slow->bytes > 1024 * 1024);
    assert_true(p->agent.ears[0].rooms > rooms);
}

static void much_goes_through_in_full(void **state)
{
    ends *p = *state;
    ear *hub = ask(p, 0, 0);
    run(&p->hub, &p->agent);
    assert_int_equal(ab_live_stream_answer(p->agent.ears[0].stream, 200, NULL, 0), AB_ERR_OK);
    size_t taken = pour(&p->agent, &p->hub, p->agent.ears[0].stream, 64 * 1024 * 1024);
    run(&p->hub, &p->agent);
    assert_int_equal(taken, 64 * 1024 * 1024);
    assert_int_equal(hub->bytes, taken);
}

static void a_cancelled_stream_ends_at_the_other_end_only(void **state)
{
    ends *p = *state;
    ear *hub = ask(p, 0, 0);
    run(&p->hub, &p->agent);
    ab_live_stream_cancel(hub->stream);
    run(&p->hub, &p->agent);
    assert_int_equal(p->agent.ears[0].overs, 1);
    assert_int_equal(p->agent.ears[0].code, AB_ERR_UNAVAILABLE);
    assert_int_equal(hub->overs, 0);
    assert_int_equal(ab_live_http2_streams(p->hub.h2), 0);
    /* before anything of it was sent, too */
    hub = ask(p, 1, 0);
    ab_live_stream_cancel(hub->stream);
    run(&p->hub, &p->agent);
    assert_int_equal(p->agent.count, 1);
    assert_int_equal(hub->overs, 0);
    assert_int_equal(ab_live_http2_streams(p->hub.h2), 0);
}

static void a_deadline_ends_both_ends(void **state)
{
    ends *p = *state;
    ear *hub = ask(p, 0, 500);
    ear *other = ask(p, 1, 0);
    ab_error err = {0};
    run(&p->hub, &p->agent);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now + 499, &err), AB_ERR_OK);
    run(&p->hub, &p->agent);
    assert_int_equal(hub->overs, 0);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now + 500, &err), AB_ERR_OK);
    run(&p->hub, &p->agent);
    assert_int_equal(hub->overs, 1);
    assert_int_equal(hub->code, AB_ERR_TIMEOUT);
    assert_int_equal(p->agent.ears[0].overs, 1);
    assert_int_equal(other->overs, 0);
}

static void what_is_not_served_is_refused(void **state)
{
    ends *p = *state;
    p->agent.refuses = true;
    ear *hub = ask(p, 0, 0);
    run(&p->hub, &p->agent);
    assert_int_equal(hub->overs, 1);
    assert_int_equal(hub->code, AB_ERR_FULL);
}

static void when_the_way_is_lost_every_stream_is_told(void **state)
{
    ends *p = *state;
    ear *first = ask(p, 0, 0), *second = ask(p, 1, 0);
    run(&p->hub, &p->agent);
    close_end(&p->hub);
    assert_int_equal(first->overs, 1);
    assert_int_equal(second->overs, 1);
    assert_int_equal(first->code, AB_ERR_UNAVAILABLE);
}

static void no_more_streams_are_begun_than_there_may_be(void **state)
{
    ends *p = *state;
    const ab_live_request r = {
        .service = AB_STR("x"), .method = AB_STR("GET"), .path = AB_STR("/")};
    ab_live_stream *s = NULL;
    ear *e = &p->hub.ears[0];
    for (int i = 0; i < AB_LIVE_STREAMS_MAX; i++)
        assert_int_equal(ab_live_http2_begin(p->hub.h2, &r, now, &handler, e, &s), AB_ERR_OK);
    assert_int_equal(ab_live_http2_begin(p->hub.h2, &r, now, &handler, e, &s), AB_ERR_FULL);
}

/* Whatever the other end is. */
static void an_agent_allows_so_many_streams_and_a_principal_none(void **state)
{
    const nghttp2_settings_id id = NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS;
    ends *p = *state;
    run(&p->hub, &p->agent);
    assert_int_equal(nghttp2_session_get_remote_settings(p->hub.h2->ng, id), AB_LIVE_STREAMS_MAX);
    assert_int_equal(nghttp2_session_get_remote_settings(p->agent.h2->ng, id), 0);
}

static void a_request_that_cannot_be_sent_is_invalid(void **state)
{
    ends *p = *state;
    const ab_http_field fields[] = {{AB_STR("accept"), AB_STR("a\r\nb: c")}};
    ab_live_request r = {.service = AB_STR("x"),
                         .method = AB_STR("GET"),
                         .path = AB_STR("/"),
                         .fields = fields,
                         .count = 1};
    ab_live_stream *s = NULL;
    ear *e = &p->hub.ears[0];
    assert_int_equal(ab_live_http2_begin(p->hub.h2, &r, now, &handler, e, &s), AB_ERR_INVALID);
    r.count = 0;
    r.path = AB_STR("/a\nb");
    assert_int_equal(ab_live_http2_begin(p->hub.h2, &r, now, &handler, e, &s), AB_ERR_INVALID);
}

static void a_silent_end_is_pinged_and_then_dead(void **state)
{
    ends *p = *state;
    ab_error err = {0};
    (void)ask(p, 0, 0);
    run(&p->hub, &p->agent);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now, &err), AB_ERR_OK);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now + 16000, &err), AB_ERR_OK);
    assert_int_equal(ab_live_http2_flush(p->hub.h2, NULL), AB_ERR_OK);
    assert_true(p->hub.wire.len > 0); /* the ping */
    ab_buf_clear(&p->hub.wire);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now + 44000, &err), AB_ERR_OK);
    assert_int_equal(ab_live_http2_tick(p->hub.h2, now + 46000, &err), AB_ERR_UNAVAILABLE);
}

static void what_is_no_http2_is_invalid(void **state)
{
    ends *p = *state;
    ab_error err = {0};
    ab_err e = ab_live_http2_receive(p->agent.h2, AB_STR("GET / HTTP/1.1\r\n\r\n"), now, &err);
    assert_int_equal(e, AB_ERR_INVALID);
}

/* Not when the other end speaks again, which takes a ping and its answer. */
static void what_is_no_frame_ends_it_at_once(void **state)
{
    ends *p = *state;
    ab_error err = {0};
    (void)ask(p, 0, 0);
    run(&p->hub, &p->agent);
    const ab_str frame = AB_STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"); /* of 16 MiB */
    assert_int_equal(ab_live_http2_receive(p->hub.h2, frame, now, &err), AB_ERR_OK);
    assert_int_equal(ab_live_http2_flush(p->hub.h2, &err), AB_ERR_INVALID);
    assert_string_equal(err.text, "the agent ended the live session, or sent invalid HTTP/2");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_answered),
        TEST(who_does_not_consume_gets_no_more_and_holds_up_no_other),
        TEST(much_goes_through_in_full),
        TEST(a_cancelled_stream_ends_at_the_other_end_only),
        TEST(a_deadline_ends_both_ends),
        TEST(what_is_not_served_is_refused),
        TEST(when_the_way_is_lost_every_stream_is_told),
        TEST(no_more_streams_are_begun_than_there_may_be),
        TEST(an_agent_allows_so_many_streams_and_a_principal_none),
        TEST(a_request_that_cannot_be_sent_is_invalid),
        TEST(a_silent_end_is_pinged_and_then_dead),
        TEST(what_is_no_http2_is_invalid),
        TEST(what_is_no_frame_ends_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
