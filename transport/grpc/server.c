/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end: the calls that agents make.
 */
#include "transport/grpc/grpc_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_RETRY_MS 2000

/* One call that was taken on. It lives until the call is over and no login is under way for it. */
typedef struct ab_grpc_call {
    TAILQ_ENTRY(ab_grpc_call) at;
    ab_grpc *grpc;
    ab_rpc_call *call; /* NULL: it is over */
    const ab_rpc_peer *peer;
    char *texts; /* copies of the metadata, which authentication asks for again */
    ab_rpc_field *metadata;
    size_t metadata_count;
    bool asked;                       /* unary: the request has come */
    bool checking;                    /* authentication is at work */
    ab_grpc_link *link;               /* of a stream, and of a push */
    ab_compat *compat;                /* of a stream of an agent that is not argobus */
    bool paused;                      /* of a stream */
    LIST_HEAD(, ab_grpc_call) pushes; /* of a stream: calls of Push that say more on it */
    struct ab_grpc_call *onto;        /* of a push: that stream, as long as it is there */
    LIST_ENTRY(ab_grpc_call) pushes_at;
    uint32_t received; /* of a push: events */
    ab_auth_identity identity;
} served_call;

/* ----- calls ----- */

static void free_call(served_call *c)
{
    if (c->call != NULL || c->checking)
        return;
    TAILQ_REMOVE(&c->grpc->server.calls, c, at);
    free(c->texts);
    free(c->metadata);
    free(c);
}

static bool copy_metadata(served_call *c, const ab_rpc_request *request)
{
    size_t bytes = 0;
    for (size_t i = 0; i < request->metadata_count; i++)
        bytes += request->metadata[i].name.len + request->metadata[i].value.len;
    c->texts = malloc(bytes + 1);
    c->metadata = calloc(request->metadata_count + 1, sizeof(*c->metadata));
    if (c->texts == NULL || c->metadata == NULL)
        return false;
    char *to = c->texts;
    for (size_t i = 0; i < request->metadata_count; i++) {
        ab_rpc_field from = request->metadata[i];
        c->metadata[i].name = (ab_str){to, from.name.len};
        c->metadata[i].value = (ab_str){to + from.name.len, from.value.len};
        memcpy(to, from.name.ptr, from.name.len);
        to += from.name.len;
        if (from.value.len > 0)
            memcpy(to, from.value.ptr, from.value.len);
        to += from.value.len;
    }
    c->metadata_count = request->metadata_count;
    return true;
}

static served_call *take_on(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request,
                            const ab_rpc_handler *handler)
{
    served_call *c = calloc(1, sizeof(*c));
    if (c == NULL || !copy_metadata(c, request)) {
        if (c != NULL) {
            free(c->texts);
            free(c->metadata);
        }
        free(c);
        ab_rpc_finish(call, AB_RPC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    c->grpc = g;
    c->call = call;
    c->peer = request->peer;
    TAILQ_INSERT_TAIL(&g->server.calls, c, at);
    ab_rpc_accept(call, handler, c);
    return c;
}

/* What they bring would be passed over. */
static void end_pushes(served_call *stream)
{
    while (!LIST_EMPTY(&stream->pushes)) {
        served_call *c = LIST_FIRST(&stream->pushes);
        LIST_REMOVE(c, pushes_at);
        c->onto = NULL;
        ab_rpc_finish(c->call, AB_RPC_ABORTED, "the Subscribe stream has ended");
    }
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    served_call *c = arg;
    if (c->link != NULL && ab_grpc_link_is_attached(c->link))
        AB_INFO(c->grpc->base.env.log, TRANSPORT, "stream ended",
                AB_KV("agent", ab_grpc_link_agent(c->link)),
                AB_KV("status", ab_rpc_status_name(status)), AB_KV("why", text));
    c->call = NULL;
    end_pushes(c);
    if (c->compat != NULL)
        ab_compat_close(c->compat, c);
    else if (c->link != NULL)
        ab_grpc_link_detach(c->link, c);
    free_call(c);
}

/* ----- who calls ----- */

static size_t find_metadata(void *arg, const char *name, ab_str *first)
{
    const served_call *c = arg;
    size_t found = 0;
    for (size_t i = 0; i < c->metadata_count; i++) {
        if (!ab_str_is(c->metadata[i].name, name))
            continue;
        if (found++ == 0)
            *first = c->metadata[i].value;
    }
    return found;
}

/* What authentication is told of the peer. */
static ab_auth_peer describe(served_call *c)
{
    return (ab_auth_peer){.address = c->peer->address,
                          .loopback = c->peer->loopback,
                          .certificate = c->peer->certificate,
                          .metadata = find_metadata,
                          .metadata_arg = c};
}

/* Whose access token it is. @return false when the call was refused */
static bool verify(served_call *c)
{
    ab_str token = AB_STR_NONE;
    (void)find_metadata(c, AB_GRPC_META_TOKEN, &token);
    const ab_auth_peer from = describe(c);
    ab_err e = ab_auth_verify(c->grpc->server.auth, &from, token, &c->identity, NULL);
    if (e == AB_ERR_OK)
        ab_rpc_welcome(c->call, c->identity.agent);
    else
        ab_rpc_finish(c->call, AB_RPC_UNAUTHENTICATED, AB_AUTH_REFUSED);
    return e == AB_ERR_OK;
}

/* ----- Authentication ----- */

static ab_rpc_status status_of(ab_err code)
{
    switch (code) {
    case AB_ERR_DENIED:
        return AB_RPC_UNAUTHENTICATED;
    case AB_ERR_FULL:
        return AB_RPC_RESOURCE_EXHAUSTED;
    case AB_ERR_CLOSED:
        return AB_RPC_UNAVAILABLE;
    default:
        return AB_RPC_INTERNAL;
    }
}

/* An agent must know whom it speaks to before it opens a stream. */
static ab_err say_argobus(served_call *c)
{
    const ab_rpc_field own = {AB_STR(AB_GRPC_META_VERSION), AB_STR(AB_VERSION)};
    return ab_rpc_respond(c->call, &own, 1);
}

static void grant(served_call *c, const ab_auth_grant *granted, bool login)
{
    ab_buf out;
    ab_buf_init(&out, AB_GRPC_UNARY_MAX);
    ab_grpc_grant message = {.access = granted->access, .refresh = granted->refresh};
    if (login) {
        message.version = ab_str_of(c->grpc->settings.peer_version);
        message.namespace = ab_str_of(c->grpc->base.env.namespace);
    }
    ab_grpc_write_grant(&message, &out);
    ab_rpc_welcome(c->call, granted->identity.agent);
    if (ab_buf_status(&out) == AB_ERR_OK && say_argobus(c) == AB_ERR_OK)
        ab_rpc_reply(c->call, ab_buf_str(&out), false);
    else
        ab_rpc_finish(c->call, AB_RPC_INTERNAL, "the tokens are too large");
    ab_buf_wipe(&out);
}

static void checked(served_call *c, ab_err code, const ab_auth_grant *granted, bool login)
{
    c->checking = false;
    if (c->call != NULL && granted != NULL)
        grant(c, granted, login);
    else if (c->call != NULL)
        ab_rpc_finish(c->call, status_of(code), AB_AUTH_REFUSED);
    free_call(c);
}

/* Told only to the agent itself: it has shown who it is. @return false when the call was refused */
static bool is_admitted(served_call *c, const ab_auth_identity *who)
{
    const ab_transport_events *up = &c->grpc->base.env.events;
    ab_error why = {0};
    if (c->call == NULL || up->admits == NULL || up->admits(up->arg, who->agent, who->mode, &why))
        return true;
    ab_rpc_finish(c->call, AB_RPC_PERMISSION_DENIED, why.text);
    return false;
}

static void on_login(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *granted)
{
    (void)err;
    served_call *c = arg;
    if (granted != NULL && !is_admitted(c, &granted->identity)) {
        c->checking = false;
        free_call(c);
        return;
    }
    checked(c, code, granted, true);
}

static void on_refreshed(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *granted)
{
    (void)err;
    checked(arg, code, granted, false);
}

/* Further messages of a unary call are passed over. @return false: this is one */
static bool is_first(served_call *c, ab_str bytes)
{
    bool first = !c->asked;
    c->asked = true;
    if (first && bytes.len > AB_GRPC_UNARY_MAX) {
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is too large");
        return false;
    }
    return first;
}

static void begin_check(served_call *c, ab_err e)
{
    c->checking = e == AB_ERR_OK;
    if (e != AB_ERR_OK)
        ab_rpc_finish(c->call, status_of(e), AB_AUTH_REFUSED);
}

static void check_login(served_call *c, const ab_grpc_login *login)
{
    ab_auth_credential credentials[AB_GRPC_CREDENTIALS_MAX];
    for (size_t i = 0; i < login->credential_count; i++)
        credentials[i] =
            (ab_auth_credential){login->credentials[i].name, login->credentials[i].value};
    const ab_auth_peer from = describe(c);
    const ab_auth_request request = {login->method, login->mode, credentials,
                                     login->credential_count};
    begin_check(c, ab_auth_authenticate(c->grpc->server.auth, &from, &request, on_login, c));
}

static void on_authenticate(void *arg, ab_str bytes)
{
    served_call *c = arg;
    ab_pb_arena arena;
    ab_grpc_login login;
    if (!is_first(c, bytes))
        return;
    if (ab_grpc_read_login(bytes, &arena, &login) == AB_ERR_OK)
        check_login(c, &login);
    else
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is not an AuthRequest");
    ab_pb_arena_wipe(&arena);
}

static void check_refresh(served_call *c, ab_str token)
{
    const ab_auth_peer from = describe(c);
    begin_check(c, ab_auth_refresh(c->grpc->server.auth, &from, token, on_refreshed, c));
}

static void on_refresh(void *arg, ab_str bytes)
{
    served_call *c = arg;
    ab_pb_arena arena;
    ab_str token;
    if (!is_first(c, bytes))
        return;
    if (ab_grpc_read_refresh(bytes, &arena, &token) == AB_ERR_OK)
        check_refresh(c, token);
    else
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is not a RefreshTokenRequest");
    ab_pb_arena_wipe(&arena);
}

/* ----- Version, Ping ----- */

static void on_version(void *arg, ab_str bytes)
{
    served_call *c = arg;
    ab_buf out;
    if (!is_first(c, bytes))
        return;
    char version[256];
    snprintf(version, sizeof(version), "argocd-agent-%s", c->grpc->settings.peer_version);
    ab_buf_init(&out, AB_GRPC_UNARY_MAX);
    ab_grpc_write_version(ab_str_of(version), &out);
    if (ab_buf_status(&out) == AB_ERR_OK)
        ab_rpc_reply(c->call, ab_buf_str(&out), false);
    else
        ab_rpc_finish(c->call, AB_RPC_INTERNAL, NULL);
    ab_buf_fini(&out);
}

static void on_ping(void *arg, ab_str bytes)
{
    served_call *c = arg;
    if (is_first(c, bytes))
        ab_rpc_reply(c->call, AB_STR(""), false);
}

/* ----- EventStream ----- */

static ab_err stream_send(void *stream, ab_str head, ab_event *event)
{
    const served_call *c = stream;
    return c->call == NULL ? AB_ERR_CLOSED : ab_grpc_send(c->grpc, c->call, head, event);
}

static void stream_pause(void *stream)
{
    served_call *c = stream;
    const served_call *push = NULL;
    if (c->call == NULL)
        return;
    c->paused = true;
    ab_rpc_pause(c->call);
    LIST_FOREACH(push, &c->pushes, pushes_at)
    {
        ab_rpc_pause(push->call);
    }
}

static void stream_resume(void *stream)
{
    served_call *c = stream;
    const served_call *push = NULL;
    if (c->call == NULL)
        return;
    c->paused = false;
    ab_rpc_resume(c->call);
    LIST_FOREACH(push, &c->pushes, pushes_at)
    {
        ab_rpc_resume(push->call);
    }
}

static void stream_cut(void *stream, const char *why)
{
    served_call *c = stream;
    if (c->call == NULL)
        return;
    end_pushes(c);
    AB_WARN(c->grpc->base.env.log, TRANSPORT, "stream cut", AB_KV("agent", c->identity.agent),
            AB_KV("why", why));
    ab_metric_add(ab_metric_get(c->grpc->base.env.metrics, AB_METRIC_COUNTER,
                                "argobus_grpc_streams_cut_total",
                                "Agents' streams that the principal ended.", NULL, 0),
                  1);
    ab_rpc_finish(c->call, AB_RPC_ABORTED, why);
}

static const ab_grpc_stream_ops stream_ops = {stream_send, stream_pause, stream_resume, stream_cut};

static void on_stream_message(void *arg, ab_str bytes)
{
    const served_call *c = arg;
    if (c->compat != NULL)
        ab_compat_receive(c->compat, c, bytes);
    else if (c->link != NULL)
        ab_grpc_link_receive(c->link, c, bytes);
}

static void on_stream_writable(void *arg)
{
    const served_call *c = arg;
    if (c->compat != NULL)
        ab_compat_writable(c->compat, c);
    else if (c->link != NULL)
        ab_grpc_link_writable(c->link, c);
}

static void on_stream_half_close(void *arg)
{
    const served_call *c = arg;
    ab_rpc_finish(c->call, AB_RPC_OK, NULL);
}

/* ----- Push ----- */

static void on_push_message(void *arg, ab_str bytes)
{
    served_call *c = arg;
    c->received++;
    if (c->onto != NULL)
        on_stream_message(c->onto, bytes);
}

static void on_push_half_close(void *arg)
{
    const served_call *c = arg;
    ab_buf out;
    ab_buf_init(&out, AB_GRPC_UNARY_MAX);
    ab_grpc_write_push_summary(c->received, &out);
    if (ab_buf_status(&out) == AB_ERR_OK)
        ab_rpc_reply(c->call, ab_buf_str(&out), false);
    else
        ab_rpc_finish(c->call, AB_RPC_INTERNAL, NULL);
    ab_buf_fini(&out);
}

static void on_push_end(void *arg, ab_rpc_status status, ab_str text)
{
    (void)status;
    (void)text;
    served_call *c = arg;
    if (c->onto != NULL)
        LIST_REMOVE(c, pushes_at);
    c->call = NULL;
    free_call(c);
}

static const ab_rpc_handler authenticate = {.on_message = on_authenticate, .on_end = on_end};
static const ab_rpc_handler refresh = {.on_message = on_refresh, .on_end = on_end};
static const ab_rpc_handler version = {.on_message = on_version, .on_end = on_end};
static const ab_rpc_handler ping = {.on_message = on_ping, .on_end = on_end};
static const ab_rpc_handler subscribe = {.on_message = on_stream_message,
                                         .on_half_close = on_stream_half_close,
                                         .on_writable = on_stream_writable,
                                         .on_end = on_end};
static const ab_rpc_handler push = {
    .on_message = on_push_message, .on_half_close = on_push_half_close, .on_end = on_push_end};

static bool is_argobus(const served_call *c)
{
    return ab_rpc_field_find(c->metadata, c->metadata_count, AB_GRPC_META_VERSION).ptr != NULL;
}

static void attach(served_call *c, ab_grpc_link *l)
{
    if (is_argobus(c)) {
        c->link = l;
        ab_grpc_link_attach(l, &stream_ops, c);
        ab_grpc_forget_compat(c->grpc, l);
        return;
    }
    c->compat = ab_grpc_compat(c->grpc, l);
    if (c->compat == NULL) {
        ab_rpc_finish(c->call, AB_RPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    c->link = l;
    const ab_compat_peer peer = {.mode = ab_str_of(c->identity.mode), .namespace = AB_STR("")};
    ab_compat_open(c->compat, &stream_ops, c, &peer);
}

static void open_stream(served_call *c)
{
    ab_grpc_link *l = ab_grpc_find(c->grpc, ab_str_of(c->identity.agent));
    if (l == NULL || !ab_grpc_link_is_served(l)) {
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "this agent is not served");
        return;
    }
    if (c->grpc->closed) {
        ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "the principal is stopping");
        return;
    }
    if (say_argobus(c) != AB_ERR_OK) {
        ab_rpc_cancel(c->call);
        return;
    }
    AB_INFO(c->grpc->base.env.log, TRANSPORT, "stream opened", AB_KV("agent", c->identity.agent),
            AB_KV("address", c->peer->address), AB_KV("method", c->identity.method),
            AB_KV("speaks", is_argobus(c) ? "argobus" : "argocd-agent"));
    attach(c, l);
}

static void begin_subscribe(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request)
{
    served_call *c = take_on(g, call, request, &subscribe);
    if (c != NULL && verify(c))
        open_stream(c);
}

/* The one that counts, of those that were begun; NULL when none is open. */
static served_call *stream_of(const ab_grpc *g, ab_str agent)
{
    const ab_grpc_link *l = ab_grpc_find(g, agent);
    const ab_compat *compat = ab_map_find(g->compats, agent);
    served_call *c = compat == NULL ? NULL : ab_compat_stream(compat);
    if (c == NULL && l != NULL && l->stream != compat)
        c = l->stream;
    return c == NULL || c->call == NULL ? NULL : c;
}

/* Who pushes says more on the stream that it has open, and reads there what became of it. */
static void open_push(served_call *c)
{
    served_call *stream = stream_of(c->grpc, ab_str_of(c->identity.agent));
    if (stream == NULL) {
        ab_rpc_finish(c->call, AB_RPC_FAILED_PRECONDITION,
                      "events were pushed while a Subscribe stream is open");
        return;
    }
    c->link = stream->link;
    c->onto = stream;
    LIST_INSERT_HEAD(&stream->pushes, c, pushes_at);
    if (stream->paused)
        ab_rpc_pause(c->call);
}

static void begin_push(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request)
{
    served_call *c = take_on(g, call, request, &push);
    if (c != NULL && verify(c))
        open_push(c);
}

static void begin_ping(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request)
{
    served_call *c = take_on(g, call, request, &ping);
    if (c != NULL)
        (void)verify(c);
}

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    ab_grpc *g = arg;
    if (ab_str_is(request->path, AB_GRPC_AUTHENTICATE))
        (void)take_on(g, call, request, &authenticate);
    else if (ab_str_is(request->path, AB_GRPC_REFRESH))
        (void)take_on(g, call, request, &refresh);
    else if (ab_str_is(request->path, AB_GRPC_VERSION))
        (void)take_on(g, call, request, &version);
    else if (ab_str_is(request->path, AB_GRPC_PING))
        begin_ping(g, call, request);
    else if (ab_str_is(request->path, AB_GRPC_SUBSCRIBE))
        begin_subscribe(g, call, request);
    else if (ab_str_is(request->path, AB_GRPC_PUSH))
        begin_push(g, call, request);
}

/* ----- identities that end ----- */

static void renew(served_call *c)
{
    ab_error err = {0};
    const ab_auth_peer from = describe(c);
    ab_err e = ab_auth_renew(c->grpc->server.auth, &from, &c->identity, &err);
    if (e == AB_ERR_OK)
        return;
    AB_WARN(c->grpc->base.env.log, TRANSPORT,
            "stream ended: the agent's identity is no longer valid",
            AB_KV("agent", c->identity.agent), AB_KV("why", (const char *)err.text));
    ab_rpc_finish(c->call, AB_RPC_UNAUTHENTICATED, AB_AUTH_REFUSED);
}

/* Those that end by then. */
static void renew_streams(ab_grpc *g, int64_t by_s)
{
    served_call *c = NULL;
    TAILQ_FOREACH(c, &g->server.calls, at)
    {
        if (c->link != NULL && c->call != NULL && c->identity.expires_s <= by_s)
            renew(c);
    }
}

static void on_revoked(void *arg)
{
    renew_streams(arg, INT64_MAX);
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
    const ab_auth_env auth = {.loop = env->loop,
                              .config = env->config,
                              .log = env->log,
                              .metrics = env->metrics,
                              .clock = env->clock,
                              .is_served = is_served,
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
                AB_KV("why", (const char *)s->why.text));
}

void ab_grpc_server_tick(ab_grpc *g)
{
    if (g->phase == AB_GRPC_LIVE && !g->server.listening &&
        ab_grpc_now(g) >= g->server.listen_due_ms)
        ab_grpc_server_start(g);
    renew_streams(g, ab_clock_wall_us(g->base.env.clock) / 1000000);
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
    g->server.drained = true;
    ab_auth_close(g->server.auth, on_closed, g);
}

void ab_grpc_server_stop(ab_grpc *g, int64_t deadline_ms)
{
    const served_call *c = NULL;
    TAILQ_FOREACH(c, &g->server.calls, at)
    {
        if (c->link != NULL && c->call != NULL)
            ab_rpc_finish(c->call, AB_RPC_UNAVAILABLE, "the principal is stopping");
    }
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
    served_call *c = TAILQ_FIRST(&s->calls);
    while (c != NULL) {
        served_call *next = TAILQ_NEXT(c, at);
        c->call = NULL;
        c->checking = false;
        free_call(c);
        c = next;
    }
}
