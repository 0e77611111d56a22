/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine asks for beside what every daemon does.
 */
#include "services/effects.h"
#include "services/principal/principal_priv.h"

static void fx_held(void *arg, const char *agent, size_t count, const char *token)
{
    service *s = arg;
    ab_holds_note(s->holds, agent, count, token);
}

static void fx_deferred(void *arg, const char *agent, ab_str key, bool deferred)
{
    const service *s = arg;
    ab_changes_defer(s->changes, agent, key, deferred);
}

static void fx_fatal(void *arg, const char *why)
{
    const service *s = arg;
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_CONFLICT, "%s", why);
    ab_daemon_fatal(s->base.daemon, &err);
}

static void fx_give_back(void *arg, void *delivery)
{
    const service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_RETURNED);
}

void ab_principal_service_wake(service *s, const char *agent)
{
    ab_sender *sender = ab_map_find(s->senders, ab_str_of(agent));
    if (sender != NULL) /* none for one that is about to go */
        ab_sender_run(sender);
}

static void fx_wake(void *arg, const char *agent)
{
    ab_principal_service_wake(arg, agent);
}

ab_effects ab_principal_service_effects(service *s)
{
    ab_effects fx = ab_service_effects(&s->base);
    fx.wake = fx_wake;
    fx.give_back = fx_give_back;
    fx.held = fx_held;
    fx.deferred = fx_deferred;
    fx.fatal = fx_fatal;
    return fx;
}
