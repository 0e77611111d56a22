/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tab key shows.
 */
#include "services/ctl/complete.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const ab_ctl_flag flags[] = {{"agent", "NAME", "only this agent"},
                                    {"confirm", NULL, "confirm it"},
                                    {"kubeconfig", "FILE", "of the cluster"},
                                    {"context", "NAME", "of the kubeconfig"}};
static const ab_ctl_command list = {
    .name = "agent list", .operands = "", .summary = "All", .shows = true};
static const ab_ctl_command inspect = {
    .name = "agent inspect", .operands = "AGENT", .operands_max = 1, .summary = "One"};
static const ab_ctl_command resync = {
    .name = "resync", .operands = "", .flags = flags, .flag_count = 4, .summary = "Again"};
static const ab_ctl_flag config[] = {{"config", "FILE", "of the program"}};
static const ab_ctl_command issue = {.name = "issue",
                                     .operands = "agent NAME | principal [NAME]",
                                     .operands_max = 2,
                                     .flags = config,
                                     .flag_count = 1};
static const ab_ctl_command *const rows[] = {&list, &inspect, &resync, &issue, &ab_ctl_completion};

static const char *asked; /* of which socket or kubeconfig */

static void agents(const char *socket, ab_buf *out)
{
    asked = socket == NULL ? "none" : socket;
    ab_buf_puts(out, "w1\nw2\nedge\n");
}

static void contexts(const char *kubeconfig, ab_buf *out)
{
    asked = kubeconfig == NULL ? "none" : kubeconfig;
    ab_buf_puts(out, "hub\narn:aws:eks:1\n");
}

/* The words are given with one blank between them. */
static void completes(const char *line, const char *expected)
{
    char copy[128];
    char *words[8];
    int count = 0;
    ab_buf out;
    asked = "";
    assert_true(strlen(line) < sizeof(copy));
    memcpy(copy, line, strlen(line) + 1);
    for (char *word = copy; word != NULL;) {
        words[count++] = strsep(&word, " ");
        assert_true(count < 8);
    }
    ab_buf_init(&out, 4096);
    ab_ctl_complete((ab_ctl_commands){rows, 5}, count, words, &(ab_ctl_names){agents, contexts},
                    &out);
    assert_string_equal(out.ptr == NULL ? "" : out.ptr, expected);
    ab_buf_fini(&out);
}

static void commands_are_completed_word_by_word(void **state)
{
    (void)state;
    completes("re", "resync\tAgain\n");
    completes("a", "agent\t\n");
    completes("agent ", "list\tAll\ninspect\tOne\n");
    completes("agent i", "inspect\tOne\n");
    completes("what ", "");
    completes("resync ", "");
}

static void agents_are_asked_for_where_one_is_wanted(void **state)
{
    (void)state;
    completes("agent inspect w", "w1\tagent\nw2\tagent\n");
    assert_string_equal(asked, "none");
    completes("agent inspect w1 ", "");
    completes("--socket here resync --agent e", "edge\tagent\n");
    assert_string_equal(asked, "here");
    completes("resync --socket=there --agent e", "edge\tagent\n");
    assert_string_equal(asked, "there");
    completes("agent list ", "");
    assert_string_equal(asked, "");
}

static void contexts_are_those_of_the_kubeconfig_that_was_named(void **state)
{
    (void)state;
    completes("resync --context ", "hub\tcontext\narn:aws:eks:1\tcontext\n");
    assert_string_equal(asked, "none");
    completes("resync --kubeconfig here --context h", "hub\tcontext\n");
    assert_string_equal(asked, "here");
    completes("resync --kubeconfig=there --context arn:a", "arn:aws:eks:1\tcontext\n");
    assert_string_equal(asked, "there");
}

static void a_value_behind_an_equals_sign_is_completed_with_its_flag(void **state)
{
    (void)state;
    completes("resync --context=h", "--context=hub\tcontext\n");
    completes("resync --agent=w", "--agent=w1\tagent\n--agent=w2\tagent\n");
    completes("agent list --output=y", "--output=yaml\t\n");
    completes("resync --confirm=", "");
    completes("resync --what=", "");
}

static void words_that_are_to_be_chosen_from_are_completed(void **state)
{
    (void)state;
    completes("issue ", "agent\t\nprincipal\t\n");
    completes("issue p", "principal\t\n");
    completes("issue agent ", "");
    completes("issue -c agent.yaml ", "agent\t\nprincipal\t\n");
    completes("-h issue p", "principal\t\n");
}

static void flags_are_those_of_the_command_and_of_all(void **state)
{
    (void)state;
    completes("resync --con", "--confirm\tconfirm it\n--context\tof the kubeconfig\n");
    completes("agent list --c", "");
    completes("agent list --o",
              "--output\tof what a command shows: table, json or yaml; also -o\n");
    completes("resync --o", "");
}

static void values_are_completed_where_they_are_known(void **state)
{
    (void)state;
    completes("agent list -o y", "yaml\t\n");
    completes("agent list --output j", "json\t\n");
    completes("agent list --socket ", "");
    completes("resync -o ", "");
    completes("completion z", "zsh\t\n");
    completes("completion bash ", "");
}

static void each_shell_has_a_script_that_asks_the_program(void **state)
{
    (void)state;
    const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < 3; i++) {
        ab_buf out;
        ab_buf_init(&out, 4096);
        assert_true(ab_ctl_put_script(shells[i], &out));
        assert_non_null(strstr(out.ptr, "argobusctl __complete"));
        ab_buf_clear(&out);
        assert_false(ab_ctl_put_script("csh", &out));
        ab_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_completed_word_by_word),
        cmocka_unit_test(agents_are_asked_for_where_one_is_wanted),
        cmocka_unit_test(contexts_are_those_of_the_kubeconfig_that_was_named),
        cmocka_unit_test(a_value_behind_an_equals_sign_is_completed_with_its_flag),
        cmocka_unit_test(words_that_are_to_be_chosen_from_are_completed),
        cmocka_unit_test(flags_are_those_of_the_command_and_of_all),
        cmocka_unit_test(values_are_completed_where_they_are_known),
        cmocka_unit_test(each_shell_has_a_script_that_asks_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
