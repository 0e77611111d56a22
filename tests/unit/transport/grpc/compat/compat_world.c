/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/transport/grpc/compat/compat_world.h"

#include "schema/attributes.h"
#include "transport/grpc/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define EPOCH 1700000000

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Upcalls */

static void on_event(void *arg, ab_delivery *delivery)
{
    world *w = arg;
    must(w->got_count < WORLD_MAX);
    w->got[w->got_count++] = delivery;
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    world *w = arg;
    (void)agent;
    (void)peer;
    w->ups += up ? 1 : 0;
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    world *w = arg;
    (void)agent;
    (void)epoch;
    w->ready++;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    (void)arg;
    (void)agent;
    (void)gap;
}

static void on_told(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    (void)err;
    abort();
}

static void wake_link(void *arg)
{
    ((world *)arg)->link_woken = true;
}

static void wake_compat(void *arg)
{
    ((world *)arg)->compat_woken = true;
}

static int64_t mono_ms(void *arg)
{
    return ((world *)arg)->now_ms;
}

static int64_t wall_us(void *arg)
{
    return (EPOCH * 1000LL + ((world *)arg)->now_ms) * 1000;
}

/* The stream */

static ab_err stream_send(void *stream, ab_str message, ab_event *event)
{
    world *w = stream;
    must(event == NULL); /* a compatibility layer's messages are whole */
    if (w->full)
        return AB_ERR_FULL;
    must(w->told_count < WORLD_MAX);
    must(ab_grpc_read_event(message, &w->told[w->told_count++], NULL) == AB_ERR_OK);
    return AB_ERR_OK;
}

static void stream_pause(void *stream)
{
    ((world *)stream)->paused = true;
}

static void stream_resume(void *stream)
{
    ((world *)stream)->paused = false;
}

static void stream_cut(void *stream, const char *why)
{
    (void)why;
    ((world *)stream)->cuts++;
}

static const ab_grpc_stream_ops ops = {stream_send, stream_pause, stream_resume,
                                       stream_cut,  NULL,         NULL};

/* The world */

void world_open(world *w)
{
    bool principal = w->env.role == AB_ROLE_PRINCIPAL;
    const ab_compat_peer peer = {.mode = principal ? ab_str_of(w->mode) : AB_STR(""),
                                 .namespace = AB_STR("hub")};
    ab_compat_open(w->compat, &ops, w, &peer);
    world_run(w);
}

void world_close(world *w)
{
    ab_compat_close(w->compat, w);
    world_run(w);
}

world *world_new(ab_role role, const char *mode)
{
    static const ab_config_sources sources = {0};
    world *w = calloc(1, sizeof(*w));
    must(w != NULL);
    w->now_ms = 1000;
    w->mode = mode;
    w->clock = (ab_clock){mono_ms, wall_us, w};
    must(ab_config_load(&ab_transport_options, 1, &sources, &w->config, NULL) == AB_ERR_OK);
    w->metrics = ab_metrics_new();
    w->env = (ab_transport_env){.config = w->config,
                                .metrics = w->metrics,
                                .clock = &w->clock,
                                .role = role,
                                .agent = "w1",
                                .mode = role == AB_ROLE_PRINCIPAL ? "" : mode,
                                .namespace = "argocd",
                                .events = {.on_event = on_event,
                                           .on_peer = on_peer,
                                           .on_ready = on_ready,
                                           .on_gap = on_gap,
                                           .on_caught_up = on_told,
                                           .on_writable = on_told,
                                           .on_fatal = on_fatal,
                                           .arg = w}};
    ab_buf_init(&w->scratch, AB_EVENT_DATA_MAX);
    w->received = (ab_rpc_budget){.max = 1u << 26};
    w->link_env = (ab_grpc_link_env){
        &w->env, 1u << 20, 1u << 20, &w->scratch, wake_link, w, .received = &w->received};
    ab_link_init(&w->link_env.woken);
    ab_link_init(&w->link_env.retired);
    w->compat_env = (ab_compat_env){.env = &w->env, .wake = wake_compat, .arg = w};
    ab_link_init(&w->compat_env.woken);
    must(ab_grpc_link_new(&w->link_env, "w1", &w->link, NULL) == AB_ERR_OK);
    must(ab_compat_new(&w->compat_env, w->link, &w->compat) == AB_ERR_OK);
    world_open(w);
    return w;
}

void world_forget(world *w)
{
    for (size_t i = 0; i < w->told_count; i++)
        ab_event_unref(w->told[i]);
    w->told_count = 0;
}

void world_free(world *w)
{
    world_forget(w);
    ab_compat_free(w->compat);
    ab_grpc_link_free(w->link);
    ab_metrics_free(w->metrics);
    ab_config_free(w->config);
    ab_buf_fini(&w->scratch);
    free(w);
}

void world_run(world *w)
{
    while (w->link_woken || w->compat_woken) {
        if (w->link_woken) {
            w->link_woken = false;
            ab_grpc_link_run(w->link);
        }
        if (w->compat_woken) {
            w->compat_woken = false;
            ab_compat_run_woken(&w->compat_env);
        }
    }
}

void world_wait(world *w, int64_t ms)
{
    w->now_ms += ms;
    ab_compat_tick(w->compat);
    world_run(w);
}

void world_ack(world *w, size_t i)
{
    must(i < w->got_count && w->got[i] != NULL);
    ab_grpc_link_ack(w->got[i], AB_VERDICT_APPLIED);
    w->got[i] = NULL;
    world_run(w);
}

void world_return(world *w, size_t i)
{
    must(i < w->got_count && w->got[i] != NULL);
    ab_grpc_link_ack(w->got[i], AB_VERDICT_RETURNED);
    w->got[i] = NULL;
}

static void sent(void *arg, ab_err code, const ab_error *err)
{
    (void)arg;
    (void)code;
    (void)err;
}

void world_say(world *w, ab_target target, ab_type type, const char *key, const char *data)
{
    ab_event_draft d = {.data = ab_str_of(data)};
    ab_event *event = NULL;
    const char *slash = strchr(key, '/');
    ab_event_set_text(&d, AB_CE_ID, strncmp(key, "cmd/", 4) == 0 ? key + 4 : "id");
    ab_event_set_text(&d, AB_CE_SOURCE,
                      w->env.role == AB_ROLE_AGENT ? AB_SOURCE_AGENT "w1" : AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&d, AB_CE_SUBJECT, slash == NULL ? "w1/a" : slash + 1);
    if (strncmp(key, "cmd/", 4) == 0)
        ab_event_set_text(&d, AB_CE_SUBJECT, "w1/a");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_text(&d, AB_CE_PRINCIPALUID, "the-hub");
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, ++w->version);
    must(ab_event_new(&d, &event, NULL) == AB_ERR_OK);
    must(ab_grpc_link_send(w->link, AB_LANE_STATE, event, 0, sent, w) == AB_ERR_OK);
    ab_event_unref(event);
    world_run(w);
}

void world_say_live(world *w, ab_target target, ab_type type, const char *id, const char *data)
{
    ab_event_draft d = {.data = ab_str_of(data)};
    ab_event *event = NULL;
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE,
                      w->env.role == AB_ROLE_AGENT ? AB_SOURCE_AGENT "w1" : AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&d, AB_CE_RESOURCEID, id);
    ab_event_set_text(&d, AB_CE_EVENTID, id);
    must(ab_event_new(&d, &event, NULL) == AB_ERR_OK);
    must(ab_grpc_link_send(w->link, AB_LANE_LIVE, event, 10000, sent, w) == AB_ERR_OK);
    ab_event_unref(event);
    world_run(w);
}

static void hear(world *w, const ab_buf *message)
{
    must(ab_buf_status(message) == AB_ERR_OK);
    ab_compat_receive(w->compat, w, ab_buf_str(message));
    world_run(w);
}

void world_hear(world *w, ab_target target, ab_type type, const char *id, const char *data)
{
    ab_buf message;
    ab_go_event event = {.target = target, .type = type, .data = ab_str_of(data)};
    snprintf(event.resourceid, sizeof(event.resourceid), "r-%s", id);
    snprintf(event.eventid, sizeof(event.eventid), "e-%s", id);
    ab_buf_init(&message, 1u << 20);
    ab_go_event_write(&event, AB_GO_SOURCE_AGENT, &message);
    hear(w, &message);
    ab_buf_fini(&message);
}

void world_hear_ack(world *w, const ab_event *told)
{
    ab_buf message;
    ab_buf_init(&message, 1u << 20);
    ab_go_ack_write(told, AB_GO_SOURCE_AGENT, &message);
    hear(w, &message);
    ab_buf_fini(&message);
}
