/* SPDX-License-Identifier: Apache-2.0
 *
 * What the Kafka binding needs of the JSON format beyond codec_json.h.
 */
#pragma once

#include "event/codec_json.h"

/** As ab_event_from_json; `partitionkey`, unless absent, takes the place of what the text says. */
AB_MUST_USE ab_err ab_event_from_json_keyed(ab_str text, ab_str partitionkey, ab_event **out,
                                            ab_error *err);
