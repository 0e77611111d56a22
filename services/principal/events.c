/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store and the transport say goes to who needs it: the machine, the registry of agents,
 * registration, live access, the fleet page.
 */
#include "services/principal/principal_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <string.h>

/* --- what the store says --- */

static void on_identity(void *arg, const char *uid)
{
    service *s = arg;
    ab_error err = {0};
    memcpy(s->uid, uid, sizeof(s->uid));
    ab_principal_agents_clean_up(s);
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

static bool names_agents(const service *s, const ab_object *object)
{
    return s->agent_secrets && ab_str_is(ab_object_kind(object), "Secret") &&
           ab_str_is(ab_object_namespace(object),
                     ab_config_str(s->base.daemon->config, "store.namespace"));
}

/* The annotation stays: a token confirms what was held when it was told, and nothing else ever. */
static void take_confirmation(service *s, const ab_object *secret)
{
    char agent[64];
    ab_str name = ab_registry_agent_of(secret);
    ab_str token = ab_object_annotation(secret, AB_ANN_CONFIRM);
    if (token.len == 0 || name.len == 0 || name.len >= sizeof(agent))
        return;
    snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(name));
    if (ab_principal_confirm(s->machine, agent, token) == AB_ERR_OK)
        AB_INFO(s->base.daemon->log, MAIN, "deletions confirmed on the cluster Secret",
                AB_KV("agent", agent));
}

static void take_secret(const service *s, const ab_object *secret)
{
    ab_registration_on_updated(s->registration, secret);
    ab_registry_on_updated(s->registry, secret);
    ab_str agent = ab_registry_agent_of(secret);
    if (ab_map_find(s->senders, agent) != NULL) /* else its name was refused */
        ab_principal_live_named(s->live, agent, secret);
}

/* @return false: it is something else */
static bool take_blocklist(service *s, ab_store_change change, const ab_object *object)
{
    if (object == NULL || !ab_blocklist_is(s->base.daemon->config, object))
        return false;
    if (ab_blocklist_take(&s->blocklist, change == AB_STORE_UPDATED ? object : NULL)) {
        ab_transport_recheck(s->base.transport);
        ab_principal_agents_block_certificates(s);
        ab_principal_live_recheck(s->live);
    }
    return true;
}

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    service *s = arg;
    if (take_blocklist(s, change, object))
        return;
    switch (change) {
    case AB_STORE_UPDATED:
        if (names_agents(s, object))
            take_secret(s, object);
        ab_principal_on_updated(s->machine, object);
        if (names_agents(s, object))
            take_confirmation(s, object);
        break;
    case AB_STORE_DELETED:
    case AB_STORE_ABSENT:
        if (names_agents(s, object)) {
            ab_registration_on_deleted(s->registration, object);
            ab_registry_on_deleted(s->registry, object);
        }
        ab_principal_on_deleted(s->machine, object, change == AB_STORE_DELETED);
        break;
    case AB_STORE_LIST_DONE:
        s->base.listed = true;
        s->blocklist.awaited = false;
        ab_principal_on_list_done(s->machine);
        learn_identity(s);
        break;
    case AB_STORE_SYNCED:
        ab_principal_on_synced(s->machine);
        s->synced = true;
        ab_principal_agents_clean_up(s);
        break;
    case AB_STORE_INTERRUPTED:
        ab_principal_on_interrupted(s->machine);
        break;
    case AB_STORE_REPLACED:
        ab_principal_on_replaced(s->machine);
        break;
    case AB_STORE_RESUMED:
        ab_principal_on_resumed(s->machine);
        break;
    }
}

ab_store_events ab_principal_events_of_store(service *s)
{
    return (ab_store_events){.on_change = on_change, .arg = s};
}

/* --- what the transport says --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    service *s = arg;
    if (ab_service_takes(&s->base, delivery))
        ab_principal_deliver(s->machine, delivery->agent, delivery->event, delivery);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    service *s = arg;
    ab_presence_log_note(s->presence_log, agent, up ? peer : NULL);
    ab_fleet_note_peer(s->fleet, agent, peer);
    if (up)
        ab_principal_agents_note(s, agent, peer);
    if (ab_principal_live_presence(s->live, agent, peer) != AB_ERR_OK)
        AB_ERROR(s->base.daemon->log, MAIN, "out of memory", AB_KV("agent", agent));
    ab_principal_presence(s->machine, agent, up);
    if (!up && (s->base.transport->ops->caps & AB_CAP_DURABLE) == 0)
        ab_principal_return_held(s->machine, agent);
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    service *s = arg;
    ab_principal_written(s->machine, agent, head);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    service *s = arg;
    const ab_log_quota *lines = ab_presence_log_may(s->presence_log, agent);
    if (lines != NULL)
        AB_INFO(s->base.daemon->log, MAIN, "ready to send to the agent", AB_KV("agent", agent),
                AB_KV("epoch", (int64_t)epoch), AB_KV("held_back", lines->held_back));
    ab_principal_ready(s->machine, agent, epoch);
    ab_principal_service_wake(s, agent);
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    service *s = arg;
    const ab_log_quota *lines = ab_principal_agents_may_log(s, agent);
    if (lines != NULL)
        AB_WARN(s->base.daemon->log, MAIN, "replaying the agent's log", AB_KV("agent", agent),
                AB_KV("reason", ab_gap_name(gap)), AB_KV("held_back", lines->held_back));
    if (gap == AB_GAP_RECREATED)
        ab_principal_log_lost(s->machine, agent);
    ab_principal_gap(s->machine, agent);
}

static void on_caught_up(void *arg, const char *agent)
{
    service *s = arg;
    const ab_log_quota *lines = ab_presence_log_may(s->presence_log, agent);
    if (lines != NULL)
        AB_INFO(s->base.daemon->log, MAIN, "caught up with the agent", AB_KV("agent", agent),
                AB_KV("held_back", lines->held_back));
    ab_principal_caught_up(s->machine, agent);
}

static void on_writable(void *arg, const char *agent)
{
    const service *s = arg;
    ab_principal_service_wake(arg, agent);
    ab_live_hub_writable(ab_principal_live_hub(s->live), agent);
}

/* One that could register itself is told of where that is decided. Which agents there are is not
 * known before the store is read. */
static void on_unserved(void *arg, const char *agent)
{
    const service *s = arg;
    if (s->registration == NULL && s->base.listed)
        ab_presence_log_note_unserved(s->presence_log, agent);
}

static void on_cleaned_up(void *arg, const char *agent)
{
    ab_principal_agents_cleaned_up(arg, agent);
}

static bool is_revoked(void *arg, const uint8_t *fingerprint)
{
    const service *s = arg;
    return ab_blocklist_has(&s->blocklist, fingerprint);
}

static ab_err on_side(void *arg, const char *agent, ab_side_kind kind, ab_side *side, ab_str first)
{
    const service *s = arg;
    return ab_principal_live_side(s->live, agent, kind, side, first);
}

ab_transport_events ab_principal_events_of_transport(service *s)
{
    return (ab_transport_events){
        .on_event = on_event,
        .on_peer = on_peer,
        .on_written = on_written,
        .on_ready = on_ready,
        .on_gap = on_gap,
        .on_caught_up = on_caught_up,
        .on_writable = on_writable,
        .on_side = on_side,
        .admits = ab_principal_agents_admit,
        .on_unserved = on_unserved,
        .on_cleaned_up = on_cleaned_up,
        .is_revoked = is_revoked,
        .arg = s,
    };
}
