/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that the control plane refuses. Over Kafka there is no login that could fail: the
 * principal's hellos say why the agent is refused, all of them until it is not, so that nothing
 * depends on one hello's arrival. Meanwhile the agent keeps its position, says hello itself, and
 * neither sends nor delivers state.
 *
 * Only a hello counts that answers one of this agent's: a principal that has just started does not
 * know the agent's mode, and refuses nobody yet.
 */
#include "transport/kafka/refusal_priv.h"

#include "transport/kafka/kafka_priv.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static ab_err replace(ab_kafka_link *l, const char *why)
{
    char *copy = why == NULL ? NULL : strdup(why);
    if (copy == NULL && why != NULL)
        return AB_ERR_NOMEM;
    free(l->peer.refused);
    l->peer.refused = copy;
    return AB_ERR_OK;
}

ab_err ab_kafka_refusal_set(ab_kafka_link *l, const char *why)
{
    if (is_same(l->peer.refused, why))
        return AB_ERR_OK;
    l->peer.hello_due_ms = 0;
    ab_kafka_link_look_at(l, 0);
    return replace(l, why);
}

void ab_kafka_refusal_hear(ab_kafka_link *l, const char *reason)
{
    ab_kafka *k = l->kafka;
    const char *why = reason[0] == '\0' ? NULL : reason;
    if (is_same(l->peer.refused, why))
        return;
    if (replace(l, why) != AB_ERR_OK) /* the next hello says the same */
        AB_ERROR(k->base.env.log, KAFKA, "out of memory", AB_KV("agent", l->name));
    else if (why == NULL)
        AB_INFO(k->base.env.log, KAFKA, "the control plane accepts this agent again; continuing",
                AB_KV("agent", l->name));
    else
        AB_ERROR(k->base.env.log, KAFKA,
                 "refused by the principal: nothing is sent and nothing received is applied",
                 AB_KV("agent", l->name), AB_KV("why", why));
    ab_transport_show_refused(k->base.env.metrics, l->name, l->peer.refused != NULL);
}

bool ab_kafka_refusal_is_on(const ab_kafka_link *l)
{
    return l->kafka->settings.role == AB_ROLE_AGENT && l->peer.refused != NULL;
}
