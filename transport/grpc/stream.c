/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscribe, the stream of an agent, and Push, which says more on it.
 */
#include "transport/grpc/call.h"

/* What they bring would be passed over. */
static void end_pushes(ab_grpc_call *stream)
{
    while (!LIST_EMPTY(&stream->pushes)) {
        ab_grpc_call *c = LIST_FIRST(&stream->pushes);
        LIST_REMOVE(c, pushes_at);
        c->onto = NULL;
        ab_rpc_finish(c->call, AB_RPC_ABORTED, "the Subscribe stream has ended");
    }
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc_call *c = arg;
    bool attached = c->link != NULL && ab_grpc_link_stream(c->link) != NULL;
    const ab_log_quota *lines = attached ? ab_grpc_link_may_log_stream(c->link) : NULL;
    if (lines != NULL)
        AB_INFO(c->grpc->base.env.log, TRANSPORT, "stream ended",
                AB_KV("agent", ab_grpc_link_agent(c->link)),
                AB_KV("status", ab_rpc_status_name(status)), AB_KV("why", text),
                AB_KV("held_back", lines->held_back));
    c->call = NULL;
    end_pushes(c);
    if (c->compat != NULL)
        ab_compat_close(c->compat, c);
    else if (c->link != NULL)
        ab_grpc_link_detach(c->link, c);
    ab_grpc_call_free(c);
}

static ab_err stream_send(void *stream, ab_str head, ab_event *event)
{
    const ab_grpc_call *c = stream;
    return c->call == NULL ? AB_ERR_CLOSED : ab_grpc_send(c->grpc, c->call, head, event);
}

/* Of the stream, and of what says more on it. */
static void set_paused(ab_grpc_call *c, bool paused)
{
    void (*set)(ab_rpc_call * call) = paused ? ab_rpc_pause : ab_rpc_resume;
    const ab_grpc_call *push = NULL;
    if (c->call == NULL)
        return;
    c->paused = paused;
    set(c->call);
    LIST_FOREACH(push, &c->pushes, pushes_at)
    {
        set(push->call);
    }
}

static void stream_pause(void *stream)
{
    set_paused(stream, true);
}

static void stream_resume(void *stream)
{
    set_paused(stream, false);
}

static void stream_cut(void *stream, const char *why)
{
    ab_grpc_call *c = stream;
    if (c->call == NULL)
        return;
    end_pushes(c);
    const ab_log_quota *lines = ab_grpc_link_may_log(c->link);
    if (lines != NULL)
        AB_WARN(c->grpc->base.env.log, TRANSPORT, "stream cut", AB_KV("agent", c->identity.agent),
                AB_KV("why", why), AB_KV("held_back", lines->held_back));
    ab_metric_add(ab_metric_get(c->grpc->base.env.metrics, AB_METRIC_COUNTER,
                                "argobus_grpc_streams_cut_total",
                                "Agents' streams that the principal ended.", NULL, 0),
                  1);
    ab_rpc_finish(c->call, AB_RPC_ABORTED, why);
}

static int64_t stream_silent_ms(void *stream)
{
    const ab_grpc_call *c = stream;
    return c->call == NULL ? 0 : ab_rpc_silent_ms(c->call);
}

static int64_t stream_quiet_ms(void *stream)
{
    const ab_grpc_call *c = stream;
    return c->call == NULL ? 0 : ab_rpc_quiet_ms(c->call);
}

static const ab_grpc_stream_ops stream_ops = {stream_send, stream_pause,     stream_resume,
                                              stream_cut,  stream_silent_ms, stream_quiet_ms};

static void on_stream_message(void *arg, ab_str bytes)
{
    const ab_grpc_call *c = arg;
    if (c->compat != NULL)
        ab_compat_receive(c->compat, c, bytes);
    else if (c->link != NULL)
        ab_grpc_link_receive(c->link, c, bytes);
}

static void on_stream_writable(void *arg)
{
    const ab_grpc_call *c = arg;
    if (c->compat != NULL)
        ab_compat_writable(c->compat, c);
    else if (c->link != NULL)
        ab_grpc_link_writable(c->link, c);
}

static void on_stream_half_close(void *arg)
{
    const ab_grpc_call *c = arg;
    ab_rpc_finish(c->call, AB_RPC_OK, NULL);
}

static bool is_argobus(const ab_grpc_call *c)
{
    return ab_rpc_field_find(c->metadata, c->metadata_count, AB_GRPC_META_VERSION).ptr != NULL;
}

static void attach(ab_grpc_call *c, ab_grpc_link *l)
{
    if (is_argobus(c)) {
        ab_grpc_call_join(c, l);
        ab_grpc_link_attach(l, &stream_ops, c);
        ab_grpc_forget_compat(c->grpc, l);
        return;
    }
    c->compat = ab_grpc_compat(c->grpc, l);
    if (c->compat == NULL) {
        ab_rpc_finish(c->call, AB_RPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    ab_grpc_call_join(c, l);
    const ab_compat_peer peer = {.mode = ab_str_of(c->identity.mode), .namespace = AB_STR("")};
    ab_compat_open(c->compat, &stream_ops, c, &peer);
}

void ab_grpc_stream_open(ab_grpc_call *c)
{
    ab_grpc_link *l = ab_grpc_find(c->grpc, ab_str_of(c->identity.agent));
    const ab_transport_events *up = &c->grpc->base.env.events;
    if (l == NULL || !ab_grpc_link_is_served(l)) {
        if (up->on_unserved != NULL)
            up->on_unserved(up->arg, c->identity.agent);
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "this agent is not served");
        return;
    }
    if (c->grpc->closed) {
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "the principal is stopping");
        return;
    }
    if (ab_grpc_call_introduce(c) != AB_ERR_OK) {
        ab_rpc_cancel(c->call);
        return;
    }
    const ab_log_quota *lines = ab_grpc_link_may_log_stream(l);
    if (lines != NULL)
        AB_INFO(c->grpc->base.env.log, TRANSPORT, "stream opened",
                AB_KV("agent", c->identity.agent), AB_KV("address", c->peer->address),
                AB_KV("method", c->identity.method),
                AB_KV("speaks", is_argobus(c) ? "argobus" : "argocd-agent"),
                AB_KV("held_back", lines->held_back));
    attach(c, l);
}

/* ----- Push ----- */

static void on_push_message(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    c->received++;
    if (c->onto != NULL)
        on_stream_message(c->onto, bytes);
}

static void on_push_half_close(void *arg)
{
    const ab_grpc_call *c = arg;
    ab_buf out = ab_buf_up_to(AB_GRPC_UNARY_MAX);
    ab_grpc_write_push_summary(c->received, &out);
    ab_grpc_call_reply(c, &out);
}

static void on_push_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc_call *c = arg;
    if (c->onto != NULL)
        LIST_REMOVE(c, pushes_at);
    ab_grpc_call_on_end(c, status, text);
}

/* The one that counts, of those that were begun; NULL when none is open. */
static ab_grpc_call *stream_of(const ab_grpc *g, ab_str agent)
{
    const ab_grpc_link *l = ab_grpc_find(g, agent);
    const ab_compat *compat = ab_map_find(g->compats, agent);
    ab_grpc_call *c = compat == NULL ? NULL : ab_compat_stream(compat);
    if (c == NULL && l != NULL && ab_grpc_link_stream(l) != compat)
        c = ab_grpc_link_stream(l);
    return c == NULL || c->call == NULL ? NULL : c;
}

/* Who pushes says more on the stream that it has open, and reads there what became of it. */
void ab_grpc_stream_open_push(ab_grpc_call *c)
{
    ab_grpc_call *stream = stream_of(c->grpc, ab_str_of(c->identity.agent));
    if (stream == NULL) {
        ab_rpc_finish(c->call, AB_RPC_FAILED_PRECONDITION,
                      "events were pushed while a Subscribe stream is open");
        return;
    }
    ab_grpc_call_join(c, stream->link);
    c->onto = stream;
    LIST_INSERT_HEAD(&stream->pushes, c, pushes_at);
    if (stream->paused)
        ab_rpc_pause(c->call);
}

const ab_rpc_handler ab_grpc_stream_subscribe = {.on_message = on_stream_message,
                                                 .on_half_close = on_stream_half_close,
                                                 .on_writable = on_stream_writable,
                                                 .on_end = on_end};
const ab_rpc_handler ab_grpc_stream_push = {
    .on_message = on_push_message, .on_half_close = on_push_half_close, .on_end = on_push_end};

/* ----- all streams ----- */

static void renew(ab_grpc_call *c)
{
    ab_error err = {0};
    const ab_auth_peer from = ab_grpc_call_describe(c);
    ab_err e = ab_auth_renew(c->grpc->server.auth, &from, &c->identity, &err);
    if (e == AB_ERR_OK)
        return;
    if (e == AB_ERR_TIMEOUT) {
        ab_rpc_finish(c->call, AB_RPC_UNAUTHENTICATED, AB_AUTH_AGAIN);
        return;
    }
    const ab_log_quota *lines = ab_grpc_link_may_log(c->link);
    if (lines != NULL)
        AB_WARN(c->grpc->base.env.log, TRANSPORT,
                "stream ended: the agent's identity is no longer valid",
                AB_KV("agent", c->identity.agent), AB_KV("why", err.text),
                AB_KV("held_back", lines->held_back));
    ab_rpc_finish(c->call, AB_RPC_UNAUTHENTICATED, AB_AUTH_REFUSED);
}

void ab_grpc_stream_renew(ab_grpc *g, int64_t by_s)
{
    ab_grpc_call *c = NULL;
    TAILQ_FOREACH(c, &g->server.calls, at)
    {
        if (c->link != NULL && c->call != NULL && c->identity.expires_s <= by_s)
            renew(c);
    }
}

void ab_grpc_stream_end_all(ab_grpc *g)
{
    const ab_grpc_call *c = NULL;
    TAILQ_FOREACH(c, &g->server.calls, at)
    {
        if (c->link != NULL && c->call != NULL)
            ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "the principal is stopping");
    }
}
