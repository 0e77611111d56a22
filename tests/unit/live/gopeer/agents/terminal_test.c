/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a terminal of an argocd-agent lasts. The test is the viewer, and the transport with its
 * side call; half an hour passes because the test makes the loop's timer due.
 */
#include "live/gopeer/agents/agents.h"
#include "live/gopeer/wire/side.h"
#include "live/resource/messages.h"
#include "live/resource/service.h"
#include "schema/attributes.h"
#include "transport/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC     "/api/v1/namespaces/web/pods/a/exec?command=sh&stdin=true&stdout=true&tty=true"
#define LIMIT_MS (30 * 60 * 1000)

typedef struct {
    uv_loop_t loop;
    ab_metrics *metrics;
    ab_live_hub *hub;
    ab_gopeer_agents *agents;
    char asked[64]; /* id of the request that the agent got */
    ab_side side;
    int cancels, finishes;
    ab_live_stream *stream; /* the viewer's; NULL: over */
    int status;
    bool ended;
    ab_resource_messages shown;
} fixture;

/* ----- the transport ----- */

static ab_err send_to_agent(void *arg, const char *agent, ab_event *event)
{
    fixture *f = arg;
    assert_string_equal(agent, "w1");
    snprintf(f->asked, sizeof(f->asked), "%.*s", AB_STR_ARG(ab_event_attr(event, AB_CE_EVENTID)));
    return AB_ERR_OK;
}

static ab_err send_session(void *arg, const char *agent, ab_event *event, ab_sent done,
                           void *done_arg)
{
    return ab_gopeer_agents_send(((fixture *)arg)->agents, agent, event, done, done_arg);
}

static ab_err side_send(ab_side *side, ab_str bytes)
{
    (void)side, (void)bytes;
    return AB_ERR_OK;
}

static void side_flow(ab_side *side)
{
    (void)side;
}

static void side_finish(ab_side *side)
{
    AB_LINK_OF(side, fixture, side)->finishes++;
}

static void side_cancel(ab_side *side)
{
    AB_LINK_OF(side, fixture, side)->cancels++;
}

static const ab_side_ops ops = {side_send, side_flow, side_flow, side_finish, side_cancel};

/* ----- the viewer ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    (void)fields, (void)count;
    ((fixture *)arg)->status = status;
}

static void on_data(void *arg, ab_str bytes)
{
    fixture *f = arg;
    assert_int_equal(ab_resource_messages_feed(&f->shown, bytes), AB_ERR_OK);
    ab_live_stream_consumed(f->stream, bytes.len);
}

static void on_end(void *arg)
{
    ((fixture *)arg)->ended = true;
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code, (void)err;
    ((fixture *)arg)->stream = NULL;
}

static const ab_live_handler handler = {
    .on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_over = on_over};

/* ----- time ----- */

static void run(fixture *f)
{
    for (int i = 0; i < 50; i++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void find_far(uv_handle_t *handle, void *out)
{
    const uv_timer_t *timer = (const uv_timer_t *)handle;
    if (handle->type == UV_TIMER && uv_is_active(handle) &&
        uv_timer_get_due_in(timer) > LIMIT_MS / 2)
        *(uv_handle_t **)out = handle;
}

/* The timer that is due in half an hour; NULL: none. */
static uv_timer_t *far_timer(fixture *f)
{
    uv_handle_t *far = NULL;
    uv_walk(&f->loop, find_far, &far);
    return (uv_timer_t *)far;
}

static void let_half_an_hour_pass(fixture *f)
{
    uv_timer_t *timer = far_timer(f);
    assert_non_null(timer);
    assert_in_range(uv_timer_get_due_in(timer), LIMIT_MS - 60000, LIMIT_MS);
    assert_int_equal(uv_timer_start(timer, timer->timer_cb, 0, 0), 0);
    run(f);
}

/* ----- life ----- */

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    *state = f;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    f->metrics = ab_metrics_new();
    ab_resource_messages_init(&f->shown);
    const ab_live_lane_env lane = {.loop = &f->loop,
                                   .metrics = f->metrics,
                                   .clock = &ab_clock_real,
                                   .source = AB_SOURCE_PRINCIPAL,
                                   .send = send_session,
                                   .arg = f};
    assert_int_equal(ab_live_hub_new(&lane, &f->hub), AB_ERR_OK);
    const ab_gopeer_agents_env env = {.loop = &f->loop,
                                      .metrics = f->metrics,
                                      .clock = &ab_clock_real,
                                      .hub = f->hub,
                                      .send = send_to_agent,
                                      .arg = f};
    assert_int_equal(ab_gopeer_agents_new(&env, &f->agents), AB_ERR_OK);
    assert_int_equal(ab_gopeer_agents_add(f->agents, "w1", "managed"), AB_ERR_OK);
    assert_int_equal(ab_live_hub_connected(f->hub, "w1"), AB_ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_live_hub_stop(f->hub);
    ab_gopeer_agents_free(f->agents);
    f->agents = NULL;
    ab_live_hub_free(f->hub);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&f->loop);
    ab_resource_messages_fini(&f->shown);
    ab_metrics_free(f->metrics);
    free(f);
    return rc;
}

/* The agent's call comes, and the viewer has its terminal. */
static void open_terminal(fixture *f)
{
    ab_buf first;
    const ab_live_request request = {
        .service = AB_STR(AB_RESOURCE_EXEC_SERVICE), .method = AB_STR("GET"), .path = AB_STR(EXEC)};
    assert_int_equal(ab_live_hub_request(f->hub, "w1", &request, &handler, f, &f->stream, NULL),
                     AB_ERR_OK);
    run(f);
    assert_string_not_equal(f->asked, "");
    ab_buf_init(&first, 1024);
    ab_gopeer_wire_put_side(AB_SIDE_TERMINAL,
                            &(ab_gopeer_side_message){.uuid = ab_str_of(f->asked)}, &first);
    f->side.ops = &ops;
    assert_int_equal(
        ab_gopeer_agents_take_side(f->agents, "w1", AB_SIDE_TERMINAL, &f->side, ab_buf_str(&first)),
        AB_ERR_OK);
    run(f);
    assert_int_equal(f->status, 200);
    ab_buf_fini(&first);
}

static void agent_says(fixture *f, const ab_gopeer_side_message *m)
{
    ab_buf message;
    ab_buf_init(&message, AB_GOPEER_SIDE_MAX);
    ab_gopeer_wire_put_side(AB_SIDE_TERMINAL, m, &message);
    assert_int_equal(ab_buf_status(&message), AB_ERR_OK);
    f->side.handler->on_message(f->side.arg, ab_buf_str(&message));
    run(f);
    ab_buf_fini(&message);
}

static void assert_shown(fixture *f, char channel, const char *text)
{
    ab_str message = AB_STR_NONE;
    assert_int_equal(ab_resource_messages_next(&f->shown, &message), AB_ERR_OK);
    assert_true(message.len > 0);
    assert_int_equal(message.ptr[0], channel);
    assert_non_null(memmem(message.ptr, message.len, text, strlen(text)));
    ab_resource_messages_drop(&f->shown, message);
}

/* ----- tests ----- */

static void a_terminal_in_use_ends_after_30_minutes_and_the_viewer_is_told(void **state)
{
    fixture *f = *state;
    open_terminal(f);
    agent_says(f, &(ab_gopeer_side_message){.uuid = ab_str_of(f->asked),
                                            .data = AB_STR("busy"),
                                            .stream = AB_STR("stdout")});
    assert_shown(f, AB_GOPEER_STDOUT, "busy");
    let_half_an_hour_pass(f);
    assert_int_equal(f->cancels, 1); /* what runs in the container ends */
    assert_shown(f, AB_GOPEER_STATUS, "\"code\":504");
    assert_true(f->ended);
}

static void a_terminal_that_has_ended_is_not_ended_again(void **state)
{
    fixture *f = *state;
    open_terminal(f);
    agent_says(f, &(ab_gopeer_side_message){.uuid = ab_str_of(f->asked), .eof = true});
    assert_shown(f, AB_GOPEER_STATUS, "\"Success\"");
    assert_int_equal(f->finishes, 1);
    assert_true(f->ended);
    ab_live_stream_end(f->stream);
    run(f);
    assert_null(f->stream);
    assert_null(far_timer(f));
    assert_int_equal(f->cancels, 0);
}

/* All of a message but its data: nothing. One byte of it more would not be read. */
static void the_largest_message_is_shown_whole(void **state)
{
    fixture *f = *state;
    size_t len = AB_GOPEER_SIDE_MAX - 4; /* the tag, and the length */
    char *data = calloc(1, len);
    ab_str message = AB_STR_NONE;
    assert_non_null(data);
    open_terminal(f);
    agent_says(f, &(ab_gopeer_side_message){
                      .uuid = AB_STR(""), .data = {data, len}, .stream = AB_STR("")});
    for (int turns = 0; turns < 1000 && message.ptr == NULL; turns++) {
        run(f);
        assert_int_equal(ab_resource_messages_next(&f->shown, &message), AB_ERR_OK);
    }
    assert_int_equal(message.len, len + 1);
    assert_int_equal(message.ptr[0], AB_GOPEER_STDOUT);
    assert_non_null(f->stream);
    free(data);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_terminal_in_use_ends_after_30_minutes_and_the_viewer_is_told),
        TEST(a_terminal_that_has_ended_is_not_ended_again),
        TEST(the_largest_message_is_shown_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
