/* SPDX-License-Identifier: Apache-2.0
 *
 * kafka.librdkafka.*: settings given to librdkafka as they stand, save for those that argobus's
 * promises rest on.
 */
#pragma once

#include "base/config/config.h"

#include <librdkafka/rdkafka.h>

/** Apply them to `conf`. @return CONFIG naming the key, and why it may not be set or what
 * librdkafka says */
AB_MUST_USE ab_err ab_kafka_passthrough(const ab_config *config, rd_kafka_conf_t *conf,
                                        ab_error *err);

/** Whether they turn TLS on, by `security.protocol`. */
bool ab_kafka_passthrough_is_tls(const ab_config *config);
