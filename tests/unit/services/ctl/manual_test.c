/* SPDX-License-Identifier: Apache-2.0
 *
 * The manual page: what the table says, in roff that shows it as it is.
 */
#include "services/ctl/manual.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const ab_ctl_flag flags[] = {{"dry-run", NULL, ".begins with a dot, has a \\"},
                                    {"agent", "NAME", "only this"}};
static const ab_ctl_command list = {.name = "agent list",
                                    .operands = "AGENT",
                                    .summary = "'Quoted' summary",
                                    .examples = "  argobusctl agent list w1\n.x\n",
                                    .flags = flags,
                                    .flag_count = 2};
static const ab_ctl_command lag = {
    .name = "lag", .operands = "", .summary = "Shows", .examples = "", .shows = true};
static const ab_ctl_command *const rows[] = {&list, &lag};

static void shows(const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 65536);
    ab_ctl_manual((ab_ctl_commands){rows, 2}, &out);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    if (strstr(out.ptr, text) == NULL)
        fail_msg("no \"%s\" in:\n%s", text, out.ptr);
    ab_buf_fini(&out);
}

static void commands_and_flags_are_described(void **state)
{
    (void)state;
    shows(".SS \"argobusctl agent list AGENT\"\n");
    shows("\\fB\\-\\-agent\\fR \\fINAME\\fR\nonly this.\n");
    shows("  argobusctl agent list w1\n");
    shows("\nShows. Takes \\fB\\-\\-output\\fR.\n");
    shows(".SH EXIT STATUS\n.TP\n0\n");
    shows("\\fB\\-\\-socket\\fR \\fIPATH\\fR\n");
}

static void what_means_something_to_roff_is_escaped(void **state)
{
    (void)state;
    shows("\\fB\\-\\-dry\\-run\\fR\n\\&.begins with a dot, has a \\e.\n");
    shows("\n\\&'Quoted' summary.\n");
    shows("\n\\&.x\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_and_flags_are_described),
        cmocka_unit_test(what_means_something_to_roff_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
