/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/errors.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

/* As OpenSSL words the alert that the other side has sent. */
#define ALERT "SSL alert number "

bool ab_kafka_is_missing(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

bool ab_kafka_is_down(rd_kafka_resp_err_t code)
{
    /* __TRANSPORT is about one broker, and no news: connections that are idle are closed. */
    return code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__SSL ||
           code == RD_KAFKA_RESP_ERR__AUTHENTICATION;
}

bool ab_kafka_is_about_our_certificate(const char *text)
{
    const char *said = strstr(text, ALERT);
    long alert = said == NULL ? 0 : strtol(said + strlen(ALERT), NULL, 10);
    return (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
           alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_CERTIFICATE_REQUIRED;
}

ab_err ab_kafka_err(rd_kafka_resp_err_t code)
{
    /* Kafka has some 150 codes. What is not listed is about the broker or the network, not about
     * the event, and so are authorisation errors: an operator may grant what is missing, or set a
     * clock right. */
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return AB_ERR_OK;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        return AB_ERR_TOOBIG;
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        return AB_ERR_INVALID;
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return AB_ERR_DENIED;
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        return AB_ERR_FULL;
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
        return AB_ERR_TIMEOUT;
    default:
        return AB_ERR_UNAVAILABLE;
    }
}

ab_err ab_kafka_fail(ab_error *err, rd_kafka_resp_err_t code, const char *what)
{
    ab_err e = ab_fail(err, ab_kafka_err(code), "%s: %s", what, rd_kafka_err2str(code));
    if (err != NULL)
        err->foreign = (int)code;
    return e;
}
