/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end of side calls: an argocd-agent opens one for each log and each terminal that
 * it was asked for. Who may open it is decided as for its stream, and it ends with the identity. It
 * is given to who waits for it by its first message, and that has to come soon.
 */
#include "transport/grpc/call.h"

#define FIRST_MS 10000

static ab_grpc_call *call_of(ab_side *side)
{
    return AB_LINK_OF(side, ab_grpc_call, side);
}

/* ----- what who has it does ----- */

static ab_err side_send(ab_side *side, ab_str bytes)
{
    const ab_grpc_call *c = call_of(side);
    return c->call == NULL ? AB_ERR_CLOSED
                           : ab_rpc_send(c->call, bytes, c->grpc->settings.compress);
}

static void side_pause(ab_side *side)
{
    if (call_of(side)->call != NULL)
        ab_rpc_pause(call_of(side)->call);
}

static void side_resume(ab_side *side)
{
    if (call_of(side)->call != NULL)
        ab_rpc_resume(call_of(side)->call);
}

static void drop(ab_side *side, ab_rpc_status status, const char *why)
{
    side->handler = NULL;
    if (call_of(side)->call == NULL)
        return;
    ab_rpc_resume(call_of(side)->call);
    ab_rpc_finish(call_of(side)->call, status, why);
}

static void side_finish(ab_side *side)
{
    drop(side, AB_RPC_OK, NULL);
}

static void side_cancel(ab_side *side)
{
    drop(side, AB_RPC_CANCELLED, "nobody waits for it any more");
}

static const ab_side_ops ops = {side_send, side_pause, side_resume, side_finish, side_cancel};

/* ----- what the agent does ----- */

static void stop_waiting(ab_grpc_call *c)
{
    if (c->first_by_ms != 0)
        LIST_REMOVE(c, side_at);
    c->first_by_ms = 0;
}

static void take_first(ab_grpc_call *c, ab_str bytes)
{
    const ab_transport_events *up = &c->grpc->base.env.events;
    stop_waiting(c);
    if (up->on_side(up->arg, c->identity.agent, c->kind, &c->side, bytes) == AB_ERR_OK)
        return;
    AB_DEBUG(c->grpc->base.env.log, TRANSPORT, "side call refused: nobody waits for it",
             AB_KV("agent", c->identity.agent));
    ab_rpc_finish(c->call, AB_RPC_NOT_FOUND, "nobody waits for it");
}

static void on_message(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    if (c->first_by_ms != 0)
        take_first(c, bytes);
    else if (c->side.handler != NULL)
        c->side.handler->on_message(c->side.arg, bytes);
}

static void on_half_close(void *arg)
{
    const ab_grpc_call *c = arg;
    if (c->side.handler != NULL)
        c->side.handler->on_half_close(c->side.arg);
    else
        ab_rpc_finish(c->call, AB_RPC_OK, NULL);
}

static void on_writable(void *arg)
{
    const ab_grpc_call *c = arg;
    if (c->side.handler != NULL)
        c->side.handler->on_writable(c->side.arg);
}

void ab_grpc_side_lost(ab_grpc_call *c, const char *why)
{
    const ab_side_handler *handler = c->side.handler;
    stop_waiting(c);
    c->side.handler = NULL;
    if (handler != NULL)
        handler->on_end(c->side.arg, why);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc_call *c = arg;
    c->call = NULL;
    ab_grpc_side_lost(c, ab_rpc_status_name(status));
    ab_grpc_call_on_end(c, status, text);
}

const ab_rpc_handler ab_grpc_side_call = {.on_message = on_message,
                                          .on_half_close = on_half_close,
                                          .on_writable = on_writable,
                                          .on_end = on_end};

/* ----- life ----- */

static bool has_stream(const ab_grpc_call *c)
{
    const ab_compat *compat = ab_map_find(c->grpc->compats, ab_str_of(c->identity.agent));
    return c->link != NULL && ab_grpc_link_is_served(c->link) && compat != NULL &&
           ab_compat_stream(compat) != NULL;
}

static void open_side(ab_grpc_call *c, ab_side_kind kind)
{
    ab_grpc_link *l = ab_grpc_find(c->grpc, ab_str_of(c->identity.agent));
    if (l != NULL)
        ab_grpc_call_join(c, l);
    if (c->grpc->base.env.events.on_side == NULL) {
        ab_rpc_finish(c->call, AB_RPC_UNIMPLEMENTED, NULL);
        return;
    }
    if (c->grpc->closed || !has_stream(c)) {
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "no Subscribe stream of this agent is open");
        return;
    }
    c->kind = kind;
    c->side.ops = &ops;
    c->first_by_ms = ab_grpc_now(c->grpc) + FIRST_MS;
    LIST_INSERT_HEAD(&c->grpc->server.unnamed, c, side_at);
}

void ab_grpc_side_open_logs(ab_grpc_call *c)
{
    open_side(c, AB_SIDE_LOGS);
}

void ab_grpc_side_open_terminal(ab_grpc_call *c)
{
    open_side(c, AB_SIDE_TERMINAL);
}

void ab_grpc_side_tick(ab_grpc *g)
{
    ab_grpc_call *next = NULL;
    for (ab_grpc_call *c = LIST_FIRST(&g->server.unnamed); c != NULL; c = next) {
        next = LIST_NEXT(c, side_at);
        if (ab_grpc_now(g) < c->first_by_ms)
            continue;
        stop_waiting(c);
        ab_rpc_finish(c->call, AB_RPC_DEADLINE_EXCEEDED, "it does not say which request it is of");
    }
}
