/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** The position may have moved. */
void ab_kafka_commit_note(ab_kafka_link *l);
/** A group has the link's partition from now on, and `committed` is what it has committed, as the
 * broker says; negative: nothing. */
void ab_kafka_commit_begin(ab_kafka_link *l, int64_t committed);
/** It does not have it any more. */
void ab_kafka_commit_end(ab_kafka_link *l);
/** What became of the group's commit: the event of its handle. */
void ab_kafka_commit_done(ab_kafka_group *g, rd_kafka_event_t *event);
/** Commit what has moved. True when nothing is left to commit or under way. */
bool ab_kafka_commit(ab_kafka *k);
