/* SPDX-License-Identifier: Apache-2.0
 *
 * argobusctl: what an operator asks of argobus from a shell.
 */
#include "base/core/file.h"
#include "services/ctl/cluster/kubeconfig.h"
#include "services/ctl/commands.h"
#include "services/ctl/complete.h"
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/help.h"
#include "services/ctl/manual.h"
#include "services/ctl/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELP_MAX (4u * 1024 * 1024)
/* Whoever presses the tab key does not wait longer for names of agents. */
#define COMPLETE_S 2

static int show_help(const ab_ctl_command *command)
{
    ab_buf text = ab_buf_up_to(HELP_MAX);
    ab_ctl_help(ab_ctl_all_commands, command, &text);
    int code = ab_ctl_print(&text);
    ab_buf_fini(&text);
    return code;
}

/* What is wrong would only disturb the line that is being written. */
static void put_agent_names(const char *socket, ab_buf *out)
{
    if (freopen("/dev/null", "w", stderr) != NULL)
        ab_ctl_put_agent_names(socket, out);
}

/* Words for other programs, which are no commands: "__complete WORD...", "__manual".
 * @return false: it is neither */
static bool run_hidden(int argc, char **argv, int *code)
{
    static const ab_ctl_names names = {put_agent_names, ab_cluster_put_contexts};
    const char *word = argc > 1 ? argv[1] : "";
    ab_buf text = ab_buf_up_to(HELP_MAX);
    bool complete = strcmp(word, "__complete") == 0, manual = strcmp(word, "__manual") == 0;
    if (complete) {
        (void)alarm(COMPLETE_S);
        ab_ctl_complete(ab_ctl_all_commands, argc - 2, argv + 2, &names, &text);
    } else if (manual) {
        ab_ctl_manual(ab_ctl_all_commands, &text);
    }
    *code = complete || manual ? ab_ctl_print(&text) : AB_CTL_OK;
    ab_buf_fini(&text);
    return complete || manual;
}

int main(int argc, char **argv)
{
    ab_ctl ctl;
    ab_ctl_wanted wanted;
    int code;
    ab_error err = {0};
    ab_file_hold_standard();
    if (argc > 0)
        ab_ctl_set_program(argv[0]);
    if (run_hidden(argc, argv, &code))
        return code;
    if (ab_ctl_parse(ab_ctl_all_commands, argc, argv, &ctl, &wanted, &err) != AB_ERR_OK)
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
