/* SPDX-License-Identifier: Apache-2.0
 *
 * Wiring and life cycle. Construction order: state database, machine, store, transport; they end in
 * reverse, each when what it feeds has finished.
 */
#include "services/agent/agent.h"

#include "base/core/file.h"
#include "schema/attributes.h"
#include "schema/labels.h"
#include "services/agent/labels.h"
#include "services/agent/live.h"
#include "services/agent/secrets.h"
#include "services/data.h"
#include "services/effects.h"
#include "services/outbox_meter.h"
#include "services/sender.h"
#include "services/service.h"
#include "sync/agent/agent.h"
#include "tracing/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The daemon's state. */
typedef struct {
    ab_service base;
    bool fresh;           /* agent.data was, or its first replay is not over */
    bool replays;         /* that is under way */
    char replaying[4096]; /* the file that says so */
    ab_patterns *namespaces;
    ab_agent_secrets secrets;
    ab_buf labels; /* as one text */
    ab_store_watch watches[5];
    ab_agent *machine;
    ab_sender sender;
    ab_outbox_meter outbox_meter;
    ab_agent_live *live;
    char source[80];
} service;

/* --- what the store says --- */

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    service *s = arg;
    switch (change) {
    case AB_STORE_UPDATED:
        ab_agent_on_updated(s->machine, object);
        break;
    case AB_STORE_DELETED:
    case AB_STORE_ABSENT:
        ab_agent_on_deleted(s->machine, object, change == AB_STORE_DELETED);
        break;
    case AB_STORE_LIST_DONE:
        s->base.listed = true;
        ab_agent_on_list_done(s->machine);
        break;
    case AB_STORE_SYNCED:
        ab_agent_on_synced(s->machine);
        break;
    case AB_STORE_INTERRUPTED: /* an agent makes again what its store lacks */
    case AB_STORE_REPLACED:
    case AB_STORE_RESUMED:
        break;
    }
}

/* --- what the transport says --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    service *s = arg;
    ab_agent_end_replay(s->machine);
    if (ab_service_takes(&s->base, delivery))
        ab_agent_deliver(s->machine, delivery->event, delivery);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    service *s = arg;
    (void)agent;
    AB_INFO(s->base.daemon->log, MAIN, up ? "principal connected" : "principal disconnected",
            AB_KV("version", peer == NULL ? "" : peer->version));
    if (ab_agent_live_presence(s->live, up && peer != NULL ? peer->version : NULL) != AB_ERR_OK)
        AB_ERROR(s->base.daemon->log, MAIN, "out of memory");
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
    AB_INFO(s->base.daemon->log, MAIN, "ready to send to the principal",
            AB_KV("epoch", (int64_t)epoch));
    ab_agent_ready(s->machine, epoch);
    ab_sender_run(&s->sender);
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    service *s = arg;
    (void)agent;
    AB_WARN(s->base.daemon->log, MAIN, "replaying the principal's log",
            AB_KV("reason", ab_gap_name(gap)));
    if (gap == AB_GAP_RECREATED)
        ab_agent_log_lost(s->machine);
    ab_agent_gap(s->machine);
}

static void on_caught_up(void *arg, const char *agent)
{
    service *s = arg;
    (void)agent;
    AB_INFO(s->base.daemon->log, MAIN, "caught up with the principal");
    ab_agent_caught_up(s->machine);
}

static void on_writable(void *arg, const char *agent)
{
    service *s = arg;
    (void)agent;
    ab_sender_run(&s->sender);
    ab_agent_live_writable(s->live);
}

static void on_live(ab_service *base, const char *agent, const ab_event *event)
{
    const service *s = (const service *)base;
    (void)agent;
    ab_agent_live_deliver(s->live, event);
}

static void on_displaced(void *arg, bool displaced)
{
    service *s = arg;
    ab_agent_pause(s->machine, displaced);
}

static void unsendable(void *arg, const char *agent, const ab_event *event, const ab_error *err)
{
    service *s = arg;
    (void)agent;
    ab_agent_unsendable(s->machine, event, err);
}

/* The next start need not begin again. */
static void end_replay(service *s)
{
    if (!s->replays || ab_agent_is_replaying(s->machine))
        return;
    s->replays = false;
    if (unlink(s->replaying) != 0)
        AB_WARN(s->base.daemon->log, MAIN, "cannot remove a file; the next start replays the log",
                AB_KV("path", s->replaying));
}

static void on_tick(ab_service *base)
{
    service *s = (service *)base;
    if (ab_agent_secrets_renew(&s->secrets, base->daemon->log))
        ab_transport_tell_certificate(base->transport, s->secrets.certificate);
    ab_agent_live_tick(s->live);
    ab_agent_tick(s->machine);
    end_replay(s);
    ab_sender_run(&s->sender);
}

static bool is_drained(const ab_service *base)
{
    return ab_state_db_pending(base->state_db) == 0;
}

/* --- construction --- */

static bool is_autonomous(const ab_config *c)
{
    return ab_config_is(c, "agent.mode", "autonomous");
}

static bool is_by_destination(const ab_config *c)
{
    return ab_config_is(c, "mapping", "destination");
}

ab_err ab_agent_check(const ab_config *config, ab_error *err)
{
    const char *name = ab_config_str(config, "agent.name");
    if (name == NULL || !ab_str_is_dns_label(ab_str_of(name)))
        return ab_fail(err, AB_ERR_CONFIG,
                       "agent.name: \"%s\" is not a DNS label (a-z, 0-9 and -, at most 63): set it "
                       "to the agent's name, e.g. w1",
                       name == NULL ? "" : name);
    if (ab_config_str(config, "agent.data") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "agent.data is not set: give a folder that survives restarts, e.g. "
                       "/var/lib/argobus-agent");
    if (is_autonomous(config) && is_by_destination(config))
        return ab_fail(err, AB_ERR_CONFIG,
                       "mapping: destination is for managed agents: an autonomous one has its "
                       "Applications in store.namespace");
    ab_err e = ab_agent_labels_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_check(config, err);
    if (e == AB_ERR_OK)
        e = ab_tracing_check(config, err);
    return e == AB_ERR_OK ? ab_transport_check(config, AB_ROLE_AGENT, name, err) : e;
}

ab_err ab_agent_check_files(const ab_config *config, ab_error *err)
{
    ab_err e = ab_agent_secrets_check(config, err);
    return e == AB_ERR_OK ? ab_data_check(config, "agent.data", err) : e;
}

static ab_err restore_row(void *arg, ab_str key, const ab_received_state *received)
{
    return ab_agent_restore(arg, key, received);
}

static ab_err open_state_db(service *s, ab_error *err)
{
    char path[4096];
    const char *folder = ab_config_str(s->base.daemon->config, "agent.data");
    int n = snprintf(path, sizeof(path), "%s/kept.sqlite", folder);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "agent.data: the path is too long");
    ab_err e =
        ab_data_claim(folder, ab_config_str(s->base.daemon->config, "mapping"), "agent.data", err);
    if (e == AB_ERR_OK && !is_autonomous(s->base.daemon->config)) /* which keeps nothing in it */
        e = ab_data_claim_agent(folder, ab_config_str(s->base.daemon->config, "agent.name"), err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_state_db_open(s->base.daemon->loop, path, s->base.daemon->clock, &s->base.state_db,
                         &s->fresh, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "agent.data");
    (void)snprintf(s->replaying, sizeof(s->replaying), "%s/replaying", folder);
    s->fresh = s->fresh || access(s->replaying, F_OK) == 0; /* it was interrupted */
    return e;
}

static ab_recreate_policy recreate_policy(const ab_config *c)
{
    const char *word = ab_config_str(c, "agent.on-recreate");
    if (strcmp(word, "resync") == 0)
        return AB_RECREATE_RESYNC;
    return strcmp(word, "clear-status") == 0 ? AB_RECREATE_CLEAR_STATUS : AB_RECREATE_IGNORE;
}

static ab_agent_policy make_policy(service *s)
{
    const ab_config *c = s->base.daemon->config;
    return (ab_agent_policy){
        .namespace = ab_config_str(c, "store.namespace"),
        .by_destination = is_by_destination(c),
        .namespaces = s->namespaces,
        .adopt = ab_config_is(c, "agent.adoption", "always"),
        .upsert = ab_config_is(c, "agent.uid-mismatch", "upsert"),
        .recreate = recreate_policy(c),
        .autonomous = is_autonomous(c),
        .guard = {.max = (size_t)ab_config_int(c, "sync.max-deletions"),
                  .percent = (unsigned)ab_config_int(c, "sync.max-deletions-percent"),
                  .observed = ab_config_bool(c, "sync.guard-observed"),
                  .window_ms = ab_config_int(c, "sync.deletions-window")},
        .defer_after_ms = ab_config_int(c, "sync.set-aside"),
        .name = ab_config_str(c, "agent.name"),
        .sealed_only = ab_config_is(c, "secrets.protection", "sealed"),
        .open = s->secrets.files.count == 0 ? NULL : ab_agent_secrets_open,
        .open_arg = &s->secrets,
    };
}

static void wake(void *arg, const char *agent)
{
    service *s = arg;
    (void)agent;
    ab_sender_run(&s->sender);
}

static ab_err make_machine(service *s, ab_error *err)
{
    ab_agent_env env = {
        .policy = make_policy(s),
        .effects = ab_service_effects(&s->base),
        .clock = s->base.daemon->clock,
        .log = s->base.daemon->log,
        .metrics = s->base.daemon->metrics,
        .source = s->source,
    };
    env.effects.wake = wake;
    ab_err e = ab_agent_new(&env, &s->machine);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    if (env.policy.autonomous)
        return ab_state_db_release(s->base.state_db, err);
    return ab_state_db_each(s->base.state_db, restore_row, s->machine, err);
}

/* What Applications need comes before them. */
static ab_err make_store(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    const char *own = ab_config_str(c, "store.namespace");
    bool everywhere = is_by_destination(c);
    const ab_store_watch watches[] = {
        {.kind = "AppProject", .namespace = own},
        {.kind = "Secret",
         .namespace = own,
         .selector = AB_LABEL_SECRET_TYPE " in (repository,repo-creds)"},
        {.kind = "ConfigMap", .namespace = own, .name = AB_NAME_GPG_KEYS},
        {.kind = "Application", .namespace = everywhere ? NULL : own},
        {0},
    };
    _Static_assert(sizeof(watches) == sizeof(s->watches), "every row has its place");
    memcpy(s->watches, watches, sizeof(watches));
    ab_store_events events = {.on_change = on_change, .arg = s};
    return ab_service_make_store(&s->base, s->watches, events, err);
}

/* Only a log has states that are over. A crash does not end it. */
static ab_err begin_replay(service *s, ab_error *err)
{
    bool durable = (s->base.transport->ops->caps & AB_CAP_DURABLE) != 0;
    if (!s->fresh || !durable || is_autonomous(s->base.daemon->config))
        return AB_ERR_OK;
    ab_agent_replay(s->machine);
    s->replays = true;
    return ab_file_replace(s->replaying, AB_STR(""), err);
}

static ab_err make_transport(service *s, ab_error *err)
{
    ab_transport_env env = {
        .role = AB_ROLE_AGENT,
        .agent = ab_config_str(s->base.daemon->config, "agent.name"),
        .mode = ab_config_str(s->base.daemon->config, "agent.mode"),
        .certificate = s->secrets.certificate,
        .labels = s->labels.ptr,
        .replay = s->fresh,
        .events = {.on_event = on_event,
                   .on_peer = on_peer,
                   .on_written = on_written,
                   .on_ready = on_ready,
                   .on_gap = on_gap,
                   .on_caught_up = on_caught_up,
                   .on_writable = on_writable,
                   .on_displaced = on_displaced,
                   .arg = s},
    };
    ab_err e = ab_service_make_transport(&s->base, env, err);
    return e == AB_ERR_OK ? begin_replay(s, err) : e;
}

/* Also when there is no service any more. */
static void on_render(void *arg)
{
    const ab_daemon *d = arg;
    const service *s = d->state;
    if (s != NULL)
        ab_outbox_meter_measure(&s->outbox_meter);
}

static ab_err begin(service *s, ab_error *err)
{
    ab_sender_init(&s->sender, &(ab_sender){.transport = s->base.transport,
                                            .outbox = ab_agent_outbox(s->machine),
                                            .clock = s->base.daemon->clock,
                                            .unsendable = unsendable,
                                            .arg = s,
                                            .traces = s->base.traces});
    s->outbox_meter = ab_outbox_meter_make(s->sender.outbox, s->base.daemon->metrics,
                                           ab_config_str(s->base.daemon->config, "agent.name"));
    ab_metrics_on_render(s->base.daemon->metrics, on_render, s->base.daemon);
    ab_err e = ab_service_start(&s->base, err);
    return e == AB_ERR_OK ? ab_service_connect(&s->base, err) : e;
}

ab_err ab_agent_start(ab_daemon *d, ab_error *err)
{
    service *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->base =
        (ab_service){.daemon = d, .on_tick = on_tick, .on_live = on_live, .is_drained = is_drained};
    d->state = s;
    snprintf(s->source, sizeof(s->source), AB_SOURCE_AGENT "%s",
             ab_config_str(d->config, "agent.name"));
    ab_buf_init(&s->labels, AB_LABELS_TEXT_MAX);
    ab_err e = ab_config_patterns(s->base.daemon->config, "namespaces", &s->namespaces, err);
    if (e == AB_ERR_OK)
        e = ab_agent_labels_write(d->config, &s->labels, err);
    if (e == AB_ERR_OK)
        e = ab_agent_secrets_load(d->config, d->log, &s->secrets, err);
    if (e == AB_ERR_OK)
        e = ab_traces_new(d, ab_config_str(d->config, "agent.name"), &s->base.traces, err);
    if (e == AB_ERR_OK)
        e = open_state_db(s, err);
    if (e == AB_ERR_OK)
        e = make_machine(s, err);
    if (e == AB_ERR_OK)
        e = make_store(s, err);
    if (e == AB_ERR_OK)
        e = make_transport(s, err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_new(&s->base, s->source, &s->live, err);
    return e == AB_ERR_OK ? begin(s, err) : e;
}

void ab_agent_stop(ab_daemon *d)
{
    service *s = d->state;
    ab_agent_live_stop(s->live);
    ab_service_stop(&s->base);
}

void ab_agent_release(ab_daemon *d)
{
    service *s = d->state;
    if (s == NULL)
        return;
    ab_service_release(&s->base);
    ab_agent_live_free(s->live);
    ab_agent_free(s->machine);
    ab_state_db_close(s->base.state_db);
    ab_agent_secrets_free(&s->secrets);
    ab_buf_fini(&s->labels);
    ab_patterns_free(s->namespaces);
    free(s);
    d->state = NULL;
}

bool ab_agent_is_ready(ab_daemon *d, ab_buf *why)
{
    return ab_service_is_ready(d->state, why) && ab_service_can_save(d->state, why);
}

bool ab_agent_is_healthy(ab_daemon *d, ab_buf *why)
{
    if (!ab_config_bool(d->config, "health.disconnected-is-unhealthy"))
        return true;
    return ab_service_is_connected(d->state, why);
}
