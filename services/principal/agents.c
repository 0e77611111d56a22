/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/principal_priv.h"

#include "base/observe/log_quota.h"
#include "schema/attributes.h"

#include <stdio.h>
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
    ab_sender *sender = e == AB_ERR_OK ? malloc(sizeof(*sender)) : NULL;
    if (sender == NULL || ab_map_put(s->senders, ab_str_of(agent), sender, NULL) != AB_ERR_OK) {
        free(sender);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    ab_sender_init(sender, &(ab_sender){.transport = s->base.transport,
                                        .agent = agent,
                                        .outbox = ab_principal_outbox(s->machine, agent),
                                        .clock = s->base.daemon->clock,
                                        .unsendable = unsendable,
                                        .arg = s,
                                        .traces = s->base.traces,
                                        .unsent = &s->unsent});
    if (ab_fleet_add(s->fleet, agent) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_page_note(s->page, ab_str_of(agent), true);
    e = ab_transport_add_agent(s->base.transport, agent, err);
    if (e == AB_ERR_OK)
        e = ab_changes_add(s->changes, agent, s->base.transport, sender->outbox);
    return e;
}

static void on_added(void *arg, const char *agent)
{
    service *s = arg;
    ab_error err = {0};
    if (s->persisted.agents != NULL)
        ab_persisted_agents_add(&s->persisted, agent);
    if (add(s, agent, &err) == AB_ERR_OK)
        AB_INFO(s->base.daemon->log, MAIN, "serving agent", AB_KV("agent", agent));
    else
        AB_ERROR(s->base.daemon->log, MAIN, "agent cannot be served", AB_KV("agent", agent),
                 AB_KV("why", err.text));
}

/* --- lines of the log --- */

const ab_log_quota *ab_principal_agents_may_log(const service *s, const char *agent)
{
    ab_log_quota *lines = ab_map_make(s->lines, ab_str_of(agent), sizeof(*lines));
    bool may = lines != NULL && ab_log_quota_pass(lines, ab_clock_mono_ms(s->base.daemon->clock));
    return may ? lines : NULL;
}

static void forget_lines(const service *s, const char *agent)
{
    ab_log_quota *lines = ab_map_find(s->lines, ab_str_of(agent));
    if (lines != NULL)
        ab_map_drop(s->lines, lines);
}

void ab_principal_agents_cleaned_up(service *s, const char *agent)
{
    if (s->persisted.agents != NULL)
        ab_persisted_agents_drop(&s->persisted, agent);
}

/* What is still to be cleaned up after it when this process ends is left to the next one. */
static void remove_from_transport(service *s, const char *agent)
{
    if (!ab_transport_remove_agent(s->base.transport, agent))
        ab_principal_agents_cleaned_up(s, agent);
}

static void on_removed(void *arg, const char *agent)
{
    service *s = arg;
    ab_sender *sender = ab_map_take(s->senders, ab_str_of(agent));
    if (sender != NULL)
        ab_sender_abandon(sender);
    ab_principal_live_removed(s->live, agent);
    ab_principal_remove_agent(s->machine, agent);
    ab_changes_remove(s->changes, agent);
    ab_app_meter_remove(&s->app_meter, agent);
    ab_fleet_remove(s->fleet, agent);
    ab_page_note(s->page, ab_str_of(agent), false);
    remove_from_transport(s, agent);
    ab_recipients_forget(s->recipients, agent);
    (void)ab_map_take(s->claimed_modes, ab_str_of(agent));
    forget_lines(s, agent);
    ab_holds_forget(s->holds, agent);
    ab_presence_log_forget(s->presence_log, agent);
    ab_metrics_drop_agent(s->base.daemon->metrics, ab_str_of(agent));
    AB_INFO(s->base.daemon->log, MAIN, "agent is no longer served", AB_KV("agent", agent));
}

/* --- those that were taken away while no principal ran --- */

/* As many gone at once are rather a mistake: another namespace, a label, rights. */
#define REMOVED_MAX 3

static void forget(service *s, const char *agent)
{
    ab_error err = {0};
    ab_err e = ab_transport_add_agent(s->base.transport, agent, &err);
    if (e == AB_ERR_OK) {
        remove_from_transport(s, agent);
        AB_INFO(s->base.daemon->log, MAIN, "agent removed while no principal ran",
                AB_KV("agent", agent));
    } else {
        AB_WARN(s->base.daemon->log, MAIN, "cannot clean up after a removed agent",
                AB_KV("agent", agent), AB_KV("why", err.text));
        ab_persisted_agents_drop(&s->persisted, agent);
    }
}

static size_t count_gone(const service *s)
{
    size_t gone = 0;
    for (ab_map_iter i = ab_map_first(s->persisted.agents); i.entry != NULL; ab_map_next(&i))
        gone += ab_map_find(s->senders, i.key) == NULL;
    return gone;
}

/* @param clean_up  false: what is theirs stays, also at the next start, when more are served */
static void forget_gone(service *s, bool clean_up)
{
    for (ab_map_iter i = ab_map_first(s->persisted.agents); i.entry != NULL; ab_map_next(&i)) {
        char agent[64];
        if (ab_map_find(s->senders, i.key) != NULL)
            continue;
        snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(i.key));
        if (clean_up) {
            forget(s, agent);
            continue;
        }
        AB_INFO(s->base.daemon->log, MAIN, "agent is no longer listed: its state stays",
                AB_KV("agent", agent));
        ab_persisted_agents_drop(&s->persisted, agent);
    }
}

void ab_principal_agents_clean_up(service *s)
{
    if (s->cleaned_up || !s->synced || s->uid[0] == '\0' || s->persisted.agents == NULL)
        return;
    s->cleaned_up = true;
    if (!ab_persisted_agents_assign(&s->persisted, s->uid))
        AB_WARN(s->base.daemon->log, MAIN,
                "principal.data belongs to another principal: the state of its agents is left in "
                "place");
    size_t gone = count_gone(s);
    bool mistake = gone > REMOVED_MAX && gone * 2 > s->persisted.former;
    if (mistake)
        AB_ERROR(s->base.daemon->log, MAIN,
                 "more than half of the persisted agents are no longer listed: their state is left "
                 "in place; remove it by hand if they are gone for good",
                 AB_KV("agents", (int64_t)gone),
                 AB_KV("command", "deploy/kafka/provision remove NAME"));
    forget_gone(s, !mistake);
    for (ab_map_iter i = ab_map_first(s->senders); i.entry != NULL; ab_map_next(&i)) {
        const ab_sender *sender = i.value;
        ab_persisted_agents_add(&s->persisted, sender->agent);
    }
}

/* --- modes --- */

static const ab_mode_set modes[] = {AB_MANAGED, AB_AUTONOMOUS};

/* NULL when the text names none. */
static const ab_mode_set *mode_of(const char *text)
{
    if (text == NULL || (strcmp(text, "managed") != 0 && strcmp(text, "autonomous") != 0))
        return NULL;
    return &modes[strcmp(text, "autonomous") == 0];
}

static const char *listed(const service *s, const char *agent, const char *field)
{
    return ab_registry_listed(s->registry, s->base.daemon->config, agent, field);
}

bool ab_principal_agents_in_clear(void *arg, const char *agent)
{
    const char *secrets = listed(arg, agent, "secrets");
    return secrets != NULL && strcmp(secrets, "clear") == 0;
}

/* What the control plane says: option agents, else the cluster Secret. An agent of which neither
 * says anything is managed, but only once it is heard: a mirror handed over for want of a word
 * would not come back. @return NULL: not known yet */
static const ab_mode_set *mode_for(const service *s, const char *agent,
                                   const ab_mode_set *claimed_mode)
{
    const ab_mode_set *configured = mode_of(listed(s, agent, "mode"));
    const ab_mode_set *noted = mode_of(ab_registry_mode(s->registry, agent));
    const ab_mode_set *by_default = claimed_mode == NULL ? NULL : mode_of("managed");
    return configured != NULL ? configured : noted != NULL ? noted : by_default;
}

static const char *mode_name(const ab_mode_set *mode)
{
    return *mode == AB_AUTONOMOUS ? "autonomous" : "managed";
}

/* For the fleet view. @param mode  NULL: not known */
static void note_mode(const service *s, const char *agent, const ab_mode_set *mode,
                      const ab_mode_set *claimed, const char *refused)
{
    ab_fleet_note_mode(s->fleet, agent, mode == NULL ? NULL : mode_name(mode),
                       claimed == NULL ? NULL : mode_name(claimed), refused);
}

/* It asks as often as it likes. */
static void log_other_mode(const service *s, const char *agent, const ab_mode_set *claimed,
                           const ab_mode_set *expected)
{
    const ab_log_quota *lines = ab_principal_agents_may_log(s, agent);
    if (lines != NULL)
        AB_ERROR(s->base.daemon->log, MAIN,
                 "agent refused: it claims another mode than the control plane says. Nothing is "
                 "sent to it or taken from it; set agent.mode there, or mode in option agents or "
                 "annotation " AB_ANN_MODE " of its cluster Secret here",
                 AB_KV("agent", agent), AB_KV("claimed", mode_name(claimed)),
                 AB_KV("expected", mode_name(expected)), AB_KV("held_back", lines->held_back));
}

/* @param why  what the agent is told
 *  @return true: the control plane does not allow the mode that the agent says it has */
static bool refuse_other_mode(const service *s, const char *agent, const ab_mode_set *claimed,
                              ab_error *why)
{
    const ab_mode_set *mode = mode_for(s, agent, claimed);
    bool refused = claimed != NULL && claimed != mode;
    ab_transport_show_refused(s->base.daemon->metrics, agent, refused);
    if (!refused) {
        note_mode(s, agent, mode, claimed, NULL);
        return false;
    }
    log_other_mode(s, agent, claimed, mode);
    ab_fail(why, AB_ERR_DENIED,
            "agent %s claims mode %s, but the control plane says %s: set agent.mode to %s at the "
            "agent, or at the control plane mode in option agents or annotation " AB_ANN_MODE
            " of its cluster Secret to %s",
            agent, mode_name(claimed), mode_name(mode), mode_name(mode), mode_name(claimed));
    note_mode(s, agent, mode, claimed, why->text);
    return true;
}

static bool is_served(void *arg, const char *agent)
{
    const service *s = arg;
    return ab_map_find(s->senders, ab_str_of(agent)) != NULL;
}

ab_err ab_principal_agents_register(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    const ab_registration_env env = {.config = d->config,
                                     .store = s->base.store,
                                     .clock = d->clock,
                                     .log = d->log,
                                     .metrics = d->metrics,
                                     .is_served = is_served,
                                     .arg = s};
    return ab_registration_new(&env, &s->registration, err);
}

bool ab_principal_agents_admit(void *arg, const char *agent, const char *claimed, ab_str labels,
                               ab_error *why)
{
    const service *s = arg;
    /* What its cluster Secret says is not known before the store is read; one that is not served
     * has none, and is told so by its stream. */
    if (!s->base.listed || !is_served(arg, agent))
        return ab_registration_ask(s->registration, agent, claimed, labels, s->base.listed, why);
    return !refuse_other_mode(s, agent, mode_of(claimed), why);
}

/* By the control plane's word and the agent's; where they differ nothing is done. */
static void check_mode(service *s, const char *agent)
{
    const ab_mode_set *claimed = ab_map_find(s->claimed_modes, ab_str_of(agent));
    const ab_mode_set *mode = mode_for(s, agent, claimed);
    ab_error why = {0};
    bool refused = refuse_other_mode(s, agent, claimed, &why);
    if (ab_transport_refuse(s->base.transport, agent, refused ? why.text : NULL) != AB_ERR_OK)
        AB_ERROR(s->base.daemon->log, MAIN, "out of memory", AB_KV("agent", agent));
    if (refused || mode == NULL) {
        ab_principal_unset_mode(s->machine, agent);
    } else if (*mode == AB_AUTONOMOUS && s->base.state_db == NULL) {
        const ab_log_quota *lines = ab_principal_agents_may_log(s, agent);
        if (lines != NULL)
            AB_ERROR(s->base.daemon->log, MAIN,
                     "an autonomous agent cannot be served: set principal.data to a folder",
                     AB_KV("agent", agent), AB_KV("held_back", lines->held_back));
        note_mode(s, agent, mode, claimed,
                  "an autonomous agent cannot be served without principal.data");
        ab_principal_unset_mode(s->machine, agent);
    } else {
        ab_principal_set_mode(s->machine, agent, *mode);
    }
}

static void on_changed(void *arg, const char *agent)
{
    service *s = arg;
    const char *mode = ab_registry_mode(s->registry, agent);
    AB_INFO(s->base.daemon->log, MAIN, "the mode on the cluster Secret changed",
            AB_KV("agent", agent), AB_KV("mode", mode == NULL ? "" : mode));
    check_mode(s, agent);
}

static void on_scope(void *arg, const char *agent, ab_str project)
{
    const service *s = arg;
    ab_principal_scope_changed(s->machine, agent, project);
}

static ab_err note_claimed(service *s, const char *agent, const char *mode)
{
    const ab_mode_set *claimed_mode = mode_of(mode);
    if (claimed_mode == NULL) {
        (void)ab_map_take(s->claimed_modes, ab_str_of(agent));
        return AB_ERR_OK;
    }
    return ab_map_put(s->claimed_modes, ab_str_of(agent), (void *)(uintptr_t)claimed_mode, NULL);
}

/* --- the configuration --- */

/* Also those that the configuration listed before. */
static void check_modes(service *s)
{
    for (ab_map_iter i = ab_map_first(s->senders); i.entry != NULL; ab_map_next(&i)) {
        const ab_sender *sender = i.value;
        check_mode(s, sender->agent);
    }
}

/* What the configuration says of the agents that it lists, and no more of those that it listed
 * before. @return of the first certificate that cannot be used, which holds up no other agent */
static ab_err configure_listed(service *s, ab_error *err)
{
    ab_err first = AB_ERR_OK;
    for (ab_map_iter i = ab_map_first(s->senders); i.entry != NULL; ab_map_next(&i)) {
        const ab_sender *sender = i.value;
        if (!ab_registry_is_configured(s->registry, sender->agent))
            continue;
        ab_err e = ab_recipients_configure(s->recipients, sender->agent,
                                           listed(s, sender->agent, "certificate"),
                                           first == AB_ERR_OK ? err : NULL);
        if (e == AB_ERR_OK)
            ab_principal_recipient_changed(s->machine, sender->agent);
        else if (first == AB_ERR_OK)
            first = e;
    }
    return first;
}

ab_err ab_principal_agents_new(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    ab_err e = ab_recipients_new(d->config, d->log, d->metrics, d->clock, &s->recipients, err);
    if (e != AB_ERR_OK)
        return e;
    s->senders = ab_map_new();
    s->claimed_modes = ab_map_new();
    s->lines = ab_map_new();
    s->presence_log = ab_presence_log_new(d->log, d->clock);
    s->changes = ab_changes_new(d->metrics, s->machine);
    s->fleet = ab_fleet_new(d->clock);
    s->registry = ab_registry_new(
        (ab_registry_events){on_added, on_removed, on_changed, on_scope, s}, d->log);
    if (s->senders == NULL || s->claimed_modes == NULL || s->lines == NULL ||
        s->presence_log == NULL || s->changes == NULL || s->fleet == NULL || s->registry == NULL ||
        ab_app_meter_init(&s->app_meter, d->metrics, s->machine) != AB_ERR_OK ||
        ab_registry_list(s->registry, d->config) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    check_modes(s);
    return configure_listed(s, err);
}

void ab_principal_agents_free(service *s)
{
    ab_registry_free(s->registry);
    ab_map_free(s->senders, free);
    ab_map_free(s->claimed_modes, NULL);
    ab_map_free(s->lines, NULL);
    ab_presence_log_free(s->presence_log);
    ab_changes_free(s->changes);
    ab_app_meter_fini(&s->app_meter);
    ab_fleet_free(s->fleet);
    ab_recipients_free(s->recipients);
}

void ab_principal_agents_reload(service *s)
{
    ab_error err = {0};
    ab_err e = ab_registry_list(s->registry, s->base.daemon->config);
    if (e == AB_ERR_OK) {
        check_modes(s);
        e = configure_listed(s, &err);
    }
    if (e != AB_ERR_OK)
        AB_ERROR(s->base.daemon->log, MAIN, "option agents is only partly in effect",
                 AB_KV("why", err.text[0] == '\0' ? ab_err_text(e) : (const char *)err.text));
}

static void on_certificate(void *arg, const char *agent)
{
    const service *s = arg;
    ab_principal_recipient_changed(s->machine, agent);
}

void ab_principal_agents_reload_certificates(service *s)
{
    ab_recipients_reload(s->recipients, on_certificate, s);
}

void ab_principal_agents_block_certificates(service *s)
{
    ab_recipients_block(s->recipients, &s->blocklist.revoked, on_certificate, s);
}

void ab_principal_agents_note(service *s, const char *agent, const ab_peer *peer)
{
    if (note_claimed(s, agent, peer->mode) != AB_ERR_OK) {
        AB_ERROR(s->base.daemon->log, MAIN, "out of memory", AB_KV("agent", agent));
        return;
    }
    check_mode(s, agent);
    if (ab_recipients_offer(s->recipients, agent, peer->certificate))
        ab_principal_recipient_changed(s->machine, agent);
}
