/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of a topic as a document for people: what it says of itself, and its data without
 * secrets.
 */
#pragma once

#include "base/json/document.h"

#include <librdkafka/rdkafka.h>

/* What stands for a secret. */
#define AB_RECORD_REDACTED "<redacted>"

/**
 * Replace what may be secret in an object that travels: every value in "data", "stringData" and
 * "binaryData"; texts whose names have password, token, secret, credential or private in them, or
 * stand beside a "name" that has; texts of several lines in which such a word is; URLs with a
 * password or token before the host; and kubectl's last applied configuration, which repeats all
 * of them.
 */
void ab_record_redact(cJSON *object);

/**
 * @param direction  "down" or "up"
 * @return {"direction", "offset", "time" (RFC 3339), "key", "bytes", "attributes": {NAME: TEXT},
 *         "data"}; "data" is null when there is none, or it is not JSON: sealed to its receiver.
 *         "error" instead of the last two, when it is not an event. NULL: out of memory. Owned by
 *         the caller: cJSON_Delete
 */
cJSON *ab_record_describe(const char *direction, const rd_kafka_message_t *m);
