/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Whether this hello was written to another log than those before it. */
bool ab_kafka_presence_is_elsewhere(ab_kafka_link *l, const ab_event *hello);
/** A hello of the peer on its live topic, written after we began to listen. `age_ms`: by the
 * broker's or the writer's clock, and ours. @return why it is none */
AB_MUST_USE ab_err ab_kafka_presence_hear(ab_kafka_link *l, const ab_event *hello, int64_t age_ms,
                                          ab_error *err);
/** Say hello when it is time; notice when the peer has gone. @return when to look again */
int64_t ab_kafka_presence_look(ab_kafka_link *l, int64_t now);
/** Say hello for the first time after our log was read. `new_log`: into the log itself, which it
 * gives its identity. `done` gets a reference to the link, which it releases. */
void ab_kafka_presence_announce(ab_kafka_link *l, bool new_log, ab_sent done);
/** What we say of ourselves has changed: peers are to get all of it again. */
void ab_kafka_presence_changed(ab_kafka *k);
/** Say hello at once; `leaving`: for the last time. */
void ab_kafka_presence_speak(ab_kafka_link *l, bool leaving);
