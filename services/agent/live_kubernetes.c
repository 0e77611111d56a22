/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins live/resource, which knows no API server, and store/kubernetes/raw, which knows no streams.
 * Live access has connections of its own, so that it holds up nothing that the store does.
 */
#include "services/agent/live_kubernetes.h"

#include "store/kubernetes/raw.h"
#include "store/kubernetes/socket.h"

#include <stdlib.h>

_Static_assert(AB_LIVE_FIELDS_MAX <= AB_KUBE_FIELDS_MAX, "fields of a request fit");

#define SECOND 1000LL
#define HOUR   (3600 * SECOND)

static const ab_option rows[] = {
    AB_RESOURCE_POLICY_OPTION_ROWS,
    {.name = "live.terminal.idle",
     .kind = AB_OPT_DURATION,
     .deflt = "30m",
     .min = SECOND,
     .max = 24 * HOUR,
     .help = "A terminal ends when nothing was typed or shown in it for this time."},
    {.name = "live.terminal.limit",
     .kind = AB_OPT_DURATION,
     .deflt = "12h",
     .min = SECOND,
     .max = 720 * HOUR,
     .help = "Any terminal ends after this time."},
};
const ab_options ab_agent_live_kubernetes_options = {rows, sizeof(rows) / sizeof(rows[0])};

struct ab_agent_live_kubernetes {
    ab_kube_access *access;
    ab_kube_raw *raw;
    ab_kube_sockets *sockets;
    ab_resource_spoke *spoke;
};

/* Both are begun by the struct: a call of live/resource is one of these. */
struct ab_resource_call {
    ab_kube_raw_call *raw;
    const ab_resource_call_handler *handler;
    void *arg;
};

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    const ab_resource_call *c = arg;
    c->handler->on_head(c->arg, status, fields, count);
}

static void on_data(void *arg, ab_str piece)
{
    const ab_resource_call *c = arg;
    c->handler->on_data(c->arg, piece);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_resource_call *c = arg;
    c->handler->on_over(c->arg, code, err);
    free(c);
}

static ab_resource_call *begin(void *self, const ab_resource_call_request *request,
                               const ab_resource_call_handler *handler, void *arg)
{
    const ab_agent_live_kubernetes *k = self;
    ab_resource_call *c = calloc(1, sizeof(*c));
    char *path = ab_str_dup(request->target);
    if (c != NULL && path != NULL) {
        c->handler = handler;
        c->arg = arg;
        c->raw = ab_kube_raw_begin(k->raw, &(ab_kube_raw_request){.method = request->method,
                                                                  .path = path,
                                                                  .fields = request->fields,
                                                                  .count = request->count,
                                                                  .body = request->body,
                                                                  .timeout_ms = request->timeout_ms,
                                                                  .on_head = on_head,
                                                                  .on_data = on_data,
                                                                  .on_over = on_over,
                                                                  .arg = c});
    }
    free(path);
    if (c == NULL || c->raw == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

static void pause_call(ab_resource_call *c)
{
    ab_kube_raw_pause(c->raw);
}

static void resume_call(ab_resource_call *c)
{
    ab_kube_raw_resume(c->raw);
}

static void cancel_call(ab_resource_call *c)
{
    ab_kube_raw_cancel(c->raw);
    free(c);
}

/* --- WebSockets --- */

struct ab_resource_socket {
    ab_kube_socket *raw;
    const ab_resource_socket_handler *handler;
    void *arg;
};

static void on_open(void *arg, const char *protocol)
{
    const ab_resource_socket *s = arg;
    s->handler->on_open(s->arg, protocol);
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    const ab_resource_socket *s = arg;
    s->handler->on_message(s->arg, piece, ends);
}

static void on_writable(void *arg)
{
    const ab_resource_socket *s = arg;
    s->handler->on_room(s->arg);
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    ab_resource_socket *s = arg;
    s->handler->on_over(s->arg, &(ab_resource_socket_end){.code = end->code,
                                                          .status = end->status,
                                                          .type = end->type,
                                                          .body = end->body,
                                                          .err = end->err});
    free(s);
}

static ab_resource_socket *connect_socket(void *self, const ab_resource_socket_request *request,
                                          const ab_resource_socket_handler *handler, void *arg)
{
    const ab_agent_live_kubernetes *k = self;
    ab_resource_socket *s = calloc(1, sizeof(*s));
    char *path = ab_str_dup(request->target);
    if (s != NULL && path != NULL) {
        s->handler = handler;
        s->arg = arg;
        s->raw = ab_kube_socket_begin(k->sockets,
                                      &(ab_kube_socket_request){.path = path,
                                                                .fields = request->fields,
                                                                .count = request->count,
                                                                .protocols = request->protocols,
                                                                .on_open = on_open,
                                                                .on_message = on_message,
                                                                .on_writable = on_writable,
                                                                .on_end = on_end,
                                                                .arg = s});
    }
    free(path);
    if (s == NULL || s->raw == NULL) {
        free(s);
        return NULL;
    }
    return s;
}

static ab_err send_message(ab_resource_socket *s, ab_str bytes)
{
    return ab_kube_socket_send(s->raw, bytes);
}

static void pause_socket(ab_resource_socket *s)
{
    ab_kube_socket_pause(s->raw);
}

static void resume_socket(ab_resource_socket *s)
{
    ab_kube_socket_resume(s->raw);
}

static void cancel_socket(ab_resource_socket *s)
{
    ab_kube_socket_cancel(s->raw);
    free(s);
}

static const ab_resource_api_ops OPS = {
    begin,        pause_call,   resume_call,   cancel_call,   connect_socket,
    send_message, pause_socket, resume_socket, cancel_socket,
};

ab_err ab_agent_live_kubernetes_check(const ab_config *config, ab_error *err)
{
    ab_resource_policy policy;
    ab_err e = ab_resource_policy_load(config, &policy, err);
    ab_resource_policy_fini(&policy);
    return e;
}

/* A kubeconfig that happens to be found is not for an agent with another store. */
static bool has_api(const ab_config *config)
{
    return ab_config_is(config, "store.kind", "kubernetes") ||
           ab_config_str(config, "store.kubernetes.kubeconfig") != NULL;
}

/* Without an API server the agent is of use all the same. */
static ab_err connect_api(ab_agent_live_kubernetes *k, ab_daemon *daemon, ab_resource_api *api)
{
    ab_error err = {0};
    if (!has_api(daemon->config))
        return AB_ERR_OK;
    ab_err e = ab_kube_access_new(daemon->loop, daemon->config, daemon->log, daemon->clock,
                                  &k->access, &err);
    if (e == AB_ERR_OK)
        e = ab_kube_raw_new(daemon->loop, k->access, &k->raw, &err);
    if (e == AB_ERR_OK) {
        k->sockets = ab_kube_sockets_new(daemon->loop, k->access);
        e = k->sockets == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    }
    if (e == AB_ERR_OK)
        *api = (ab_resource_api){&OPS, k};
    else if (e != AB_ERR_NOMEM)
        AB_INFO(daemon->log, LIVE, "no live access to a Kubernetes API server",
                AB_KV("why", err.text));
    return e == AB_ERR_NOMEM ? e : AB_ERR_OK;
}

ab_err ab_agent_live_kubernetes_new(ab_daemon *daemon, ab_agent_live_kubernetes **out,
                                    ab_error *err)
{
    ab_resource_spoke_env env = {
        .loop = daemon->loop,
        .clock = daemon->clock,
        .terminal_idle_ms = ab_config_int(daemon->config, "live.terminal.idle"),
        .terminal_limit_ms = ab_config_int(daemon->config, "live.terminal.limit"),
        .log = daemon->log,
        .metrics = daemon->metrics};
    ab_agent_live_kubernetes *k = calloc(1, sizeof(*k));
    *out = k;
    if (k == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for live access");
    ab_err e = ab_resource_policy_load(daemon->config, &env.policy, err);
    if (e == AB_ERR_OK && env.policy.reach != AB_RESOURCE_OFF)
        e = connect_api(k, daemon, &env.api);
    if (e == AB_ERR_OK) {
        k->spoke = ab_resource_spoke_new(&env);
        e = k->spoke == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    }
    if (e != AB_ERR_OK)
        ab_resource_policy_fini(&env.policy);
    return e == AB_ERR_NOMEM ? ab_fail(err, e, "out of memory for live access") : e;
}

void ab_agent_live_kubernetes_free(ab_agent_live_kubernetes *k)
{
    if (k == NULL)
        return;
    ab_resource_spoke_free(k->spoke);
    ab_kube_access_free(k->access);
    ab_kube_raw_free(k->raw);
    ab_kube_sockets_free(k->sockets);
    free(k);
}

void ab_agent_live_kubernetes_serve(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    const ab_agent_live_kubernetes *k = arg;
    ab_resource_spoke_serve(k->spoke, s, request);
}

void ab_agent_live_kubernetes_serve_terminal(void *arg, ab_live_stream *s,
                                             const ab_live_request *request)
{
    const ab_agent_live_kubernetes *k = arg;
    ab_resource_spoke_serve_terminal(k->spoke, s, request);
}
