/* SPDX-License-Identifier: Apache-2.0
 *
 *   connect --> Authenticate --> RefreshToken (of an argobus principal) --> Version --> over
 *
 * Each step that fails ends it. The calls are those of client.c, on a transport that has nothing
 * but its client.
 */
#include "transport/grpc/try_login.h"

#include "transport/grpc/grpc_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIAL_MS 15000

typedef struct {
    ab_grpc grpc; /* first */
    uv_timer_t timer;
    char *version;
    bool over;
    ab_error *err;
} trial;

static void end(trial *t, ab_err code, const char *what, ab_str text)
{
    if (!t->over && code != AB_ERR_OK)
        ab_fail(t->err, code, "%s: %.*s", what, AB_STR_ARG(text));
    t->over = true;
}

/* @return false: it was refused, or broke */
static bool is_good(trial *t, const char *what, ab_rpc_status status, ab_str text)
{
    bool refused = status == AB_RPC_UNAUTHENTICATED || status == AB_RPC_PERMISSION_DENIED;
    if (status == AB_RPC_OK)
        return true;
    end(t, refused ? AB_ERR_DENIED : AB_ERR_UNAVAILABLE, what,
        text.len > 0 ? text : ab_str_of(ab_rpc_status_name(status)));
    return false;
}

static void call(trial *t, const char *path, ab_str request, ab_rpc_done done)
{
    const ab_rpc_begin begin = {.path = path, .timeout_ms = TRIAL_MS};
    ab_err e = ab_rpc_unary(t->grpc.client.rpc, &begin, request, done, t);
    if (e != AB_ERR_OK)
        end(t, e, path, ab_str_of(ab_err_text(e)));
}

static void on_version(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    trial *t = arg;
    ab_pb_arena arena;
    ab_str version = AB_STR("");
    if (!is_good(t, "Version", status, text))
        return;
    if (ab_grpc_read_version(response, &arena, &version) == AB_ERR_OK)
        snprintf(t->version, AB_GRPC_VERSION_TEXT, "%.*s", AB_STR_ARG(version));
    ab_pb_arena_fini(&arena);
    end(t, AB_ERR_OK, NULL, text);
}

/* The login itself was good a moment ago. */
static void on_renewed(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    trial *t = arg;
    (void)response;
    if (status == AB_RPC_UNAUTHENTICATED)
        end(t, AB_ERR_NOTFOUND, "login", AB_STR("it is accepted, but the agent is not served"));
    else if (is_good(t, "RefreshToken", status, text))
        call(t, AB_GRPC_VERSION, AB_STR(""), on_version);
}

static void ask_for_service(trial *t, ab_str refresh)
{
    ab_buf request = ab_buf_secret_up_to(AB_GRPC_UNARY_MAX);
    ab_grpc_write_refresh(refresh, &request);
    if (ab_buf_status(&request) == AB_ERR_OK)
        call(t, AB_GRPC_REFRESH, ab_buf_str(&request), on_renewed);
    else
        end(t, ab_buf_status(&request), "RefreshToken", AB_STR("the token is too long"));
    ab_buf_wipe(&request);
}

static void on_granted(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    trial *t = arg;
    ab_pb_arena arena;
    ab_grpc_grant grant;
    if (!is_good(t, "login", status, text))
        return;
    if (ab_grpc_read_grant(response, &arena, &grant) != AB_ERR_OK)
        end(t, AB_ERR_UNAVAILABLE, "login", AB_STR("cannot read the response"));
    else if (t->grpc.client.argobus)
        ask_for_service(t, grant.refresh);
    else
        call(t, AB_GRPC_VERSION, AB_STR(""), on_version);
    ab_pb_arena_wipe(&arena);
}

static void on_link(void *arg, ab_rpc_link link, const ab_error *err)
{
    trial *t = arg;
    ab_err e = AB_ERR_OK;
    if (link == AB_RPC_UP && !t->over)
        e = ab_grpc_client_authenticate(&t->grpc, on_granted, t->err);
    t->over = t->over || e != AB_ERR_OK;
    if (link == AB_RPC_DOWN && err != NULL)
        end(t, AB_ERR_UNAVAILABLE, "connection", ab_str_of(err->text));
}

static void on_late(uv_timer_t *timer)
{
    end(timer->data, AB_ERR_TIMEOUT, "login", AB_STR("the principal does not answer"));
}

static void run(trial *t)
{
    uv_loop_t *loop = t->grpc.base.env.loop;
    uv_timer_init(loop, &t->timer);
    t->timer.data = t;
    uv_timer_start(&t->timer, on_late, TRIAL_MS, 0);
    ab_rpc_client_start(t->grpc.client.rpc);
    while (!t->over)
        uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&t->timer, NULL);
    ab_rpc_client_free(t->grpc.client.rpc);
    uv_run(loop, UV_RUN_DEFAULT); /* handles close */
}

ab_err ab_grpc_try_login(const ab_transport_env *env, char version[AB_GRPC_VERSION_TEXT],
                         ab_error *err)
{
    const ab_rpc_env rpc = {env->loop, env->log, env->metrics, env->clock};
    trial *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    const ab_rpc_client_events events = {on_link, t};
    ab_grpc_settings *s = &t->grpc.settings;
    t->grpc.base.env = *env;
    t->version = version;
    t->err = err;
    version[0] = '\0';
    err->code = AB_ERR_OK;
    ab_err e = ab_grpc_settings_read(env->config, AB_ROLE_AGENT, s, err);
    if (e == AB_ERR_OK)
        e = ab_rpc_client_new(&rpc, s->host, s->port, &s->tls, &s->limits, &events,
                              &t->grpc.client.rpc, err);
    if (e == AB_ERR_OK) {
        run(t);
        e = err->code;
    }
    free(t);
    return e;
}
