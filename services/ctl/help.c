/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/help.h"

#include <stdio.h>

/* @param but  without those that this command has, too; NULL: all */
static void put_flags(const ab_ctl_flag *rows, size_t count, const ab_ctl_command *but, ab_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        char shown[64];
        if (but != NULL &&
            ab_ctl_find_flag(but->flags, but->flag_count, ab_str_of(rows[i].name)) != NULL)
            continue;
        snprintf(shown, sizeof(shown), "--%s%s%s", rows[i].name, rows[i].value == NULL ? "" : " ",
                 rows[i].value == NULL ? "" : rows[i].value);
        ab_buf_printf(out, "  %-22s %s\n", shown, rows[i].help);
    }
}

static void put_command(const ab_ctl_command *c, ab_buf *out)
{
    ab_buf_printf(out, "usage: %s %s%s%s%s\n\n%s.\n", ab_ctl_program(), c->name,
                  c->operands[0] == '\0' ? "" : " ", c->operands,
                  c->flag_count == 0 ? "" : " [FLAG]...", c->summary);
    if (c->flag_count > 0)
        ab_buf_puts(out, "\n");
    put_flags(c->flags, c->flag_count, NULL, out);
    if (c->examples[0] != '\0')
        ab_buf_printf(out, "\nexamples:\n%s", c->examples);
}

static void put_all(ab_ctl_commands commands, ab_buf *out)
{
    ab_buf_printf(out, "usage: %s COMMAND [OPERAND]... [FLAG]...\n\n", ab_ctl_program());
    for (size_t i = 0; i < commands.count; i++)
        ab_buf_printf(out, "  %-22s %s\n", commands.rows[i]->name, commands.rows[i]->summary);
    ab_buf_printf(out, "\n%s COMMAND --help shows the flags of one command.\n", ab_ctl_program());
}

void ab_ctl_help(ab_ctl_commands commands, const ab_ctl_command *command, ab_buf *out)
{
    if (command == NULL)
        put_all(commands, out);
    else
        put_command(command, out);
    ab_buf_puts(out, "\ncommon flags:\n");
    put_flags(ab_ctl_global_flags, ab_ctl_global_flag_count(command), command, out);
}
