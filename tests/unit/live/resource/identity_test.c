/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/identity.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t now_ms;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return now_ms;
}

static const ab_clock CLOCK = {mono_ms, NULL, NULL};

typedef struct {
    char path[64];
    ab_resource_identities *ids;
} fixture;

static void write_file(const char *path, const char *text)
{
    assert_int_equal(ab_file_replace(path, ab_str_of(text), NULL), AB_ERR_OK);
}

static int set_up(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof(f));
    (void)snprintf(f.path, sizeof(f.path), "/tmp/ab-identity-XXXXXX");
    int fd = mkstemp(f.path);
    if (fd < 0)
        return 1;
    (void)close(fd);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_resource_identities_free(f->ids);
    return unlink(f->path);
}

static void load(fixture *f, const char *text)
{
    write_file(f->path, text);
    assert_int_equal(ab_resource_identities_new(f->path, &CLOCK, NULL, &f->ids, NULL), AB_ERR_OK);
}

static void assert_agent(fixture *f, const char *authorization, const char *cn, const char *agent)
{
    char found[AB_RESOURCE_AGENT_MAX];
    ab_resource_identities_find(f->ids, ab_str_of(authorization), cn, found);
    assert_string_equal(found, agent);
}

#define ONE "0123456789abcdef-one"
#define ANY "0123456789abcdef-any"

static void a_token_is_for_its_agent(void **state)
{
    fixture *f = *state;
    load(f, "# tokens\n\n" ONE " one\n" ANY "\t*\n0123456789abcdef two\n");
    assert_agent(f, "Bearer " ONE, "", "one");
    assert_agent(f, "bearer " ANY, "", "*");
    assert_agent(f, "Bearer " ONE "x", "", "");
    assert_agent(f, "Bearer 0123456789abcdef", "", "two");
    assert_agent(f, "Bearer 0123456789abcde", "", "");
    assert_agent(f, "Bearer ", "", "");
    assert_agent(f, "Basic " ONE, "", "");
    assert_agent(f, NULL, "", "");
}

static void a_certificate_is_for_the_agent_that_it_names(void **state)
{
    fixture *f = *state;
    load(f, ONE " one\n");
    assert_agent(f, NULL, "two", "two");
    assert_agent(f, NULL, "*", "");
    assert_agent(f, NULL, "Two", "");
    assert_agent(f, "Bearer wrong", "two", "");
    assert_agent(f, "Bearer " ONE, "two", "one");
}

static void tokens_are_read_again_when_the_file_changed(void **state)
{
    fixture *f = *state;
    load(f, ONE " one\n");
    write_file(f->path, ANY " three\n# longer\n");
    assert_agent(f, "Bearer " ANY, "", "");
    now_ms += 1000;
    assert_agent(f, "Bearer " ANY, "", "three");
    assert_agent(f, "Bearer " ONE, "", "");
    write_file(f->path, "short x\n");
    now_ms += 1000;
    assert_agent(f, "Bearer " ANY, "", "three");
}

static void a_wrong_line_is_named(void **state)
{
    fixture *f = *state;
    static const char *const BAD[][2] = {{ONE "\n", "line 1"},
                                         {"\n" ONE " a b\n", "line 2"},
                                         {ONE " One\n", "line 1"},
                                         {"0123456789abcde one\n", "printable"}};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        ab_error err = {0};
        write_file(f->path, BAD[i][0]);
        assert_int_equal(ab_resource_identities_new(f->path, &CLOCK, NULL, &f->ids, &err),
                         AB_ERR_CONFIG);
        assert_non_null(strstr(err.text, BAD[i][1]));
        assert_null(strstr(err.text, ONE));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_token_of_the_key_counts_beside_those_of_the_file(void **state)
{
    fixture *f = *state;
    char token[AB_AGENT_TOKEN_MAX], field[AB_AGENT_TOKEN_MAX + 8], agent[AB_RESOURCE_AGENT_MAX];
    ab_agent_key *key = NULL;
    load(f, "0123456789abcdef0123456789abcdef w2\n");
    assert_int_equal(ab_agent_key_new(f->path, &CLOCK, NULL, &key, NULL), AB_ERR_OK);
    assert_int_equal(ab_agent_key_token(key, AB_STR("w1"), token), AB_ERR_OK);
    (void)snprintf(field, sizeof(field), "Bearer %s", token);
    ab_resource_identities_find(f->ids, ab_str_of(field), "", agent);
    assert_string_equal(agent, "");
    ab_resource_identities_use(f->ids, key);
    ab_resource_identities_find(f->ids, ab_str_of(field), "", agent);
    assert_string_equal(agent, "w1");
    ab_resource_identities_find(f->ids, AB_STR("Bearer 0123456789abcdef0123456789abcdef"), "",
                                agent);
    assert_string_equal(agent, "w2");
}

static void a_grant_holds_as_long_as_its_token_is_there(void **state)
{
    fixture *f = *state;
    ab_resource_grant one = {0}, none = {0};
    load(f, ONE " one\n" ANY " *\n");
    ab_resource_grant_take(&one, f->ids, AB_STR("Bearer " ONE), "one");
    ab_resource_grant_take(&none, f->ids, AB_STR_NONE, "one");
    write_file(f->path, ONE " one\n");
    now_ms += 1000;
    assert_true(ab_resource_grant_holds(&one));
    write_file(f->path, ONE " another-agent\n");
    now_ms += 1000;
    assert_false(ab_resource_grant_holds(&one));
    assert_true(ab_resource_grant_holds(&none));
    write_file(f->path, ANY " one\n");
    now_ms += 1000;
    assert_false(ab_resource_grant_holds(&one));
    ab_resource_grant_fini(&one);
    ab_resource_grant_fini(&none);
}

static void a_grant_by_the_key_ends_with_the_key(void **state)
{
    fixture *f = *state;
    char token[AB_AGENT_TOKEN_MAX], field[AB_AGENT_TOKEN_MAX + 8];
    ab_agent_key *key = NULL;
    ab_resource_grant grant = {0};
    write_file(f->path, "0123456789abcdef0123456789abcdef");
    assert_int_equal(ab_agent_key_new(f->path, &CLOCK, NULL, &key, NULL), AB_ERR_OK);
    assert_int_equal(ab_resource_identities_new(NULL, &CLOCK, NULL, &f->ids, NULL), AB_ERR_OK);
    ab_resource_identities_use(f->ids, key);
    assert_int_equal(ab_agent_key_token(key, AB_STR("w1"), token), AB_ERR_OK);
    (void)snprintf(field, sizeof(field), "Bearer %s", token);
    ab_resource_grant_take(&grant, f->ids, ab_str_of(field), "w1");
    now_ms += 1000;
    assert_true(ab_resource_grant_holds(&grant));
    write_file(f->path, "another-key-0123456789abcdef-0123456789abcdef");
    now_ms += 1000;
    assert_false(ab_resource_grant_holds(&grant));
    ab_resource_grant_fini(&grant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_for_its_agent),
        TEST(a_certificate_is_for_the_agent_that_it_names),
        TEST(tokens_are_read_again_when_the_file_changed),
        TEST(a_wrong_line_is_named),
        TEST(a_token_of_the_key_counts_beside_those_of_the_file),
        TEST(a_grant_holds_as_long_as_its_token_is_there),
        TEST(a_grant_by_the_key_ends_with_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
