/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/admin.h"

#include "transport/kafka/client/errors.h"

rd_kafka_AdminOptions_t *ab_kafka_admin_options(rd_kafka_t *rk, rd_kafka_admin_op_t op,
                                                int timeout_ms)
{
    char why[256];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(rk, op);
    if (options != NULL)
        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, why, sizeof(why));
    return options;
}

ab_kafka_admin ab_kafka_admin_begin(rd_kafka_t *rk, rd_kafka_admin_op_t op, int timeout_ms)
{
    return (ab_kafka_admin){.options = ab_kafka_admin_options(rk, op, timeout_ms),
                            .queue = rd_kafka_queue_new(rk)};
}

rd_kafka_event_t *ab_kafka_admin_await(ab_kafka_admin *a)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(a->queue, AB_KAFKA_REQUEST_MS + 500);
    rd_kafka_queue_destroy(a->queue);
    rd_kafka_AdminOptions_destroy(a->options);
    return event;
}

ab_err ab_kafka_admin_check(rd_kafka_event_t *event, ab_error *err)
{
    if (event == NULL)
        return ab_fail(err, AB_ERR_TIMEOUT, "no broker responds");
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? AB_ERR_OK
               : ab_kafka_fail(err, code, rd_kafka_event_error_string(event));
}
