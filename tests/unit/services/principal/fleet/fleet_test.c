/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of each agent to be shown.
 */
#include "services/principal/fleet/fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t now_us;

static int64_t wall_us(void *arg)
{
    (void)arg;
    return now_us;
}

static const ab_clock test_clock = {wall_us, wall_us, NULL};

static int begin(void **state)
{
    now_us = 1000;
    ab_fleet *f = ab_fleet_new(&test_clock);
    *state = f;
    return f == NULL || ab_fleet_add(f, "w1") != AB_ERR_OK ||
           ab_fleet_add(f, "edge-7") != AB_ERR_OK;
}

static int end(void **state)
{
    ab_fleet_free(*state);
    return 0;
}

static const ab_fleet_agent *w1(const ab_fleet *f)
{
    return ab_fleet_find(f, AB_STR("w1"));
}

static void an_agent_is_not_heard_at_first(void **state)
{
    assert_false(w1(*state)->connected);
    assert_int_equal(w1(*state)->since_us, 0);
    assert_string_equal(w1(*state)->version, "");
    assert_int_equal(ab_fleet_started_us(*state), 1000);
}

static void it_is_connected_since_it_came_not_since_it_was_heard_again(void **state)
{
    const ab_peer peer = {.mode = "managed", .version = "1.2"};
    now_us = 2000;
    ab_fleet_note_peer(*state, "w1", &peer);
    now_us = 3000;
    ab_fleet_note_peer(*state, "w1", &peer);
    assert_true(w1(*state)->connected);
    assert_int_equal(w1(*state)->since_us, 2000);
    now_us = 4000;
    ab_fleet_note_peer(*state, "w1", NULL);
    assert_false(w1(*state)->connected);
    assert_int_equal(w1(*state)->since_us, 4000);
    assert_string_equal(w1(*state)->version, "1.2");
}

static void a_version_that_is_not_text_is_not_kept(void **state)
{
    ab_fleet_note_peer(*state, "w1", &(ab_peer){.mode = "", .version = "1\x1b[2J"});
    assert_string_equal(w1(*state)->version, "");
}

static void a_refusal_is_kept_until_it_is_taken_back(void **state)
{
    ab_fleet_note_mode(*state, "w1", "managed", "autonomous", "why");
    ab_fleet_note_mode(*state, "w1", "managed", "autonomous", "another reason");
    assert_string_equal(w1(*state)->refused, "another reason");
    ab_fleet_note_mode(*state, "w1", "managed", "managed", NULL);
    assert_null(w1(*state)->refused);
    assert_string_equal(w1(*state)->claimed, "managed");
}

static void who_is_not_served_is_not_known(void **state)
{
    ab_fleet_note_mode(*state, "w1", NULL, NULL, "why");
    ab_fleet_remove(*state, "w1");
    ab_fleet_remove(*state, "w1");
    ab_fleet_note_peer(*state, "w1", NULL);
    ab_fleet_note_mode(*state, "w1", "managed", NULL, "why");
    assert_null(w1(*state));
}

static void the_nearest_name_is_one_that_could_be_meant(void **state)
{
    assert_true(ab_str_is(ab_fleet_nearest(*state, AB_STR("edge7")), "edge-7"));
    assert_true(ab_str_is(ab_fleet_nearest(*state, AB_STR("w2")), "w1"));
    assert_null(ab_fleet_nearest(*state, AB_STR("production")).ptr);
    assert_null(ab_fleet_nearest(*state, AB_STR("xy")).ptr);
    assert_null(ab_fleet_nearest(*state, AB_STR("")).ptr);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(an_agent_is_not_heard_at_first),
        TEST(it_is_connected_since_it_came_not_since_it_was_heard_again),
        TEST(a_version_that_is_not_text_is_not_kept),
        TEST(a_refusal_is_kept_until_it_is_taken_back),
        TEST(who_is_not_served_is_not_known),
        TEST(the_nearest_name_is_one_that_could_be_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
