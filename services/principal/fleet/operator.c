/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operator may ask of a running principal:
 *
 *   {"do":"fleet"}                                  the state of all agents (view.h)
 *   {"do":"agent","agent":NAME}                     of one, and its objects
 *   {"do":"resync","agent":NAME}                    {"ok":TEXT}; without "agent": all of them
 *   {"do":"resync","agent":NAME,"confirm":TOKEN}    the same; confirms what is held under the token
 *
 * What cannot be done is {"error":TEXT}, for an agent that is not served with "code":"not-found".
 */
#include "services/principal/fleet/operator.h"

#include "base/json/document.h"
#include "services/principal/fleet/view.h"

#include <stdio.h>

#define REQUEST_MAX AB_CONTROL_REQUEST_MAX

static void say(ab_buf *answer, const char *member, const char *text)
{
    cJSON *doc = cJSON_CreateObject();
    ab_doc_finish(doc, ab_doc_add_str(doc, member, ab_str_of(text)), answer);
}

static void say_unknown(const service *s, ab_str agent, ab_buf *answer)
{
    char text[400];
    bool shown = agent.ptr != NULL && ab_str_is_printable(agent) && agent.len < 64;
    ab_str near = shown ? ab_fleet_nearest(s->fleet, agent) : AB_STR_NONE;
    cJSON *doc = cJSON_CreateObject();
    int len = snprintf(text, sizeof(text), "no agent \"%.*s\" is served",
                       AB_STR_ARG(shown ? agent : AB_STR("")));
    if (near.ptr != NULL && len > 0 && (size_t)len < sizeof(text))
        snprintf(text + len, sizeof(text) - (size_t)len, "; the nearest name is \"%.*s\"",
                 AB_STR_ARG(near));
    ab_doc_finish(doc,
                  ab_doc_add_str(doc, "error", ab_str_of(text)) &&
                      ab_doc_add_str(doc, "code", AB_STR("not-found")),
                  answer);
}

/* --- resync --- */

static void put_under_way(ab_buf *answer, size_t held)
{
    char text[200] = "resync started: see argobus_resyncs_total and argobus_deletions_held";
    if (held > 0)
        snprintf(text, sizeof(text),
                 "resync started; deletions held back: %zu; argobusctl deletions tells how to "
                 "confirm them",
                 held);
    say(answer, "ok", text);
}

static void resync_only(service *s, const char *agent, ab_buf *answer)
{
    ab_err e = ab_principal_resync(s->machine, agent, "the operator asks");
    if (e != AB_ERR_OK) {
        say(answer, "error", ab_err_text(e));
        return;
    }
    AB_INFO(s->base.daemon->log, MAIN, "the operator asked for a resync",
            AB_KV("agent", agent == NULL ? "all" : agent));
    put_under_way(answer, ab_principal_held(s->machine, agent));
}

/* --- confirm --- */

/* Which deletions a token stands for is seen before it is given. */
static void say_unconfirmed(const service *s, const char *agent, ab_str token, ab_buf *answer)
{
    char text[400] = "nothing is confirmed: no deletions are held back for this agent";
    size_t held = ab_principal_held(s->machine, agent);
    const char *now = ab_holds_token(s->holds, agent);
    if (held > 0 && now != NULL && ab_str_is(token, now))
        snprintf(text, sizeof(text),
                 "nothing is confirmed: another object is missing since; run argobusctl deletions "
                 "again");
    else if (held > 0)
        snprintf(text, sizeof(text),
                 "nothing is confirmed: %s; held back now: %zu, which argobusctl pending %s lists; "
                 "to confirm these, run argobusctl resync --agent %s --confirm %s",
                 token.len == 0 ? "no token says which deletions"
                                : "the token is of other deletions than those that are held back",
                 held, agent, agent, now == NULL ? "TOKEN" : now);
    say(answer, "error", text);
}

static void confirm(service *s, const char *agent, ab_str token, ab_buf *answer)
{
    switch (ab_principal_confirm(s->machine, agent, token)) {
    case AB_ERR_OK:
        AB_INFO(s->base.daemon->log, MAIN, "the operator confirmed deletions",
                AB_KV("agent", agent));
        put_under_way(answer, 0);
        break;
    case AB_ERR_UNSUPPORTED:
        say(answer, "error",
            "nothing is confirmed: the agent's version does not say which deletions it holds back; "
            "upgrade the agent, or make the objects again");
        break;
    default:
        say_unconfirmed(s, agent, token, answer);
        break;
    }
}

/* A former argobusctl gives no token, but true. */
static void resync(service *s, const char *agent, const cJSON *request, ab_buf *answer)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(request, "confirm");
    if (member == NULL || cJSON_IsFalse(member))
        resync_only(s, agent, answer);
    else if (agent == NULL)
        say(answer, "error", "name the agent whose deletions you confirm");
    else
        confirm(s, agent, ab_doc_text(request, "confirm"), answer);
}

/* --- requests --- */

static void show_fleet(service *s, const char *agent, const cJSON *request, ab_buf *answer)
{
    (void)agent;
    (void)request;
    ab_fleet_view_write(s, answer);
}

static void show_agent(service *s, const char *agent, const cJSON *request, ab_buf *answer)
{
    (void)request;
    if (agent == NULL || ab_fleet_view_write_agent(s, ab_str_of(agent), answer) != AB_ERR_OK)
        say(answer, "error", "no agent is named");
}

static const struct {
    const char *name;
    /* `agent` is served; NULL: none was named. */
    void (*run)(service *s, const char *agent, const cJSON *request, ab_buf *answer);
} rows[] = {{"resync", resync}, {"fleet", show_fleet}, {"agent", show_agent}};

static void carry_out(service *s, const cJSON *request, ab_buf *answer)
{
    char name[64]; /* a DNS label */
    ab_str agent = ab_doc_text(request, "agent");
    bool named = cJSON_HasObjectItem(request, "agent");
    if (named && (agent.ptr == NULL || agent.len >= sizeof(name) ||
                  ab_fleet_find(s->fleet, agent) == NULL)) {
        say_unknown(s, agent, answer);
        return;
    }
    snprintf(name, sizeof(name), "%.*s", AB_STR_ARG(agent));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (ab_doc_is(request, "do", rows[i].name)) {
            rows[i].run(s, named ? name : NULL, request, answer);
            return;
        }
    say(answer, "error", "unknown request");
}

static void on_request(void *arg, ab_str request, ab_buf *answer)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(request, REQUEST_MAX, &doc, NULL) == AB_ERR_OK)
        carry_out(arg, doc, answer);
    else
        say(answer, "error", "unknown request");
    cJSON_Delete(doc);
}

ab_err ab_operator_listen(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    return ab_control_open(d->loop, ab_config_str(d->config, "control.socket"), d->program->name,
                           on_request, s, d->log, &s->control, err);
}
