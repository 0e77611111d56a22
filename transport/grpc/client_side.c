/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's side calls to argocd-agent's principal: one for each log and each terminal that it
 * has asked for, on the connection of the stream, which they do not outlive. As with the call for
 * live events the agent logs in again for a token that has not expired, once for all that wait.
 */
#include "transport/grpc/grpc_priv.h"

#include <stdlib.h>

typedef struct ab_grpc_side {
    ab_side base; /* first */
    LIST_ENTRY(ab_grpc_side) at;
    ab_grpc *grpc;
    ab_rpc_call *call; /* NULL: it waits for a login */
    ab_side_kind kind;
} ab_grpc_side;

static const char *path_of(const ab_grpc_side *s)
{
    return s->kind == AB_SIDE_LOGS ? AB_GRPC_STREAM_LOGS : AB_GRPC_STREAM_TERMINAL;
}

static void free_side(ab_grpc_side *s)
{
    LIST_REMOVE(s, at);
    free(s);
}

static void end_side(ab_grpc_side *s, const char *why)
{
    const ab_side_handler *handler = s->base.handler;
    void *arg = s->base.arg;
    free_side(s);
    if (handler != NULL)
        handler->on_end(arg, why);
}

/* ----- what who has it does ----- */

static ab_err side_send(ab_side *side, ab_str bytes)
{
    const ab_grpc_side *s = (const ab_grpc_side *)side;
    return s->call == NULL ? AB_ERR_FULL : ab_rpc_send(s->call, bytes, s->grpc->settings.compress);
}

static void side_pause(ab_side *side)
{
    const ab_grpc_side *s = (const ab_grpc_side *)side;
    if (s->call != NULL)
        ab_rpc_pause(s->call);
}

static void side_resume(ab_side *side)
{
    const ab_grpc_side *s = (const ab_grpc_side *)side;
    if (s->call != NULL)
        ab_rpc_resume(s->call);
}

static void drop(ab_side *side, void (*end)(ab_rpc_call *call))
{
    ab_grpc_side *s = (ab_grpc_side *)side;
    s->base.handler = NULL;
    if (s->call == NULL) {
        free_side(s);
        return;
    }
    ab_rpc_resume(s->call);
    end(s->call);
}

static void side_finish(ab_side *side)
{
    drop(side, ab_rpc_half_close);
}

static void side_cancel(ab_side *side)
{
    drop(side, ab_rpc_cancel);
}

static const ab_side_ops ops = {side_send, side_pause, side_resume, side_finish, side_cancel};

/* ----- what the principal does ----- */

static void on_message(void *arg, ab_str bytes)
{
    const ab_grpc_side *s = arg;
    if (s->base.handler != NULL)
        s->base.handler->on_message(s->base.arg, bytes);
}

static void on_writable(void *arg)
{
    const ab_grpc_side *s = arg;
    if (s->base.handler != NULL)
        s->base.handler->on_writable(s->base.arg);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc_side *s = arg;
    if (s->base.handler != NULL)
        AB_DEBUG(s->grpc->base.env.log, TRANSPORT, "side call ended by the principal",
                 AB_KV("call", path_of(s)), AB_KV("status", ab_rpc_status_name(status)),
                 AB_KV("why", text));
    end_side(s, ab_rpc_status_name(status));
}

static const ab_rpc_handler frames = {
    .on_message = on_message, .on_writable = on_writable, .on_end = on_end};

/* ----- beginning one ----- */

static ab_err begin(ab_grpc_side *s)
{
    const ab_grpc_client *client = &s->grpc->client;
    const ab_rpc_field token = {AB_STR(AB_GRPC_META_TOKEN), ab_buf_str(&client->token)};
    const ab_rpc_begin call = {.path = path_of(s),
                               .metadata = &token,
                               .metadata_count = 1,
                               .compress = s->grpc->settings.compress};
    ab_err e = ab_rpc_call_begin(client->rpc, &call, &frames, s, &s->call);
    if (e != AB_ERR_OK)
        s->call = NULL;
    return e;
}

static ab_grpc_side *first_waiting(const ab_grpc *g)
{
    ab_grpc_side *s = NULL;
    LIST_FOREACH(s, &g->client.sides, at)
    {
        if (s->call == NULL)
            return s;
    }
    return NULL;
}

static void refuse_waiting(ab_grpc *g, const char *why)
{
    ab_grpc_side *s = NULL;
    AB_WARN(g->base.env.log, TRANSPORT, "cannot open a side call", AB_KV("why", why));
    while ((s = first_waiting(g)) != NULL)
        end_side(s, why);
    ab_grpc_client_leave_draining(g);
}

static void begin_waiting(ab_grpc *g)
{
    ab_grpc_side *s = NULL;
    while ((s = first_waiting(g)) != NULL) {
        ab_err e = begin(s);
        if (e != AB_ERR_OK) {
            refuse_waiting(g, ab_grpc_client_why_no_call(e));
            return;
        }
        if (s->base.handler != NULL)
            s->base.handler->on_writable(s->base.arg);
    }
}

static void on_granted(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    ab_grpc *g = arg;
    (void)text;
    g->client.side_login = false;
    if (status != AB_RPC_OK)
        refuse_waiting(g, ab_rpc_status_name(status));
    else if (ab_grpc_client_keep_grant(g, response) != AB_ERR_OK)
        refuse_waiting(g, "cannot read the response of Authenticate");
    else
        begin_waiting(g);
}

static ab_err log_in(ab_grpc *g)
{
    ab_error err = {0};
    if (g->client.side_login)
        return AB_ERR_OK;
    ab_err e = ab_grpc_client_authenticate(g, on_granted, &err);
    g->client.side_login = e == AB_ERR_OK;
    return e;
}

ab_err ab_grpc_client_open_side(ab_transport *self, ab_side_kind kind,
                                const ab_side_handler *handler, void *arg, ab_side **out)
{
    ab_grpc *g = (ab_grpc *)self;
    if (g->closed || g->client.stream == NULL || g->client.compat == NULL)
        return AB_ERR_UNAVAILABLE;
    ab_grpc_side *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return AB_ERR_NOMEM;
    s->base = (ab_side){&ops, handler, arg};
    s->grpc = g;
    s->kind = kind;
    LIST_INSERT_HEAD(&g->client.sides, s, at);
    ab_err e = ab_grpc_client_has_token(g) ? begin(s) : log_in(g);
    if (e == AB_ERR_OK) {
        *out = &s->base;
        return e;
    }
    free_side(s);
    ab_grpc_client_leave_draining(g);
    return e == AB_ERR_NOMEM ? e : AB_ERR_UNAVAILABLE;
}

void ab_grpc_client_end_sides(ab_grpc *g)
{
    while (!LIST_EMPTY(&g->client.sides))
        end_side(LIST_FIRST(&g->client.sides), "the agent is stopping");
}
