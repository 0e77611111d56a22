/* SPDX-License-Identifier: Apache-2.0
 *
 * SASL/OAUTHBEARER (RFC 7628): where the bearer tokens come from that log in to the brokers. A
 * token is asked of an authorization server with the client's credentials (RFC 6749 section 4.4),
 * or read from a file that somebody keeps fresh. librdkafka asks for one whenever a handle begins,
 * and again when 80 % of its life are over; it is fetched in librdkafka's background thread, which
 * may wait.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/error.h"

#include <librdkafka/rdkafka.h>

/** Does the configuration ask for it? */
bool ab_kafka_oauth_is_wanted(const ab_config *config);
/** Set what handles need. @return CONFIG naming the option and what to do, NOMEM */
AB_MUST_USE ab_err ab_kafka_oauth_configure(const ab_config *config, rd_kafka_conf_t *conf,
                                            ab_error *err);
/** Fetch tokens for this handle from now on; does nothing for one without OAUTHBEARER. */
void ab_kafka_oauth_begin(const ab_config *config, rd_kafka_t *rk);
