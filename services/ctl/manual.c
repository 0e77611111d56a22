/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/manual.h"

/* A dot or a quote that begins a line, a backslash and a dash mean something to roff. */
static void put_plain(const char *text, ab_buf *out)
{
    bool begins = true;
    for (; *text != '\0'; text++) {
        if (begins && (*text == '.' || *text == '\''))
            ab_buf_puts(out, "\\&");
        if (*text == '\\')
            ab_buf_puts(out, "\\e");
        else if (*text == '-')
            ab_buf_puts(out, "\\-");
        else
            ab_buf_putc(out, *text);
        begins = *text == '\n';
    }
}

static void put_flag(const ab_ctl_flag *flag, ab_buf *out)
{
    ab_buf_puts(out, ".TP\n\\fB\\-\\-");
    put_plain(flag->name, out);
    ab_buf_puts(out, "\\fR");
    if (flag->value != NULL)
        ab_buf_printf(out, " \\fI%s\\fR", flag->value);
    ab_buf_putc(out, '\n');
    put_plain(flag->help, out);
    ab_buf_puts(out, ".\n");
}

static void put_command(const ab_ctl_command *c, ab_buf *out)
{
    ab_buf_printf(out, ".SS \"argobusctl %s%s%s\"\n", c->name, c->operands[0] == '\0' ? "" : " ",
                  c->operands);
    put_plain(c->summary, out);
    ab_buf_puts(out, c->shows ? ". Takes \\fB\\-\\-output\\fR.\n" : ".\n");
    for (size_t i = 0; i < c->flag_count; i++)
        put_flag(&c->flags[i], out);
    if (c->examples[0] == '\0')
        return;
    ab_buf_puts(out, ".PP\n.nf\n");
    put_plain(c->examples, out);
    ab_buf_puts(out, ".fi\n");
}

static void put_codes(ab_buf *out)
{
    static const char *const texts[] = {
        [AB_CTL_OK] = "Done.",
        [AB_CTL_FAILED] = "Tried without success; a check found an error.",
        [AB_CTL_USAGE] = "The command line is wrong; nothing was done.",
        [AB_CTL_UNREACHABLE] = "No principal, API server or broker could be asked.",
        [AB_CTL_NOT_FOUND] = "The agent or object that you named does not exist.",
    };
    ab_buf_puts(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        ab_buf_printf(out, ".TP\n%zu\n%s\n", i, texts[i]);
}

void ab_ctl_manual(ab_ctl_commands commands, ab_buf *out)
{
    ab_buf_puts(out, ".TH ARGOBUSCTL 1 \"\" \"argobus " AB_VERSION "\" \"User Commands\"\n"
                     ".SH NAME\nargobusctl \\- show and control a running argobus\n"
                     ".SH SYNOPSIS\n.B argobusctl\n\\fICOMMAND\\fR [\\fIOPERAND\\fR]... "
                     "[\\fIFLAG\\fR]...\n.SH COMMANDS\n");
    for (size_t i = 0; i < commands.count; i++)
        put_command(commands.rows[i], out);
    ab_buf_puts(out, ".SH COMMON FLAGS\n");
    for (size_t i = 0; i < ab_ctl_global_flag_count(NULL); i++)
        put_flag(&ab_ctl_global_flags[i], out);
    put_codes(out);
    ab_buf_puts(out,
                ".SH ENVIRONMENT\n.TP\n.B ARGOBUS_CONTROL_SOCKET\nAs \\fB\\-\\-socket\\fR.\n"
                ".TP\n.B ARGOBUS_SERVER\nAs \\fB\\-\\-server\\fR.\n"
                ".TP\n.B ARGOBUS_TOKEN_FILE\nAs \\fB\\-\\-token\\-file\\fR.\n"
                ".TP\n.B ARGOBUS_SERVER_CA\nAs \\fB\\-\\-server\\-ca\\fR.\n"
                ".SH SEE ALSO\nInstalled as kubectl\\-argobus it is a plugin of kubectl(1).\n");
}
