/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operator may ask of a running principal: {"do":"resync","agent":NAME,"confirm":true}.
 */
#include "base/json/document.h"
#include "services/principal/principal_priv.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_MAX 4096

static void say(ab_buf *answer, const char *member, const char *text)
{
    cJSON *doc = cJSON_CreateObject();
    ab_doc_finish(doc, ab_doc_add_str(doc, member, ab_str_of(text)), answer);
}

static void put_under_way(ab_buf *answer, size_t held)
{
    char text[200] = "resync started: see argobus_resyncs_total and argobus_deletions_held";
    if (held > 0)
        snprintf(
            text, sizeof(text),
            "resync started; deletions held back: %zu; to confirm them, run again with --confirm",
            held);
    say(answer, "ok", text);
}

static void resync(service *s, const cJSON *request, ab_buf *answer)
{
    char name[64]; /* a DNS label */
    ab_str agent = ab_doc_text(request, "agent");
    bool named = cJSON_HasObjectItem(request, "agent");
    bool confirm = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(request, "confirm"));
    if (agent.len >= sizeof(name) || (named && agent.ptr == NULL)) {
        say(answer, "error", "no such agent");
        return;
    }
    memcpy(name, agent.len == 0 ? "" : agent.ptr, agent.len);
    name[agent.len] = '\0';
    const char *which = agent.ptr == NULL ? NULL : name;
    ab_err e = confirm ? ab_principal_confirm(s->machine, which)
                       : ab_principal_resync(s->machine, which, "the operator asks");
    if (e != AB_ERR_OK) {
        say(answer, "error", "no such agent");
        return;
    }
    AB_INFO(s->base.daemon->log, MAIN,
            confirm ? "the operator confirmed deletions" : "the operator asked for a resync",
            AB_KV("agent", which == NULL ? "all" : which));
    put_under_way(answer, confirm ? 0 : ab_principal_held(s->machine, which));
}

static void on_request(void *arg, ab_str request, ab_buf *answer)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(request, REQUEST_MAX, &doc, NULL) == AB_ERR_OK &&
        ab_doc_is(doc, "do", "resync"))
        resync(arg, doc, answer);
    else
        say(answer, "error", "unknown request");
    cJSON_Delete(doc);
}

ab_err ab_principal_listen(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    return ab_control_open(d->loop, ab_config_str(d->config, "control.socket"), d->program->name,
                           on_request, s, d->log, &s->control, err);
}
