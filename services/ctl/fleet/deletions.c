/* SPDX-License-Identifier: Apache-2.0
 *
 * "deletions": the agents with deletions that are held back. They are confirmed by "resync".
 */
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/fleet/view.h"

static void put_token(const cJSON *agent, ab_buf *cell)
{
    ab_ctl_put_member(cJSON_GetObjectItemCaseSensitive(agent, "held"), "token", cell);
}

static void put_remedy(const cJSON *agent, ab_buf *cell)
{
    ab_buf_puts(cell, "argobusctl resync --agent ");
    ab_ctl_put_member(agent, "name", cell);
    ab_buf_puts(cell, " --confirm ");
    put_token(agent, cell);
}

static const ab_ctl_column columns[] = {{"AGENT", "name", NULL},
                                        {"HELD", NULL, ab_ctl_put_held},
                                        {"TOKEN", NULL, put_token},
                                        {"TO CONFIRM", NULL, put_remedy}};
static const ab_ctl_table table = {columns, sizeof(columns) / sizeof(*columns),
                                   "no deletions are held back"};

static bool is_wanted(const cJSON *agent, const char *only)
{
    return cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(agent, "held")) &&
           (only == NULL || ab_doc_is(agent, "name", only));
}

/* Only these stay in the answer. */
static void leave(cJSON *agents, const char *only)
{
    cJSON *next;
    for (cJSON *agent = agents == NULL ? NULL : agents->child; agent != NULL; agent = next) {
        next = agent->next;
        if (!is_wanted(agent, only))
            cJSON_Delete(cJSON_DetachItemViaPointer(agents, agent));
    }
}

/* Also says so when there is no such agent. */
static int ask(const ab_ctl *ctl, const char *only, cJSON **answer)
{
    cJSON *agent = NULL;
    int code = only == NULL ? AB_CTL_OK : ab_ctl_ask_agent(ctl, only, &agent);
    cJSON_Delete(agent);
    return code == AB_CTL_OK ? ab_ctl_ask_fleet(ctl, answer) : code;
}

static int run(const ab_ctl *ctl)
{
    cJSON *answer = NULL;
    const char *only = ab_ctl_value(ctl, "agent");
    int code = ask(ctl, only, &answer);
    if (code != AB_CTL_OK)
        return code;
    cJSON *agents = cJSON_GetObjectItemCaseSensitive(answer, "agents");
    leave(agents, only);
    code = ab_ctl_show(ctl, answer, agents, &table);
    cJSON_Delete(answer);
    return code;
}

static const ab_ctl_flag flags[] = {{"agent", "NAME", "only of this agent"}};

const ab_ctl_command ab_ctl_deletions = {
    .name = "deletions",
    .operands = "",
    .summary = "List the agents with deletions that are held back",
    .examples = "  argobusctl deletions\n"
                "  argobusctl pending w1\n"
                "  argobusctl resync --agent w1 --confirm fd0f3c1a\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run,
};
