/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/principal_priv.h"

#include <stdlib.h>
#include <string.h>

static void unsendable(void *arg, const char *agent, const ab_event *event, const ab_error *err)
{
    service *s = arg;
    ab_principal_unsendable(s->machine, agent, event, err);
}

static ab_err add(service *s, const char *agent, ab_error *err)
{
    ab_err e = ab_principal_add_agent(s->machine, agent);
    ab_pump *pump = e == AB_ERR_OK ? malloc(sizeof(*pump)) : NULL;
    if (pump == NULL || ab_map_put(s->pumps, ab_str_of(agent), pump, NULL) != AB_ERR_OK) {
        free(pump);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    *pump = (ab_pump){.transport = s->base.transport,
                      .agent = agent,
                      .outbox = ab_principal_outbox(s->machine, agent),
                      .clock = s->base.daemon->clock,
                      .unsendable = unsendable,
                      .arg = s};
    return ab_transport_add_agent(s->base.transport, agent, err);
}

static void on_added(void *arg, const char *agent)
{
    service *s = arg;
    ab_error err = {0};
    if (add(s, agent, &err) == AB_ERR_OK)
        AB_INFO(s->base.daemon->log, MAIN, "serving agent", AB_KV("agent", agent));
    else
        AB_ERROR(s->base.daemon->log, MAIN, "agent cannot be served", AB_KV("agent", agent),
                 AB_KV("why", (const char *)err.text));
}

static void on_removed(void *arg, const char *agent)
{
    service *s = arg;
    ab_pump *pump = ab_map_take(s->pumps, ab_str_of(agent));
    if (pump != NULL)
        ab_pump_abandon(pump);
    ab_principal_remove_agent(s->machine, agent);
    ab_transport_remove_agent(s->base.transport, agent, true);
    ab_recipients_forget(s->recipients, agent);
    ab_metrics_drop(s->base.daemon->metrics, "agent", ab_str_of(agent));
    AB_INFO(s->base.daemon->log, MAIN, "agent is served no more", AB_KV("agent", agent));
}

/* What the configuration says of the agents it lists. Stops at the first certificate that cannot be
 * used. */
static ab_err tell_about_listed(service *s, ab_error *err)
{
    const ab_config *c = s->base.daemon->config;
    for (size_t i = 0; i < ab_config_count(c, "agents"); i++) {
        const char *agent = ab_config_field(c, "agents", i, "name");
        ab_principal_set_mode(s->machine, agent, AB_MANAGED);
        ab_err e = ab_recipients_give(s->recipients, agent,
                                      ab_config_field(c, "agents", i, "certificate"), err);
        if (e != AB_ERR_OK)
            return e;
        ab_principal_recipient_changed(s->machine, agent);
    }
    return AB_ERR_OK;
}

ab_err ab_principal_agents_new(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    ab_err e = ab_recipients_new(d->config, d->log, &s->recipients, err);
    if (e != AB_ERR_OK)
        return e;
    s->pumps = ab_map_new();
    s->roster = ab_roster_new((ab_roster_events){on_added, on_removed, s}, d->log);
    if (s->pumps == NULL || s->roster == NULL || ab_roster_list(s->roster, d->config) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    return tell_about_listed(s, err);
}

void ab_principal_agents_free(service *s)
{
    ab_roster_free(s->roster);
    ab_map_free(s->pumps, free);
    ab_recipients_free(s->recipients);
}

void ab_principal_agents_reload(service *s)
{
    ab_error err = {0};
    ab_err e = ab_roster_list(s->roster, s->base.daemon->config);
    if (e == AB_ERR_OK)
        e = tell_about_listed(s, &err);
    if (e != AB_ERR_OK)
        AB_ERROR(s->base.daemon->log, MAIN, "not all of option agents is in force",
                 AB_KV("why", err.text[0] == '\0' ? ab_err_text(e) : (const char *)err.text));
}

void ab_principal_agents_hear(service *s, const char *agent, const ab_peer *peer)
{
    bool managed = strcmp(peer->mode, "managed") == 0;
    if (!managed)
        AB_WARN(s->base.daemon->log, MAIN, "only managed agents are served", AB_KV("agent", agent),
                AB_KV("mode", peer->mode));
    ab_principal_set_mode(s->machine, agent, managed ? AB_MANAGED : AB_AUTONOMOUS);
    if (ab_recipients_tell(s->recipients, agent, peer->certificate))
        ab_principal_recipient_changed(s->machine, agent);
}
