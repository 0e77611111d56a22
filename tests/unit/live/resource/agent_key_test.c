/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/agent_key.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "0123456789abcdef0123456789abcdef"

static int64_t now_ms;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return now_ms;
}

static const ab_clock CLOCK = {mono_ms, NULL, NULL};

static struct {
    char path[64];
    ab_agent_key *key;
} t;

static void write_key(const char *text)
{
    assert_int_equal(ab_file_replace(t.path, ab_str_of(text), NULL), AB_ERR_OK);
}

static int set_up(void **state)
{
    (void)state;
    t.key = NULL;
    (void)snprintf(t.path, sizeof(t.path), "/tmp/ab-agent-key-XXXXXX");
    int fd = mkstemp(t.path);
    return fd < 0 ? 1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    ab_agent_key_free(t.key);
    return unlink(t.path);
}

static void load(const char *text)
{
    write_key(text);
    assert_int_equal(ab_agent_key_new(t.path, &CLOCK, NULL, &t.key, NULL), AB_ERR_OK);
}

static void assert_whose(const char *token, const char *agent)
{
    ab_str found = ab_agent_key_find(t.key, ab_str_of(token));
    if (agent == NULL)
        assert_null(found.ptr);
    else
        assert_true(ab_str_is(found, agent));
}

static void a_token_is_the_name_and_a_mac_that_others_can_compute(void **state)
{
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    assert_int_equal(ab_agent_key_token(t.key, AB_STR("w1"), token), AB_ERR_OK);
    /* printf 'argobus-agent-token\0w1' | openssl dgst -sha256 -hmac KEY -binary | base64 */
    assert_string_equal(token, "w1.2lOhM1rS32AcIQItZ8kvk4YvMEZmASASFqZKKwRxWbc");
    assert_whose(token, "w1");
}

static void a_token_of_one_agent_is_none_of_another(void **state)
{
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    assert_int_equal(ab_agent_key_token(t.key, AB_STR("w1"), token), AB_ERR_OK);
    token[1] = '2';
    assert_whose(token, NULL);
}

static void any_other_text_is_refused(void **state)
{
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    assert_int_equal(ab_agent_key_token(t.key, AB_STR("w1"), token), AB_ERR_OK);
    token[strlen(token) - 1] ^= 1;
    assert_whose(token, NULL);
    assert_whose("", NULL);
    assert_whose("w1", NULL);
    assert_whose(".0123456789012345678901234567890123456789012", NULL);
    assert_whose("W_.0123456789012345678901234567890123456789012", NULL);
    assert_whose("*.0123456789012345678901234567890123456789012", NULL);
}

/* Also when the key made it: * would be any agent. */
static void a_token_for_what_is_no_agents_name_is_refused(void **state)
{
    static const char *const names[] = {"*", "W_", "a.b", "-"};
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(ab_agent_key_token(t.key, ab_str_of(names[i]), token), AB_ERR_OK);
        assert_whose(token, NULL);
    }
}

static void another_key_ends_all_tokens(void **state)
{
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    assert_int_equal(ab_agent_key_token(t.key, AB_STR("w1"), token), AB_ERR_OK);
    uint64_t number = ab_agent_key_refresh(t.key);
    write_key("another key, which is as long as it must be");
    now_ms += 2000;
    assert_whose(token, NULL);
    assert_int_not_equal(ab_agent_key_refresh(t.key), number);
}

static void a_file_that_becomes_too_short_changes_nothing(void **state)
{
    char token[AB_AGENT_TOKEN_MAX];
    (void)state;
    load(KEY);
    assert_int_equal(ab_agent_key_token(t.key, AB_STR("w1"), token), AB_ERR_OK);
    write_key("short");
    now_ms += 2000;
    assert_whose(token, "w1");
}

static void refuse(const char *text, const char *why)
{
    ab_error err = {0};
    write_key(text);
    assert_int_equal(ab_agent_key_new(t.path, &CLOCK, NULL, &t.key, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, why));
    assert_non_null(strstr(err.text, t.path));
}

static void a_key_that_is_too_short_or_too_long_is_refused(void **state)
{
    char large[5000];
    (void)state;
    refuse("0123456789abcdef0123456789abcde", "31 bytes");
    refuse("", "0 bytes");
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    refuse(large, "");
}

static void a_file_that_is_not_there_is_refused(void **state)
{
    ab_error err = {0};
    (void)state;
    assert_int_equal(ab_agent_key_new("/nonexistent/key", &CLOCK, NULL, &t.key, &err),
                     AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "/nonexistent/key"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_token_is_the_name_and_a_mac_that_others_can_compute,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_token_of_one_agent_is_none_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_other_text_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_token_for_what_is_no_agents_name_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_key_ends_all_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_becomes_too_short_changes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_that_is_too_short_or_too_long_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_there_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
