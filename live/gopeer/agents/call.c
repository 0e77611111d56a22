/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/digest.h"
#include "live/gopeer/agents/agents_priv.h"
#include "live/resource/status.h"

#include <string.h>

/* Bytes given to the stream at once. */
#define STATUS_MAX (16u * 1024)

void ab_gopeer_call_init(ab_gopeer_call *c, ab_gopeer_agent *agent, ab_live_stream *s,
                         size_t body_max)
{
    c->agent = agent;
    c->stream = s;
    ab_buf_init_secret(&c->out, body_max);
}

void ab_gopeer_call_fini(ab_gopeer_call *c)
{
    if (c->id[0] != '\0')
        (void)ab_map_take(c->agent->calls, ab_str_of(c->id));
    ab_buf_wipe(&c->out);
}

/* ----- to the agent ----- */

ab_err ab_gopeer_call_name(ab_gopeer_call *c)
{
    char id[sizeof(c->id)];
    if (ab_uuid(id) != AB_ERR_OK || ab_map_put(c->agent->calls, ab_str_of(id), c, NULL))
        return AB_ERR_NOMEM;
    memcpy(c->id, id, sizeof(id));
    return AB_ERR_OK;
}

ab_err ab_gopeer_call_ask(ab_gopeer_call *c, ab_target target, ab_type type, ab_str data)
{
    const ab_gopeer_agents_env *env = &c->agent->all->env;
    ab_event *event = NULL;
    ab_event_draft draft = {.data = data};
    ab_event_set_text(&draft, AB_CE_ID, c->id);
    ab_event_set_text(&draft, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&draft, AB_CE_RESOURCEID, c->id);
    ab_event_set_text(&draft, AB_CE_EVENTID, c->id);
    ab_err e = ab_event_new(&draft, &event, NULL);
    if (e == AB_ERR_OK)
        e = env->send(env->arg, c->agent->name, event);
    ab_event_unref(event);
    return e;
}

/* ----- to the hub ----- */

void ab_gopeer_call_flush(ab_gopeer_call *c)
{
    ab_err e = ab_buf_status(&c->out);
    if (e == AB_ERR_OK)
        e = ab_live_stream_send_rest(c->stream, ab_buf_str(&c->out), &c->out_sent);
    if (e != AB_ERR_OK)
        return; /* FULL: on_room follows; else it is ending, and on_over follows */
    c->out_sent = 0;
    ab_buf_clear(&c->out);
    if (c->ends)
        ab_live_stream_end(c->stream);
}

void ab_gopeer_call_answer(ab_gopeer_call *c, int status, ab_http_field field, bool ends)
{
    if (c->answered)
        return;
    c->answered = true;
    c->ends = ends;
    if (ab_live_stream_answer(c->stream, status, &field, 1) == AB_ERR_OK)
        ab_gopeer_call_flush(c);
}

void ab_gopeer_call_refuse(ab_gopeer_call *c, int status, const char *why)
{
    ab_buf body = ab_buf_up_to(STATUS_MAX);
    ab_resource_status_put(status, why, &body);
    ab_buf_clear(&c->out);
    ab_buf_put(&c->out, ab_buf_str(&body));
    ab_buf_fini(&body);
    ab_gopeer_call_answer(
        c, status, (ab_http_field){AB_STR("content-type"), AB_STR("application/json")}, true);
}
