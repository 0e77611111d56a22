/* SPDX-License-Identifier: Apache-2.0
 *
 * The Kafka transport: four topics per agent (schema/topics.h), offsets committed after the effect.
 */
#pragma once

#include "transport/transport.h"

/** The ops and options of `transport: kafka`. */
extern const ab_transport_ops ab_kafka_transport;
