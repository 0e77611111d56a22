/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/fleet/ask.h"
#include "services/ctl/fleet/fleet.h"

#include <stdio.h>

static const ab_ctl_flag flags[] = {
    {"agent", "NAME", "only with this agent"},
    {"confirm", "TOKEN", "confirm what is held back of --agent under this token of \"deletions\""},
};

static cJSON *make_request(const ab_ctl *ctl)
{
    cJSON *doc = cJSON_CreateObject();
    const char *agent = ab_ctl_value(ctl, "agent");
    const char *token = ab_ctl_value(ctl, "confirm");
    if (ab_doc_add_str(doc, "do", AB_STR("resync")) &&
        (agent == NULL || ab_doc_add_str(doc, "agent", ab_str_of(agent))) &&
        (token == NULL || ab_doc_add_str(doc, "confirm", ab_str_of(token))))
        return doc;
    cJSON_Delete(doc);
    return NULL;
}

static int run(const ab_ctl *ctl)
{
    cJSON *answer = NULL;
    if (ab_ctl_value(ctl, "confirm") != NULL && ab_ctl_value(ctl, "agent") == NULL)
        return ab_ctl_fail(AB_CTL_USAGE, "--confirm: name the agent whose deletions you confirm: "
                                         "--agent NAME");
    int code = ab_ctl_ask(ctl, make_request(ctl), &answer);
    if (code != AB_CTL_OK)
        return code;
    ab_str ok = ab_doc_text(answer, "ok");
    if (ok.ptr == NULL)
        code = ab_ctl_fail(AB_CTL_FAILED, "the response has no \"ok\": is it a principal's?");
    else
        printf("%.*s\n", AB_STR_ARG(ok));
    cJSON_Delete(answer);
    return code;
}

const ab_ctl_command ab_ctl_resync = {
    .name = "resync",
    .operands = "",
    .summary = "Compare the inventories of principal and agents, and repair differences",
    .examples = "  argobusctl resync --agent w1\n"
                "  argobusctl resync --agent w1 --confirm fd0f3c1a\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
