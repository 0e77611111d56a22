/* SPDX-License-Identifier: Apache-2.0
 *
 * Wiring and life cycle. Construction order: cache, machine, store, transport; they end in reverse,
 * each when what it feeds has finished.
 */
#include "services/agent/agent.h"

#include "schema/attributes.h"
#include "services/agent/cache.h"
#include "services/pump.h"
#include "services/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ab_service base;
    ab_cache *cache;
    bool fresh;
    ab_agent *machine;
    ab_pump pump;
    char source[80];
} service;

/* --- the machine's effects --- */

static void on_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_agent_done(arg, code, object, err);
}

static void fx_get(void *arg, ab_str key, ab_agent_object *o)
{
    service *s = arg;
    ab_store_get(s->base.store, key, on_done, o);
}

static void fx_apply(void *arg, ab_object *object, ab_str version, ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.version = version, .must_not_exist = version.ptr == NULL};
    ab_store_apply(s->base.store, object, &condition, on_done, o);
}

static void fx_patch_status(void *arg, ab_str key, ab_str status, ab_str version,
                            ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.version = version};
    ab_store_patch_status(s->base.store, key, status, AB_STR_NONE, &condition, on_done, o);
}

static void fx_remove(void *arg, ab_str key, ab_str uid, bool foreground, ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.uid = uid};
    ab_store_remove(s->base.store, key, &condition,
                    foreground ? AB_PROPAGATE_FOREGROUND : AB_PROPAGATE_BACKGROUND, on_done, o);
}

static void on_kept(void *arg, ab_err code, const ab_error *err)
{
    ab_agent_done(arg, code, NULL, err);
}

static void fx_keep(void *arg, ab_str key, const ab_kept *kept, ab_agent_object *o)
{
    service *s = arg;
    ab_err e = ab_cache_keep(s->cache, key, kept, on_kept, o);
    if (e != AB_ERR_OK)
        ab_agent_done(o, e, NULL, NULL);
}

static ab_err fx_recall(void *arg, ab_str key, ab_kept *out)
{
    service *s = arg;
    return ab_cache_recall(s->cache, key, out);
}

static void fx_ack(void *arg, void *delivery)
{
    service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_APPLIED);
}

static void fx_wake(void *arg)
{
    service *s = arg;
    ab_pump_run(&s->pump);
}

/* --- what the store says --- */

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    service *s = arg;
    switch (change) {
    case AB_STORE_SEEN:
        ab_agent_seen(s->machine, object);
        break;
    case AB_STORE_DELETED:
        ab_agent_gone(s->machine, object);
        break;
    case AB_STORE_LISTED:
        s->base.listed = true;
        ab_agent_synced(s->machine);
        break;
    case AB_STORE_SYNCED: /* an agent deletes what it was told to, never what it does not find */
        ab_agent_synced(s->machine);
        break;
    }
}

/* --- what the transport says --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    service *s = arg;
    ab_agent_deliver(s->machine, delivery->event, delivery);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    service *s = arg;
    (void)agent;
    AB_INFO(s->base.daemon->log, MAIN,
            up ? "principal is there" : "principal is not heard any more",
            AB_KV("version", peer == NULL ? "" : peer->version));
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    service *s = arg;
    (void)agent;
    ab_agent_written(s->machine, head);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    service *s = arg;
    (void)agent;
    AB_INFO(s->base.daemon->log, MAIN, "connected", AB_KV("epoch", (int64_t)epoch));
    ab_agent_ready(s->machine, epoch);
    ab_pump_run(&s->pump);
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    service *s = arg;
    (void)agent;
    AB_WARN(s->base.daemon->log, MAIN, "receiving from the beginning",
            AB_KV("reason", (int64_t)gap));
    if (gap == AB_GAP_RECREATED)
        ab_agent_log_lost(s->machine);
}

static void on_caught_up(void *arg, const char *agent)
{
    service *s = arg;
    (void)agent;
    AB_INFO(s->base.daemon->log, MAIN, "caught up with the principal");
}

static void on_writable(void *arg, const char *agent)
{
    service *s = arg;
    (void)agent;
    ab_pump_run(&s->pump);
}

static void unsendable(void *arg, const char *agent, const ab_event *event, const ab_error *err)
{
    service *s = arg;
    (void)agent;
    ab_agent_unsendable(s->machine, event, err);
}

static void on_tick(ab_service *base)
{
    service *s = (service *)base;
    ab_agent_tick(s->machine);
    ab_pump_run(&s->pump);
}

static bool is_drained(const ab_service *base)
{
    return ab_cache_pending(((const service *)base)->cache) == 0;
}

/* --- construction --- */

ab_err ab_agent_check(const ab_config *config, ab_error *err)
{
    const char *name = ab_config_str(config, "agent.name");
    if (name == NULL || !ab_str_is_dns_label(ab_str_of(name)))
        return ab_fail(
            err, AB_ERR_CONFIG,
            "agent.name: \"%s\" is no DNS label (a-z, 0-9 and -, at most 63): set it to the "
            "agent's name, e.g. w1",
            name == NULL ? "" : name);
    if (ab_config_str(config, "agent.data") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agent.data is not set: give a folder that survives restarts, e.g. "
                       "/var/lib/argobus-agent");
    return AB_ERR_OK;
}

static ab_err restore_row(void *arg, ab_str key, const ab_kept *kept)
{
    return ab_agent_restore(arg, key, kept);
}

static ab_err open_cache(service *s, ab_error *err)
{
    char path[4096];
    const char *folder = ab_config_str(s->base.daemon->config, "agent.data");
    int n = snprintf(path, sizeof(path), "%s/kept.sqlite", folder);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "agent.data is too long a path");
    ab_err e =
        ab_cache_open(s->base.daemon->loop, path, s->base.daemon->clock, &s->cache, &s->fresh, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "%s", path);
    return e;
}

static ab_err make_machine(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    ab_agent_env env = {
        .policy = {.namespace = ab_config_str(c, "store.namespace"),
                   .adopt = strcmp(ab_config_str(c, "agent.adoption"), "always") == 0,
                   .upsert = strcmp(ab_config_str(c, "agent.uid-mismatch"), "upsert") == 0,
                   .recreate = strcmp(ab_config_str(c, "agent.on-recreate"), "resync") == 0
                                   ? AB_RECREATE_RESYNC
                                   : AB_RECREATE_IGNORE,
                   .set_aside_ms = ab_config_int(c, "sync.set-aside")},
        .effects = {fx_get, fx_apply, fx_patch_status, fx_remove, fx_keep, fx_recall, fx_ack,
                    fx_wake, s},
        .clock = s->base.daemon->clock,
        .log = s->base.daemon->log,
        .metrics = s->base.daemon->metrics,
        .source = s->source,
    };
    ab_err e = ab_agent_new(&env, &s->machine);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    return ab_cache_each(s->cache, restore_row, s->machine, err);
}

static ab_err make_transport(service *s, ab_error *err)
{
    ab_transport_env env = {
        .role = AB_ROLE_AGENT,
        .agent = ab_config_str(s->base.daemon->config, "agent.name"),
        .mode = ab_config_str(s->base.daemon->config, "agent.mode"),
        .replay = s->fresh,
        .events = {.on_event = on_event,
                   .on_peer = on_peer,
                   .on_written = on_written,
                   .on_ready = on_ready,
                   .on_gap = on_gap,
                   .on_caught_up = on_caught_up,
                   .on_writable = on_writable,
                   .arg = s},
    };
    return ab_service_make_transport(&s->base, env, err);
}

static ab_err begin(service *s, ab_error *err)
{
    s->pump = (ab_pump){.transport = s->base.transport,
                        .outbox = ab_agent_outbox(s->machine),
                        .clock = s->base.daemon->clock,
                        .unsendable = unsendable,
                        .arg = s};
    ab_err e = ab_service_start(&s->base, err);
    return e == AB_ERR_OK ? ab_service_connect(&s->base, err) : e;
}

ab_err ab_agent_start(ab_daemon *d, ab_error *err)
{
    static const ab_store_watch watches[] = {{.kind = "Application"}, {0}};
    service *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->base = (ab_service){.daemon = d, .on_tick = on_tick, .is_drained = is_drained};
    d->state = s;
    snprintf(s->source, sizeof(s->source), AB_SOURCE_AGENT "%s",
             ab_config_str(d->config, "agent.name"));
    ab_err e = open_cache(s, err);
    if (e == AB_ERR_OK)
        e = make_machine(s, err);
    if (e == AB_ERR_OK)
        e = ab_service_make_store(&s->base, watches,
                                  (ab_store_events){.on_change = on_change, .arg = s}, err);
    if (e == AB_ERR_OK)
        e = make_transport(s, err);
    return e == AB_ERR_OK ? begin(s, err) : e;
}

void ab_agent_stop(ab_daemon *d)
{
    ab_service_stop(d->state);
}

void ab_agent_release(ab_daemon *d)
{
    service *s = d->state;
    if (s == NULL)
        return;
    ab_service_release(&s->base);
    ab_agent_free(s->machine);
    ab_cache_close(s->cache);
    free(s);
    d->state = NULL;
}

bool ab_agent_is_ready(ab_daemon *d, ab_buf *why)
{
    return ab_service_is_ready(d->state, why);
}
