/* SPDX-License-Identifier: Apache-2.0
 *
 * Wiring and life cycle. Construction order: machine, store, identity, transport; the transport
 * starts once the identity is known. They end in reverse, each when what it feeds has finished.
 */
#include "services/principal/principal.h"

#include "base/map.h"
#include "schema/attributes.h"
#include "services/principal/identity.h"
#include "services/pump.h"
#include "services/service.h"
#include "sync/principal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ab_service base;
    ab_principal *machine;
    ab_identity *identity;
    char uid[37];
    ab_map *pumps; /* agent -> ab_pump */
} service;

/* --- the machine's effects --- */

static void on_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_principal_done(arg, code, object, err);
}

static void fx_get(void *arg, ab_str key, ab_principal_record *record)
{
    service *s = arg;
    ab_store_get(s->base.store, key, on_done, record);
}

static void fx_apply(void *arg, ab_object *object, ab_str version, ab_principal_record *record)
{
    service *s = arg;
    ab_store_condition condition = {.version = version, .must_exist = true};
    ab_store_apply(s->base.store, object, &condition, on_done, record);
}

static void fx_patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                            ab_principal_record *record)
{
    service *s = arg;
    ab_store_condition condition = {.must_exist = true};
    ab_store_patch_status(s->base.store, key, status, stamp, &condition, on_done, record);
}

static void fx_ack(void *arg, void *delivery)
{
    service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_APPLIED);
}

static void fx_wake(void *arg, const char *agent)
{
    service *s = arg;
    ab_pump_run(ab_map_find(s->pumps, ab_str_of(agent)));
}

/* --- what the store says --- */

static void on_identity(void *arg, const char *uid)
{
    service *s = arg;
    ab_error err = {0};
    memcpy(s->uid, uid, sizeof(s->uid));
    if (!s->base.stopping && ab_service_connect(&s->base, &err) != AB_ERR_OK)
        ab_daemon_fatal(s->base.daemon, &err);
}

static void learn_identity(service *s)
{
    ab_error err = {0};
    ab_err e =
        ab_identity_new(s->base.store, ab_config_str(s->base.daemon->config, "store.namespace"),
                        s->base.daemon->clock, s->base.daemon->log, on_identity, s, &s->identity);
    if (e == AB_ERR_OK)
        return;
    (void)ab_fail(&err, e, "%s", ab_err_text(e));
    ab_daemon_fatal(s->base.daemon, &err);
}

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    service *s = arg;
    switch (change) {
    case AB_STORE_SEEN:
        ab_principal_seen(s->machine, object);
        break;
    case AB_STORE_DELETED:
        ab_principal_gone(s->machine, object);
        break;
    case AB_STORE_LISTED:
        s->base.listed = true;
        ab_principal_listed(s->machine);
        learn_identity(s);
        break;
    case AB_STORE_SYNCED:
        ab_principal_synced(s->machine);
        break;
    }
}

/* --- what the transport says --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    service *s = arg;
    ab_principal_deliver(s->machine, delivery->agent, delivery->event, delivery);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    service *s = arg;
    AB_INFO(s->base.daemon->log, MAIN, up ? "agent is there" : "agent is not heard any more",
            AB_KV("agent", agent), AB_KV("mode", peer == NULL ? "" : peer->mode),
            AB_KV("version", peer == NULL ? "" : peer->version));
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    service *s = arg;
    ab_principal_written(s->machine, agent, head);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    service *s = arg;
    AB_INFO(s->base.daemon->log, MAIN, "connected to agent's topics", AB_KV("agent", agent),
            AB_KV("epoch", (int64_t)epoch));
    ab_principal_ready(s->machine, agent, epoch);
    fx_wake(s, agent);
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    service *s = arg;
    AB_WARN(s->base.daemon->log, MAIN, "receiving from the beginning", AB_KV("agent", agent),
            AB_KV("reason", (int64_t)gap));
    if (gap == AB_GAP_RECREATED)
        ab_principal_log_lost(s->machine, agent);
}

static void on_caught_up(void *arg, const char *agent)
{
    service *s = arg;
    AB_INFO(s->base.daemon->log, MAIN, "caught up with agent", AB_KV("agent", agent));
}

static void on_writable(void *arg, const char *agent)
{
    fx_wake(arg, agent);
}

static void unsendable(void *arg, const char *agent, const ab_event *event, const ab_error *err)
{
    service *s = arg;
    ab_principal_unsendable(s->machine, agent, event, err);
}

/* --- construction --- */

static ab_err check_agent(const ab_config *c, size_t i, ab_error *err)
{
    const char *name = ab_config_field(c, "agents", i, "name");
    const char *mode = ab_config_field(c, "agents", i, "mode");
    if (name == NULL || !ab_str_is_dns_label(ab_str_of(name)))
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: name \"%s\" is no DNS label (a-z, 0-9 and -, at most 63)",
                       name == NULL ? "" : name);
    if (mode != NULL && strcmp(mode, "managed") != 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: mode \"%s\" of %s: only \"managed\" is supported", mode, name);
    for (size_t j = 0; j < i; j++)
        if (strcmp(ab_config_field(c, "agents", j, "name"), name) == 0)
            return ab_fail(err, AB_ERR_CONFIG, "agents: %s is listed twice", name);
    return AB_ERR_OK;
}

ab_err ab_principal_check(const ab_config *config, ab_error *err)
{
    for (size_t i = 0; i < ab_config_count(config, "agents"); i++) {
        ab_err e = check_agent(config, i, err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err add_agent(service *s, const char *name, ab_error *err)
{
    ab_err e = ab_principal_add_agent(s->machine, name);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "agent %s: %s", name, ab_err_text(e));
    ab_principal_set_mode(s->machine, name, AB_MANAGED);
    ab_pump *pump = calloc(1, sizeof(*pump));
    if (pump == NULL || ab_map_put(s->pumps, ab_str_of(name), pump, NULL) != AB_ERR_OK) {
        free(pump);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    *pump = (ab_pump){.transport = s->base.transport,
                      .agent = name,
                      .outbox = ab_principal_outbox(s->machine, name),
                      .clock = s->base.daemon->clock,
                      .unsendable = unsendable,
                      .arg = s};
    return ab_transport_add_agent(s->base.transport, name, err);
}

static ab_err add_agents(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    for (size_t i = 0; i < ab_config_count(c, "agents"); i++) {
        ab_err e = add_agent(s, ab_config_field(c, "agents", i, "name"), err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err make_machine(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    ab_principal_env env = {
        .effects = {fx_get, fx_apply, fx_patch_status, fx_ack, fx_wake, s},
        .clock = s->base.daemon->clock,
        .log = s->base.daemon->log,
        .metrics = s->base.daemon->metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = s->uid,
        .namespace = ab_config_str(c, "store.namespace"),
        .sealing = {.off = true},
        .set_aside_ms = ab_config_int(c, "sync.set-aside"),
        .deletions_max = (size_t)ab_config_int(c, "sync.max-deletions"),
    };
    s->pumps = ab_map_new();
    ab_err e = s->pumps == NULL ? AB_ERR_NOMEM : ab_principal_new(&env, &s->machine);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

static ab_err make_transport(service *s, ab_error *err)
{
    ab_transport_env env = {
        .role = AB_ROLE_PRINCIPAL,
        .mode = "",
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

static void on_tick(ab_service *base)
{
    service *s = (service *)base;
    if (s->identity != NULL)
        ab_identity_tick(s->identity);
    ab_principal_tick(s->machine);
    for (ab_map_iter i = ab_map_first(s->pumps); i.entry != NULL; ab_map_next(&i))
        ab_pump_run(i.value);
}

/* What is between store and transport waits for nothing else. */
static bool is_drained(const ab_service *base)
{
    (void)base;
    return true;
}

ab_err ab_principal_start(ab_daemon *d, ab_error *err)
{
    static const ab_store_watch watches[] = {{.kind = "ConfigMap"}, {.kind = "Application"}, {0}};
    service *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->base = (ab_service){.daemon = d, .on_tick = on_tick, .is_drained = is_drained};
    d->state = s;
    ab_err e = make_machine(s, err);
    if (e == AB_ERR_OK)
        e = ab_service_make_store(&s->base, watches,
                                  (ab_store_events){.on_change = on_change, .arg = s}, err);
    if (e == AB_ERR_OK)
        e = make_transport(s, err);
    if (e == AB_ERR_OK)
        e = add_agents(s, err);
    return e == AB_ERR_OK ? ab_service_start(&s->base, err) : e;
}

void ab_principal_stop(ab_daemon *d)
{
    ab_service_stop(d->state);
}

void ab_principal_release(ab_daemon *d)
{
    service *s = d->state;
    if (s == NULL)
        return;
    ab_service_release(&s->base);
    ab_identity_free(s->identity);
    ab_principal_free(s->machine);
    ab_map_free(s->pumps, free);
    free(s);
    d->state = NULL;
}

bool ab_principal_is_ready(ab_daemon *d, ab_buf *why)
{
    return ab_service_is_ready(d->state, why);
}
