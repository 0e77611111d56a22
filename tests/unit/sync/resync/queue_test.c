/* SPDX-License-Identifier: Apache-2.0
 *
 * When each of several agents has its resync: agents that hold nothing, and a role that does
 * nothing.
 */
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "sync/resync/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define AGENTS    5
#define MAX       2
#define PERIOD_MS 3600000
#define ANSWER_MS 30000
#define TURN_MS   60000
#define MOST_MS   300000  /* of a turn while others wait */
#define LONG_MS   3600000 /* and of one at a time */
#define STEP_MS   20000   /* an agent that says something as often is not given up */
#define RETRY_MS  600000

struct agent {
    ab_resync_turn turn;
    ab_writer *writer;
    bool ready;
    int agreed, failed;
};

static struct {
    int64_t ms;
    ab_clock clock;
    ab_resync_queue queue;
    struct agent agents[AGENTS];
    size_t pages; /* of an agent that holds much */
} t;

/* --- a role --- */

static bool is_ready(void *arg)
{
    return ((const struct agent *)arg)->ready;
}

static ab_err hold(void *arg, ab_inventory *inv)
{
    (void)arg;
    (void)inv;
    return AB_ERR_OK;
}

static void expect(void *arg, ab_inventory *inv)
{
    (void)hold(arg, inv);
}

static void tell(void *arg, ab_resync_message *m)
{
    (void)arg;
    m->namespace = AB_STR("argocd");
}

static bool heard(void *arg, const ab_event *event, const ab_resync_message *m)
{
    struct agent *a = arg;
    (void)event;
    if (m->step == AB_RESYNC_ASK)
        ab_resync_queue_again(&a->turn, "asked");
    return true;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void over(void *arg, const char *why)
{
    struct agent *a = arg;
    a->agreed += why == NULL;
    a->failed += why != NULL;
    ab_resync_queue_over(&a->turn, why);
    ab_resync_queue_go(&t.queue);
}

static void refuse(void *arg, const ab_event *event, const char *why)
{
    (void)arg;
    (void)event;
    fail_msg("%s", why);
}

static void late(void *arg)
{
    struct agent *a = arg;
    ab_resync_queue_late(&a->turn);
}

static const ab_resync_role role = {is_ready, hold, expect, tell,    heard,
                                    nothing,  over, refuse, nothing, late};

/* --- time, and agents --- */

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return t.ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return t.ms * 1000;
}

static void pass(int64_t ms)
{
    t.ms += ms;
    ab_resync_queue_tick(&t.queue);
}

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.ms = 1000000;
    t.pages = 4;
    t.clock = (ab_clock){mono_ms, wall_us, NULL};
    ab_resync_queue_init(&t.queue,
                         &(ab_resync_env){.role = &role, .clock = &t.clock, .principal_uid = "p"},
                         PERIOD_MS, MAX);
    for (size_t i = 0; i < AGENTS; i++) {
        struct agent *a = &t.agents[i];
        a->ready = true;
        a->writer = ab_writer_new(&(ab_writer_env){.clock = &t.clock, .source = "s", .agent = "w"});
        assert_non_null(a->writer);
        ab_writer_ready(a->writer, 1);
        ab_resync_queue_join(&t.queue, &a->turn, a, a->writer, "w");
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < AGENTS; i++) {
        ab_resync_queue_leave(&t.agents[i].turn);
        ab_writer_free(t.agents[i].writer);
    }
    return 0;
}

static void due(size_t agent)
{
    ab_resync_queue_due(&t.agents[agent].turn, "test");
}

static bool is_running(size_t agent)
{
    return t.agents[agent].turn.resync.state != AB_RESYNC_IDLE;
}

static void say(size_t agent, ab_resync_message *m)
{
    ab_resync *r = &t.agents[agent].turn.resync;
    ab_buf data;
    ab_event *event = NULL;
    m->id = ab_str_of(r->id[0] == '\0' ? "a" : r->id);
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_message_encode(m, &data);
    ab_event_draft d = {.data = ab_buf_str(&data)};
    ab_event_set_text(&d, "id", "1");
    ab_event_set_text(&d, "source", "s");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_RESYNC));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, AB_KEY_RESYNC);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_resync_take(r, event);
    ab_event_unref(event);
    ab_buf_fini(&data);
}

/* An agent says that it holds much, on pages that all differ. */
static ab_inventory *much(void)
{
    static char keys[16 * 256][32];
    ab_inventory *inv = ab_inventory_new();
    assert_non_null(inv);
    for (size_t i = 0; i < 16 * t.pages; i++) {
        snprintf(keys[i], sizeof(keys[i]), "Application/w/%zu", i);
        ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(keys[i])});
    }
    assert_int_equal(ab_inventory_divide(inv, t.pages), AB_ERR_OK);
    return inv;
}

static void answer_much(size_t agent)
{
    ab_inventory *inv = much();
    say(agent, &(ab_resync_message){.step = AB_RESYNC_ANSWER, .summary = ab_inventory_sum(inv)});
    ab_inventory_free(inv);
}

static void say_page(size_t agent, size_t page)
{
    ab_inventory *inv = much();
    say(agent, &(ab_resync_message){.step = AB_RESYNC_PAGE, .page = page, .inventory = inv});
    ab_inventory_free(inv);
}

/* It holds nothing either: both agree. */
static void answer(size_t agent)
{
    ab_inventory *none = ab_inventory_new();
    assert_non_null(none);
    assert_int_equal(ab_inventory_divide(none, 0), AB_ERR_OK);
    say(agent, &(ab_resync_message){.step = AB_RESYNC_ANSWER, .summary = ab_inventory_sum(none)});
    ab_inventory_free(none);
}

/* --- the tests --- */

static void no_more_than_allowed_run_at_once_and_the_next_follows(void **state)
{
    (void)state;
    for (size_t i = 0; i < AGENTS; i++)
        due(i);
    for (size_t i = 0; i < AGENTS; i++) {
        assert_int_equal(t.queue.running_count, i + MAX <= AGENTS ? MAX : AGENTS - i);
        assert_true(is_running(i));
        answer(i);
        assert_int_equal(t.agents[i].agreed, 1);
        assert_false(is_running(i));
    }
    assert_int_equal(t.queue.running_count, 0);
}

static void an_agent_that_is_not_ready_holds_no_other_up(void **state)
{
    (void)state;
    t.agents[0].ready = false;
    due(0);
    due(1);
    assert_false(is_running(0));
    assert_true(is_running(1));
    t.agents[0].ready = true;
    ab_resync_queue_sort(&t.agents[0].turn);
    ab_resync_queue_go(&t.queue);
    assert_true(is_running(0));
}

static void one_that_became_unready_while_it_waited_is_not_begun(void **state)
{
    (void)state;
    for (size_t i = 0; i <= MAX; i++)
        due(i);
    t.agents[MAX].ready = false;
    answer(0);
    assert_false(is_running(MAX));
    due(MAX + 1);
    assert_true(is_running(MAX + 1));
}

static void without_an_answer_it_is_begun_again_later(void **state)
{
    (void)state;
    due(0);
    pass(ANSWER_MS - 1);
    assert_true(is_running(0));
    pass(1);
    assert_false(is_running(0));
    assert_int_equal(t.queue.running_count, 0);
    pass(RETRY_MS);
    assert_true(is_running(0));
    assert_int_equal(t.queue.running_count, 1);
}

static void after_an_agreement_the_next_failure_is_the_first_again(void **state)
{
    (void)state;
    due(0);
    for (int i = 0; i < 10; i++) {
        pass(ANSWER_MS);
        assert_false(is_running(0));
        pass(RETRY_MS);
        assert_true(is_running(0));
    }
    answer(0);
    due(0);
    pass(ANSWER_MS);
    assert_false(is_running(0));
    pass(ANSWER_MS);
    assert_true(is_running(0));
}

static void what_is_due_meanwhile_follows_at_once(void **state)
{
    (void)state;
    due(0);
    due(0);
    answer(0);
    assert_int_equal(t.agents[0].agreed, 1);
    assert_true(is_running(0));
    answer(0);
    assert_false(is_running(0));
}

static void one_is_held_again_when_the_period_is_over(void **state)
{
    (void)state;
    pass(PERIOD_MS);
    assert_false(is_running(0)); /* there was none yet */
    due(0);
    answer(0);
    pass(PERIOD_MS - 1);
    assert_false(is_running(0));
    pass(1);
    assert_true(is_running(0));
}

static void an_agent_that_asks_again_and_again_waits_a_little(void **state)
{
    (void)state;
    say(0, &(ab_resync_message){.step = AB_RESYNC_ASK});
    assert_true(is_running(0));
    say(0, &(ab_resync_message){.step = AB_RESYNC_ASK});
    assert_false(is_running(0));
    pass(1000);
    assert_true(is_running(0));
}

/* It read its log from the beginning. */
static void an_answer_to_one_that_is_over_has_another_one_follow(void **state)
{
    (void)state;
    due(0);
    answer(0);
    answer(0);
    pass(999);
    assert_false(is_running(0));
    pass(1);
    assert_true(is_running(0));
    answer(0);
    assert_int_equal(t.agents[0].agreed, 2);
}

static void an_answer_that_comes_too_late_makes_no_failure_shorter(void **state)
{
    (void)state;
    due(0);
    pass(ANSWER_MS);
    answer(0);
    pass(1000); /* an agent that asked would have one now */
    assert_false(is_running(0));
    pass(RETRY_MS);
    assert_true(is_running(0));
}

static void an_agent_that_leaves_makes_room(void **state)
{
    (void)state;
    for (size_t i = 0; i <= MAX; i++)
        due(i);
    assert_false(is_running(MAX));
    ab_resync_queue_leave(&t.agents[0].turn);
    pass(0);
    assert_true(is_running(MAX));
}

static void what_does_not_count_does_not_keep_a_turn(void **state)
{
    (void)state;
    due(0);
    pass(ANSWER_MS - 1);
    say(0, &(ab_resync_message){.step = AB_RESYNC_TAKEN}); /* none was sent */
    say_page(0, 0);                                        /* none is known to differ */
    pass(1);
    assert_false(is_running(0));
    pass(RETRY_MS);
    answer_much(0);
    pass(STEP_MS);
    say_page(0, 0);
    pass(ANSWER_MS - 1);
    answer_much(0);
    say_page(0, 0);
    say(0, &(ab_resync_message){.step = AB_RESYNC_TAKEN});
    assert_true(is_running(0));
    pass(1);
    assert_false(is_running(0));
}

/* An agent that is slow, and says something now and then: 1 ms before TURN_MS. */
static void take_a_turn(size_t agent)
{
    pass(STEP_MS);
    answer_much(agent);
    pass(STEP_MS);
    say_page(agent, 0);
    pass(TURN_MS - 2 * STEP_MS - 1);
    assert_true(is_running(agent));
}

static void as_long_as_nobody_waits_a_turn_may_take_its_time(void **state)
{
    (void)state;
    due(0);
    take_a_turn(0);
    pass(1);
    assert_true(is_running(0));
    for (size_t page = 1; page < 4; page++) {
        assert_true(is_running(0));
        say_page(0, page);
        pass(STEP_MS);
    }
    assert_int_equal(t.agents[0].agreed, 1);
}

static void a_long_turn_gives_way_to_those_that_wait(void **state)
{
    (void)state;
    t.queue.max = 1;
    due(0);
    due(1);
    take_a_turn(0);
    assert_false(is_running(1));
    pass(1);
    assert_false(is_running(0));
    assert_int_equal(t.queue.running_count, 1);
    assert_true(is_running(1));
    assert_int_equal(t.agents[0].failed, 0);
    answer(1);
    assert_true(is_running(0)); /* behind it */
    answer(0);
    assert_int_equal(t.agents[0].agreed, 1);
}

static void where_there_is_room_a_long_turn_goes_on(void **state)
{
    (void)state;
    t.agents[1].ready = false;
    due(0);
    due(1);
    take_a_turn(0);
    t.agents[1].ready = true;
    ab_resync_queue_sort(&t.agents[1].turn);
    pass(1);
    assert_true(is_running(1));
    for (size_t page = 1; page < 4; page++)
        say_page(0, page);
    assert_int_equal(t.agents[0].agreed, 1);
}

static void a_turn_that_was_too_short_is_longer_the_next_time(void **state)
{
    (void)state;
    t.queue.max = 1;
    due(0);
    due(1);
    take_a_turn(0);
    pass(1);
    answer(1);
    due(1);
    take_a_turn(0);
    pass(1);
    say_page(0, 1);
    pass(STEP_MS);
    say_page(0, 2);
    assert_true(is_running(0));
    say_page(0, 3);
    assert_int_equal(t.agents[0].agreed, 1);
    assert_true(is_running(1));
    answer(1);
    due(0);
    due(1);
    take_a_turn(0);
    pass(1);
    assert_true(is_running(1)); /* it is short again */
}

/* More than there is room for, which never say anything. */
static void others_come(bool come)
{
    for (size_t i = 2; i < AGENTS; i++) {
        t.agents[i].ready = come;
        ab_resync_queue_stop(&t.agents[i].turn);
        if (come)
            due(i);
    }
}

/* An agent that says a page every STEP_MS, of more than it has time for; others wait. */
static void take_long(size_t agent, int64_t ms)
{
    answer_much(agent);
    for (size_t page = 0; (int64_t)page * STEP_MS < ms && is_running(agent); page++) {
        others_come(true);
        say_page(agent, page);
        pass(STEP_MS);
    }
}

/* Its turns were too short, up to the longest. */
static void come_to_the_longest(size_t agent)
{
    t.queue.max = 1;
    due(agent);
    while (t.agents[agent].turn.turn_ms < MOST_MS) {
        take_long(agent, MOST_MS);
        assert_false(is_running(agent));
        others_come(false);
        pass(0);
        assert_true(is_running(agent));
    }
    ab_resync_queue_stop(&t.agents[agent].turn);
    t.queue.max = MAX;
}

static void one_for_which_the_longest_turn_is_too_short_runs_on(void **state)
{
    (void)state;
    t.pages = 64;
    come_to_the_longest(0);
    due(0);
    take_long(0, MOST_MS + 10 * STEP_MS);
    assert_true(is_running(0));
    assert_int_equal(t.queue.running_count, MAX);
    for (size_t page = 25; page < t.pages; page++) {
        others_come(true);
        say_page(0, page);
        pass(STEP_MS);
    }
    assert_int_equal(t.agents[0].agreed, 1);
    assert_null(t.queue.longest);
}

static void where_one_may_run_at_a_time_none_runs_on(void **state)
{
    (void)state;
    t.pages = 64;
    come_to_the_longest(0);
    t.queue.max = 1;
    due(0);
    take_long(0, MOST_MS + STEP_MS);
    assert_false(is_running(0));
}

static void one_that_runs_on_comes_to_an_end_too(void **state)
{
    (void)state;
    t.pages = 256;
    come_to_the_longest(0);
    due(0);
    take_long(0, LONG_MS + STEP_MS);
    assert_false(is_running(0));
    assert_int_equal(t.agents[0].agreed, 0);
    assert_null(t.queue.longest);
}

static void no_more_than_one_runs_on(void **state)
{
    (void)state;
    t.pages = 64;
    come_to_the_longest(0);
    come_to_the_longest(1);
    due(0);
    due(1);
    answer_much(1);
    answer_much(0);
    for (size_t page = 0; is_running(0) && is_running(1); page++) {
        assert_true((int64_t)page * STEP_MS < MOST_MS);
        others_come(true);
        say_page(0, page);
        say_page(1, page);
        pass(STEP_MS);
    }
    assert_true(is_running(0) != is_running(1));
    assert_int_equal(t.queue.running_count, MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_more_than_allowed_run_at_once_and_the_next_follows),
        TEST(an_agent_that_is_not_ready_holds_no_other_up),
        TEST(one_that_became_unready_while_it_waited_is_not_begun),
        TEST(without_an_answer_it_is_begun_again_later),
        TEST(after_an_agreement_the_next_failure_is_the_first_again),
        TEST(what_is_due_meanwhile_follows_at_once),
        TEST(one_is_held_again_when_the_period_is_over),
        TEST(an_agent_that_asks_again_and_again_waits_a_little),
        TEST(an_answer_to_one_that_is_over_has_another_one_follow),
        TEST(an_answer_that_comes_too_late_makes_no_failure_shorter),
        TEST(an_agent_that_leaves_makes_room),
        TEST(what_does_not_count_does_not_keep_a_turn),
        TEST(as_long_as_nobody_waits_a_turn_may_take_its_time),
        TEST(a_long_turn_gives_way_to_those_that_wait),
        TEST(where_there_is_room_a_long_turn_goes_on),
        TEST(a_turn_that_was_too_short_is_longer_the_next_time),
        TEST(where_one_may_run_at_a_time_none_runs_on),
        TEST(one_for_which_the_longest_turn_is_too_short_runs_on),
        TEST(one_that_runs_on_comes_to_an_end_too),
        TEST(no_more_than_one_runs_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
