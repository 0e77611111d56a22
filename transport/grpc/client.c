/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end: log in, look at the principal's version, open the stream; and again from the
 * beginning whenever any of it fails or ends.
 */
#include "transport/grpc/grpc_priv.h"

#include <stdio.h>

#define UNARY_MS 30000
/* No access token lives shorter than 10 s (auth/options.c). */
#define TOKEN_MS 5000
/* A stream that lasted so long shows that connecting again soon does no harm. */
#define GOOD_MS 10000
/* So many streams in a row may have been shorter, and connecting again is still quick: a principal
 * may be restarted again and again, but what ends every stream at once is to be asked less often.
 */
#define SHORT_MAX 10

static ab_grpc_link *link_of(const ab_grpc *g)
{
    return ab_grpc_find(g, ab_str_of(g->base.env.agent));
}

static void note_why(ab_grpc *g, const char *what, ab_rpc_status status, ab_str text)
{
    g->client.relogin = false;
    ab_fail(&g->client.why, AB_ERR_UNAVAILABLE, "%s: %s: %.*s", what, ab_rpc_status_name(status),
            AB_STR_ARG(text));
    AB_WARN(g->base.env.log, TRANSPORT, "no stream to the principal",
            AB_KV("why", g->client.why.text));
}

static void start_over(ab_grpc *g)
{
    if (g->phase != AB_GRPC_LIVE)
        return;
    g->client.gave_up = true;
    ab_rpc_client_reconnect(g->client.rpc);
}

static void leave(ab_grpc *g, ab_rpc_status status)
{
    /* Somebody answers, and refuses: asking more often does not help. */
    if (status != AB_RPC_UNAVAILABLE)
        ab_rpc_client_hurry(g->client.rpc, false);
    start_over(g);
}

static void failed(ab_grpc *g, const char *what, ab_rpc_status status, ab_str text)
{
    note_why(g, what, status, text);
    leave(g, status);
}

void ab_grpc_client_leave_draining(ab_grpc *g)
{
    if (!g->client.draining)
        return;
    AB_INFO(g->base.env.log, TRANSPORT,
            "connecting again: the principal or a proxy takes no more calls on the connection");
    start_over(g);
}

/* ----- the stream ----- */

static void log_in(ab_grpc *g);

static ab_err stream_send(void *stream, ab_str head, ab_event *event)
{
    const ab_grpc *g = stream;
    return g->client.stream == NULL ? AB_ERR_CLOSED
                                    : ab_grpc_send(g, g->client.stream, head, event);
}

static void stream_pause(void *stream)
{
    const ab_grpc *g = stream;
    if (g->client.stream != NULL)
        ab_rpc_pause(g->client.stream);
}

static void stream_resume(void *stream)
{
    const ab_grpc *g = stream;
    if (g->client.stream != NULL)
        ab_rpc_resume(g->client.stream);
}

static void stream_cut(void *stream, const char *why)
{
    ab_grpc *g = stream;
    g->client.relogin = false;
    AB_WARN(g->base.env.log, TRANSPORT, "stream cut", AB_KV("why", why));
    ab_fail(&g->client.why, AB_ERR_UNAVAILABLE, "stream cut: %s", why);
    if (g->client.stream == NULL)
        return;
    g->client.cut = true;
    ab_rpc_cancel(g->client.stream);
}

static int64_t stream_silent_ms(void *stream)
{
    const ab_grpc *g = stream;
    return g->client.stream == NULL ? 0 : ab_rpc_silent_ms(g->client.stream);
}

static int64_t stream_quiet_ms(void *stream)
{
    const ab_grpc *g = stream;
    return g->client.stream == NULL ? 0 : ab_rpc_quiet_ms(g->client.stream);
}

static const ab_grpc_stream_ops stream_ops = {stream_send, stream_pause,     stream_resume,
                                              stream_cut,  stream_silent_ms, stream_quiet_ms};

static void on_headers(void *arg, const ab_rpc_field *metadata, size_t count)
{
    ab_grpc *g = arg;
    bool argobus = ab_rpc_field_find(metadata, count, AB_GRPC_META_VERSION).ptr != NULL;
    if (argobus != g->client.argobus)
        stream_cut(g, "the principal's identity differs from the one at login");
}

static void on_message(void *arg, ab_str bytes)
{
    ab_grpc *g = arg;
    if (g->client.compat != NULL)
        ab_compat_receive(g->client.compat, g, bytes);
    else
        ab_grpc_link_receive(link_of(g), g, bytes);
    if (g->client.greeted || !ab_grpc_link_is_up(link_of(g)))
        return;
    g->client.greeted = true;
    g->client.relogin = false;
    g->client.greeted_ms = ab_grpc_now(g);
}

static void on_writable(void *arg)
{
    ab_grpc *g = arg;
    if (g->client.compat != NULL)
        ab_compat_writable(g->client.compat, g);
    else
        ab_grpc_link_writable(link_of(g), g);
}

/* A principal that stops in order, or is gone, comes back soon. */
static void expect_back_soon(ab_grpc *g)
{
    ab_grpc_client *c = &g->client;
    c->short_count = c->good ? 0 : c->short_count + 1;
    ab_rpc_client_hurry(c->rpc, c->short_count <= SHORT_MAX);
}

/* By a login on the same connection: that is not lost. */
static void log_in_again(ab_grpc *g)
{
    AB_INFO(g->base.env.log, TRANSPORT,
            "logging in again: the login has reached the principal's grpc.auth.token.refresh");
    ab_fail(&g->client.why, AB_ERR_UNAVAILABLE, "logging in again");
    g->client.relogin = true;
    log_in(g);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    ab_grpc *g = arg;
    bool cut = g->client.cut;
    bool again = g->phase == AB_GRPC_LIVE && g->client.greeted && !g->closed &&
                 !g->client.draining && status == AB_RPC_UNAUTHENTICATED &&
                 ab_str_is(text, AB_AUTH_AGAIN);
    if (g->client.greeted && status == AB_RPC_UNAVAILABLE)
        expect_back_soon(g);
    g->client.stream = NULL;
    g->client.greeted = false;
    g->client.cut = false;
    if (g->client.compat != NULL)
        ab_compat_close(g->client.compat, g);
    else
        ab_grpc_link_detach(link_of(g), g);
    if (again) {
        log_in_again(g);
        return;
    }
    if (g->phase == AB_GRPC_LIVE && !cut)
        note_why(g, "the stream has ended", status, text);
    if (g->phase == AB_GRPC_LIVE)
        leave(g, status);
    ab_grpc_go_on(g);
}

static const ab_rpc_handler subscribe = {.on_headers = on_headers,
                                         .on_message = on_message,
                                         .on_writable = on_writable,
                                         .on_end = on_end};

static void attach(ab_grpc *g)
{
    ab_grpc_link *l = link_of(g);
    const ab_compat_peer peer = {.mode = AB_STR(""), .namespace = ab_str_of(g->client.namespace)};
    g->client.compat = g->client.argobus ? NULL : ab_grpc_compat(g, l);
    if (g->client.compat != NULL) {
        ab_compat_open(g->client.compat, &stream_ops, g, &peer);
    } else if (g->client.argobus) {
        ab_grpc_link_attach(l, &stream_ops, g);
        ab_grpc_forget_compat(g, l);
    } else {
        stream_cut(g, "out of memory");
    }
}

static void open_stream(ab_grpc *g)
{
    const ab_rpc_field metadata[] = {
        {AB_STR(AB_GRPC_META_TOKEN), ab_buf_str(&g->client.token)},
        {AB_STR(AB_GRPC_META_VERSION), AB_STR(AB_VERSION)},
    };
    const ab_rpc_begin begin = {.path = AB_GRPC_SUBSCRIBE,
                                .metadata = metadata,
                                .metadata_count = 2,
                                .compress = g->settings.compress};
    ab_err e = ab_rpc_call_begin(g->client.rpc, &begin, &subscribe, g, &g->client.stream);
    if (e == AB_ERR_OK) {
        attach(g);
        return;
    }
    g->client.stream = NULL;
    failed(g, "cannot open the stream", AB_RPC_UNKNOWN, ab_str_of(ab_grpc_client_why_no_call(e)));
}

/* ----- what comes before it ----- */

const char *ab_grpc_client_why_no_call(ab_err e)
{
    return e == AB_ERR_FULL ? "the principal, or a proxy before it, allows no more calls on the "
                              "connection (MAX_CONCURRENT_STREAMS)"
                            : ab_err_text(e);
}

static void on_answer_headers(void *arg, const ab_rpc_field *metadata, size_t count)
{
    ab_grpc *g = arg;
    if (ab_rpc_field_find(metadata, count, AB_GRPC_META_VERSION).ptr != NULL)
        g->client.argobus = true;
}

static ab_err begin_unary(ab_grpc *g, const char *path, const ab_rpc_field *field, ab_str request,
                          ab_rpc_done done)
{
    const ab_rpc_begin begin = {.path = path,
                                .metadata = field,
                                .metadata_count = field != NULL,
                                .timeout_ms = UNARY_MS,
                                .on_headers = on_answer_headers};
    return ab_rpc_unary(g->client.rpc, &begin, request, done, g);
}

static void on_version(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    ab_grpc *g = arg;
    ab_str version = AB_STR("");
    if (status != AB_RPC_OK) {
        failed(g, "Version", status, text);
        return;
    }
    ab_pb_arena arena;
    if (ab_grpc_read_version(response, &arena, &version) == AB_ERR_OK)
        AB_INFO(g->base.env.log, TRANSPORT, "logged in to the principal",
                AB_KV("version", version));
    ab_pb_arena_fini(&arena);
    if (g->phase == AB_GRPC_LIVE && !g->closed)
        open_stream(g);
}

bool ab_grpc_client_has_token(const ab_grpc *g)
{
    return ab_grpc_now(g) - g->client.token_ms < TOKEN_MS;
}

ab_err ab_grpc_client_keep_grant(ab_grpc *g, ab_str response)
{
    ab_pb_arena arena;
    ab_grpc_grant grant;
    if (response.len > AB_GRPC_UNARY_MAX)
        return AB_ERR_TOOBIG;
    ab_err e = ab_grpc_read_grant(response, &arena, &grant);
    if (e == AB_ERR_OK) {
        ab_buf_wipe(&g->client.token);
        ab_buf_put(&g->client.token, grant.access);
        g->client.token_ms = ab_grpc_now(g);
        snprintf(g->client.namespace, sizeof(g->client.namespace), "%.*s",
                 AB_STR_ARG(grant.namespace));
        e = ab_buf_status(&g->client.token);
    }
    ab_pb_arena_wipe(&arena);
    return e;
}

static void on_granted(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    ab_grpc *g = arg;
    if (status == AB_RPC_OK || status == AB_RPC_PERMISSION_DENIED)
        ab_transport_show_refused(g->base.env.metrics, g->base.env.agent, status != AB_RPC_OK);
    if (status != AB_RPC_OK) {
        failed(g, "Authenticate", status, text);
        return;
    }
    if (ab_grpc_client_keep_grant(g, response) != AB_ERR_OK) {
        failed(g, "Authenticate", status, AB_STR("cannot read the response"));
        return;
    }
    ab_err e = begin_unary(g, AB_GRPC_VERSION, NULL, AB_STR(""), on_version);
    if (e != AB_ERR_OK)
        failed(g, AB_GRPC_VERSION, AB_RPC_UNKNOWN, ab_str_of(ab_grpc_client_why_no_call(e)));
}

static void write_login(const ab_grpc *g, const ab_auth_login *own, ab_buf *out)
{
    ab_grpc_login login = {.method = own->method,
                           .mode = ab_str_of(g->base.env.mode),
                           .version = ab_str_of(g->settings.peer_version),
                           .namespace = ab_str_of(g->base.env.namespace)};
    for (size_t i = 0; i < own->credential_count; i++)
        login.credentials[login.credential_count++] =
            (ab_grpc_credential){own->credentials[i].name, own->credentials[i].value};
    ab_grpc_write_login(&login, out);
}

ab_err ab_grpc_client_authenticate(ab_grpc *g, ab_rpc_done done, ab_error *err)
{
    ab_auth_login own = {0};
    ab_err e = ab_auth_login_open(g->base.env.config, &own, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_rpc_field labels = {AB_STR(AB_GRPC_META_LABELS), ab_str_of(g->base.env.labels)};
    ab_buf request = ab_buf_secret_up_to(AB_GRPC_UNARY_MAX);
    write_login(g, &own, &request);
    e = ab_buf_status(&request);
    if (e == AB_ERR_OK)
        e = begin_unary(g, AB_GRPC_AUTHENTICATE, labels.value.len > 0 ? &labels : NULL,
                        ab_buf_str(&request), done);
    ab_buf_wipe(&request);
    ab_auth_login_fini(&own);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "Authenticate: %s", ab_grpc_client_why_no_call(e));
}

static void log_in(ab_grpc *g)
{
    ab_error err = {0};
    g->client.argobus = false;
    if (ab_grpc_client_authenticate(g, on_granted, &err) != AB_ERR_OK)
        failed(g, "login", AB_RPC_UNKNOWN, ab_str_of(err.text));
}

/* ----- life ----- */

static void on_link(void *arg, ab_rpc_link link, const ab_error *err)
{
    ab_grpc *g = arg;
    g->client.draining = link == AB_RPC_DRAINING;
    if (link == AB_RPC_UP && g->phase == AB_GRPC_LIVE && !g->closed)
        log_in(g);
    if (link == AB_RPC_CONNECTING)
        g->client.gave_up = false;
    /* Why we gave it up is noted, and must stay to be seen. */
    if (link == AB_RPC_DOWN && err != NULL && g->phase == AB_GRPC_LIVE && !g->client.gave_up)
        note_why(g, "connection", AB_RPC_UNAVAILABLE, ab_str_of(err->text));
}

ab_err ab_grpc_client_init(ab_grpc *g, ab_error *err)
{
    const ab_transport_env *env = &g->base.env;
    const ab_rpc_env rpc = {env->loop, env->log, env->metrics, env->clock};
    const ab_rpc_client_events events = {on_link, g};
    ab_buf_init_secret(&g->client.token, AB_GRPC_UNARY_MAX);
    LIST_INIT(&g->client.sides);
    ab_fail(&g->client.why, AB_ERR_UNAVAILABLE, "connecting to %s:%d", g->settings.host,
            g->settings.port);
    ab_auth_login login = {0};
    ab_err e = ab_auth_login_open(env->config, &login, err);
    ab_auth_login_fini(&login);
    if (e != AB_ERR_OK)
        return e;
    return ab_rpc_client_new(&rpc, g->settings.host, g->settings.port, &g->settings.tls,
                             &g->settings.limits, &events, &g->client.rpc, err);
}

void ab_grpc_client_start(ab_grpc *g)
{
    ab_rpc_client_start(g->client.rpc);
}

void ab_grpc_client_tick(ab_grpc *g)
{
    ab_grpc_client *c = &g->client;
    if (c->greeted && !c->good && ab_grpc_now(g) - c->greeted_ms >= GOOD_MS)
        ab_rpc_client_good(c->rpc);
    c->good = c->greeted && ab_grpc_now(g) - c->greeted_ms >= GOOD_MS;
}

void ab_grpc_client_stop(ab_grpc *g)
{
    if (g->client.stream != NULL)
        ab_rpc_half_close(g->client.stream);
}

bool ab_grpc_client_is_ended(const ab_grpc *g)
{
    return g->client.stream == NULL;
}

void ab_grpc_client_fini(ab_grpc *g)
{
    ab_rpc_client_free(g->client.rpc);
    g->client.rpc = NULL;
    g->client.stream = NULL;
    g->client.live = NULL;
    ab_buf_wipe(&g->client.token);
}
