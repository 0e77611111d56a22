/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of transports, what all of them share, and the ops as functions.
 */
#include "transport/transport.h"

#include "schema/attributes.h"
#include "transport/grpc/grpc.h"
#include "transport/kafka/kafka.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const ab_transport_ops *const ab_transport_table[] = {&ab_kafka_transport, &ab_grpc_transport,
                                                      NULL};

static const ab_option rows[] = {
    {.name = "transport",
     .kind = AB_OPT_ENUM,
     .deflt = "kafka",
     .choices = "kafka|grpc",
     .help = "The transport that connects the principal and its agents."},
    {.name = "transport.heartbeat",
     .kind = AB_OPT_DURATION,
     .deflt = "10s",
     .min = 100,
     .max = 600000,
     .help =
         "Over Kafka, the interval of heartbeats; a peer counts as disconnected after three missed "
         "ones. Over gRPC grpc.keepalive counts instead."},
    {.name = "transport.inflight",
     .kind = AB_OPT_INT,
     /* Work for the half second that Kafka needs to read on after a pause. */
     .deflt = "1024",
     .min = 1,
     .max = 65536,
     .help = "Received events per agent that may be processed at once; beyond it, reading pauses."},
};
const char *ab_gap_name(ab_gap gap)
{
    static const char *const names[] = {
        [AB_GAP_FIRST] = "first",
        [AB_GAP_EXPIRED] = "expired",
        [AB_GAP_RECREATED] = "recreated",
    };
    return names[gap];
}

const ab_options ab_transport_options = {rows, sizeof(rows) / sizeof(rows[0])};

/* A transport with an empty slot is a bug that must show at once, not when the slot is first used.
 */
static void assert_complete(const ab_transport_ops *ops)
{
    assert(ops->name != NULL && ops->options != NULL && ops->size >= sizeof(ab_transport));
    assert(ops->init != NULL && ops->start != NULL && ops->fini != NULL);
    assert(ops->add_agent != NULL && ops->remove_agent != NULL);
    assert(ops->send != NULL && ops->ack != NULL && ops->ready != NULL);
    assert(ops->close != NULL && ops->stop != NULL);
    (void)ops;
}

static void assert_env(const ab_transport_env *env)
{
    const ab_transport_events *up = &env->events;
    assert(env->loop != NULL && env->config != NULL && env->clock != NULL && env->mode != NULL);
    assert((env->role == AB_ROLE_AGENT) == (env->agent != NULL));
    assert(up->on_event != NULL && up->on_peer != NULL && up->on_written != NULL);
    assert(up->on_ready != NULL && up->on_gap != NULL && up->on_caught_up != NULL);
    assert(up->on_writable != NULL && up->on_fatal != NULL);
    (void)up;
}

ab_err ab_transport_new_with(const ab_transport_ops *ops, const ab_transport_env *env,
                             ab_transport **out, ab_error *err)
{
    assert_complete(ops);
    assert_env(env);
    ab_transport *t = calloc(1, ops->size);
    if (t == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for transport %s", ops->name);
    t->ops = ops;
    t->env = *env;
    ab_err e = ops->init(t, &t->env, err);
    if (e != AB_ERR_OK) {
        free(t);
        return e;
    }
    *out = t;
    return AB_ERR_OK;
}

static ab_err find_ops(const ab_config *config, const ab_transport_ops **out, ab_error *err)
{
    const char *name = ab_config_str(config, "transport");
    for (size_t i = 0; ab_transport_table[i] != NULL; i++) {
        if (strcmp(ab_transport_table[i]->name, name) != 0)
            continue;
        *out = ab_transport_table[i];
        return AB_ERR_OK;
    }
    return ab_fail(err, AB_ERR_CONFIG, "this build has no transport \"%s\"", name);
}

ab_err ab_transport_new(const ab_transport_env *env, ab_transport **out, ab_error *err)
{
    const ab_transport_ops *ops = NULL;
    ab_err e = find_ops(env->config, &ops, err);
    return e == AB_ERR_OK ? ab_transport_new_with(ops, env, out, err) : e;
}

ab_err ab_transport_check(const ab_config *config, ab_role role, const char *agent, ab_error *err)
{
    const ab_transport_ops *ops = NULL;
    ab_err e = find_ops(config, &ops, err);
    return e == AB_ERR_OK && ops->check != NULL ? ops->check(config, role, agent, err) : e;
}

void ab_transport_free(ab_transport *t)
{
    if (t == NULL)
        return;
    t->ops->fini(t);
    free(t);
}

void ab_transport_tell_certificate(ab_transport *t, const char *certificate)
{
    assert(t->env.role == AB_ROLE_AGENT);
    t->env.certificate = certificate;
    t->certificate_is_new = true;
}

void ab_transport_show_refused(ab_metrics *metrics, const char *agent, bool refused)
{
    const ab_label label = {"agent", ab_str_of(agent)};
    ab_metric_set(ab_metric_get(metrics, AB_METRIC_GAUGE, "argobus_agent_refused",
                                "1 while the control plane refuses the agent because of its mode.",
                                &label, 1),
                  refused);
}

ab_err ab_transport_start(ab_transport *t, ab_error *err)
{
    return t->ops->start(t, err);
}

ab_err ab_transport_add_agent(ab_transport *t, const char *agent, ab_error *err)
{
    assert(t->env.role == AB_ROLE_PRINCIPAL);
    return t->ops->add_agent(t, agent, err);
}

bool ab_transport_remove_agent(ab_transport *t, const char *agent)
{
    assert(t->env.role == AB_ROLE_PRINCIPAL);
    return t->ops->remove_agent(t, agent);
}

/* Without these a state event could be neither ordered nor replaced. */
static bool is_sendable(const ab_event *event, ab_lane lane)
{
    return lane == AB_LANE_LIVE || (ab_event_attr(event, AB_CE_PARTITIONKEY).ptr != NULL &&
                                    ab_event_attr(event, AB_CE_WRITEREPOCH).ptr != NULL &&
                                    ab_event_attr(event, AB_CE_OBJVERSION).ptr != NULL);
}

ab_err ab_transport_send(ab_transport *t, const char *agent, ab_lane lane, ab_event *event,
                         int64_t deadline_ms, ab_sent done, void *arg)
{
    bool sendable = is_sendable(event, lane);
    assert(sendable && (t->env.role == AB_ROLE_AGENT) == (agent == NULL));
    (void)sendable;
    return t->ops->send(t, agent, lane, event, deadline_ms, done, arg);
}

void ab_transport_ack(ab_transport *t, ab_delivery *delivery, ab_verdict verdict)
{
    t->ops->ack(t, delivery, verdict);
}

ab_pending *ab_transport_pending(ab_transport *t, const char *agent, ab_direction direction)
{
    assert(t->env.role == AB_ROLE_PRINCIPAL);
    return t->ops->pending(t, agent, direction);
}

ab_err ab_transport_refuse(ab_transport *t, const char *agent, const char *why)
{
    assert(t->env.role == AB_ROLE_PRINCIPAL);
    return t->ops->refuse == NULL ? AB_ERR_OK : t->ops->refuse(t, agent, why);
}

void ab_transport_recheck(ab_transport *t)
{
    assert(t->env.role == AB_ROLE_PRINCIPAL);
    if (t->ops->recheck != NULL)
        t->ops->recheck(t);
}

ab_err ab_transport_open_side(ab_transport *t, ab_side_kind kind, const ab_side_handler *handler,
                              void *arg, ab_side **out)
{
    assert(t->env.role == AB_ROLE_AGENT);
    return t->ops->open_side == NULL ? AB_ERR_UNAVAILABLE
                                     : t->ops->open_side(t, kind, handler, arg, out);
}

bool ab_transport_ready(ab_transport *t, ab_buf *why)
{
    return t->ops->ready(t, why);
}

void ab_transport_close(ab_transport *t)
{
    t->ops->close(t);
}

void ab_transport_stop(ab_transport *t, int64_t deadline_ms, void (*stopped)(void *arg), void *arg)
{
    t->ops->stop(t, deadline_ms, stopped, arg);
}
