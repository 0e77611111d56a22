/* SPDX-License-Identifier: Apache-2.0
 *
 * Which Kafka the brokers are. No request tells it: it follows from the newest metadata.version
 * that a broker knows, each release having its own, and leaves the patch version open.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/kafka/client.h"

/**
 * Ask every broker of the cluster. What cannot be asked is said, and is no error; a broker that
 * lacks a request which the program needs is one.
 * @param client  has reached a broker
 */
void ab_check_broker_versions(const ab_setup *s, const ab_check_client *client, ab_findings *out);
