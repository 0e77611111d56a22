/* SPDX-License-Identifier: Apache-2.0
 *
 * A handle of librdkafka as the program would make it, for one question after the other.
 */
#pragma once

#include "services/ctl/check/setup.h"
#include "transport/kafka/settings/settings.h"

typedef struct {
    ab_kafka_settings settings;
    rd_kafka_t *rk;
    char reason[AB_ERROR_TEXT_MAX]; /* what librdkafka said last: why no broker answers */
    bool down;                      /* it has tried all of them */
} ab_check_client;

/**
 * @param kind  a consumer has all its events in rd_kafka_consumer_poll
 * @param out   stays where it is until fini, which is to be called also after a failure
 * @return CONFIG, NOMEM: says what of the configuration is wrong
 */
AB_MUST_USE ab_err ab_check_client_open(const ab_setup *s, ab_kafka_kind kind, ab_check_client *out,
                                        ab_error *err);
/** The same, with settings that the program does not have.
 * @param change  false: librdkafka does not take them; NULL: none */
AB_MUST_USE ab_err ab_check_client_open_as(const ab_setup *s, ab_kafka_kind kind,
                                           bool (*change)(rd_kafka_conf_t *conf),
                                           ab_check_client *out, ab_error *err);
/**
 * Wait until a broker answers, ten seconds at most.
 * @param brokers  how many there are
 * @return UNAVAILABLE: none does; says why
 */
AB_MUST_USE ab_err ab_check_client_await(ab_check_client *c, int *brokers, ab_error *err);
void ab_check_client_fini(ab_check_client *c);
