/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of an event that arrives, whatever it says: acknowledged, refused, kept for later.
 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"
#include "schema/epoch.h"

#include <string.h>

bool ab_principal_read_version(const ab_principal *p, const ab_event *event, ab_version *out)
{
    return ab_version_of(event, out, NULL) == AB_ERR_OK &&
           ab_epoch_is_credible(out->epoch, ab_clock_wall_us(p->env.clock));
}

void ab_principal_ack(const ab_principal *p, void *delivery)
{
    p->env.effects.ack(p->env.effects.arg, delivery);
}

bool ab_principal_may_log(struct peer *peer)
{
    return ab_log_quota_pass(&peer->lines, ab_clock_mono_ms(peer->principal->env.clock));
}

void ab_principal_refuse(struct peer *peer, const ab_event *event, const char *reason)
{
    const ab_principal *p = peer->principal;
    ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(p->env.metrics, AB_METRIC_COUNTER, "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    if (ab_principal_may_log(peer))
        AB_WARN(p->env.log, SYNC, "event refused", AB_KV("agent", peer->name),
                AB_KV("reason", reason), AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)),
                AB_KV("id", ab_event_attr(event, AB_CE_ID)),
                AB_KV("held_back", peer->lines.held_back));
}

ab_str ab_principal_answered_id(const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    return (ab_str){key.ptr + sizeof(AB_KEY_ACK) - 1, key.len - (sizeof(AB_KEY_ACK) - 1)};
}

ab_err ab_principal_hold(struct peer *peer, ab_event *event, void *delivery)
{
    void *superseded; /* none: it is not known yet what is a state */
    const ab_task task = {.event = event, .delivery = delivery, .begun = true};
    return ab_inbox_push(&peer->held, &task, &superseded);
}

void ab_principal_refuse_delivery(struct peer *peer, const ab_event *event, void *delivery,
                                  const char *reason)
{
    ab_principal_refuse(peer, event, reason);
    if (strcmp(reason, "memory") != 0)
        ab_principal_ack(peer->principal, delivery);
}

const char *ab_principal_take_stray(struct peer *peer, ab_event *event, void *delivery,
                                    ab_type type, const char *key)
{
    if (type != AB_TYPE_PROCESSED) {
        ab_principal_ack(peer->principal, delivery);
        return NULL;
    }
    ab_err e = ab_writer_is_ready(peer->writer)
                   ? ab_principal_end_command(peer, ab_str_of(key), ab_principal_answered_id(event),
                                              delivery)
                   : ab_principal_hold(peer, event, delivery);
    return e == AB_ERR_OK ? NULL : "memory";
}
