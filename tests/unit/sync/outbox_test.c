/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/outbox.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct box {
    ab_outbox *o;
    int64_t now; /* mono_ms */
    int safe[8]; /* how often each token came back */
};

static void on_safe(void *arg, void *token)
{
    (void)arg;
    ++*(int *)token;
}

static int setup(void **state)
{
    static struct box box;
    box = (struct box){.o = ab_outbox_new(on_safe, NULL)};
    *state = &box;
    return box.o == NULL;
}

static int teardown(void **state)
{
    struct box *b = *state;
    ab_outbox_free(b->o);
    return 0;
}

static void put_state(struct box *b, const char *object, uint64_t version, int *token)
{
    ab_event *event = sample_event(object, "{}", version);
    assert_int_equal(ab_outbox_put(b->o, ab_str_of(object), event, false, token, b->now),
                     AB_ERR_OK);
    ab_event_unref(event);
}

static void put_command(struct box *b, const char *object, uint64_t version)
{
    ab_event *event = sample_command("c", version);
    assert_int_equal(ab_outbox_put(b->o, ab_str_of(object), event, true, NULL, b->now), AB_ERR_OK);
    ab_event_unref(event);
}

static uint64_t version_of(const ab_outgoing *g)
{
    uint64_t version = 0;
    assert_non_null(g);
    assert_int_equal(ab_event_attr_u64(ab_outgoing_event(g), "objversion", &version), AB_ERR_OK);
    return version;
}

/* Send one event, which must be this one. */
static void send(struct box *b, uint64_t version)
{
    ab_outgoing *g = ab_outbox_next(b->o, b->now);
    assert_int_equal(version_of(g), version);
    ab_outbox_done(b->o, g, AB_ERR_OK, b->now);
}

static void an_empty_outbox_gives_nothing(void **state)
{
    struct box *b = *state;
    assert_null(ab_outbox_next(b->o, 0));
    assert_int_equal(ab_outbox_count(b->o), 0);
}

static void a_newer_state_replaces_one_that_waits(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    put_state(b, "a", 2, &b->safe[2]);
    assert_int_equal(ab_outbox_count(b->o), 1);
    assert_int_equal(b->safe[1], 1);
    assert_int_equal(b->safe[2], 0);
    send(b, 2);
    assert_int_equal(b->safe[2], 1);
    assert_null(ab_outbox_next(b->o, 0));
}

static void a_state_in_flight_is_not_replaced(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    ab_outgoing *g = ab_outbox_next(b->o, 0);
    put_state(b, "a", 2, NULL);
    assert_int_equal(b->safe[1], 0);
    assert_int_equal(version_of(g), 1);
    ab_outbox_done(b->o, g, AB_ERR_OK, 0);
    send(b, 2);
}

static void one_event_of_an_object_is_in_flight_at_a_time(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, NULL);
    put_command(b, "a", 2);
    put_state(b, "b", 3, NULL);
    ab_outgoing *first = ab_outbox_next(b->o, 0);
    ab_outgoing *other = ab_outbox_next(b->o, 0);
    assert_int_equal(version_of(first), 1);
    assert_int_equal(version_of(other), 3);
    assert_null(ab_outbox_next(b->o, 0));
    ab_outbox_done(b->o, first, AB_ERR_OK, 0);
    send(b, 2);
    ab_outbox_done(b->o, other, AB_ERR_OK, 0);
}

static void commands_are_neither_replaced_nor_overtaken(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, NULL);
    put_command(b, "a", 2);
    put_command(b, "a", 3);
    put_state(b, "a", 4, NULL);
    put_state(b, "a", 5, NULL);
    assert_int_equal(ab_outbox_count(b->o), 4);
    for (uint64_t v = 1; v <= 5; v++)
        if (v != 4)
            send(b, v);
    assert_int_equal(ab_outbox_count(b->o), 0);
}

static void a_failed_send_stays_at_the_head_of_its_lane(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    put_command(b, "a", 2);
    ab_outgoing *g = ab_outbox_next(b->o, 0);
    ab_outbox_done(b->o, g, AB_ERR_TIMEOUT, 0);
    assert_int_equal(b->safe[1], 0);
    g = ab_outbox_next(b->o, 100000);
    assert_int_equal(version_of(g), 1);
    ab_outbox_done(b->o, g, AB_ERR_OK, 100000);
    assert_int_equal(b->safe[1], 1);
}

static void a_failed_state_is_dropped_when_a_newer_one_waits(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    ab_outgoing *g = ab_outbox_next(b->o, 0);
    put_state(b, "a", 2, NULL);
    ab_outbox_done(b->o, g, AB_ERR_UNAVAILABLE, 0);
    assert_int_equal(b->safe[1], 1);
    assert_int_equal(ab_outbox_count(b->o), 1);
    g = ab_outbox_next(b->o, 100000);
    assert_int_equal(version_of(g), 2);
    ab_outbox_done(b->o, g, AB_ERR_OK, 100000);
}

static void a_failed_command_is_kept_when_a_state_waits_behind_it(void **state)
{
    struct box *b = *state;
    put_command(b, "a", 1);
    ab_outgoing *g = ab_outbox_next(b->o, 0);
    put_state(b, "a", 2, NULL);
    ab_outbox_done(b->o, g, AB_ERR_UNAVAILABLE, 0);
    g = ab_outbox_next(b->o, 100000);
    assert_int_equal(version_of(g), 1);
    ab_outbox_done(b->o, g, AB_ERR_OK, 100000);
}

static void a_failure_pauses_everything_for_a_while_that_grows(void **state)
{
    struct box *b = *state;
    int64_t now = 0, last = 0;
    put_state(b, "a", 1, NULL);
    put_state(b, "b", 2, NULL);
    for (int i = 0; i < 4; i++) {
        ab_outgoing *g = ab_outbox_next(b->o, now);
        assert_non_null(g);
        ab_outbox_done(b->o, g, AB_ERR_UNAVAILABLE, now);
        int64_t pause = ab_outbox_paused_until(b->o) - now;
        assert_true(pause > 0);
        assert_null(ab_outbox_next(b->o, now + pause - 1));
        if (i == 3)
            assert_true(pause > last);
        if (i == 0)
            last = pause;
        now += pause;
    }
}

static void failures_that_come_together_are_one_failure(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, NULL);
    put_state(b, "b", 2, NULL);
    ab_outgoing *first = ab_outbox_next(b->o, 0);
    ab_outgoing *second = ab_outbox_next(b->o, 0);
    ab_outbox_done(b->o, first, AB_ERR_UNAVAILABLE, 0);
    int64_t until = ab_outbox_paused_until(b->o);
    ab_outbox_done(b->o, second, AB_ERR_UNAVAILABLE, 0);
    assert_int_equal(ab_outbox_paused_until(b->o), until);
}

/* Fails once at this time; @return how long nothing is sent then */
static int64_t fail_once(struct box *b, int64_t now)
{
    ab_outbox_done(b->o, ab_outbox_next(b->o, now), AB_ERR_UNAVAILABLE, now);
    return ab_outbox_paused_until(b->o) - now;
}

static void a_send_that_succeeds_makes_the_pause_short_again(void **state)
{
    struct box *b = *state;
    int64_t now = 0;
    put_state(b, "a", 1, NULL);
    while (fail_once(b, now) < 5000)
        now = ab_outbox_paused_until(b->o);
    now = ab_outbox_paused_until(b->o);
    ab_outbox_done(b->o, ab_outbox_next(b->o, now), AB_ERR_OK, now);
    put_state(b, "a", 2, NULL);
    assert_in_range(fail_once(b, now), 1, 100);
}

static void what_can_never_be_sent_ends_and_is_safe(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    put_state(b, "b", 2, NULL);
    ab_outgoing *g = ab_outbox_next(b->o, 0);
    ab_outbox_done(b->o, g, AB_ERR_TOOBIG, 0);
    assert_int_equal(b->safe[1], 1);
    assert_int_equal(ab_outbox_paused_until(b->o), 0);
    send(b, 2);
    assert_int_equal(ab_outbox_count(b->o), 0);
}

static void what_the_transport_did_not_take_comes_first_again(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, NULL);
    put_state(b, "b", 2, NULL);
    ab_outbox_return(b->o, ab_outbox_next(b->o, 0));
    assert_int_equal(ab_outbox_count(b->o), 2);
    send(b, 1);
    send(b, 2);
}

static void what_was_returned_may_be_replaced(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, NULL);
    ab_outbox_return(b->o, ab_outbox_next(b->o, 0));
    put_state(b, "a", 2, NULL);
    assert_int_equal(ab_outbox_count(b->o), 1);
    send(b, 2);
}

static void objects_take_turns(void **state)
{
    struct box *b = *state;
    put_command(b, "a", 1);
    put_command(b, "a", 2);
    put_command(b, "b", 3);
    send(b, 1);
    send(b, 3);
    send(b, 2);
}

static void it_may_be_freed_with_events_in_flight(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[1]);
    put_command(b, "a", 2);
    assert_non_null(ab_outbox_next(b->o, 0));
    ab_outbox_free(b->o);
    assert_int_equal(b->safe[1], 0);
    b->o = NULL;
}

static void what_is_dropped_is_given_back(void **state)
{
    struct box *b = *state;
    put_state(b, "a", 1, &b->safe[0]);
    put_state(b, "b", 2, &b->safe[1]);
    assert_non_null(ab_outbox_next(b->o, 0));
    put_state(b, "a", 3, &b->safe[2]);
    ab_outbox_drop(b->o);
    for (int i = 0; i < 3; i++)
        assert_int_equal(b->safe[i], 1);
    assert_int_equal(ab_outbox_count(b->o), 0);
    assert_null(ab_outbox_next(b->o, 0));
    put_state(b, "a", 4, NULL);
    assert_int_equal(version_of(ab_outbox_next(b->o, 0)), 4);
}

static void count_up(void *arg, const ab_event *event)
{
    uint64_t version = 0;
    uint64_t *last = arg;
    assert_int_equal(ab_event_attr_u64(event, "objversion", &version), AB_ERR_OK);
    assert_int_equal(version, *last + 1);
    *last = version;
}

static void all_that_waits_or_is_in_flight_can_be_looked_at(void **state)
{
    struct box *b = *state;
    uint64_t last = 0;
    put_state(b, "a", 1, NULL);
    assert_non_null(ab_outbox_next(b->o, 0));
    put_state(b, "a", 2, NULL);
    put_command(b, "a", 3);
    ab_outbox_each(b->o, count_up, &last);
    assert_int_equal(last, 3);
}

static void assert_lane(const struct box *b, const char *lane)
{
    ab_str found = ab_outbox_lane_of(b->o, AB_STR("cmd/c"));
    if (lane == NULL)
        assert_null(found.ptr);
    else
        assert_true(ab_str_is(found, lane));
}

/* Wherever the two lanes are: what comes next is to be behind what the object's lane has. */
static void the_lane_of_a_key_is_its_objects_before_its_own(void **state)
{
    static const char *const objects[] = {"a", "b", "c", "d", "e", "f"};
    struct box *b = *state;
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        assert_lane(b, NULL);
        put_state(b, "cmd/c", 1, NULL);
        assert_lane(b, "cmd/c");
        put_command(b, objects[i], 2);
        assert_lane(b, objects[i]);
        ab_outbox_drop(b->o);
    }
}

static void only_a_state_of_an_object_tells_what_becomes_of_it(void **state)
{
    struct box *b = *state;
    put_command(b, "A", 1);
    assert_false(ab_outbox_has(b->o, AB_STR("A")));
    put_state(b, "A", 2, NULL);
    put_command(b, "A", 3);
    assert_true(ab_outbox_has(b->o, AB_STR("A")));
    assert_false(ab_outbox_has(b->o, AB_STR("B")));
    send(b, 1);
    send(b, 2);
    assert_false(ab_outbox_has(b->o, AB_STR("A")));
    send(b, 3);
}

static size_t size_of_state(const char *object, uint64_t version)
{
    ab_event *event = sample_event(object, "{}", version);
    size_t bytes = ab_event_size(event);
    ab_event_unref(event);
    return bytes;
}

static void it_knows_the_bytes_of_what_it_holds(void **state)
{
    struct box *b = *state;
    assert_int_equal(ab_outbox_bytes(b->o), 0);
    put_state(b, "a", 1, NULL);
    put_state(b, "bb", 2, NULL);
    assert_int_equal(ab_outbox_bytes(b->o), size_of_state("a", 1) + size_of_state("bb", 2));
    put_state(b, "a", 1000000, NULL); /* in place of the other */
    assert_true(size_of_state("a", 1000000) > size_of_state("a", 1));
    assert_int_equal(ab_outbox_bytes(b->o), size_of_state("a", 1000000) + size_of_state("bb", 2));
    send(b, 1000000);
    assert_int_equal(ab_outbox_bytes(b->o), size_of_state("bb", 2));
    ab_outbox_drop(b->o);
    assert_int_equal(ab_outbox_bytes(b->o), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* --- very many changes --- */

/* So many changes of one object that still waits; versions from 1. */
static void put_many(struct box *b, const char *object, uint64_t count)
{
    for (uint64_t version = 1; version <= count; version++)
        put_state(b, object, version, NULL);
}

static void what_changes_again_and_again_rests_between_its_states(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    send(b, 251);
    put_state(b, "a", 252, &b->safe[1]);
    put_state(b, "a", 253, &b->safe[2]);
    assert_int_equal(b->safe[1], 1);
    b->now = 499;
    assert_null(ab_outbox_next(b->o, b->now));
    b->now = 500;
    send(b, 253);
    assert_int_equal(b->safe[2], 1);
}

static void others_do_not_rest_meanwhile(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    send(b, 251);
    put_state(b, "a", 252, NULL);
    put_state(b, "b", 1, NULL);
    send(b, 1);
    assert_null(ab_outbox_next(b->o, b->now));
}

static void what_waits_behind_a_state_in_flight_rests_too(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    ab_outgoing *g = ab_outbox_next(b->o, b->now);
    put_state(b, "a", 252, NULL);
    ab_outbox_done(b->o, g, AB_ERR_OK, b->now);
    assert_null(ab_outbox_next(b->o, b->now));
    b->now = 500;
    send(b, 252);
}

static void fewer_changes_go_at_once(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 250);
    send(b, 250);
    b->now = 1000;
    put_many(b, "a", 250);
    send(b, 250);
    put_state(b, "a", 251, NULL);
    assert_non_null(ab_outbox_next(b->o, b->now)); /* 251 in this second */
}

static void they_are_many_until_a_second_has_fewer(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    b->now = 1999;
    put_state(b, "a", 252, NULL);
    send(b, 252);
    put_state(b, "a", 253, NULL);
    b->now = 2498;
    assert_null(ab_outbox_next(b->o, b->now));
    b->now = 2999; /* the second that began at 1999 had two */
    send(b, 253);
    put_state(b, "a", 254, NULL);
    send(b, 254);
}

static void a_command_ends_the_rest(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    send(b, 251);
    put_state(b, "a", 252, NULL);
    put_command(b, "a", 253);
    send(b, 252);
    send(b, 253);
}

static void a_failed_send_is_no_rest(void **state)
{
    struct box *b = *state;
    put_many(b, "a", 251);
    ab_outbox_done(b->o, ab_outbox_next(b->o, 0), AB_ERR_UNAVAILABLE, 0);
    b->now = 100;
    send(b, 251);
}

static void what_the_ends_tell_of_themselves_does_not_rest(void **state)
{
    struct box *b = *state;
    put_many(b, "ctl/resync", 251);
    send(b, 251);
    put_state(b, "ctl/resync", 252, NULL);
    send(b, 252);
}

static void it_is_idle_when_all_is_sent_and_rested(void **state)
{
    struct box *b = *state;
    assert_true(ab_outbox_is_idle(b->o));
    put_many(b, "a", 251);
    assert_false(ab_outbox_is_idle(b->o));
    send(b, 251);
    assert_int_equal(ab_outbox_count(b->o), 0);
    assert_false(ab_outbox_is_idle(b->o));
    assert_null(ab_outbox_next(b->o, 500));
    assert_true(ab_outbox_is_idle(b->o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_outbox_gives_nothing),
        TEST(it_knows_the_bytes_of_what_it_holds),
        TEST(a_newer_state_replaces_one_that_waits),
        TEST(a_state_in_flight_is_not_replaced),
        TEST(one_event_of_an_object_is_in_flight_at_a_time),
        TEST(commands_are_neither_replaced_nor_overtaken),
        TEST(a_failed_send_stays_at_the_head_of_its_lane),
        TEST(a_failed_state_is_dropped_when_a_newer_one_waits),
        TEST(a_failed_command_is_kept_when_a_state_waits_behind_it),
        TEST(a_failure_pauses_everything_for_a_while_that_grows),
        TEST(failures_that_come_together_are_one_failure),
        TEST(a_send_that_succeeds_makes_the_pause_short_again),
        TEST(what_can_never_be_sent_ends_and_is_safe),
        TEST(what_the_transport_did_not_take_comes_first_again),
        TEST(what_was_returned_may_be_replaced),
        TEST(objects_take_turns),
        TEST(what_is_dropped_is_given_back),
        TEST(all_that_waits_or_is_in_flight_can_be_looked_at),
        TEST(the_lane_of_a_key_is_its_objects_before_its_own),
        TEST(it_may_be_freed_with_events_in_flight),
        TEST(only_a_state_of_an_object_tells_what_becomes_of_it),
        TEST(what_changes_again_and_again_rests_between_its_states),
        TEST(others_do_not_rest_meanwhile),
        TEST(what_waits_behind_a_state_in_flight_rests_too),
        TEST(fewer_changes_go_at_once),
        TEST(they_are_many_until_a_second_has_fewer),
        TEST(a_command_ends_the_rest),
        TEST(a_failed_send_is_no_rest),
        TEST(what_the_ends_tell_of_themselves_does_not_rest),
        TEST(it_is_idle_when_all_is_sent_and_rested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
