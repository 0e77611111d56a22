/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end of the call for live events. It belongs to the agent's stream: it is taken
 * from the process that said hello there, whose identity was proved like the stream's, and ends
 * with it.
 */
#include "transport/grpc/call.h"

static ab_err live_send(void *call, ab_str head, ab_event *event)
{
    const ab_grpc_call *c = call;
    return c->call == NULL ? AB_ERR_CLOSED : ab_grpc_send(c->grpc, c->call, head, event);
}

static void live_pause(void *call)
{
    const ab_grpc_call *c = call;
    if (c->call != NULL)
        ab_rpc_pause(c->call);
}

static void live_resume(void *call)
{
    const ab_grpc_call *c = call;
    if (c->call != NULL)
        ab_rpc_resume(c->call);
}

static void live_cut(void *call, const char *why)
{
    const ab_grpc_call *c = call;
    AB_DEBUG(c->grpc->base.env.log, TRANSPORT, "live call ended", AB_KV("agent", c->identity.agent),
             AB_KV("why", why));
    if (c->call != NULL)
        ab_rpc_finish(c->call, AB_RPC_ABORTED, why);
}

static const ab_grpc_stream_ops ops = {live_send, live_pause, live_resume, live_cut, NULL, NULL};

static void on_message(void *arg, ab_str bytes)
{
    const ab_grpc_call *c = arg;
    if (c->link != NULL)
        ab_grpc_link_receive_live(c->link, c, bytes);
}

static void on_writable(void *arg)
{
    const ab_grpc_call *c = arg;
    if (c->link != NULL)
        ab_grpc_link_live_writable(c->link, c);
}

static void on_half_close(void *arg)
{
    const ab_grpc_call *c = arg;
    ab_rpc_finish(c->call, AB_RPC_OK, NULL);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc_call *c = arg;
    if (c->link != NULL)
        ab_grpc_link_detach_live(c->link, c);
    ab_grpc_call_on_end(c, status, text);
}

const ab_rpc_handler ab_grpc_live_frames = {.on_message = on_message,
                                            .on_half_close = on_half_close,
                                            .on_writable = on_writable,
                                            .on_end = on_end};

void ab_grpc_live_open(ab_grpc_call *c)
{
    ab_grpc_link *l = ab_grpc_find(c->grpc, ab_str_of(c->identity.agent));
    ab_str instance = ab_rpc_field_find(c->metadata, c->metadata_count, AB_GRPC_META_INSTANCE);
    if (c->grpc->closed) {
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "the principal is stopping");
        return;
    }
    if (l == NULL || !ab_grpc_link_is_served(l) || !ab_grpc_link_is_peer(l, instance)) {
        ab_rpc_finish(c->call, AB_RPC_FAILED_PRECONDITION,
                      "live events travel while this process has a Subscribe stream open");
        return;
    }
    if (ab_grpc_call_introduce(c) != AB_ERR_OK) {
        ab_rpc_cancel(c->call);
        return;
    }
    ab_grpc_call_join(c, l);
    ab_grpc_link_attach_live(l, &ops, c);
}
