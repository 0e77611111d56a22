/* SPDX-License-Identifier: Apache-2.0
 *
 * The ops. Calls only queue work and wake the loop; links, and what leads to them, do it.
 */
#include "transport/grpc/grpc.h"

#include "transport/grpc/grpc_priv.h"

#include <assert.h>

/* All of an event but its data, with room to spare. */
#define SCRATCH_MAX (4u * 1024 * 1024)
/* Of events that agents sent and that are not dealt with, of all together. */
#define RECEIVED_MAX (64u * 1024 * 1024)
#define TICK_MS      500
#define STOP_TICK_MS 50
#define RUNS_MAX     2 /* of links, in one turn of the loop */

static bool is_principal(const ab_grpc *g)
{
    return g->base.env.role == AB_ROLE_PRINCIPAL;
}

/* The link that calls of the ops are about: `agent` NULL is an agent's own. */
static ab_grpc_link *link_of(const ab_grpc *g, const char *agent)
{
    ab_grpc_link *l = ab_grpc_find(g, ab_str_of(agent == NULL ? g->base.env.agent : agent));
    return l == NULL || !ab_grpc_link_is_served(l) ? NULL : l;
}

static void wake(void *arg)
{
    ab_grpc_go_on(arg);
}

static ab_err add_link(ab_grpc *g, const char *agent, ab_error *err)
{
    ab_grpc_link *l = NULL;
    ab_err e = ab_grpc_link_new(&g->link_env, agent, &l, err);
    if (e != AB_ERR_OK)
        return e;
    if (ab_map_put(g->links, ab_str_of(agent), l, NULL) != AB_ERR_OK) {
        ab_grpc_link_free(l);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", agent);
    }
    return AB_ERR_OK;
}

/* ----- the end ----- */

static bool is_drained(const ab_grpc *g)
{
    for (ab_map_iter i = ab_map_first(g->links); i.entry != NULL; ab_map_next(&i)) {
        if (!ab_grpc_link_is_drained(i.value))
            return false;
    }
    return true;
}

static void on_closed(uv_handle_t *handle)
{
    ab_grpc *g = handle->data;
    if (--g->handles == 0)
        g->stopped(g->stopped_arg);
}

static void end_client(ab_grpc *g)
{
    ab_grpc_client_fini(g);
    ab_grpc_client_end_sides(g);
}

static void end(ab_grpc *g)
{
    if (is_principal(g))
        ab_grpc_server_fini(g);
    else
        end_client(g);
    for (ab_map_iter i = ab_map_first(g->links); i.entry != NULL; ab_map_next(&i))
        ab_grpc_link_flush(i.value);
    g->phase = AB_GRPC_ENDED;
    g->running = false;
    g->handles = 2;
    uv_close((uv_handle_t *)&g->wake, on_closed);
    uv_close((uv_handle_t *)&g->tick, on_closed);
}

/* Drain, end the streams, end the rest: each as soon as what it waits for is there, or at the
 * deadline. */
static void go_on_stopping(ab_grpc *g)
{
    bool late = ab_grpc_now(g) >= g->stop_by_ms;
    if (g->phase == AB_GRPC_DRAIN && (late || is_drained(g))) {
        g->phase = AB_GRPC_END;
        int64_t left = g->stop_by_ms - ab_grpc_now(g);
        if (is_principal(g))
            ab_grpc_server_stop(g, left > 0 ? left : 0);
        else
            ab_grpc_client_stop(g);
    }
    if (g->phase != AB_GRPC_END)
        return;
    if (is_principal(g) ? ab_grpc_server_is_ended(g) : late || ab_grpc_client_is_ended(g))
        end(g);
}

/* ----- the loop ----- */

static void on_wake(uv_idle_t *handle)
{
    ab_grpc *g = handle->data;
    uv_idle_stop(handle);
    /* What a link queues goes out between turns of the loop: after a few, while it is in the
     * processor's caches, and so that the first do not wait for the last. */
    if (ab_grpc_link_run_woken(&g->link_env, RUNS_MAX))
        ab_grpc_go_on(g);
    ab_compat_run_woken(&g->compat_env);
    go_on_stopping(g);
}

static void on_tick(uv_timer_t *tick)
{
    ab_grpc *g = tick->data;
    for (ab_map_iter i = ab_map_first(g->links); i.entry != NULL; ab_map_next(&i)) {
        ab_grpc_link_tick(i.value);
        if (g->base.certificate_is_new)
            ab_grpc_link_greet_again(i.value);
    }
    g->base.certificate_is_new = false;
    for (ab_map_iter i = ab_map_first(g->compats); i.entry != NULL; ab_map_next(&i))
        ab_compat_tick(i.value);
    ab_grpc_drop_over(g);
    if (is_principal(g))
        ab_grpc_server_tick(g);
    else
        ab_grpc_client_tick(g);
    go_on_stopping(g);
}

/* ----- ops ----- */

static ab_err check_login(const ab_config *config, ab_error *err)
{
    ab_auth_login login = {0};
    ab_err e = ab_auth_login_open(config, &login, err);
    ab_auth_login_fini(&login);
    return e;
}

static ab_err grpc_check(const ab_config *config, ab_role role, const char *agent, ab_error *err)
{
    (void)agent;
    ab_grpc_settings settings;
    bool principal = role == AB_ROLE_PRINCIPAL;
    ab_err e = ab_grpc_settings_read(config, role, &settings, err);
    if (e == AB_ERR_OK)
        e = ab_tls_check(&settings.tls, principal, err);
    if (e == AB_ERR_OK)
        e = principal ? ab_auth_check_config(config, err) : check_login(config, err);
    return e;
}

static ab_err grpc_init(ab_transport *self, const ab_transport_env *env, ab_error *err)
{
    ab_grpc *g = (ab_grpc *)self;
    ab_err e = ab_grpc_settings_read(env->config, env->role, &g->settings, err);
    if (e != AB_ERR_OK)
        return e;
    ab_buf_init(&g->scratch, SCRATCH_MAX);
    g->received = (ab_rpc_budget){.max = RECEIVED_MAX, .shared = env->role == AB_ROLE_PRINCIPAL};
    g->link_env = (ab_grpc_link_env){.env = &self->env,
                                     .queue_bytes = g->settings.queue_bytes,
                                     .message_max = g->settings.message_max,
                                     .heartbeat_ms = g->settings.limits.ping_ms,
                                     .heartbeat_timeout_ms = g->settings.limits.ping_timeout_ms,
                                     .scratch = &g->scratch,
                                     .wake = wake,
                                     .arg = g,
                                     .open_live = ab_grpc_client_open_live,
                                     .received = &g->received};
    g->compat_env = (ab_compat_env){.env = &self->env, .wake = wake, .arg = g};
    ab_link_init(&g->compat_env.woken);
    ab_link_init(&g->link_env.woken);
    ab_link_init(&g->link_env.retired);
    g->links = ab_map_new();
    g->compats = ab_map_new();
    if (g->links == NULL || g->compats == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for links");
    if (env->role == AB_ROLE_PRINCIPAL)
        e = ab_grpc_server_init(g, err);
    else
        e = ab_grpc_client_init(g, err);
    if (e == AB_ERR_OK && env->role == AB_ROLE_AGENT)
        e = add_link(g, env->agent, err);
    if (e != AB_ERR_OK)
        self->ops->fini(self);
    return e;
}

static ab_err grpc_start(ab_transport *self, ab_error *err)
{
    ab_grpc *g = (ab_grpc *)self;
    int code = uv_idle_init(self->env.loop, &g->wake);
    g->on_wake = on_wake;
    if (code == 0)
        code = uv_timer_init(self->env.loop, &g->tick);
    if (code == 0)
        code = uv_timer_start(&g->tick, on_tick, TICK_MS, TICK_MS);
    if (code != 0)
        return ab_fail(err, AB_ERR_FATAL, "cannot register with the event loop: %s",
                       uv_strerror(code));
    g->wake.data = g;
    g->tick.data = g;
    g->running = true;
    if (is_principal(g))
        ab_grpc_server_start(g);
    else
        ab_grpc_client_start(g);
    ab_grpc_go_on(g);
    return AB_ERR_OK;
}

static ab_err grpc_add_agent(ab_transport *self, const char *agent, ab_error *err)
{
    ab_grpc *g = (ab_grpc *)self;
    ab_grpc_link *l = ab_grpc_find(g, ab_str_of(agent));
    if (l == NULL)
        return add_link(g, agent, err);
    if (ab_grpc_link_is_served(l))
        return ab_fail(err, AB_ERR_EXISTS, "agent %s is already served", agent);
    ab_grpc_link_serve(l);
    return AB_ERR_OK;
}

static bool grpc_remove_agent(ab_transport *self, const char *agent)
{
    ab_grpc_link *l = link_of((ab_grpc *)self, agent);
    if (l == NULL)
        return false;
    ab_grpc_link_retire(l);
    ab_grpc_forget_compat((ab_grpc *)self, l);
    return false;
}

static ab_err grpc_send(ab_transport *self, const char *agent, ab_lane lane, ab_event *event,
                        int64_t deadline_ms, ab_sent done, void *arg)
{
    ab_grpc *g = (ab_grpc *)self;
    if (g->closed)
        return AB_ERR_CLOSED;
    ab_grpc_link *l = link_of(g, agent);
    return l == NULL ? AB_ERR_NOTFOUND : ab_grpc_link_send(l, lane, event, deadline_ms, done, arg);
}

static void grpc_ack(ab_transport *self, ab_delivery *delivery, ab_verdict verdict)
{
    (void)self;
    ab_grpc_link_ack(delivery, verdict);
}

static ab_pending *grpc_pending(ab_transport *self, const char *agent, ab_direction direction)
{
    ab_grpc_link *l = link_of((ab_grpc *)self, agent);
    return l == NULL ? NULL : ab_grpc_link_pending(l, direction);
}

static ab_err grpc_refuse(ab_transport *self, const char *agent, const char *why)
{
    ab_grpc_link *l = link_of((ab_grpc *)self, agent);
    if (l != NULL && why != NULL)
        ab_grpc_link_refuse(l);
    return AB_ERR_OK;
}

static void grpc_recheck(ab_transport *self)
{
    ab_grpc_server_recheck((ab_grpc *)self);
}

static bool grpc_ready(ab_transport *self, ab_buf *why)
{
    const ab_grpc *g = (const ab_grpc *)self;
    if (!g->running || g->closed) {
        ab_buf_puts(why, "the transport is not running");
        return false;
    }
    if (is_principal(g)) {
        if (!g->server.listening)
            ab_buf_puts(why, g->server.why.text);
        return g->server.listening;
    }
    bool up = ab_grpc_link_is_up(link_of(g, NULL)) || g->client.relogin;
    if (!up)
        ab_buf_printf(why, "no stream to the principal: %s", g->client.why.text);
    return up;
}

static void grpc_close(ab_transport *self)
{
    ab_grpc *g = (ab_grpc *)self;
    g->closed = true;
    for (ab_map_iter i = ab_map_first(g->links); i.entry != NULL; ab_map_next(&i))
        ab_grpc_link_close(i.value);
}

static void grpc_stop(ab_transport *self, int64_t deadline_ms, void (*stopped)(void *arg),
                      void *arg)
{
    ab_grpc *g = (ab_grpc *)self;
    assert(g->closed && g->running);
    g->phase = AB_GRPC_DRAIN;
    g->stop_by_ms = ab_grpc_now(g) + deadline_ms;
    g->stopped = stopped;
    g->stopped_arg = arg;
    (void)uv_timer_start(&g->tick, on_tick, STOP_TICK_MS, STOP_TICK_MS); /* of an open handle */
    ab_grpc_go_on(g);
}

static void free_link(void *link)
{
    ab_grpc_link_free(link);
}

static void free_compat(void *compat)
{
    ab_compat_free(compat);
}

static void grpc_fini(ab_transport *self)
{
    ab_grpc *g = (ab_grpc *)self;
    if (is_principal(g))
        ab_grpc_server_fini(g);
    else
        end_client(g);
    ab_map_free(g->compats, free_compat);
    g->compats = NULL;
    ab_map_free(g->links, free_link);
    g->links = NULL;
    ab_buf_fini(&g->scratch);
}

static const ab_options *const options[] = {&ab_grpc_options, &ab_auth_options, NULL};

const ab_transport_ops ab_grpc_transport = {
    .name = "grpc",
    .caps = 0,
    .options = options,
    .size = sizeof(ab_grpc),
    .check = grpc_check,
    .init = grpc_init,
    .start = grpc_start,
    .add_agent = grpc_add_agent,
    .remove_agent = grpc_remove_agent,
    .send = grpc_send,
    .ack = grpc_ack,
    .pending = grpc_pending,
    .refuse = grpc_refuse,
    .recheck = grpc_recheck,
    .open_side = ab_grpc_client_open_side,
    .ready = grpc_ready,
    .close = grpc_close,
    .stop = grpc_stop,
    .fini = grpc_fini,
};
