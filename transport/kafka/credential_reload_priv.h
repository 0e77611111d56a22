/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Look whether they have, at times; see to it that all handles are made again then. */
void ab_kafka_credential_reload_tick(ab_kafka *k);
