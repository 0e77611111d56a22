/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal's and an agent's end, joined by a transport that hands events over in the next turn
 * of the loop, and in which a test may look at, drop, repeat and change them.
 */
#include "live/lane/hub.h"
#include "live/lane/spoke.h"
#include "schema/attributes.h"
#include "tests/unit/live/identities.h"
#include "tests/unit/live/post.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "do not show this to a broker"

static const char zeros[16384];
static const ab_str BLOCK = {zeros, sizeof(zeros)};

/* What a stream has heard, at either end. */
typedef struct {
    ab_live_stream *stream;
    int status, overs, ends;
    size_t bytes;
    ab_err code;
    char text[128];
    char why[AB_ERROR_TEXT_MAX];
} ear;

typedef struct {
    uv_loop_t loop;
    ab_clock clock;
    int64_t now_ms;
    ab_metrics *metrics;
    ab_live_hub *hub;
    ab_live_spoke *spoke;
    ab_live_service services[2];
    identities sealing; /* zeros: in the clear */
    post post;
    int lost, repeated; /* how many of the next frames to the agent are lost, or come twice */
    int full;           /* how many sends to the agent are refused as FULL */
    ab_err outcome;     /* of what is sent */
    bool down;          /* sends to the agent fail */
    int admitted;
    const char *revoked; /* whose certificate is, "principal" or an agent; NULL: nobody's */
    bool leaked;         /* SECRET was seen on the way */
    int events;
    ear hub_ear, agent_ear;
} pair;

static int64_t mono_ms(void *arg)
{
    return ((pair *)arg)->now_ms;
}

static int64_t wall_us(void *arg)
{
    return ((pair *)arg)->now_ms * 1000;
}

/* ----- the way between ----- */

static ab_err put(pair *p, bool up, ab_event *event, ab_sent done, void *arg)
{
    ab_str data = ab_event_data(event);
    post_put(&p->post, up, event, done, arg);
    p->events++;
    if (data.len >= sizeof(SECRET) - 1 &&
        memmem(data.ptr, data.len, SECRET, sizeof(SECRET) - 1) != NULL)
        p->leaked = true;
    assert_true(ab_event_size(event) <= 256 * 1024);
    return AB_ERR_OK;
}

static ab_err send_down(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    pair *p = arg;
    assert_string_equal(agent, "w1");
    if (p->down)
        return AB_ERR_UNAVAILABLE;
    if (p->full > 0) {
        p->full--;
        return AB_ERR_FULL;
    }
    return put(p, false, event, done, done_arg);
}

static ab_err send_up(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    assert_null(agent);
    return put(arg, true, event, done, done_arg);
}

static void hand_over(pair *p, const letter *l)
{
    if (l->up)
        ab_live_hub_deliver(p->hub, "w1", l->event);
    else
        ab_live_spoke_deliver(p->spoke, l->event);
}

static void deliver_one(pair *p)
{
    letter *l = post_take(&p->post);
    const ab_error err = {.code = p->outcome, .text = "not sent"};
    l->done(l->arg, p->outcome, p->outcome == AB_ERR_OK ? NULL : &err);
    if (!l->up && p->lost > 0) {
        p->lost--;
    } else {
        hand_over(p, l);
        for (; !l->up && p->repeated > 0; p->repeated--)
            hand_over(p, l);
    }
    letter_free(l);
}

/* Until nothing is under way. */
static void run(pair *p)
{
    for (int i = 0; i < 100000; i++) {
        uv_run(&p->loop, UV_RUN_NOWAIT);
        if (STAILQ_EMPTY(&p->post)) {
            uv_run(&p->loop, UV_RUN_NOWAIT);
            if (STAILQ_EMPTY(&p->post))
                return;
        }
        deliver_one(p);
    }
    fail_msg("it does not come to rest");
}

/* Until the lane has had its tick. */
static void run_until_over(pair *p, const ear *e)
{
    for (int i = 0; i < 40 && e->overs == 0; i++) {
        uv_run(&p->loop, UV_RUN_ONCE);
        run(p);
    }
    assert_int_equal(e->overs, 1);
}

/* ----- who hears ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    (void)fields, (void)count;
    ((ear *)arg)->status = status;
}

static void on_data(void *arg, ab_str bytes)
{
    ear *e = arg;
    e->bytes += bytes.len;
    snprintf(e->text, sizeof(e->text), "%.*s", AB_STR_ARG(bytes));
    ab_live_stream_consumed(e->stream, bytes.len);
}

static void on_end(void *arg)
{
    ((ear *)arg)->ends++;
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ear *e = arg;
    e->overs++;
    e->code = code;
    snprintf(e->why, sizeof(e->why), "%s", err == NULL ? "" : err->text);
}

static const ab_live_handler handler = {
    .on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_over = on_over};

/* The agent answers with what it was asked. */
static void serve(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    pair *p = arg;
    char text[128];
    int len = snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(request->path));
    p->agent_ear = (ear){.stream = s};
    ab_live_stream_serve(s, &handler, &p->agent_ear);
    assert_int_equal(ab_live_stream_answer(s, 200, NULL, 0), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(s, (ab_str){text, (size_t)len}), AB_ERR_OK);
}

static ab_err admits(void *arg, const char *agent, const X509 *peer, ab_error *err)
{
    pair *p = arg;
    char name[64];
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof(name));
    p->admitted++;
    if (p->revoked != NULL && strcmp(name, p->revoked) == 0)
        return ab_fail(err, AB_ERR_DENIED, "the certificate of %s is revoked", name);
    if (strcmp(name, agent == NULL ? "principal" : agent) == 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_DENIED, "the certificate is of %s", name);
}

static ab_err ask(pair *p, const char *path)
{
    const ab_live_request r = {.service = AB_STR("echo"),
                               .method = AB_STR("GET"),
                               .path = ab_str_of(path),
                               .deadline_ms = 30000};
    ab_error err = {0};
    p->hub_ear = (ear){0};
    ab_err e =
        ab_live_hub_request(p->hub, "w1", &r, &handler, &p->hub_ear, &p->hub_ear.stream, &err);
    snprintf(p->hub_ear.why, sizeof(p->hub_ear.why), "%s", err.text);
    return e;
}

/* ----- set-up ----- */

static void open_ends(pair *p, const char *off)
{
    ab_live_lane_env env = {.loop = &p->loop,
                            .metrics = p->metrics,
                            .clock = &p->clock,
                            .source = "/principal",
                            .tls = p->sealing.folder[0] == 0 ? NULL : &p->sealing.tls[0],
                            .admits = admits,
                            .send = send_down,
                            .arg = p};
    assert_int_equal(ab_live_hub_new(&env, &p->hub), AB_ERR_OK);
    env.source = "/agent/w1";
    env.tls = env.tls == NULL ? NULL : &p->sealing.tls[1];
    env.send = send_up;
    env.off = off;
    p->services[0] = (ab_live_service){"echo", serve, p};
    assert_int_equal(ab_live_spoke_new(&env, p->services, &p->spoke), AB_ERR_OK);
    assert_int_equal(ab_live_hub_connected(p->hub, "w1"), AB_ERR_OK);
}

static int set_up(void **state)
{
    pair *p = calloc(1, sizeof(*p));
    assert_int_equal(uv_loop_init(&p->loop), 0);
    p->clock = (ab_clock){mono_ms, wall_us, p};
    p->now_ms = 1000;
    p->metrics = ab_metrics_new();
    STAILQ_INIT(&p->post);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    pair *p = *state;
    ab_live_hub_free(p->hub);
    ab_live_spoke_free(p->spoke);
    post_drop(&p->post);
    while (uv_run(&p->loop, UV_RUN_ONCE) != 0)
        ;
    assert_int_equal(uv_loop_close(&p->loop), 0);
    identities_close(&p->sealing);
    ab_metrics_free(p->metrics);
    free(p);
    return 0;
}

/* ----- tests ----- */

static void finish_both(pair *p)
{
    ab_live_stream_end(p->hub_ear.stream);
    ab_live_stream_end(p->agent_ear.stream);
    run(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_int_equal(p->hub_ear.code, AB_ERR_OK);
    assert_int_equal(p->agent_ear.overs, 1);
}

static void ask_and_run(pair *p, const char *path)
{
    assert_int_equal(ask(p, path), AB_ERR_OK);
    run(p);
}

/* A session, and one request that was answered and goes on. */
static void open_stream(pair *p)
{
    open_ends(p, NULL);
    ask_and_run(p, "/");
}

static void a_request_goes_to_the_agent_and_its_answer_comes_back(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    assert_int_equal(ask(p, "/hello?" SECRET), AB_ERR_INVALID); /* spaces */
    ask_and_run(p, "/hello");
    assert_int_equal(p->hub_ear.status, 200);
    assert_string_equal(p->hub_ear.text, "/hello");
    finish_both(p);
    int events = p->events;
    ask_and_run(p, "/again");
    assert_string_equal(p->hub_ear.text, "/again");
    assert_true(p->events - events <= 6); /* the session is there */
}

static void a_broker_sees_nothing_of_what_is_sealed(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_ends(p, NULL);
    assert_int_equal(ask(p, "/"), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR(SECRET)), AB_ERR_OK);
    run(p);
    assert_string_equal(p->agent_ear.text, SECRET);
    assert_int_equal(p->hub_ear.status, 200);
    assert_int_equal(p->admitted, 2);
    assert_false(p->leaked);
    finish_both(p);
}

static void what_is_not_sealed_would_be_seen(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    assert_int_equal(ask(p, "/"), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR(SECRET)), AB_ERR_OK);
    run(p);
    assert_true(p->leaked);
}

static void the_certificate_of_another_agent_is_refused(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w2", true);
    open_stream(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_int_equal(p->hub_ear.code, AB_ERR_UNAVAILABLE);
    assert_string_equal(p->hub_ear.why, "the certificate is of w2");
    assert_null(p->agent_ear.stream);
}

static void a_certificate_of_another_authority_is_refused(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", false);
    open_stream(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_non_null(strstr(p->hub_ear.why, "TLS handshake failed"));
    assert_null(p->agent_ear.stream);
}

/* Both ends tell who asked, and the other end takes no more. */
static void has_ended_as_revoked(pair *p, const char *why)
{
    run(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_string_equal(p->hub_ear.why, why);
    assert_int_equal(p->agent_ear.overs, 1);
    assert_string_equal(p->agent_ear.why, why);
    ask_and_run(p, "/again");
    assert_int_equal(p->hub_ear.overs, 1);
    assert_string_equal(p->hub_ear.why, why);
    assert_int_equal(p->hub_ear.status, 0);
}

static void a_session_ends_when_the_certificate_of_its_agent_is_revoked(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    ab_live_hub_recheck(p->hub);
    run(p);
    assert_int_equal(p->hub_ear.overs, 0);
    p->revoked = "w1";
    ab_live_hub_recheck(p->hub);
    has_ended_as_revoked(p, "the certificate of w1 is revoked");
}

static void a_session_ends_when_the_certificate_of_its_principal_is_revoked(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    p->revoked = "principal";
    ab_live_spoke_recheck(p->spoke);
    has_ended_as_revoked(p, "the certificate of principal is revoked");
}

static void a_session_ends_when_the_authority_of_its_agent_is_trusted_no_more(void **state)
{
    pair *p = *state;
    identities other = {0};
    identities_open(&p->sealing, "w1", true);
    identities_open(&other, "w1", true);
    open_stream(p);
    SSL_CTX *own = p->sealing.tls[0].ctx;
    p->sealing.tls[0].ctx = other.tls[0].ctx;
    ab_live_hub_recheck(p->hub);
    p->sealing.tls[0].ctx = own;
    run(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_non_null(strstr(p->hub_ear.why, "is not trusted any more"));
    identities_close(&other);
}

static void a_session_whose_other_end_is_not_known_yet_is_asked_about_it_once(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_ends(p, NULL);
    assert_int_equal(ask(p, "/"), AB_ERR_OK);
    ab_live_hub_recheck(p->hub);
    assert_int_equal(p->admitted, 0);
    run(p);
    assert_int_equal(p->admitted, 2);
    assert_int_equal(p->hub_ear.status, 200);
}

static void a_session_in_the_clear_has_no_certificate_to_revoke(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_hub_recheck(p->hub);
    run(p);
    assert_int_equal(p->admitted, 0);
    assert_int_equal(p->hub_ear.overs, 0);
}

static void a_lost_frame_ends_the_session_and_the_next_request_begins_another(void **state)
{
    pair *p = *state;
    open_stream(p);
    p->lost = 1;
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("lost")), AB_ERR_OK);
    run(p);
    assert_int_equal(p->hub_ear.overs, 0); /* nobody knows yet */
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("next")), AB_ERR_OK);
    run(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_int_equal(p->hub_ear.code, AB_ERR_UNAVAILABLE);
    assert_non_null(strstr(p->hub_ear.why, "were lost"));
    assert_int_equal(p->agent_ear.overs, 1);
    ask_and_run(p, "/again");
    assert_string_equal(p->hub_ear.text, "/again");
}

static void a_frame_that_comes_twice_is_taken_once(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    p->repeated = 2;
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("once")), AB_ERR_OK);
    run(p);
    assert_int_equal(p->agent_ear.bytes, 4);
    assert_int_equal(p->hub_ear.overs, 0);
}

static void a_frame_that_was_changed_ends_a_sealed_session(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("to be changed")), AB_ERR_OK);
    uv_run(&p->loop, UV_RUN_NOWAIT);
    letter *l = STAILQ_FIRST(&p->post);
    ab_str data = ab_event_data(l->event);
    char *copy = ab_str_dup(data);
    copy[data.len - 1] = (char)(copy[data.len - 1] ^ 1);
    ab_event *forged = event_with_data(l->event, (ab_str){copy, data.len});
    ab_event_unref(l->event);
    l->event = forged;
    free(copy);
    run(p);
    assert_int_equal(p->agent_ear.bytes, 0);
    assert_int_equal(p->agent_ear.overs, 1);
    assert_int_equal(p->hub_ear.overs, 1);
}

static void an_agent_that_was_started_since_says_so_at_once(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_spoke_free(p->spoke);
    post_drop(&p->post); /* it was killed: nobody was told */
    p->spoke = NULL;
    const ab_live_lane_env env = {.loop = &p->loop,
                                  .metrics = p->metrics,
                                  .clock = &p->clock,
                                  .source = "/agent/w1",
                                  .admits = admits,
                                  .send = send_up,
                                  .arg = p};
    assert_int_equal(ab_live_spoke_new(&env, p->services, &p->spoke), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("x")), AB_ERR_OK);
    run(p);
    assert_int_equal(p->hub_ear.overs, 1);
    assert_non_null(strstr(p->hub_ear.why, "was restarted"));
}

static void an_agent_whose_live_access_is_off_says_so(void **state)
{
    pair *p = *state;
    open_ends(p, "live access is off at the agent (live.enabled)");
    ask_and_run(p, "/");
    assert_int_equal(p->hub_ear.overs, 1);
    assert_non_null(strstr(p->hub_ear.why, "live.enabled"));
}

static void an_agent_that_does_not_answer_is_given_up(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    p->lost = 1000;
    ask_and_run(p, "/");
    p->now_ms += 16000;
    run_until_over(p, &p->hub_ear);
    assert_non_null(strstr(p->hub_ear.why, "did not answer"));
}

static void an_agent_that_is_away_is_not_asked(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_hub_disconnected(p->hub, "w1");
    assert_int_equal(p->hub_ear.overs, 1);
    assert_int_equal(p->hub_ear.code, AB_ERR_UNAVAILABLE);
    assert_int_equal(ask(p, "/"), AB_ERR_UNAVAILABLE);
    assert_string_equal(p->hub_ear.why, "agent w1 is not connected");
    assert_int_equal(ab_live_hub_connected(p->hub, "w1"), AB_ERR_OK);
    ask_and_run(p, "/");
    assert_int_equal(p->hub_ear.status, 200);
}

static void what_a_principal_has_begun_ends_with_it(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_spoke_disconnected(p->spoke);
    assert_int_equal(p->agent_ear.overs, 1);
    assert_int_equal(p->agent_ear.code, AB_ERR_UNAVAILABLE);
    run(p);
    assert_int_equal(p->hub_ear.overs, 1); /* it was there after all, and is told */
    ask_and_run(p, "/");
    assert_int_equal(p->hub_ear.status, 200);
}

static void what_finds_no_room_goes_when_there_is_some(void **state)
{
    pair *p = *state;
    open_stream(p);
    p->full = 1;
    assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("late")), AB_ERR_OK);
    run(p);
    assert_int_equal(p->agent_ear.bytes, 0);
    ab_live_hub_writable(p->hub, "w1");
    run(p);
    assert_string_equal(p->agent_ear.text, "late");
}

static void a_transport_that_fails_ends_the_session(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    p->down = true;
    ask_and_run(p, "/");
    assert_int_equal(p->hub_ear.overs, 1);
    assert_int_equal(p->hub_ear.code, AB_ERR_UNAVAILABLE);
}

static void an_agent_without_live_access_is_named_so_at_once(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    p->outcome = AB_ERR_UNSUPPORTED;
    p->lost = 1;
    ask_and_run(p, "/");
    assert_int_equal(p->hub_ear.overs, 1);
    assert_non_null(strstr(p->hub_ear.why, "too old"));
}

static void much_is_sent_in_events_of_bounded_size(void **state)
{
    pair *p = *state;
    size_t sent = 0;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    while (sent < 8 * 1024 * 1024) {
        ab_err e = ab_live_stream_send(p->hub_ear.stream, BLOCK);
        sent += e == AB_ERR_OK ? BLOCK.len : 0;
        if (e == AB_ERR_FULL)
            run(p);
    }
    run(p);
    assert_int_equal(p->agent_ear.bytes, sent);
    assert_true(p->events < 400);
}

static void turn(pair *p)
{
    for (int i = 0; i < 3; i++)
        uv_run(&p->loop, UV_RUN_NOWAIT);
}

static void what_is_small_waits_for_the_event_under_way_and_goes_together(void **state)
{
    pair *p = *state;
    identities_open(&p->sealing, "w1", true);
    open_stream(p);
    int events = p->events;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ab_live_stream_send(p->hub_ear.stream, AB_STR("x")), AB_ERR_OK);
        turn(p);
        assert_int_equal(p->events - events, 1);
    }
    run(p);
    assert_int_equal(p->agent_ear.bytes, 4);
    assert_int_equal(p->events - events, 2);
}

/* Each has 128 KiB, and the transport gets no more than 1 MiB before some of it has been sent. */
static void what_fills_an_event_does_not_wait_but_for_room(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_stream *first = p->hub_ear.stream;
    ask_and_run(p, "/");
    int events = p->events;
    for (int i = 0; i < 400; i++) {
        ab_err e = ab_live_stream_send(i % 2 == 0 ? first : p->hub_ear.stream, BLOCK);
        assert_true(e == AB_ERR_OK || e == AB_ERR_FULL);
        turn(p);
    }
    assert_in_range(p->events - events, 4, 9);
}

static void what_is_in_no_hurry_goes_together_and_all_of_it(void **state)
{
    pair *p = *state;
    open_stream(p);
    size_t before = p->hub_ear.bytes;
    int events = p->events;
    ab_live_stream_be_patient(p->agent_ear.stream);
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(ab_live_stream_send(p->agent_ear.stream, AB_STR("x")), AB_ERR_OK);
        run(p);
        assert_true(p->hub_ear.bytes > before); /* the first at once */
    }
    assert_true(p->events - events < 100);
    for (int i = 0; i < 1000 && p->hub_ear.bytes < before + 200; i++) {
        uv_run(&p->loop, UV_RUN_ONCE);
        run(p);
    }
    assert_int_equal(p->hub_ear.bytes, before + 200);
}

static void what_is_in_no_hurry_goes_at_once_when_it_is_much(void **state)
{
    pair *p = *state;
    open_stream(p);
    ab_live_stream_be_patient(p->agent_ear.stream);
    for (int i = 0; i < 20; i++) {
        size_t before = p->hub_ear.bytes;
        assert_int_equal(ab_live_stream_send(p->agent_ear.stream, BLOCK), AB_ERR_OK);
        run(p);
        assert_int_equal(p->hub_ear.bytes, before + BLOCK.len);
    }
}

static void principals_do_not_hear_each_other(void **state)
{
    pair *p = *state;
    ab_live_hub *first = NULL;
    ear first_ear;
    open_ends(p, NULL);
    ask_and_run(p, "/first");
    first = p->hub;
    first_ear = p->hub_ear;
    const ab_live_lane_env env = {.loop = &p->loop,
                                  .metrics = p->metrics,
                                  .clock = &p->clock,
                                  .source = "/principal",
                                  .admits = admits,
                                  .send = send_down,
                                  .arg = p};
    assert_int_equal(ab_live_hub_new(&env, &p->hub), AB_ERR_OK);
    assert_int_equal(ab_live_hub_connected(p->hub, "w1"), AB_ERR_OK);
    ask_and_run(p, "/second");
    assert_string_equal(p->hub_ear.text, "/second");
    assert_string_equal(first_ear.text, "/first");
    assert_int_equal(p->hub_ear.overs, 0);
    ab_live_hub_free(first);
}

/* Frame 0 of a session of a principal that is not heard of again. */
static void begin_and_forget(pair *p, int i)
{
    char id[AB_LIVE_SESSION_ID + 1];
    ab_event_draft d = {.data = AB_STR("PRI * HTTP/2.0")};
    ab_event *e = NULL;
    snprintf(id, sizeof(id), "%032x", i);
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, "/principal");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_FRAME));
    ab_event_set_text(&d, AB_CE_CORRELATIONID, id);
    ab_event_set_u64(&d, AB_CE_SEQUENCE, 0);
    assert_int_equal(ab_event_new(&d, &e, NULL), AB_ERR_OK);
    ab_live_spoke_deliver(p->spoke, e);
    ab_event_unref(e);
}

static void sessions_that_were_left_behind_make_room(void **state)
{
    pair *p = *state;
    open_ends(p, NULL);
    ask_and_run(p, "/kept");
    for (int i = 0; i < 3 * AB_LIVE_SESSIONS_MAX; i++)
        begin_and_forget(p, i);
    run(p);
    assert_int_equal(p->hub_ear.overs, 0); /* in use: it has stayed */
    finish_both(p);
}

static void an_agent_that_nobody_asks_costs_little_memory_and_no_event(void **state)
{
    pair *p = *state;
    char name[16];
    open_ends(p, NULL);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "idle-%d", i);
        assert_int_equal(ab_live_hub_connected(p->hub, name), AB_ERR_OK);
    }
    struct mallinfo2 after = mallinfo2();
    size_t each = (after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / 1000;
    print_message("%zu bytes for each agent\n", each);
    assert_true(each <= 1024); /* 0 where a sanitizer has its own allocator */
    run(p);
    assert_int_equal(p->events, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_goes_to_the_agent_and_its_answer_comes_back),
        TEST(a_broker_sees_nothing_of_what_is_sealed),
        TEST(what_is_not_sealed_would_be_seen),
        TEST(the_certificate_of_another_agent_is_refused),
        TEST(a_certificate_of_another_authority_is_refused),
        TEST(a_session_ends_when_the_certificate_of_its_agent_is_revoked),
        TEST(a_session_ends_when_the_certificate_of_its_principal_is_revoked),
        TEST(a_session_ends_when_the_authority_of_its_agent_is_trusted_no_more),
        TEST(a_session_whose_other_end_is_not_known_yet_is_asked_about_it_once),
        TEST(a_session_in_the_clear_has_no_certificate_to_revoke),
        TEST(a_lost_frame_ends_the_session_and_the_next_request_begins_another),
        TEST(a_frame_that_comes_twice_is_taken_once),
        TEST(a_frame_that_was_changed_ends_a_sealed_session),
        TEST(an_agent_that_was_started_since_says_so_at_once),
        TEST(an_agent_whose_live_access_is_off_says_so),
        TEST(an_agent_that_does_not_answer_is_given_up),
        TEST(an_agent_that_is_away_is_not_asked),
        TEST(what_a_principal_has_begun_ends_with_it),
        TEST(what_finds_no_room_goes_when_there_is_some),
        TEST(a_transport_that_fails_ends_the_session),
        TEST(an_agent_without_live_access_is_named_so_at_once),
        TEST(much_is_sent_in_events_of_bounded_size),
        TEST(what_is_small_waits_for_the_event_under_way_and_goes_together),
        TEST(what_fills_an_event_does_not_wait_but_for_room),
        TEST(what_is_in_no_hurry_goes_together_and_all_of_it),
        TEST(what_is_in_no_hurry_goes_at_once_when_it_is_much),
        TEST(principals_do_not_hear_each_other),
        TEST(sessions_that_were_left_behind_make_room),
        TEST(an_agent_that_nobody_asks_costs_little_memory_and_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
