/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's call for live events: opened when the link wants one, on the connection of the
 * stream. The token of the login has mostly expired by then, so the agent logs in for a new one:
 * trying the old one would count as a failed login at the principal.
 */
#include "transport/grpc/grpc_priv.h"

static ab_grpc_link *link_of(const ab_grpc *g)
{
    return ab_grpc_find(g, ab_str_of(g->base.env.agent));
}

static ab_err live_send(void *call, ab_str head, ab_event *event)
{
    const ab_grpc *g = call;
    return g->client.live == NULL ? AB_ERR_CLOSED : ab_grpc_send(g, g->client.live, head, event);
}

static void live_pause(void *call)
{
    const ab_grpc *g = call;
    if (g->client.live != NULL)
        ab_rpc_pause(g->client.live);
}

static void live_resume(void *call)
{
    const ab_grpc *g = call;
    if (g->client.live != NULL)
        ab_rpc_resume(g->client.live);
}

static void live_cut(void *call, const char *why)
{
    const ab_grpc *g = call;
    AB_DEBUG(g->base.env.log, TRANSPORT, "live call ended", AB_KV("why", why));
    if (g->client.live != NULL)
        ab_rpc_cancel(g->client.live);
}

static const ab_grpc_stream_ops ops = {live_send, live_pause, live_resume, live_cut, NULL, NULL};

static void fail(ab_grpc *g, const char *why)
{
    AB_WARN(g->base.env.log, TRANSPORT, "cannot open a call for live events", AB_KV("why", why));
    ab_grpc_link_live_over(link_of(g));
    ab_grpc_client_leave_draining(g);
}

/* Before it nothing is sent: a call that is refused would swallow it. */
static void on_headers(void *arg, const ab_rpc_field *metadata, size_t count)
{
    ab_grpc *g = arg;
    if (ab_rpc_field_find(metadata, count, AB_GRPC_META_VERSION).ptr == NULL)
        return;
    g->client.live_open = true;
    ab_grpc_link_attach_live(link_of(g), &ops, g);
}

static void on_message(void *arg, ab_str bytes)
{
    const ab_grpc *g = arg;
    ab_grpc_link_receive_live(link_of(g), g, bytes);
}

static void on_writable(void *arg)
{
    const ab_grpc *g = arg;
    ab_grpc_link_live_writable(link_of(g), g);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc *g = arg;
    ab_error err = {0};
    g->client.live = NULL;
    ab_grpc_link_detach_live(link_of(g), g);
    ab_fail(&err, AB_ERR_UNAVAILABLE, "%s: %.*s", ab_rpc_status_name(status), AB_STR_ARG(text));
    if (!g->client.live_open) {
        fail(g, err.text);
        return;
    }
    AB_DEBUG(g->base.env.log, TRANSPORT, "live call ended", AB_KV("why", err.text));
    ab_grpc_link_live_over(link_of(g));
}

static const ab_rpc_handler frames = {.on_headers = on_headers,
                                      .on_message = on_message,
                                      .on_writable = on_writable,
                                      .on_end = on_end};

static void begin(ab_grpc *g)
{
    ab_str instance = ab_str_of(ab_grpc_link_instance(link_of(g)));
    const ab_rpc_field metadata[] = {
        {AB_STR(AB_GRPC_META_TOKEN), ab_buf_str(&g->client.token)},
        {AB_STR(AB_GRPC_META_VERSION), AB_STR(AB_VERSION)},
        {AB_STR(AB_GRPC_META_INSTANCE), instance},
    };
    const ab_rpc_begin call = {.path = AB_GRPC_LIVE_FRAMES,
                               .metadata = metadata,
                               .metadata_count = 3,
                               .compress = g->settings.compress};
    g->client.live_open = false;
    ab_err e = ab_rpc_call_begin(g->client.rpc, &call, &frames, g, &g->client.live);
    if (e == AB_ERR_OK)
        return;
    g->client.live = NULL;
    fail(g, ab_grpc_client_why_no_call(e));
}

static void on_granted(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    ab_grpc *g = arg;
    (void)text;
    if (status != AB_RPC_OK)
        fail(g, ab_rpc_status_name(status));
    else if (ab_grpc_client_keep_grant(g, response) != AB_ERR_OK)
        fail(g, "cannot read the response of Authenticate");
    else
        begin(g);
}

void ab_grpc_client_open_live(void *arg, ab_grpc_link *l)
{
    ab_grpc *g = arg;
    ab_error err = {0};
    (void)l;
    if (ab_grpc_client_has_token(g))
        begin(g);
    else if (ab_grpc_client_authenticate(g, on_granted, &err) != AB_ERR_OK)
        fail(g, err.text);
}
