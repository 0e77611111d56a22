/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Look whether they have, at times; see to it that all handles are made again then. */
void ab_kafka_credential_reload_tick(ab_kafka *k);
/** Commit what has moved. True when that is done, and nothing is on its way. */
bool ab_kafka_credential_reload_is_drained(ab_kafka *k);
/** Close all handles, with `code` for what is on its way: no job may be using one. Links go on
 * where they are when there are handles again. */
void ab_kafka_credential_reload_close(ab_kafka *k, ab_err code);
