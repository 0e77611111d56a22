/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/topics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"

static void a_topic_names_prefix_direction_agent_and_lane(void **state)
{
    (void)state;
    char out[AB_TOPIC_NAME_MAX];
    assert_true(ab_topic_format("argobus", AB_DOWN, "w1", false, out));
    assert_string_equal(out, "argobus.down.w1.state");
    assert_true(ab_topic_format("argobus", AB_UP, "w1", true, out));
    assert_string_equal(out, "argobus.up.w1.live");
}

static void what_was_formatted_is_parsed_back(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"argobus", "a.b", "X_1-y", "down", "a.down.b"};
    static const char *const agents[] = {"w1", "a", "a-b", "down", "state", LABEL_63};
    for (size_t i = 0; i < 5 * 6 * 4; i++) {
        const char *prefix = prefixes[i / 24];
        const char *agent = agents[i / 4 % 6];
        ab_direction direction = i % 2 == 0 ? AB_DOWN : AB_UP;
        bool live = i % 4 >= 2;
        char topic[AB_TOPIC_NAME_MAX], parsed_agent[64];
        ab_direction parsed_direction;
        bool parsed_live;
        assert_true(ab_topic_format(prefix, direction, agent, live, topic));
        assert_true(ab_topic_parse(prefix, topic, &parsed_direction, parsed_agent, &parsed_live));
        assert_int_equal(parsed_direction, direction);
        assert_string_equal(parsed_agent, agent);
        assert_int_equal(parsed_live, live);
    }
}

static void a_bad_prefix_or_agent_makes_no_name(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "w1"},         {"a b", "w1"},
        {"a/b", "w1"},      {"\xc3\xa4", "w1"},
        {"argobus", ""},    {"argobus", "w1.w2"},
        {"argobus", "W1"},  {"argobus", "-w"},
        {"argobus", "w_1"}, {"argobus", LABEL_63 "4"},
        {"argobus", NULL},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char out[AB_TOPIC_NAME_MAX] = "before";
        assert_false(ab_topic_format(bad[i][0], AB_DOWN, bad[i][1], false, out));
        assert_string_equal(out, "");
        memcpy(out, "before", 7);
        assert_false(ab_group_agent(bad[i][0], bad[i][1], out));
        assert_string_equal(out, "");
    }
}

static void a_name_is_249_bytes_long_at_most(void **state)
{
    (void)state;
    char prefix[AB_TOPIC_NAME_MAX], out[AB_TOPIC_NAME_MAX];
    /* ".down.w1.state" has 14 bytes, ".principal" 10. */
    memset(prefix, 'p', sizeof(prefix));
    prefix[249 - 14] = '\0';
    assert_true(ab_topic_format(prefix, AB_DOWN, "w1", false, out));
    assert_int_equal(strlen(out), 249);
    prefix[249 - 14] = 'p';
    prefix[249 - 13] = '\0';
    assert_false(ab_topic_format(prefix, AB_DOWN, "w1", false, out));
    assert_string_equal(out, "");
    assert_true(ab_group_principal(prefix, out));
    prefix[249 - 13] = 'p';
    prefix[249 - 9] = '\0';
    assert_false(ab_group_principal(prefix, out));
    assert_string_equal(out, "");
}

static void a_topic_that_is_not_ours_is_not_parsed(void **state)
{
    (void)state;
    static const char *const topics[] = {
        "",
        "argobus",
        "argobus.down.w1",
        "argobus.down.w1.",
        "argobus.down.w1.stat",
        "argobus.down.w1.states",
        "argobus.down.w1.live.x",
        "argobus.down..state",
        "argobus.down.W1.state",
        "argobus.down.w1.w2.state",
        "argobus.sideways.w1.state",
        "argobus.Down.w1.state",
        "argobus2.down.w1.state",
        "other.down.w1.state",
        "xargobus.down.w1.state",
        "argobus.down." LABEL_63 "4.state",
    };
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        ab_direction direction;
        char agent[64];
        bool live;
        assert_false(ab_topic_parse("argobus", topics[i], &direction, agent, &live));
    }
}

static void one_prefix_does_not_see_the_topics_of_another(void **state)
{
    (void)state;
    ab_direction direction;
    char agent[64];
    bool live;
    assert_false(ab_topic_parse("argobus", "argobus.eu.down.w1.state", &direction, agent, &live));
    assert_false(ab_topic_parse("argobus.eu", "argobus.down.w1.state", &direction, agent, &live));
    assert_true(ab_topic_parse("argobus.eu", "argobus.eu.down.w1.state", &direction, agent, &live));
}

static void the_groups_are_named_by_prefix_and_agent(void **state)
{
    (void)state;
    char out[AB_TOPIC_NAME_MAX];
    assert_true(ab_group_agent("argobus", "w1", out));
    assert_string_equal(out, "argobus.agent.w1");
    assert_true(ab_group_principal("argobus", out));
    assert_string_equal(out, "argobus.principal");
    assert_false(ab_group_principal("", out));
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_names_prefix_direction_agent_and_lane),
        cmocka_unit_test(what_was_formatted_is_parsed_back),
        cmocka_unit_test(a_bad_prefix_or_agent_makes_no_name),
        cmocka_unit_test(a_name_is_249_bytes_long_at_most),
        cmocka_unit_test(a_topic_that_is_not_ours_is_not_parsed),
        cmocka_unit_test(one_prefix_does_not_see_the_topics_of_another),
        cmocka_unit_test(the_groups_are_named_by_prefix_and_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
