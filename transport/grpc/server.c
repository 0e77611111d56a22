/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end: the calls that agents make, and the listener. What a call does is in
 * login.c, stream.c, live.c and side.c.
 */
#include "transport/grpc/call.h"

#include <stdio.h>

#define LISTEN_RETRY_MS 2000

static void on_version(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    if (!ab_grpc_call_is_first(c, bytes))
        return;
    char version[256];
    snprintf(version, sizeof(version), "argocd-agent-%s", c->grpc->settings.peer_version);
    ab_buf out = ab_buf_up_to(AB_GRPC_UNARY_MAX);
    ab_grpc_write_version(ab_str_of(version), &out);
    ab_grpc_call_reply(c, &out);
}

static void on_ping(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    if (ab_grpc_call_is_first(c, bytes))
        ab_rpc_reply(c->call, AB_STR(""), false);
}

static const ab_rpc_handler version = {.on_message = on_version, .on_end = ab_grpc_call_on_end};
static const ab_rpc_handler ping = {.on_message = on_ping, .on_end = ab_grpc_call_on_end};

static const struct {
    const char *path;
    const ab_rpc_handler *handler;
    bool verified;                 /* it needs an access token */
    void (*open)(ab_grpc_call *c); /* and then does this; may be NULL */
} calls[] = {
    {AB_GRPC_AUTHENTICATE, &ab_grpc_login_authenticate, false, NULL},
    {AB_GRPC_REFRESH, &ab_grpc_login_refresh, false, NULL},
    {AB_GRPC_VERSION, &version, false, NULL},
    {AB_GRPC_PING, &ping, true, NULL},
    {AB_GRPC_SUBSCRIBE, &ab_grpc_stream_subscribe, true, ab_grpc_stream_open},
    {AB_GRPC_PUSH, &ab_grpc_stream_push, true, ab_grpc_stream_open_push},
    {AB_GRPC_LIVE_FRAMES, &ab_grpc_live_frames, true, ab_grpc_live_open},
    {AB_GRPC_STREAM_LOGS, &ab_grpc_side_call, true, ab_grpc_side_open_logs},
    {AB_GRPC_STREAM_TERMINAL, &ab_grpc_side_call, true, ab_grpc_side_open_terminal},
};

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!ab_str_is(request->path, calls[i].path))
            continue;
        ab_grpc_call *c = ab_grpc_call_accept(arg, call, request, calls[i].handler);
        if (c != NULL && calls[i].verified && ab_grpc_call_verify(c) && calls[i].open != NULL)
            calls[i].open(c);
    }
}

void ab_grpc_server_recheck(ab_grpc *g)
{
    ab_grpc_stream_renew(g, INT64_MAX);
}

static void on_revoked(void *arg)
{
    ab_grpc_server_recheck(arg);
}

static bool is_revoked(void *arg, const uint8_t fingerprint[AB_AUTH_HASH_BYTES])
{
    const ab_grpc *g = arg;
    const ab_transport_events *up = &g->base.env.events;
    return up->is_revoked != NULL && up->is_revoked(up->arg, fingerprint);
}

static bool is_served(void *arg, const char *agent)
{
    const ab_grpc_link *l = ab_grpc_find(arg, ab_str_of(agent));
    return l != NULL && ab_grpc_link_is_served(l);
}

/* ----- life ----- */

ab_err ab_grpc_server_init(ab_grpc *g, ab_error *err)
{
    const ab_transport_env *env = &g->base.env;
    ab_grpc_server *s = &g->server;
    TAILQ_INIT(&s->calls);
    LIST_INIT(&s->unnamed);
    const ab_auth_env auth = {.loop = env->loop,
                              .config = env->config,
                              .log = env->log,
                              .metrics = env->metrics,
                              .clock = env->clock,
                              .is_served = is_served,
                              .is_revoked = is_revoked,
                              .on_changed = on_revoked,
                              .arg = g};
    ab_err e = ab_auth_new(&auth, &s->auth, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_rpc_env rpc = {env->loop, env->log, env->metrics, env->clock};
    const ab_rpc_server_events events = {on_call, g};
    return ab_rpc_server_new(&rpc, g->settings.host, g->settings.port, &g->settings.tls,
                             &g->settings.limits, &events, &s->rpc, err);
}

void ab_grpc_server_start(ab_grpc *g)
{
    ab_grpc_server *s = &g->server;
    s->listening = ab_rpc_server_start(s->rpc, &s->why) == AB_ERR_OK;
    s->listen_due_ms = ab_grpc_now(g) + LISTEN_RETRY_MS;
    if (s->listening)
        AB_INFO(g->base.env.log, TRANSPORT, "listening for agents",
                AB_KV("port", ab_rpc_server_port(s->rpc)));
    else
        AB_WARN(g->base.env.log, TRANSPORT, "cannot listen for agents; retrying",
                AB_KV("why", s->why.text));
}

void ab_grpc_server_tick(ab_grpc *g)
{
    if (g->phase == AB_GRPC_LIVE && !g->server.listening &&
        ab_grpc_now(g) >= g->server.listen_due_ms)
        ab_grpc_server_start(g);
    ab_grpc_stream_renew(g, ab_clock_wall_us(g->base.env.clock) / 1000000);
    ab_grpc_side_tick(g);
}

static void on_closed(void *arg)
{
    ab_grpc *g = arg;
    g->server.auth_closed = true;
    ab_grpc_go_on(g);
}

static void on_drained(void *arg)
{
    ab_grpc *g = arg;
    ab_auth_close(g->server.auth, on_closed, g);
}

void ab_grpc_server_stop(ab_grpc *g, int64_t deadline_ms)
{
    ab_grpc_stream_end_all(g);
    ab_rpc_server_drain(g->server.rpc, deadline_ms, on_drained, g);
}

bool ab_grpc_server_is_ended(const ab_grpc *g)
{
    return g->server.auth_closed;
}

static void free_auth(void *auth)
{
    ab_auth_free(auth);
}

void ab_grpc_server_fini(ab_grpc *g)
{
    ab_grpc_server *s = &g->server;
    ab_rpc_server_free(s->rpc);
    s->rpc = NULL;
    if (s->auth != NULL && s->auth_closed)
        ab_auth_free(s->auth);
    else if (s->auth != NULL) /* never started */
        ab_auth_close(s->auth, free_auth, s->auth);
    s->auth = NULL;
    ab_grpc_call *c = TAILQ_FIRST(&s->calls);
    while (c != NULL) {
        ab_grpc_call *next = TAILQ_NEXT(c, at);
        c->call = NULL;
        c->checking = false;
        ab_grpc_side_lost(c, "the principal is stopping");
        ab_grpc_call_free(c);
        c = next;
    }
}
