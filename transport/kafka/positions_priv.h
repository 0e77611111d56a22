/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL only.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Commit the positions of absent agents again, when it is time. */
void ab_kafka_positions_tick(ab_kafka *k);
