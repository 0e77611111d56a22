/* SPDX-License-Identifier: Apache-2.0 */
#include "services/traces.h"

#include "schema/attributes.h"
#include "tracing/setup.h"

#include <stdlib.h>
#include <string.h>

/* Changes whose effect is awaited; of more than these it is not recorded. */
#define WAITING_MAX 1000
#define WAIT_MAX_US (INT64_C(600) * 1000 * 1000)

struct ab_traces {
    const ab_daemon *daemon;
    const char *agent;
    ab_tracing tracing;
    ab_trace hooks;
    char parent[AB_TRACEPARENT_TEXT]; /* the last one given out */
    char instance[UV_MAXHOSTNAMESIZE];
    ab_traces_waits waits;
    void *waits_arg;
    ab_link waiting; /* of struct waiting */
    size_t waiting_count;
};

/* A change that was sent down, until it is in effect. */
struct waiting {
    ab_link link;
    ab_trace_span span;
    char agent[64];
    ab_str key; /* behind it */
};

/* --- what the sync machine tells --- */

/* What the two ends tell each other is no change. */
static bool is_change(ab_str key)
{
    return !ab_str_starts(key, AB_KEY_CONTROL) && !ab_str_starts(key, AB_KEY_ACK) &&
           !ab_str_starts(key, AB_KEY_ERROR);
}

static const char *begin(void *arg, ab_str key)
{
    ab_traces *t = arg;
    ab_trace_context context;
    if (!is_change(key) || !ab_tracer_begin(t->tracing.tracer, &context))
        return NULL;
    ab_trace_context_format(&context, t->parent);
    return t->parent;
}

/* @return false: it is not traced */
static bool context_of(const ab_event *event, ab_trace_context *out)
{
    ab_str parent = ab_event_attr(event, AB_CE_TRACEPARENT);
    return ab_trace_context_parse(parent, out) == AB_ERR_OK && out->sampled;
}

/* Attributes of OpenTelemetry's conventions where they have one. */
static void describe(const ab_traces *t, ab_trace_span *span, ab_str agent, const ab_event *event)
{
    ab_trace_span_set(span, "messaging.system",
                      ab_str_of(ab_config_str(t->daemon->config, "transport")));
    ab_trace_span_set(span, "argobus.agent", agent);
    ab_trace_span_set(span, "argobus.key", ab_event_attr(event, AB_CE_PARTITIONKEY));
    ab_trace_span_set(span, "cloudevents.event_id", ab_event_attr(event, AB_CE_ID));
    ab_trace_span_set(span, "cloudevents.event_source", ab_event_attr(event, AB_CE_SOURCE));
    ab_trace_span_set(span, "cloudevents.event_type", ab_event_attr(event, AB_CE_TYPE));
}

/* The agent that has sent the event, or received it. */
static ab_str agent_of(const ab_traces *t, const ab_event *event)
{
    ab_str source = ab_event_attr(event, AB_CE_SOURCE);
    return t->agent != NULL ? ab_str_of(t->agent) : ab_str_after(source, AB_SOURCE_AGENT);
}

static void tell_write(ab_traces *t, const ab_trace_context *apply, const ab_trace_outcome *outcome)
{
    ab_trace_span span = ab_tracer_below(t->tracing.tracer, apply, "write", AB_TRACE_CLIENT);
    span.start_us = outcome->asked_us;
    span.end_us = outcome->answered_us;
    ab_trace_span_set(&span, "argobus.object", ab_str_of(outcome->key));
    ab_tracer_end(t->tracing.tracer, &span);
}

static void end(void *arg, const ab_trace_outcome *outcome)
{
    ab_traces *t = arg;
    ab_trace_context sent;
    if (!context_of(outcome->event, &sent))
        return;
    ab_trace_span span = ab_tracer_below(t->tracing.tracer, &sent, "apply", AB_TRACE_CONSUMER);
    span.start_us = outcome->received_us;
    describe(t, &span, agent_of(t, outcome->event), outcome->event);
    ab_trace_span_set(&span, "argobus.object", ab_str_of(outcome->key));
    if (outcome->err != NULL)
        span.error = ab_str_of(outcome->err->text);
    if (outcome->answered_us != 0)
        tell_write(t, &span.context, outcome);
    ab_tracer_end(t->tracing.tracer, &span);
}

/* --- making --- */

ab_err ab_traces_new(const ab_daemon *d, const char *agent, ab_traces **out, ab_error *err)
{
    *out = NULL;
    if (ab_config_str(d->config, "tracing.endpoint")[0] == '\0')
        return AB_ERR_OK;
    ab_traces *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *t = (ab_traces){.daemon = d, .agent = agent, .hooks = {begin, end, t}};
    ab_link_init(&t->waiting);
    size_t room = sizeof(t->instance);
    if (uv_os_gethostname(t->instance, &room) != 0)
        t->instance[0] = '\0';
    ab_exporter_env env = {.loop = d->loop,
                           .log = d->log,
                           .metrics = d->metrics,
                           .clock = d->clock,
                           .resource = {d->program->name, AB_VERSION, t->instance}};
    ab_err e = ab_tracing_init(d->config, env, &t->tracing, err);
    if (e != AB_ERR_OK) {
        free(t);
        return e;
    }
    *out = t;
    return AB_ERR_OK;
}

void ab_traces_free(ab_traces *t)
{
    if (t == NULL)
        return;
    for (ab_link *l = ab_list_pop(&t->waiting); l != NULL; l = ab_list_pop(&t->waiting))
        free(AB_LINK_OF(l, struct waiting, link));
    ab_tracing_fini(&t->tracing);
    free(t);
}

const ab_trace *ab_traces_of_sync(const ab_traces *t)
{
    return t == NULL ? NULL : &t->hooks;
}

void ab_traces_ask(ab_traces *t, ab_traces_waits waits, void *arg)
{
    if (t == NULL)
        return;
    t->waits = waits;
    t->waits_arg = arg;
}

/* --- sending, and what follows --- */

static void await(ab_traces *t, const char *agent, const ab_event *event,
                  const ab_trace_context *sent)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    struct waiting *w = t->waiting_count < WAITING_MAX ? malloc(sizeof(*w) + key.len) : NULL;
    if (w == NULL)
        return;
    char *text = (char *)(w + 1);
    memcpy(text, key.ptr, key.len);
    *w = (struct waiting){.key = {text, key.len}};
    w->span = ab_tracer_below(t->tracing.tracer, sent, "wait", AB_TRACE_INTERNAL);
    snprintf(w->agent, sizeof(w->agent), "%s", agent);
    ab_link_init(&w->link);
    ab_list_append(&t->waiting, &w->link);
    t->waiting_count++;
}

void ab_traces_sent(ab_traces *t, const char *agent, const ab_event *event, ab_err code)
{
    ab_trace_context context;
    uint64_t queued_us;
    bool over = code == AB_ERR_OK || ab_err_class_of(code) == AB_CLASS_PERMANENT;
    if (t == NULL || !over || !context_of(event, &context) ||
        ab_event_attr_u64(event, AB_CE_OBJVERSION, &queued_us) != AB_ERR_OK)
        return;
    ab_trace_span span = {.context = context,
                          .kind = AB_TRACE_PRODUCER,
                          .name = "send",
                          .start_us = (int64_t)queued_us};
    describe(t, &span, ab_str_of(agent == NULL ? t->agent : agent), event);
    if (code != AB_ERR_OK)
        span.error = ab_str_of(ab_err_text(code));
    ab_tracer_end(t->tracing.tracer, &span);
    if (t->waits != NULL && code == AB_ERR_OK)
        await(t, agent, event, &context);
}

/* @return whether it is over */
static bool look(const ab_traces *t, struct waiting *w)
{
    bool waits = t->waits(t->waits_arg, w->agent, w->key);
    bool too_long = ab_clock_wall_us(t->daemon->clock) - w->span.start_us > WAIT_MAX_US;
    if (waits && !too_long)
        return false;
    if (waits)
        w->span.error = AB_STR("not in effect after 10 minutes");
    ab_trace_span_set(&w->span, "argobus.agent", ab_str_of(w->agent));
    ab_trace_span_set(&w->span, "argobus.key", w->key);
    ab_tracer_end(t->tracing.tracer, &w->span);
    return true;
}

void ab_traces_tick(ab_traces *t)
{
    ab_link before;
    if (t == NULL)
        return;
    ab_link_init(&before);
    ab_list_move_all(&t->waiting, &before);
    for (ab_link *l = ab_list_pop(&before); l != NULL; l = ab_list_pop(&before)) {
        struct waiting *w = AB_LINK_OF(l, struct waiting, link);
        if (look(t, w)) {
            t->waiting_count--;
            free(w);
        } else {
            ab_list_append(&t->waiting, l);
        }
    }
    ab_exporter_tick(t->tracing.exporter);
}
