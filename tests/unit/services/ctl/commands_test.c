/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of every command: examples that a user can copy.
 */
#include "services/ctl/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PROGRAM   "argobusctl "
#define WORDS_MAX 24

/* A call, up to what only a shell understands. @return the command that it runs */
static const ab_ctl_command *understand(const char *call)
{
    char line[256];
    char *argv[WORDS_MAX];
    int argc = 0;
    ab_ctl ctl;
    ab_ctl_wanted wanted;
    ab_error err = {0};
    size_t len = strcspn(call, "\n|<>()");
    assert_true(len < sizeof(line));
    memcpy(line, call, len);
    line[len] = '\0';
    for (char *rest = line, *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        assert_true(argc < WORDS_MAX);
        if (*word != '\0')
            argv[argc++] = word;
    }
    if (ab_ctl_parse(ab_ctl_all_commands, argc, argv, &ctl, &wanted, &err) != AB_ERR_OK)
        fail_msg("%.*s: %s", (int)len, call, err.text);
    assert_int_equal(wanted, AB_CTL_RUN);
    return ctl.command;
}

static void every_command_has_an_example_and_each_is_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < ab_ctl_all_commands.count; i++) {
        const ab_ctl_command *command = ab_ctl_all_commands.rows[i];
        size_t own = 0; /* others show what comes next */
        const char *call = strstr(command->examples, PROGRAM);
        for (; call != NULL; call = strstr(call + 1, PROGRAM))
            own += understand(call) == command;
        if (own == 0)
            fail_msg("%s has no example", command->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_an_example_and_each_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
