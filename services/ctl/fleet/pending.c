/* SPDX-License-Identifier: Apache-2.0
 *
 * "pending" and "agent inspect": one agent, and its changes that are not in effect.
 */
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/fleet/view.h"

#include <stdio.h>

static void put_object_name(const cJSON *object, ab_buf *cell)
{
    ab_ctl_put_member(object, "namespace", cell);
    if (cell->len > 0)
        ab_buf_putc(cell, '/');
    ab_ctl_put_member(object, "name", cell);
}

static void put_age(const cJSON *object, ab_buf *cell)
{
    const cJSON *age = cJSON_GetObjectItemCaseSensitive(object, "age_seconds");
    if (cJSON_IsNumber(age))
        ab_ctl_put_age(age->valuedouble, cell);
}

static const ab_ctl_column columns[] = {
    {"WAY", "direction", NULL}, {"KIND", "kind", NULL}, {"NAME", NULL, put_object_name},
    {"ACTION", "action", NULL}, {"AGE", NULL, put_age}, {"REASON", "reason", NULL}};
static const ab_ctl_table table = {columns, sizeof(columns) / sizeof(*columns),
                                   "every change that the principal knows of is in effect"};

/* --- what the list cannot show --- */

static void warn_of_agent(const cJSON *agent)
{
    ab_str refused = ab_doc_text(agent, "refused");
    const cJSON *pending = cJSON_GetObjectItemCaseSensitive(agent, "pending");
    if (refused.ptr != NULL)
        ab_ctl_fail(AB_CTL_OK, "the agent is refused: %.*s", AB_STR_ARG(refused));
    else if (ab_doc_text(agent, "mode").ptr == NULL)
        fputs("the agent's mode is not known: nothing is sent to it until it is\n", stderr);
    if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(pending, "down")))
        fputs(
            "what is pending is not known: the agent has not connected, its topics cannot be used, "
            "or what it has was not compared yet\n",
            stderr);
}

/* Of those that only the agent knows, the first are listed. */
static void warn_of_held(const cJSON *agent, const cJSON *objects)
{
    int64_t held = 0;
    if (ab_doc_i64(cJSON_GetObjectItemCaseSensitive(agent, "held"), "count", &held) != AB_ERR_OK)
        return;
    for (const cJSON *o = objects == NULL ? NULL : objects->child; o != NULL; o = o->next)
        held -= ab_doc_is(o, "state", "held");
    if (held > 0)
        fprintf(stderr, "deletions held back that are not listed: %lld; see argobusctl deletions\n",
                (long long)held);
}

static void warn(const cJSON *answer)
{
    int64_t left_out;
    const cJSON *agent = cJSON_GetObjectItemCaseSensitive(answer, "agent");
    warn_of_agent(agent);
    warn_of_held(agent, cJSON_GetObjectItemCaseSensitive(answer, "objects"));
    if (ab_doc_i64(answer, "objects_left_out", &left_out) == AB_ERR_OK && left_out > 0)
        fprintf(stderr, "%lld more are not listed\n", (long long)left_out);
}

static int run_pending(const ab_ctl *ctl)
{
    cJSON *answer = NULL;
    int code = ab_ctl_ask_agent(ctl, ctl->operands[0], &answer);
    if (code != AB_CTL_OK)
        return code;
    warn(answer);
    code = ab_ctl_show(ctl, answer, cJSON_GetObjectItemCaseSensitive(answer, "objects"), &table);
    cJSON_Delete(answer);
    return code;
}

/* --- agent inspect --- */

static void put_line(const char *name, ab_buf *value, ab_buf *out)
{
    ab_buf_printf(out, "%-16s %.*s\n", name,
                  AB_STR_ARG(value->len > 0 ? ab_buf_str(value) : AB_STR("-")));
    ab_buf_clear(value);
}

static void put_way(const cJSON *agent, void (*count)(const cJSON *, ab_buf *),
                    void (*age)(const cJSON *, ab_buf *), ab_buf *out)
{
    ab_buf oldest = ab_buf_up_to(64);
    count(agent, out);
    age(agent, &oldest);
    if (oldest.len > 0)
        ab_buf_printf(out, ", the oldest for %s", oldest.ptr);
    ab_buf_fini(&oldest);
}

static void put_certificate(const cJSON *agent, ab_buf *value)
{
    const cJSON *certificate = cJSON_GetObjectItemCaseSensitive(agent, "certificate");
    ab_ctl_put_member(certificate, "sha256", value);
    if (value->len > 0)
        ab_buf_puts(value, ", expires ");
    ab_ctl_put_member(certificate, "expires", value);
}

static void put_connection(const cJSON *agent, ab_buf *value)
{
    ab_ctl_put_connected(agent, value);
    if (ab_doc_text(agent, "since").ptr != NULL)
        ab_buf_puts(value, ", for ");
    ab_ctl_put_since(agent, value);
}

static void put_agent(const cJSON *agent, ab_buf *out)
{
    static const struct {
        const char *title, *member;
    } texts[] = {{"name:", "name"},
                 {"mode:", "mode"},
                 {"claims mode:", "claimed_mode"},
                 {"version:", "version"},
                 {"refused:", "refused"}};
    ab_buf value = ab_buf_up_to(64u * 1024);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ab_ctl_put_member(agent, texts[i].member, &value);
        put_line(texts[i].title, &value, out);
    }
    put_connection(agent, &value);
    put_line("connected:", &value, out);
    put_way(agent, ab_ctl_put_down, ab_ctl_put_down_age, &value);
    put_line("pending down:", &value, out);
    put_way(agent, ab_ctl_put_up, ab_ctl_put_up_age, &value);
    put_line("pending up:", &value, out);
    ab_ctl_put_held(agent, &value);
    put_line("held deletions:", &value, out);
    put_certificate(agent, &value);
    put_line("certificate:", &value, out);
    ab_buf_fini(&value);
}

static int show_agent(const cJSON *answer)
{
    const cJSON *objects = cJSON_GetObjectItemCaseSensitive(answer, "objects");
    ab_buf out = ab_buf_up_to(64u * 1024 * 1024);
    put_agent(cJSON_GetObjectItemCaseSensitive(answer, "agent"), &out);
    if (objects != NULL && objects->child != NULL) {
        ab_buf_putc(&out, '\n');
        ab_ctl_put_table(objects, &table, &out);
    }
    int code = ab_ctl_print(&out);
    ab_buf_fini(&out);
    return code;
}

static int run_inspect(const ab_ctl *ctl)
{
    cJSON *answer = NULL;
    int code = ab_ctl_ask_agent(ctl, ctl->operands[0], &answer);
    if (code != AB_CTL_OK)
        return code;
    code = ctl->form == AB_CTL_TABLE ? show_agent(answer) : ab_ctl_show(ctl, answer, NULL, &table);
    cJSON_Delete(answer);
    return code;
}

const ab_ctl_command ab_ctl_pending = {
    .name = "pending",
    .operands = "AGENT",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "List the changes that are not in effect, why, and for how long",
    .examples = "  argobusctl pending w1\n"
                "  argobusctl pending w1 -o yaml\n",
    .shows = true,
    .run = run_pending,
};

const ab_ctl_command ab_ctl_agent_inspect = {
    .name = "agent inspect",
    .operands = "AGENT",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Show one agent, and its changes that are not in effect",
    .examples = "  argobusctl agent inspect w1\n",
    .shows = true,
    .run = run_inspect,
};
