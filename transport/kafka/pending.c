/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL: which changes of an agent's log are not in effect at the agent. What we have written
 * is known from the delivery reports, and at start from the log; what is in effect, from the
 * agent's position (positions.c). For a fleet that is up to date nothing is asked and nothing kept.
 */
#include "transport/kafka/pending_priv.h"

#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/positions_priv.h"

void ab_kafka_pending_begin(ab_kafka_link *l, int64_t log_end)
{
    ab_pending_forget_log(&l->down);
    ab_pending_set_unread(&l->down, 0); /* it is read again from the agent's position on */
    l->passed = 0;
    if (l->down.position > log_end) /* of a log that was here before */
        ab_pending_pass(&l->down, 0);
}

static int64_t written_ms(const ab_kafka_link *l, const rd_kafka_message_t *m)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    int64_t ms = rd_kafka_message_timestamp(m, &type);
    return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
               ? ab_clock_wall_us(l->kafka->base.env.clock) / 1000
               : ms;
}

void ab_kafka_pending_write(ab_kafka_link *l, const ab_event *event, bool ended,
                            const rd_kafka_message_t *m)
{
    if (l->removed)
        return;
    if (m->offset >= 0)
        ab_pending_write(&l->down, event, ended, m->offset, written_ms(l, m));
    if (ab_pending_is_written(&l->down))
        ab_kafka_positions_want(l);
}

void ab_kafka_pending_receive(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m)
{
    ab_pending_hold(&l->up, event, written_ms(l, m));
}
