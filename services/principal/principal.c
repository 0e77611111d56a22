/* SPDX-License-Identifier: Apache-2.0
 *
 * Wiring and life cycle. Construction order: machine, state database, store, identity, transport;
 * the transport starts once the identity is known. They end in reverse, each when what it feeds has
 * finished.
 */
#include "services/principal/principal.h"

#include "schema/attributes.h"
#include "services/data.h"
#include "services/principal/fleet/operator.h"
#include "services/principal/fleet/page.h"
#include "services/principal/principal_priv.h"
#include "sync/deletion/watermark.h"
#include "tracing/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The certificates are known later than the machine. */
static const char *recipient(void *arg, const char *agent)
{
    const service *s = arg;
    return s->recipients == NULL ? NULL : ab_recipients_id(s->recipients, agent);
}

static ab_err seal(void *arg, const char *agent, const ab_seal_binding *binding, ab_str payload,
                   ab_buf *out, ab_error *err)
{
    const service *s = arg;
    return ab_recipients_seal(s->recipients, agent, binding, payload, out, err);
}

static void on_live(ab_service *base, const char *agent, const ab_event *event)
{
    const service *s = (const service *)base;
    ab_principal_live_deliver(s->live, agent, event);
}

/* --- construction --- */

static ab_err check_agent(const ab_config *c, size_t i, ab_error *err)
{
    const char *name = ab_config_field(c, "agents", i, "name");
    const char *mode = ab_config_field(c, "agents", i, "mode");
    const char *secrets = ab_config_field(c, "agents", i, "secrets");
    if (name == NULL || !ab_str_is_dns_label(ab_str_of(name)))
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: name \"%s\" is not a DNS label (a-z, 0-9 and -, at most 63)",
                       name == NULL ? "" : name);
    if (strcmp(name, AB_NAME_LOCAL_CLUSTER) == 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: name \"" AB_NAME_LOCAL_CLUSTER
                       "\" is Argo CD's name of the control plane's own cluster: give the agent "
                       "another one");
    if (mode != NULL && strcmp(mode, "managed") != 0 && strcmp(mode, "autonomous") != 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: mode \"%s\" of %s is neither \"managed\" nor \"autonomous\"", mode,
                       name);
    if (secrets != NULL && strcmp(secrets, "sealed") != 0 && strcmp(secrets, "clear") != 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agents: secrets \"%s\" of %s is neither \"sealed\" nor \"clear\"", secrets,
                       name);
    if (mode != NULL && strcmp(mode, "autonomous") == 0 &&
        ab_config_str(c, "principal.data") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "principal.data is not set, and %s is autonomous: give a folder, e.g. "
                       "/var/lib/argobus-principal",
                       name);
    return AB_ERR_OK;
}

static bool is_by_destination(const ab_config *c)
{
    return ab_config_is(c, "mapping", "destination");
}

static ab_err check_namespaces(const ab_config *c, ab_error *err)
{
    if (!is_by_destination(c) && ab_config_count(c, "namespaces") > 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "namespaces: has no meaning without mapping: destination");
    ab_patterns *patterns = NULL;
    ab_err e = ab_config_patterns(c, "namespaces", &patterns, err);
    ab_patterns_free(patterns);
    return e;
}

ab_err ab_principal_check(const ab_config *config, ab_error *err)
{
    for (size_t i = 0; i < ab_config_count(config, "agents"); i++) {
        ab_err e = check_agent(config, i, err);
        if (e != AB_ERR_OK)
            return e;
    }
    ab_err e = check_namespaces(config, err);
    if (e == AB_ERR_OK)
        e = ab_blocklist_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_revocations_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_registration_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_principal_live_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_page_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_tracing_check(config, err);
    return e == AB_ERR_OK ? ab_transport_check(config, AB_ROLE_PRINCIPAL, NULL, err) : e;
}

ab_err ab_principal_check_files(const ab_config *config, ab_error *err)
{
    ab_err e = ab_recipients_check(config, err);
    return e == AB_ERR_OK ? ab_data_check(config, "principal.data", err) : e;
}

static bool is_scoped(void *scopes, const char *agent, ab_str project)
{
    const service *s = scopes;
    return ab_registry_is_scoped(s->registry, agent, project);
}

static ab_err make_machine(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    s->agent_secrets = ab_config_bool(c, "agent-secrets");
    ab_err e = ab_config_patterns(c, "namespaces", &s->namespaces, err);
    if (e != AB_ERR_OK)
        return e;
    ab_principal_env env = {
        .effects = ab_principal_service_effects(s),
        .clock = s->base.daemon->clock,
        .log = s->base.daemon->log,
        .metrics = s->base.daemon->metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = s->uid,
        .namespace = ab_config_str(c, "store.namespace"),
        .sealing = {.off = !ab_config_is(c, "secrets.protection", "sealed"),
                    .in_clear = ab_principal_agents_in_clear,
                    .recipient = recipient,
                    .seal = seal,
                    .arg = s},
        .is_scoped = is_scoped,
        .scopes = s,
        .destination_mapping = is_by_destination(c),
        .namespaces = s->namespaces,
        .defer_after_ms = ab_config_int(c, "sync.set-aside"),
        .store_stays = ab_config_is(c, "store.kind", "directory"),
        .guard = {.max = (size_t)ab_config_int(c, "sync.max-deletions"),
                  .percent = (unsigned)ab_config_int(c, "sync.max-deletions-percent"),
                  .observed = ab_config_bool(c, "sync.guard-observed"),
                  .window_ms = ab_config_int(c, "sync.deletions-window")},
        .resync_ms = ab_config_int(c, "sync.resync"),
        .resyncs_max = (size_t)ab_config_int(c, "sync.resyncs"),
        .mirrors_max = (size_t)ab_config_int(c, "sync.max-mirrors"),
    };
    e = ab_principal_new(&env, &s->machine);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

static ab_err restore_row(void *arg, ab_str key, const ab_received_state *received)
{
    return ab_principal_restore(arg, key, received);
}

static ab_err name_data(const service *s, const char *name, char out[4096], ab_error *err)
{
    const char *folder = ab_config_str(s->base.daemon->config, "principal.data");
    int n = snprintf(out, 4096, "%s/%s", folder, name);
    if (n < 0 || n >= 4096)
        return ab_fail(err, AB_ERR_CONFIG, "principal.data: the path is too long");
    return AB_ERR_OK;
}

/* What autonomous agents published. */
static ab_err open_state_db(service *s, ab_error *err)
{
    char path[4096];
    ab_err e = name_data(s, "kept.sqlite", path, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_state_db_open(s->base.daemon->loop, path, s->base.daemon->clock, &s->base.state_db,
                         &s->fresh, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "principal.data");
        return e;
    }
    return ab_state_db_each(s->base.state_db, restore_row, s->machine, err);
}

static ab_err open_data(service *s, ab_error *err)
{
    char path[4096];
    const ab_config *c = s->base.daemon->config;
    const char *folder = ab_config_str(c, "principal.data");
    if (folder == NULL)
        return AB_ERR_OK;
    ab_err e = ab_data_claim(folder, ab_config_str(c, "mapping"), "principal.data", err);
    if (e == AB_ERR_OK)
        e = open_state_db(s, err);
    if (e == AB_ERR_OK)
        e = name_data(s, "agents", path, err);
    if (e == AB_ERR_OK)
        e = ab_persisted_agents_init(&s->persisted, s->base.daemon->loop, path, s->base.daemon->log,
                                     err);
    return e;
}

static ab_err make_transport(service *s, ab_error *err)
{
    ab_transport_env env = {
        .role = AB_ROLE_PRINCIPAL,
        .mode = "",
        .replay = s->fresh,
        .events = ab_principal_events_of_transport(s),
    };
    ab_err e = ab_service_make_transport(&s->base, env, err);
    if (e == AB_ERR_OK && (s->base.transport->ops->caps & AB_CAP_LOG_REPLAY) == 0)
        ab_principal_compare_first(s->machine);
    return e;
}

static void on_tick(ab_service *base)
{
    service *s = (service *)base;
    if (s->identity != NULL)
        ab_identity_tick(s->identity);
    ab_principal_agents_reload_certificates(s);
    ab_revocations_renew(&s->revocations);
    ab_principal_live_tick(s->live);
    if (s->persisted.agents != NULL)
        ab_persisted_agents_save(&s->persisted);
    ab_principal_tick(s->machine);
    ab_presence_log_tick(s->presence_log);
    ab_holds_tick(s->holds);
    if (s->base.listed)
        ab_registration_tick(s->registration);
    ab_sender_run_all(&s->unsent);
}

static bool is_drained(const ab_service *base)
{
    const service *s = (const service *)base;
    return (s->base.state_db == NULL || ab_state_db_pending(s->base.state_db) == 0) &&
           ab_principal_live_is_drained(s->live);
}

/* In this order: nothing is sealed before the blocklist is known, which is left out when there is
 * none to watch; what is listed is not older than the watermark; agents are known before what they
 * are to get. */
static ab_err make_store(service *s, ab_error *err)
{
    const char *namespace = ab_config_str(s->base.daemon->config, "store.namespace");
    const char *blocklist = ab_blocklist_name(s->base.daemon->config);
    const ab_store_watch watches[] = {
        {.kind = "ConfigMap", .namespace = namespace, .name = blocklist},
        {.kind = "ConfigMap", .namespace = namespace, .name = AB_WATERMARK_NAME},
        {.kind = "ConfigMap", .namespace = namespace, .selector = AB_WATERMARK_LABEL},
        {.kind = "Secret",
         .namespace = namespace,
         .selector = AB_LABEL_SECRET_TYPE " in (repository,repo-creds,cluster)"},
        {.kind = "ConfigMap", .namespace = namespace, .name = AB_NAME_GPG_KEYS},
        {.kind = "AppProject", .namespace = namespace},
        {.kind = "Application"},
        {0},
    };
    _Static_assert(sizeof(watches) == sizeof(s->watches), "every row has its place");
    size_t first = blocklist == NULL ? 1 : 0;
    memcpy(s->watches, watches + first, sizeof(watches) - first * sizeof(watches[0]));
    return ab_service_make_store(&s->base, s->watches, ab_principal_events_of_store(s), err);
}

static ab_err make_holds(service *s, ab_error *err)
{
    const ab_holds_env env = {
        .clock = s->base.daemon->clock,
        .log = s->base.daemon->log,
        .namespace = ab_config_str(s->base.daemon->config, "store.namespace"),
        .by_agent = !is_by_destination(s->base.daemon->config),
    };
    s->holds = ab_holds_new(&env);
    return s->holds == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : AB_ERR_OK;
}

/* Also when there is no service any more. */
static void on_render(void *arg)
{
    const ab_daemon *d = arg;
    service *s = d->state;
    if (s != NULL && s->changes != NULL)
        ab_changes_measure(s->changes);
    if (s != NULL && s->fleet != NULL)
        ab_app_meter_measure(&s->app_meter, ab_fleet_agents(s->fleet));
}

static ab_err make_live(service *s, ab_error *err)
{
    const ab_redis_agents agents = ab_principal_live_agents(s);
    return ab_principal_live_new(&s->base, &agents, ab_revocations_ask(&s->revocations),
                                 ab_blocklist_ask(&s->blocklist), &s->live, err);
}

/* Does what goes down to the agent under this key wait to be in effect? */
static bool is_awaited(void *arg, const char *agent, ab_str key)
{
    const service *s = arg;
    const ab_pending *down = ab_changes_of(s->changes, agent, AB_DOWN);
    return down != NULL && ab_pending_has(down, key);
}

ab_err ab_principal_start(ab_daemon *d, ab_error *err)
{
    service *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->base =
        (ab_service){.daemon = d, .on_tick = on_tick, .on_live = on_live, .is_drained = is_drained};
    d->state = s;
    s->blocklist = (ab_blocklist){.log = d->log, .awaited = ab_blocklist_name(d->config) != NULL};
    s->revocations = (ab_revocations){.log = d->log, .blocklist = &s->blocklist};
    ab_link_init(&s->unsent);
    ab_err e = ab_traces_new(d, NULL, &s->base.traces, err);
    ab_traces_ask(s->base.traces, is_awaited, s);
    if (e == AB_ERR_OK)
        e = make_holds(s, err);
    if (e == AB_ERR_OK)
        e = make_machine(s, err);
    if (e == AB_ERR_OK)
        e = open_data(s, err);
    if (e == AB_ERR_OK)
        e = make_store(s, err);
    if (e == AB_ERR_OK)
        ab_holds_use(s->holds, s->base.store);
    if (e == AB_ERR_OK)
        e = make_transport(s, err);
    if (e == AB_ERR_OK)
        e = ab_revocations_open(&s->revocations, d->config, err);
    if (e == AB_ERR_OK)
        e = make_live(s, err);
    if (e == AB_ERR_OK)
        e = ab_principal_agents_new(s, err);
    if (e == AB_ERR_OK)
        e = ab_principal_agents_register(s, err);
    ab_metrics_on_render(d->metrics, on_render, d);
    if (e == AB_ERR_OK)
        e = ab_operator_listen(s, err);
    if (e == AB_ERR_OK)
        e = ab_fleet_page_start(s, err);
    return e == AB_ERR_OK ? ab_service_start(&s->base, err) : e;
}

void ab_principal_stop(ab_daemon *d)
{
    service *s = d->state;
    ab_principal_flush(s->machine);
    ab_principal_live_stop(s->live);
    ab_service_stop(&s->base);
}

void ab_principal_reload(ab_daemon *d, const ab_config *before)
{
    (void)before;
    ab_principal_agents_reload(d->state);
}

void ab_principal_release(ab_daemon *d)
{
    service *s = d->state;
    if (s == NULL)
        return;
    ab_control_free(s->control);
    ab_page_free(s->page);
    s->page = NULL;
    ab_service_release(&s->base);
    ab_principal_live_free(s->live);
    ab_registration_free(s->registration);
    ab_identity_free(s->identity);
    ab_principal_free(s->machine);
    ab_holds_free(s->holds);
    ab_revocations_fini(&s->revocations);
    ab_blocklist_fini(&s->blocklist);
    ab_state_db_close(s->base.state_db);
    ab_principal_agents_free(s);
    ab_persisted_agents_fini(&s->persisted);
    ab_patterns_free(s->namespaces);
    free(s);
    d->state = NULL;
}

bool ab_principal_is_ready(ab_daemon *d, ab_buf *why)
{
    const service *s = d->state;
    if (!ab_service_is_ready(&s->base, why))
        return false;
    /* Only autonomous agents wait for it, so a probe must not take the principal from the others.
     */
    (void)ab_service_can_save(&s->base, why);
    ab_holds_show(s->holds, why);
    return true;
}
