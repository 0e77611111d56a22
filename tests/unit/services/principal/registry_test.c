/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registry.h"

#include "schema/attributes.h"
#include "services/principal/registration/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    ab_registry *registry;
    char told[256]; /* "+a -a ..." */
    ab_config *config;
} t;

static void tell(const char *sign, const char *agent)
{
    size_t len = strlen(t.told);
    snprintf(t.told + len, sizeof(t.told) - len, "%s%s%s", len == 0 ? "" : " ", sign, agent);
}

static void added(void *arg, const char *agent)
{
    (void)arg;
    tell("+", agent);
}

static void removed(void *arg, const char *agent)
{
    (void)arg;
    tell("-", agent);
}

static void changed(void *arg, const char *agent)
{
    const char *mode = ab_registry_mode(t.registry, agent);
    (void)arg;
    tell("=", mode == NULL ? "none" : mode);
}

static void scope_changed(void *arg, const char *agent, ab_str project)
{
    char name[64];
    (void)arg;
    (void)agent;
    snprintf(name, sizeof(name), "%.*s%s", AB_STR_ARG(project),
             ab_registry_is_scoped(t.registry, agent, project) ? "" : "?");
    tell("@", name);
}

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.registry =
        ab_registry_new((ab_registry_events){added, removed, changed, scope_changed, NULL}, NULL);
    return t.registry == NULL;
}

static int teardown(void **state)
{
    (void)state;
    ab_registry_free(t.registry);
    ab_config_free(t.config);
    return 0;
}

static ab_object *secret(const char *name, const char *type, const char *agent)
{
    char json[500];
    ab_object *o = NULL;
    snprintf(
        json, sizeof(json),
        "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"argocd\",\"labels\":"
        "{\"" AB_LABEL_SECRET_TYPE
        "\":\"%s\",\"argocd-agent.argoproj-labs.io/agent-name\":\"%s\"}}}",
        name, type, agent);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    return o;
}

/* A cluster Secret of agent a with this annotation. */
static void see_mode(const char *name, const char *mode)
{
    char json[500];
    ab_object *o = NULL;
    snprintf(json, sizeof(json),
             "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"argocd\","
             "\"labels\":{\"" AB_LABEL_SECRET_TYPE
             "\":\"cluster\",\"argocd-agent.argoproj-labs.io/agent-name\":\"a\"},"
             "\"annotations\":{\"" AB_ANN_MODE "\":%s}}}",
             name, mode);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    ab_registry_on_updated(t.registry, o);
    ab_object_unref(o);
}

/* A cluster Secret of agent a that is scoped to this project. @param project  in base64 */
static void see_scope(const char *name, const char *project)
{
    char json[500];
    ab_object *o = NULL;
    snprintf(json, sizeof(json),
             "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"argocd\","
             "\"labels\":{\"" AB_LABEL_SECRET_TYPE
             "\":\"cluster\",\"argocd-agent.argoproj-labs.io/agent-name\":\"a\"}},"
             "\"data\":{\"project\":\"%s\"}}",
             name, project);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    ab_registry_on_updated(t.registry, o);
    ab_object_unref(o);
}

/* The cluster Secret of agent a, which registered itself, with this label. */
static void see_approval(const char *approved)
{
    char json[500];
    ab_object *o = NULL;
    snprintf(json, sizeof(json),
             "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"namespace\":\"argocd\","
             "\"labels\":{\"" AB_LABEL_SECRET_TYPE
             "\":\"cluster\",\"argocd-agent.argoproj-labs.io/agent-name\":\"a\","
             "\"" AB_LABEL_REGISTERED "\":\"true\",\"" AB_LABEL_APPROVED "\":\"%s\"}}}",
             approved);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    ab_registry_on_updated(t.registry, o);
    ab_object_unref(o);
}

static void see(const char *name, const char *type, const char *agent)
{
    ab_object *o = secret(name, type, agent);
    ab_registry_on_updated(t.registry, o);
    ab_object_unref(o);
}

static void lose(const char *name)
{
    ab_object *o = secret(name, "cluster", "x");
    ab_registry_on_deleted(t.registry, o);
    ab_object_unref(o);
}

static void list(const char *file)
{
    static const ab_option rows[] = {
        {.name = "agents", .kind = AB_OPT_OBJECTS, .choices = "name|mode", .help = "."}};
    const ab_options table = {rows, 1};
    const ab_config_sources sources = {.file = file};
    ab_config_free(t.config);
    assert_int_equal(ab_config_load(&table, 1, &sources, &t.config, NULL), AB_ERR_OK);
    assert_int_equal(ab_registry_list(t.registry, t.config), AB_ERR_OK);
}

static void list_text(const char *yaml)
{
    char path[] = "/tmp/argobus-registry-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
    close(fd);
    list(path);
    unlink(path);
}

static void an_agent_is_served_as_long_as_a_secret_names_it(void **state)
{
    (void)state;
    see("one", "cluster", "a");
    see("one", "cluster", "a");
    see("two", "cluster", "a");
    lose("one");
    assert_string_equal(t.told, "+a");
    lose("two");
    lose("two");
    assert_string_equal(t.told, "+a -a");
}

static void a_secret_that_names_another_gives_the_former_up(void **state)
{
    (void)state;
    see("one", "cluster", "a");
    see("one", "cluster", "b");
    assert_string_equal(t.told, "+a -a +b");
    see("one", "cluster", "");
    assert_string_equal(t.told, "+a -a +b -b");
}

static void only_cluster_secrets_with_a_possible_name_count(void **state)
{
    (void)state;
    see("one", "repository", "a");
    see("two", "cluster", "A_1");
    see("two", "cluster", "in-cluster");
    assert_string_equal(t.told, "");
    see("three", "cluster", "a");
    see("three", "cluster", "A_1");
    assert_string_equal(t.told, "+a -a");
}

/* It registered itself, and an operator is to look at it first. */
static void an_agent_that_waits_for_approval_is_not_served(void **state)
{
    (void)state;
    see_approval("false");
    assert_string_equal(t.told, "");
    see_approval("");
    assert_string_equal(t.told, "");
    see_approval("true");
    assert_string_equal(t.told, "+a");
    see_approval("false");
    assert_string_equal(t.told, "+a -a");
}

static void listed_agents_come_and_go_with_the_list(void **state)
{
    (void)state;
    list_text("agents:\n- name: a\n- name: b\n");
    list_text("agents:\n- name: b\n- name: c\n");
    assert_string_equal(t.told, "+a +b +c -a");
}

static const char *listed_mode(const char *agent)
{
    return ab_registry_listed(t.registry, t.config, agent, "mode");
}

static void what_the_list_says_of_an_agent_is_found_by_its_name(void **state)
{
    (void)state;
    list_text("agents:\n- {name: a, mode: managed}\n- {name: b}\n");
    assert_string_equal(listed_mode("a"), "managed");
    assert_null(listed_mode("b"));
    assert_null(listed_mode("c"));
    see("one", "cluster", "c");
    assert_null(listed_mode("c"));
    list_text("agents:\n- {name: b, mode: autonomous}\n- {name: c, mode: managed}\n");
    assert_null(listed_mode("a"));
    assert_string_equal(listed_mode("b"), "autonomous");
    assert_string_equal(listed_mode("c"), "managed");
}

static void an_agent_that_is_listed_and_named_stays_until_neither_holds(void **state)
{
    (void)state;
    list_text("agents:\n- name: a\n");
    see("one", "cluster", "a");
    list_text("agents: []\n");
    assert_string_equal(t.told, "+a");
    lose("one");
    assert_string_equal(t.told, "+a -a");
    see("one", "cluster", "a");
    list_text("agents:\n- name: a\n");
    lose("one");
    assert_string_equal(t.told, "+a -a +a");
}

static void a_secret_may_say_how_its_agent_works(void **state)
{
    (void)state;
    assert_null(ab_registry_mode(t.registry, "a"));
    see("one", "cluster", "a");
    assert_null(ab_registry_mode(t.registry, "a"));
    see_mode("one", "\"autonomous\"");
    see_mode("one", "\"autonomous\"");
    see_mode("one", "\"managed\"");
    see("one", "cluster", "a");
    assert_string_equal(t.told, "+a =autonomous =managed =none");
    lose("one");
    assert_null(ab_registry_mode(t.registry, "a"));
}

static void a_mode_that_is_nonsense_says_nothing(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "\"Autonomous\"", "\"\"", "\"autonomous \"", "\"managed,autonomous\"", "7", "null", "{}"};
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        see_mode("one", "\"autonomous\"");
        assert_string_equal(ab_registry_mode(t.registry, "a"), "autonomous");
        see_mode("one", nonsense[i]);
        assert_null(ab_registry_mode(t.registry, "a"));
    }
}

static void secrets_that_contradict_each_other_say_nothing(void **state)
{
    (void)state;
    see_mode("one", "\"autonomous\"");
    see_mode("two", "\"managed\"");
    assert_null(ab_registry_mode(t.registry, "a"));
    lose("two");
    assert_string_equal(t.told, "+a =autonomous =none =autonomous");
    list_text("agents:\n- name: a\n");
    lose("one");
    assert_string_equal(t.told, "+a =autonomous =none =autonomous =none");
}

#define TEAM  "dGVhbQ=="
#define OTHER "b3RoZXI="

static bool is_scoped(const char *agent, const char *project)
{
    return ab_registry_is_scoped(t.registry, agent, ab_str_of(project));
}

static void a_cluster_may_be_of_a_project(void **state)
{
    (void)state;
    assert_false(is_scoped("a", "team"));
    see_scope("one", TEAM);
    see_scope("one", TEAM);
    assert_true(is_scoped("a", "team"));
    assert_false(is_scoped("a", "other"));
    assert_false(is_scoped("b", "team"));
    see_scope("one", OTHER);
    see_scope("one", "");
    assert_false(is_scoped("a", "other"));
    assert_string_equal(t.told, "+a @team @team? @other @other?");
}

static void a_cluster_is_of_each_project_that_a_secret_of_it_names(void **state)
{
    (void)state;
    see_scope("one", TEAM);
    see_scope("two", OTHER);
    see_scope("three", TEAM);
    assert_true(is_scoped("a", "team") && is_scoped("a", "other"));
    lose("one");
    lose("two");
    assert_true(is_scoped("a", "team"));
    assert_false(is_scoped("a", "other"));
    lose("three");
    assert_false(is_scoped("a", "team"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_agent_is_served_as_long_as_a_secret_names_it),
        TEST(a_secret_that_names_another_gives_the_former_up),
        TEST(only_cluster_secrets_with_a_possible_name_count),
        TEST(an_agent_that_waits_for_approval_is_not_served),
        TEST(listed_agents_come_and_go_with_the_list),
        TEST(what_the_list_says_of_an_agent_is_found_by_its_name),
        TEST(a_secret_may_say_how_its_agent_works),
        TEST(a_mode_that_is_nonsense_says_nothing),
        TEST(secrets_that_contradict_each_other_say_nothing),
        TEST(a_cluster_may_be_of_a_project),
        TEST(a_cluster_is_of_each_project_that_a_secret_of_it_names),
        TEST(an_agent_that_is_listed_and_named_stays_until_neither_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
