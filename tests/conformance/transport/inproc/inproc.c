/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/inproc/inproc.h"

#include "tests/conformance/transport/inproc/inproc_priv.h"

#include <assert.h>
#include <stdlib.h>

struct ab_inproc {
    ab_transport_ops ops; /* first: an end finds its switch by the ops it was made with */
    ab_map *lines;
};

static ab_inproc *switch_of(const ab_inproc_endpoint *endpoint)
{
    union {
        const ab_transport_ops *ops;
        ab_inproc *sw;
    } first = {.ops = endpoint->base.ops};
    return first.sw;
}

static ab_err add_line(ab_inproc *sw, const char *agent, ab_inproc_line **out)
{
    ab_inproc_line *line = ab_inproc_line_new(agent);
    if (line == NULL || ab_map_put(sw->lines, ab_str_of(line->agent), line, NULL) != AB_ERR_OK) {
        ab_inproc_line_free(line);
        return AB_ERR_NOMEM;
    }
    *out = line;
    return AB_ERR_OK;
}

/* The agent's line, made at first use, and a port of `end` on it. */
static ab_err attach(ab_inproc_endpoint *endpoint, const char *agent, ab_error *err)
{
    if (!ab_str_is_dns_label(ab_str_of(agent)))
        return ab_fail(err, AB_ERR_INVALID, "agent name \"%s\" is not a DNS label", agent);
    ab_inproc *sw = switch_of(endpoint);
    ab_inproc_line *line = ab_map_find(sw->lines, ab_str_of(agent));
    if (line == NULL && add_line(sw, agent, &line) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", agent);
    ab_inproc_port *port = NULL;
    return ab_inproc_port_new(endpoint, line, &port, err);
}

/* `agent` NULL = an agent's own port. NULL when there is none. */
static ab_inproc_port *find_port(ab_inproc_endpoint *endpoint, const char *agent)
{
    const char *name = endpoint->base.env.role == AB_ROLE_AGENT ? endpoint->base.env.agent : agent;
    ab_inproc_line *line = ab_map_find(switch_of(endpoint)->lines, ab_str_of(name));
    ab_inproc_port *port = line == NULL ? NULL : line->sides[endpoint->base.env.role];
    return port == NULL || port->endpoint != endpoint ? NULL : port;
}

static void on_closed(uv_handle_t *handle)
{
    ab_inproc_endpoint *endpoint = handle->data;
    endpoint->stopped(endpoint->stopped_arg);
}

static void finish_stop(ab_inproc_endpoint *endpoint)
{
    ab_inproc_port *port = NULL;
    TAILQ_FOREACH(port, &endpoint->ports, at)
    {
        ab_inproc_port_flush(port, AB_ERR_UNAVAILABLE);
        ab_inproc_port_detach(port);
    }
    endpoint->running = false;
    uv_close((uv_handle_t *)&endpoint->wake, on_closed);
}

static void reap_removed(ab_inproc_endpoint *endpoint)
{
    ab_inproc_port *port = TAILQ_FIRST(&endpoint->ports);
    while (port != NULL) {
        ab_inproc_port *after = TAILQ_NEXT(port, at);
        if (port->removed && port->open[AB_LANE_STATE] + port->open[AB_LANE_LIVE] == 0)
            ab_inproc_port_free(port);
        port = after;
    }
}

static void run_endpoint(uv_async_t *wake)
{
    ab_inproc_endpoint *endpoint = wake->data;
    ab_inproc_port *port = NULL;
    TAILQ_FOREACH(port, &endpoint->ports, at)
    {
        if (port->removed)
            ab_inproc_port_flush(port, AB_ERR_CLOSED);
        else
            ab_inproc_port_run(port);
    }
    reap_removed(endpoint);
    if (endpoint->stopped != NULL && endpoint->running)
        finish_stop(endpoint);
}

static ab_err inproc_init(ab_transport *self, const ab_transport_env *env, ab_error *err)
{
    (void)err;
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    TAILQ_INIT(&endpoint->ports);
    endpoint->inflight = (size_t)ab_config_int(env->config, "transport.inflight");
    return AB_ERR_OK;
}

static ab_err inproc_start(ab_transport *self, ab_error *err)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    if (self->env.role == AB_ROLE_AGENT) {
        ab_err e = attach(endpoint, self->env.agent, err);
        if (e != AB_ERR_OK)
            return e == AB_ERR_NOMEM ? e : AB_ERR_FATAL;
    }
    int code = uv_async_init(self->env.loop, &endpoint->wake, run_endpoint);
    if (code != 0)
        return ab_fail(err, AB_ERR_FATAL, "cannot register with the event loop: %s",
                       uv_strerror(code));
    endpoint->wake.data = endpoint;
    endpoint->running = true;
    ab_inproc_line_wake_endpoint(endpoint);
    return AB_ERR_OK;
}

static ab_err inproc_add_agent(ab_transport *self, const char *agent, ab_error *err)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    ab_err e = attach(endpoint, agent, err);
    if (e == AB_ERR_OK)
        ab_inproc_line_wake_endpoint(endpoint);
    return e;
}

static bool inproc_remove_agent(ab_transport *self, const char *agent)
{
    ab_inproc_port *port = find_port((ab_inproc_endpoint *)self, agent);
    if (port == NULL)
        return false;
    port->removed = true;
    ab_inproc_log_reset(port->in);
    ab_inproc_log_reset(port->out);
    port->in->was_read = false;
    ab_inproc_port_detach(port);
    ab_inproc_line_wake_endpoint(port->endpoint);
    return false;
}

static ab_err inproc_send(ab_transport *self, const char *agent, ab_lane lane, ab_event *event,
                          int64_t deadline_ms, ab_sent done, void *arg)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    if (endpoint->closed)
        return AB_ERR_CLOSED;
    ab_inproc_port *port = find_port(endpoint, agent);
    if (port == NULL)
        return self->env.role == AB_ROLE_AGENT ? AB_ERR_UNAVAILABLE : AB_ERR_NOTFOUND;
    if (port->epoch == 0)
        return AB_ERR_UNAVAILABLE;
    if (port->queued[lane] >= AB_INPROC_QUEUE_MAX) {
        port->starved[lane] = true;
        return AB_ERR_FULL;
    }
    ab_inproc_outgoing *send = calloc(1, sizeof(*send));
    if (send == NULL)
        return AB_ERR_NOMEM;
    *send = (ab_inproc_outgoing){.event = ab_event_ref(event),
                                 .lane = lane,
                                 .deadline_ms = deadline_ms,
                                 .done = done,
                                 .arg = arg};
    STAILQ_INSERT_TAIL(&port->sends, send, at);
    port->queued[lane]++;
    ab_inproc_line_wake_endpoint(endpoint);
    return AB_ERR_OK;
}

static void inproc_ack(ab_transport *self, ab_delivery *delivery, ab_verdict verdict)
{
    (void)self;
    ab_inproc_delivery *own = (ab_inproc_delivery *)delivery;
    ab_inproc_port_ack(own->port, own, verdict);
}

static ab_pending *inproc_pending(ab_transport *self, const char *agent, ab_direction direction)
{
    ab_inproc_port *port = find_port((ab_inproc_endpoint *)self, agent);
    return port == NULL ? NULL : ab_inproc_port_pending(port, direction);
}

static bool inproc_ready(ab_transport *self, ab_buf *why)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    bool ready = endpoint->running && !endpoint->closed;
    if (ready && self->env.role == AB_ROLE_AGENT) {
        const ab_inproc_port *port = find_port(endpoint, NULL);
        ready = port->epoch != 0 && !port->line->cut;
    }
    if (!ready)
        ab_buf_puts(why, "not attached to the switch");
    return ready;
}

static void inproc_close(ab_transport *self)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    endpoint->closed = true;
    ab_inproc_port *port = NULL;
    TAILQ_FOREACH(port, &endpoint->ports, at)
    ab_inproc_line_wake(port->line);
}

static void inproc_stop(ab_transport *self, int64_t deadline_ms, void (*stopped)(void *arg),
                        void *arg)
{
    (void)deadline_ms; /* nothing here takes time */
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    assert(endpoint->closed && endpoint->running);
    endpoint->stopped = stopped;
    endpoint->stopped_arg = arg;
    ab_inproc_line_wake_endpoint(endpoint);
}

static void inproc_fini(ab_transport *self)
{
    ab_inproc_endpoint *endpoint = (ab_inproc_endpoint *)self;
    while (!TAILQ_EMPTY(&endpoint->ports))
        ab_inproc_port_free(TAILQ_FIRST(&endpoint->ports));
}

static const ab_options *const no_options[] = {NULL};

ab_inproc *ab_inproc_new(void)
{
    ab_inproc *sw = calloc(1, sizeof(*sw));
    if (sw == NULL)
        return NULL;
    sw->lines = ab_map_new();
    if (sw->lines == NULL) {
        free(sw);
        return NULL;
    }
    sw->ops = (ab_transport_ops){
        .name = "inproc",
        .caps = AB_CAP_DURABLE | AB_CAP_LOG_REPLAY,
        .options = no_options,
        .size = sizeof(ab_inproc_endpoint),
        .init = inproc_init,
        .start = inproc_start,
        .add_agent = inproc_add_agent,
        .remove_agent = inproc_remove_agent,
        .send = inproc_send,
        .ack = inproc_ack,
        .pending = inproc_pending,
        .ready = inproc_ready,
        .close = inproc_close,
        .stop = inproc_stop,
        .fini = inproc_fini,
    };
    return sw;
}

void ab_inproc_free(ab_inproc *sw)
{
    if (sw == NULL)
        return;
    ab_map_free(sw->lines, ab_inproc_line_free);
    free(sw);
}

const ab_transport_ops *ab_inproc_transport(ab_inproc *sw)
{
    return &sw->ops;
}

void ab_inproc_cut(ab_inproc *sw, const char *agent, bool cut)
{
    ab_inproc_line *line = ab_map_find(sw->lines, ab_str_of(agent));
    assert(line != NULL);
    line->cut = cut;
    ab_inproc_line_wake(line);
}

void ab_inproc_recreate(ab_inproc *sw, const char *agent)
{
    ab_inproc_line *line = ab_map_find(sw->lines, ab_str_of(agent));
    assert(line != NULL);
    ab_inproc_log_reset(&line->down);
    ab_inproc_log_reset(&line->up);
    ab_inproc_line_wake(line);
}
