/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* The agents w1 and w2 are served. */
static ab_str agent_of_namespace(void *arg, ab_str space)
{
    (void)arg;
    assert_non_null(space.ptr);
    return ab_str_is(space, "w1") || ab_str_is(space, "w2") ? space : AB_STR_NONE;
}

/* By destination, team/guestbook and the Application shop in Argo CD's own namespace are w1's. */
static ab_str agent_of_app(void *arg, ab_str space, ab_str app)
{
    (void)arg;
    bool mine = ab_str_is(space, "team") ? ab_str_is(app, "guestbook")
                                         : space.ptr == NULL && ab_str_is(app, "shop");
    return mine ? AB_STR("w1") : AB_STR_NONE;
}

static const ab_redis_agents by_namespace = {.agent_of_namespace = agent_of_namespace};
static const ab_redis_agents by_destination = {.agent_of_namespace = agent_of_namespace,
                                               .agent_of_app = agent_of_app};

static void expect(const ab_redis_agents *agents, const char *key, const char *agent,
                   const char *key_there)
{
    ab_str found = ab_redis_route_find(agents, ab_str_of(key));
    assert_true(ab_str_is(found, agent));
    if (agent == NULL)
        return;
    ab_buf out;
    ab_buf_init(&out, AB_REDIS_KEY_MAX);
    ab_redis_route_put_key(agents, ab_str_of(key), &out);
    assert_string_equal(out.ptr, key_there);
    ab_buf_fini(&out);
}

static void routes_an_agents_keys_by_the_namespace(void **state)
{
    (void)state;
    expect(&by_namespace, "app|managed-resources|w1_guestbook|1.8.3.gz", "w1",
           "app|managed-resources|guestbook|1.8.3.gz");
    expect(&by_namespace, "app|resources-tree|w2_a.b|1.8.3", "w2", "app|resources-tree|a.b|1.8.3");
    expect(&by_namespace, "app|resources-tree|w1_guestbook|1|1.8.3.gz", "w1",
           "app|resources-tree|guestbook|1|1.8.3.gz");
}

static void leaves_all_other_keys_to_the_control_plane(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "app|managed-resources|w3_guestbook|1.8.3.gz", /* not served */
        "app|managed-resources|guestbook|1.8.3.gz",    /* in argocd-server's namespace */
        "app|managed-resources|w1_guestbook",          /* no version */
        "app|managed-resources|w1_|1.8.3",
        "app|managed-resources|_guestbook|1.8.3",
        "app|managed-resources|w1_a_b|1.8.3",
        "app|managed-resources|W1_guestbook|1.8.3",
        "app|managed-resources|*",
        "app|managed-resources|",
        "app|other|w1_guestbook|1.8.3",
        "xapp|resources-tree|w1_guestbook|1.8.3",
        "cluster|info|https://w1|1.8.3.gz",
        "mfst|w1_guestbook|1.8.3",
        "new-revoked-token",
        "",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        expect(&by_namespace, keys[i], NULL, NULL);
}

static void routes_by_the_lookup_when_destinations_decide(void **state)
{
    (void)state;
    expect(&by_destination, "app|managed-resources|team_guestbook|1.8.3.gz", "w1",
           "app|managed-resources|team_guestbook|1.8.3.gz");
    expect(&by_destination, "app|resources-tree|shop|2|1.8.3.gz", "w1",
           "app|resources-tree|shop|2|1.8.3.gz");
    expect(&by_destination, "app|managed-resources|w1_guestbook|1.8.3.gz", NULL, NULL);
    expect(&by_destination, "app|managed-resources|guestbook|1.8.3.gz", NULL, NULL);
}

static void knows_no_key_of_what_is_no_namespace(void **state)
{
    (void)state;
    static const char *const spaces[] = {"W1", "*", "a.b", "-", ""};
    char text[64];
    ab_redis_key key;
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        (void)snprintf(text, sizeof(text), "app|resources-tree|%s_guestbook|1", spaces[i]);
        assert_false(ab_redis_key_parse(ab_str_of(text), &key));
    }
}

static void knows_no_key_past_the_limit(void **state)
{
    (void)state;
    char text[AB_REDIS_KEY_MAX + 1] = "app|managed-resources|w1_guestbook|";
    size_t len = strlen(text);
    memset(text + len, 'v', sizeof(text) - len);
    ab_redis_key key;
    assert_true(ab_redis_key_parse((ab_str){text, AB_REDIS_KEY_MAX}, &key));
    assert_false(ab_redis_key_parse((ab_str){text, AB_REDIS_KEY_MAX + 1}, &key));
    assert_false(ab_redis_key_parse(AB_STR_NONE, &key));
}

static void expect_path(const ab_redis_agents *agents, const char *key, const char *path,
                        const char *key_there)
{
    ab_buf text;
    ab_buf there;
    ab_buf_init(&text, 4000);
    ab_buf_init(&there, 4000);
    ab_redis_route_put_path(agents, ab_str_of(key), &text);
    assert_string_equal(text.ptr, path);
    assert_int_equal(ab_redis_route_read_path(ab_buf_str(&text), &there), AB_ERR_OK);
    assert_string_equal(there.ptr, key_there);
    ab_buf_fini(&text);
    ab_buf_fini(&there);
}

static void writes_keys_as_paths_and_reads_them(void **state)
{
    (void)state;
    expect_path(&by_namespace, "app|resources-tree|w1_a.b|1.8.3.gz",
                "/app%7Cresources-tree%7Ca.b%7C1.8.3.gz", "app|resources-tree|a.b|1.8.3.gz");
    expect_path(&by_destination, "app|managed-resources|team_a|1 \r\n%/?\xff",
                "/app%7Cmanaged-resources%7Cteam_a%7C1%20%0D%0A%25%2F%3F%FF",
                "app|managed-resources|team_a|1 \r\n%/?\xff");
}

static void refuses_paths_that_are_not_of_a_key(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",
        "app%7Cresources-tree%7Ca%7C1",
        "/",
        "/mfst%7Ca",
        "/app%7Cresources-tree%7Ca",
        "/app|resources-tree|a|1",
        "/app%7cresources-tree%7ca%7c1",
        "/app%7Cresources-tree%7Ca%7C1%2",
        "/app%7Cresources-tree%7Ca%7C1%G0",
        "/app%7Cresources-tree%7Ca%7C1?x=y",
    };
    ab_buf out;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ab_buf_init(&out, 4000);
        assert_int_equal(ab_redis_route_read_path(ab_str_of(paths[i]), &out), AB_ERR_PARSE);
        ab_buf_fini(&out);
    }
}

static void tells_patterns_of_agents_channels_from_others(void **state)
{
    (void)state;
    static const char *const ours[] = {"app|*", "app|managed-resources|*",
                                       "app|resources-tree|w1_?|1.8.3"};
    static const char *const others[] = {"", "*", "app", "app|manifest|*", "mfst|*", "a?p|*"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        assert_true(ab_redis_route_is_pattern(ab_str_of(ours[i])));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(ab_redis_route_is_pattern(ab_str_of(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_an_agents_keys_by_the_namespace),
        cmocka_unit_test(leaves_all_other_keys_to_the_control_plane),
        cmocka_unit_test(routes_by_the_lookup_when_destinations_decide),
        cmocka_unit_test(tells_patterns_of_agents_channels_from_others),
        cmocka_unit_test(knows_no_key_of_what_is_no_namespace),
        cmocka_unit_test(knows_no_key_past_the_limit),
        cmocka_unit_test(writes_keys_as_paths_and_reads_them),
        cmocka_unit_test(refuses_paths_that_are_not_of_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
