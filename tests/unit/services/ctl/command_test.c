/* SPDX-License-Identifier: Apache-2.0
 *
 * What argobusctl says on standard error.
 */
#include "services/ctl/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void fails_with(const char *why, const char *expected)
{
    char said[256] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    assert_return_code(dup2(fileno(file), STDERR_FILENO), 0);
    int code = ab_ctl_fail(3, "%s: %s", "https://a", why);
    fflush(stderr);
    assert_return_code(dup2(before, STDERR_FILENO), 0);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(code, 3);
    assert_string_equal(said, expected);
}

static void a_failure_is_said_after_the_name_of_the_program(void **state)
{
    (void)state;
    fails_with("no token\nof \xc2\xa9", "argobusctl: https://a: no token\nof \xc2\xa9\n");
}

static void what_a_server_says_of_a_failure_cannot_move_the_cursor(void **state)
{
    (void)state;
    fails_with("a\x1b]0;x\x07\xc2\x9b"
               "2J\rb\x7f",
               "argobusctl: https://a: a ]0;x   2J b \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_said_after_the_name_of_the_program),
        cmocka_unit_test(what_a_server_says_of_a_failure_cannot_move_the_cursor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
