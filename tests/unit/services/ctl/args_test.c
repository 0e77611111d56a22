/* SPDX-License-Identifier: Apache-2.0
 *
 * How argobusctl understands its command line.
 */
#include "services/ctl/args.h"

#include "services/ctl/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const ab_ctl_flag flags[] = {{"agent", "NAME", "only this agent"},
                                    {"confirm", NULL, "confirm it"},
                                    {"server-ca", "FILE", "another one"}};
static const ab_ctl_command list = {
    .name = "agent list", .operands = "", .examples = "", .flags = flags, .flag_count = 3};
static const ab_ctl_command inspect = {
    .name = "agent inspect", .operands = "AGENT", .operands_min = 1, .operands_max = 1};
static const ab_ctl_command lag = {.name = "lag", .operands = "", .shows = true};
static const ab_ctl_command *const rows[] = {&list, &inspect, &lag};

static ab_ctl ctl;
static ab_ctl_wanted wanted;
static ab_error err;

static ab_err parse(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *given[] = {"argobusctl", a, b, c, d, e, NULL};
    char *argv[7];
    int argc = 0;
    for (; given[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)given[argc];
    return ab_ctl_parse((ab_ctl_commands){rows, 3}, argc, argv, &ctl, &wanted, &err);
}

static void finds_commands_of_one_word_and_of_two(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "list", NULL, NULL, NULL), AB_ERR_OK);
    assert_ptr_equal(ctl.command, &list);
    assert_int_equal(parse("lag", NULL, NULL, NULL, NULL), AB_ERR_OK);
    assert_ptr_equal(ctl.command, &lag);
}

static void flags_may_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse("--agent", "w1", "agent", "--confirm", "list"), AB_ERR_OK);
    assert_ptr_equal(ctl.command, &list);
    assert_string_equal(ab_ctl_value(&ctl, "agent"), "w1");
    assert_string_equal(ab_ctl_value(&ctl, "confirm"), "");
    assert_int_equal(parse("agent", "list", "--agent=w2", NULL, NULL), AB_ERR_OK);
    assert_string_equal(ab_ctl_value(&ctl, "agent"), "w2");
    assert_null(ab_ctl_value(&ctl, "confirm"));
}

static void a_server_comes_from_the_environment_and_a_socket_wins(void **state)
{
    (void)state;
    setenv("ARGOBUS_SERVER", "https://a", 1);
    assert_int_equal(parse("lag", "--token-file", "t", "--server-ca=c", NULL), AB_ERR_OK);
    assert_string_equal(ctl.server, "https://a");
    assert_string_equal(ctl.token_file, "t");
    assert_string_equal(ctl.ca, "c");
    assert_int_equal(parse("lag", "--socket", "s", NULL, NULL), AB_ERR_OK);
    assert_null(ctl.server);
    unsetenv("ARGOBUS_SERVER");
    assert_int_equal(parse("lag", "--server", "https://b", NULL, NULL), AB_ERR_OK);
    assert_string_equal(ctl.server, "https://b");
}

static void operands_are_counted(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "inspect", "w1", NULL, NULL), AB_ERR_OK);
    assert_string_equal(ctl.operands[0], "w1");
    assert_int_equal(parse("agent", "inspect", "--", "-w1", NULL), AB_ERR_OK);
    assert_string_equal(ctl.operands[0], "-w1");
    assert_int_equal(parse("agent", "inspect", NULL, NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text,
                        "agent inspect: needs AGENT; see argobusctl agent inspect --help");
    assert_int_equal(parse("agent", "inspect", "w1", "w2", NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "agent inspect: unexpected operand \"w2\"");
}

static void global_flags_are_known_everywhere(void **state)
{
    (void)state;
    assert_int_equal(parse("-o", "json", "lag", "--socket", "/s"), AB_ERR_OK);
    assert_int_equal(ctl.form, AB_CTL_JSON);
    assert_string_equal(ctl.socket, "/s");
    assert_int_equal(parse("lag", "--output=xml", NULL, NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "--output: \"xml\" is not table, json or yaml");
}

static void a_command_keeps_its_flags_with_the_name_of_a_common_one(void **state)
{
    (void)state;
    ab_buf help;
    assert_int_equal(parse("agent", "list", "--server-ca", "c", NULL), AB_ERR_OK);
    assert_string_equal(ab_ctl_value(&ctl, "server-ca"), "c");
    assert_null(ctl.ca);
    assert_int_equal(parse("agent", "inspect", "w1", "--server-ca", "c"), AB_ERR_OK);
    assert_string_equal(ctl.ca, "c");
    ab_buf_init(&help, 100000);
    ab_ctl_help((ab_ctl_commands){rows, 3}, &list, &help);
    assert_non_null(strstr(help.ptr, "--server-ca FILE       another one"));
    assert_null(strstr(help.ptr, "CAs of the certificate"));
    assert_non_null(strstr(help.ptr, "--socket"));
    ab_buf_fini(&help);
}

static void a_form_is_for_commands_that_show_something(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "inspect", "w1", "-o", "json"), AB_ERR_INVALID);
    assert_string_equal(err.text, "unknown flag -o of agent inspect");
    assert_int_equal(parse("--output=json", "agent", "inspect", "w1", NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "unknown flag --output=json of agent inspect");
    assert_int_equal(ab_ctl_global_flag_count(NULL), ab_ctl_global_flag_count(&lag));
    assert_int_equal(ab_ctl_global_flag_count(&inspect), ab_ctl_global_flag_count(&lag) - 1);
}

static void help_is_of_a_command_or_of_all(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "inspect", "-h", NULL, NULL), AB_ERR_OK);
    assert_int_equal(wanted, AB_CTL_HELP);
    assert_ptr_equal(ctl.command, &inspect);
    assert_int_equal(parse("--help", NULL, NULL, NULL, NULL), AB_ERR_OK);
    assert_null(ctl.command);
    assert_int_equal(parse("--version", NULL, NULL, NULL, NULL), AB_ERR_OK);
    assert_int_equal(wanted, AB_CTL_VERSION);
}

static void what_is_unknown_is_named(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "lsit", NULL, NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "unknown command \"agent lsit\"; see argobusctl --help");
    assert_int_equal(parse("lag", "--agent", "w1", NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "unknown flag --agent of lag");
    assert_int_equal(parse(NULL, NULL, NULL, NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "no command given; see argobusctl --help");
}

static void a_value_is_asked_for_and_not_taken_from_a_switch(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "list", "--agent", NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "--agent needs a value: NAME");
    assert_int_equal(parse("agent", "list", "--confirm=yes", NULL, NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "--confirm takes no value");
    assert_int_equal(parse("agent", "list", "--agent", "--confirm", NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "--agent needs a value, and --confirm is a flag; if it is the "
                                  "value, write --agent=--confirm");
    assert_int_equal(parse("agent", "list", "--agent=-x", NULL, NULL), AB_ERR_OK);
    assert_string_equal(ab_ctl_value(&ctl, "agent"), "-x");
    assert_int_equal(parse("agent", "list", "--agent", "-", NULL), AB_ERR_OK);
}

static void no_value_is_empty(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "list", "--agent", "", NULL), AB_ERR_INVALID);
    assert_string_equal(err.text, "--agent: the value is empty");
    assert_int_equal(parse("agent", "list", "--agent=", NULL, NULL), AB_ERR_INVALID);
    assert_int_equal(parse("lag", "--socket", "", NULL, NULL), AB_ERR_INVALID);
    setenv("ARGOBUS_SERVER", "", 1);
    assert_int_equal(parse("lag", NULL, NULL, NULL, NULL), AB_ERR_OK);
    assert_null(ctl.server);
    unsetenv("ARGOBUS_SERVER");
}

static void no_value_is_lost_to_another(void **state)
{
    (void)state;
    assert_int_equal(parse("agent", "list", "--agent=w1", "--agent", "w2"), AB_ERR_INVALID);
    assert_string_equal(err.text, "--agent is given twice: \"w1\" and \"w2\"");
    assert_int_equal(parse("agent", "list", "--confirm", "--confirm", NULL), AB_ERR_OK);
    assert_int_equal(parse("lag", "--socket=a", "--socket=b", NULL, NULL), AB_ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_commands_of_one_word_and_of_two),
        cmocka_unit_test(flags_may_stand_anywhere),
        cmocka_unit_test(a_server_comes_from_the_environment_and_a_socket_wins),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(global_flags_are_known_everywhere),
        cmocka_unit_test(a_command_keeps_its_flags_with_the_name_of_a_common_one),
        cmocka_unit_test(a_form_is_for_commands_that_show_something),
        cmocka_unit_test(help_is_of_a_command_or_of_all),
        cmocka_unit_test(what_is_unknown_is_named),
        cmocka_unit_test(a_value_is_asked_for_and_not_taken_from_a_switch),
        cmocka_unit_test(no_value_is_empty),
        cmocka_unit_test(no_value_is_lost_to_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
