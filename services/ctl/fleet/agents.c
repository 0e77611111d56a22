/* SPDX-License-Identifier: Apache-2.0
 *
 * "agent list" and "lag": a row for each agent.
 */
#include "services/ctl/args.h"
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/fleet/view.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define WATCH_MS 2000

void ab_ctl_put_agent_names(const char *socket, ab_buf *out)
{
    cJSON *answer = NULL;
    ab_ctl ctl;
    ab_ctl_begin(&ctl);
    if (socket != NULL) {
        ctl.socket = socket;
        ctl.server = NULL;
    }
    int code = ab_ctl_ask_fleet(&ctl, &answer);
    const cJSON *agents = cJSON_GetObjectItemCaseSensitive(answer, "agents");
    if (code == AB_CTL_OK && agents != NULL)
        for (const cJSON *agent = agents->child; agent != NULL; agent = agent->next) {
            ab_ctl_put_member(agent, "name", out);
            ab_buf_putc(out, '\n');
        }
    cJSON_Delete(answer);
}

static void put_mode(const cJSON *agent, ab_buf *cell)
{
    ab_ctl_put_member(agent, "mode", cell);
    if (cell->len == 0)
        ab_buf_puts(cell, "unknown");
}

static const ab_ctl_column list_columns[] = {{"NAME", "name", NULL},
                                             {"MODE", NULL, put_mode},
                                             {"CONNECTED", NULL, ab_ctl_put_connected},
                                             {"SINCE", NULL, ab_ctl_put_since},
                                             {"VERSION", "version", NULL},
                                             {"DOWN", NULL, ab_ctl_put_down},
                                             {"UP", NULL, ab_ctl_put_up},
                                             {"HELD", NULL, ab_ctl_put_held},
                                             {"REFUSED", "refused", NULL}};
static const ab_ctl_table list_table = {list_columns, sizeof(list_columns) / sizeof(*list_columns),
                                        "no agents are served"};

static const ab_ctl_column lag_columns[] = {
    {"AGENT", "name", NULL},         {"CONNECTED", NULL, ab_ctl_put_connected},
    {"DOWN", NULL, ab_ctl_put_down}, {"OLDEST", NULL, ab_ctl_put_down_age},
    {"UP", NULL, ab_ctl_put_up},     {"OLDEST", NULL, ab_ctl_put_up_age}};
static const ab_ctl_table lag_table = {lag_columns, sizeof(lag_columns) / sizeof(*lag_columns),
                                       "no agents are served"};

static int show(const ab_ctl *ctl, const ab_ctl_table *table)
{
    cJSON *answer = NULL;
    int code = ab_ctl_ask_fleet(ctl, &answer);
    if (code == AB_CTL_OK)
        code = ab_ctl_show(ctl, answer, cJSON_GetObjectItemCaseSensitive(answer, "agents"), table);
    cJSON_Delete(answer);
    return code;
}

static int run_list(const ab_ctl *ctl)
{
    return show(ctl, &list_table);
}

/* A terminal shows the newest only; elsewhere one table follows the other. */
static void begin_again(void)
{
    (void)poll(NULL, 0, WATCH_MS);
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    else
        putchar('\n');
}

static int run_lag(const ab_ctl *ctl)
{
    int code = show(ctl, &lag_table);
    while (code == AB_CTL_OK && ab_ctl_value(ctl, "watch") != NULL) {
        begin_again();
        code = show(ctl, &lag_table);
    }
    return code;
}

static const ab_ctl_flag lag_flags[] = {
    {"watch", NULL, "show it again every 2 s until interrupted"},
};

const ab_ctl_command ab_ctl_agent_list = {
    .name = "agent list",
    .operands = "",
    .summary = "List the agents that the principal serves",
    .examples = "  argobusctl agent list\n"
                "  argobusctl agent list -o json\n",
    .shows = true,
    .run = run_list,
};

const ab_ctl_command ab_ctl_lag = {
    .name = "lag",
    .operands = "",
    .summary = "Show how many changes are not in effect, for each agent and direction",
    .examples = "  argobusctl lag\n"
                "  argobusctl lag --watch\n",
    .flags = lag_flags,
    .flag_count = sizeof(lag_flags) / sizeof(*lag_flags),
    .shows = true,
    .run = run_lag,
};
