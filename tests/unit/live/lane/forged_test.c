/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames that an agent or a broker says again, changes, or says in the place of somebody else,
 * where nothing is sealed: they reach nobody else's request, and cost no more than their own
 * session.
 */
#include "schema/attributes.h"
#include "tests/unit/live/joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 32

typedef struct {
    joined ends;
    ab_live_service services[2];
    ab_live_stream *asked;  /* at the agent; NULL: over */
    ab_live_stream *stream; /* of the principal; NULL: over */
    ab_err code;
    char text[64];
    int served;        /* requests at the agent */
    bool is_recording; /* what the principal sends is kept, too */
    bool is_holding;   /* what the agent sends is kept, and not delivered */
    ab_event *kept[KEPT_MAX];
    size_t count;
} fixture;

/* ----- the agent ----- */

static void on_asked_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code, (void)err;
    ((fixture *)arg)->asked = NULL;
}

static const ab_live_handler at_agent = {.on_over = on_asked_over};

static void serve(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    fixture *f = arg;
    (void)request;
    f->asked = s;
    f->served++;
    ab_live_stream_serve(s, &at_agent, f);
}

static bool keep(void *arg, bool up, ab_event *event)
{
    fixture *f = arg;
    if (up ? !f->is_holding : !f->is_recording)
        return false;
    assert_true(f->count < KEPT_MAX);
    f->kept[f->count++] = ab_event_ref(event);
    return up;
}

static void answer(fixture *f, const char *text)
{
    assert_int_equal(ab_live_stream_answer(f->asked, 200, NULL, 0), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(f->asked, ab_str_of(text)), AB_ERR_OK);
}

/* ----- the principal ----- */

static void on_data(void *arg, ab_str bytes)
{
    fixture *f = arg;
    snprintf(f->text, sizeof(f->text), "%.*s", AB_STR_ARG(bytes));
    ab_live_stream_consumed(f->stream, bytes.len);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    fixture *f = arg;
    (void)err;
    f->stream = NULL;
    f->code = code;
}

static const ab_live_handler at_principal = {.on_data = on_data, .on_over = on_over};

static void ask(fixture *f)
{
    const ab_live_request request = {
        .service = AB_STR("test"), .method = AB_STR("GET"), .path = AB_STR("/")};
    f->text[0] = '\0';
    assert_int_equal(
        ab_live_hub_request(f->ends.hub, "w1", &request, &at_principal, f, &f->stream, NULL),
        AB_ERR_OK);
    JOINED_WAIT(&f->ends, f->asked != NULL);
}

static void turn(fixture *f)
{
    for (int i = 0; i < 50; i++)
        joined_turn(&f->ends);
}

/* What was kept is delivered as from this agent, and kept on. */
static void deliver(fixture *f, const char *agent)
{
    for (size_t i = 0; i < f->count; i++)
        ab_live_hub_deliver(f->ends.hub, agent, f->kept[i]);
    turn(f);
}

/* The first thing that the principal said in the session that was recorded, said in this one. */
static void say_in(fixture *f, const char *session, ab_type type)
{
    ab_event_draft d = {.data = ab_event_data(f->kept[0])};
    ab_event *event = NULL;
    ab_event_set_text(&d, AB_CE_ID, "forged");
    ab_event_set_text(&d, AB_CE_SOURCE, "principal");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_LIVE));
    ab_event_set_text(&d, AB_CE_CORRELATIONID, session);
    ab_event_set_u64(&d, AB_CE_SEQUENCE, 0);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_live_spoke_deliver(f->ends.spoke, event);
    ab_event_unref(event);
    turn(f);
}

/* ----- life ----- */

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    *state = f;
    f->services[0] = (ab_live_service){"test", serve, f};
    joined_open(&f->ends, f->services);
    f->ends.take = keep;
    f->ends.take_arg = f;
    assert_int_equal(ab_live_hub_connected(f->ends.hub, "w2"), AB_ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < f->count; i++)
        ab_event_unref(f->kept[i]);
    int rc = joined_close(&f->ends);
    free(f);
    return rc;
}

/* ----- tests ----- */

static void an_agent_cannot_speak_in_the_session_of_another(void **state)
{
    fixture *f = *state;
    ask(f);
    f->is_holding = true;
    answer(f, "of w1");
    JOINED_WAIT(&f->ends, f->count > 0);
    turn(f);
    deliver(f, "w2");
    deliver(f, "w3"); /* whom nobody knows */
    assert_string_equal(f->text, "");
    assert_non_null(f->stream);
    deliver(f, "w1");
    assert_string_equal(f->text, "of w1");
}

static void what_is_said_again_is_taken_once(void **state)
{
    fixture *f = *state;
    ask(f);
    f->is_holding = true;
    answer(f, "once");
    JOINED_WAIT(&f->ends, f->count > 0);
    turn(f);
    deliver(f, "w1");
    assert_string_equal(f->text, "once");
    f->text[0] = '\0';
    deliver(f, "w1");
    assert_string_equal(f->text, "");
    assert_non_null(f->stream);
    f->is_holding = false;
    assert_int_equal(ab_live_stream_send(f->asked, AB_STR("and more")), AB_ERR_OK);
    JOINED_WAIT(&f->ends, strcmp(f->text, "and more") == 0);
}

static void what_a_session_that_is_over_said_reaches_no_other(void **state)
{
    fixture *f = *state;
    ask(f);
    f->is_holding = true;
    answer(f, "old");
    JOINED_WAIT(&f->ends, f->count > 0);
    turn(f);
    ab_live_hub_disconnected(f->ends.hub, "w1");
    ab_live_spoke_disconnected(f->ends.spoke);
    JOINED_WAIT(&f->ends, f->stream == NULL && f->asked == NULL);
    f->is_holding = false;
    assert_int_equal(ab_live_hub_connected(f->ends.hub, "w1"), AB_ERR_OK);
    ask(f);
    deliver(f, "w1");
    assert_string_equal(f->text, "");
    assert_non_null(f->stream);
    answer(f, "new");
    JOINED_WAIT(&f->ends, strcmp(f->text, "new") == 0);
}

static void what_is_not_a_frame_ends_the_session_and_the_next_request_begins_another(void **state)
{
    static const char *const garbage[] = {
        "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* a frame of 16 MiB */
        "\x01\x01\x01\x01\x04\x01\x01\x01\x03" /* headers of a stream that nobody opened */
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        size_t before = f->count;
        ask(f);
        f->is_holding = true;
        answer(f, "true");
        JOINED_WAIT(&f->ends, f->count > before);
        ab_event *forged = event_with_data(f->kept[before], ab_str_of(garbage[i]));
        ab_live_hub_deliver(f->ends.hub, "w1", forged);
        ab_event_unref(forged);
        f->is_holding = false;
        JOINED_WAIT(&f->ends, f->stream == NULL && f->asked == NULL);
        assert_int_equal(f->code, AB_ERR_UNAVAILABLE);
        assert_string_equal(f->text, "");
    }
    ask(f);
    answer(f, "again");
    JOINED_WAIT(&f->ends, strcmp(f->text, "again") == 0);
}

static void sessions_in_use_give_way_to_no_other(void **state)
{
    char session[AB_LIVE_SESSION_ID + 1];
    fixture *f = *state;
    f->is_recording = true;
    ask(f);
    f->is_recording = false;
    ab_live_stream *first = f->asked;
    for (int i = 1; i < AB_LIVE_SESSIONS_MAX; i++) {
        snprintf(session, sizeof(session), "%0*x", AB_LIVE_SESSION_ID, i);
        say_in(f, session, AB_TYPE_FRAME);
        assert_int_equal(f->served, i + 1);
    }
    size_t before = f->count;
    f->is_holding = true;
    snprintf(session, sizeof(session), "%0*x", AB_LIVE_SESSION_ID, AB_LIVE_SESSIONS_MAX);
    say_in(f, session, AB_TYPE_FRAME);
    assert_int_equal(f->count, before + 1);
    assert_non_null(strstr(ab_event_data(f->kept[before]).ptr, "too many live sessions"));
    say_in(f, session, AB_TYPE_CLOSE); /* begins none, and needs no answer */
    assert_int_equal(f->count, before + 1);
    assert_int_equal(f->served, AB_LIVE_SESSIONS_MAX);
    f->is_holding = false;
    f->asked = first;
    answer(f, "of the first");
    JOINED_WAIT(&f->ends, strcmp(f->text, "of the first") == 0);
}

static void what_names_no_session_begins_none(void **state)
{
    static const char *const names[] = {"", "0", "0123456789ABCDEF0123456789ABCDEF",
                                        "0123456789abcdef0123456789abcdef0"};
    fixture *f = *state;
    f->is_recording = true;
    ask(f);
    f->is_recording = false;
    turn(f); /* the agent's own settings */
    size_t before = f->count;
    f->is_holding = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        say_in(f, names[i], AB_TYPE_FRAME);
    assert_int_equal(f->served, 1);
    assert_int_equal(f->count, before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_agent_cannot_speak_in_the_session_of_another),
        TEST(what_is_said_again_is_taken_once),
        TEST(what_a_session_that_is_over_said_reaches_no_other),
        TEST(what_is_not_a_frame_ends_the_session_and_the_next_request_begins_another),
        TEST(sessions_in_use_give_way_to_no_other),
        TEST(what_names_no_session_begins_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
