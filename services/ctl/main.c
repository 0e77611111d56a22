/* SPDX-License-Identifier: Apache-2.0
 *
 * argobusctl: what an operator asks of argobus from a shell.
 */
#include "services/ctl/agent/agent.h"
#include "services/ctl/args.h"
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/help.h"
#include "services/ctl/pki/pki.h"

#include <stdio.h>

#define HELP_MAX (64u * 1024)

static const ab_ctl_command *const rows[] = {
    &ab_ctl_agent_list,    &ab_ctl_agent_inspect, &ab_ctl_agent_create, &ab_ctl_agent_delete,
    &ab_ctl_lag,           &ab_ctl_pending,       &ab_ctl_deletions,    &ab_ctl_resync,
    &ab_ctl_pki_init,      &ab_ctl_pki_issue,     &ab_ctl_pki_renew,    &ab_ctl_pki_inspect,
    &ab_ctl_pki_propagate,
};
static const ab_ctl_commands commands = {rows, sizeof(rows) / sizeof(*rows)};

static int show_help(const ab_ctl_command *command)
{
    ab_buf text;
    ab_buf_init(&text, HELP_MAX);
    ab_ctl_help(commands, command, &text);
    ab_str shown = ab_buf_str(&text);
    bool whole = ab_buf_status(&text) == AB_ERR_OK &&
                 fwrite(shown.ptr, 1, shown.len, stdout) == shown.len && fflush(stdout) == 0;
    ab_buf_fini(&text);
    return whole ? AB_CTL_OK : AB_CTL_FAILED;
}

int main(int argc, char **argv)
{
    ab_ctl ctl;
    ab_ctl_wanted wanted;
    ab_error err = {0};
    if (ab_ctl_parse(commands, argc, argv, &ctl, &wanted, &err) != AB_ERR_OK)
        return ab_ctl_fail(AB_CTL_USAGE, "%s", err.text);
    switch (wanted) {
    case AB_CTL_HELP:
        return show_help(ctl.command);
    case AB_CTL_VERSION:
        puts("argobusctl " AB_VERSION);
        return AB_CTL_OK;
    case AB_CTL_RUN:
        break;
    }
    return ctl.command->run(&ctl);
}
