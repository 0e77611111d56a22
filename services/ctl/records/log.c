/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/records/log.h"

#include "base/core/clock.h"

#define PARTITION  0
#define TIMEOUT_MS 15000
#define POLL_MS    100

static ab_err refuse(const ab_check_client *c, const char *topic, const char *why, ab_error *err)
{
    return ab_fail(err, AB_ERR_UNAVAILABLE, "%s: %s%s%s", topic, why,
                   c->reason[0] == '\0' ? "" : ": ", c->reason);
}

static ab_err assign(ab_check_client *c, const char *topic, int64_t begin, ab_error *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, PARTITION)->offset = begin;
    rd_kafka_resp_err_t code = rd_kafka_assign(c->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? AB_ERR_OK
                                              : refuse(c, topic, rd_kafka_err2str(code), err);
}

/* What ends the partition may be a record, or a hole that compaction left: its end is told then. */
static ab_err read_until(ab_check_client *c, const char *topic, int64_t high,
                         bool (*each)(void *arg, const rd_kafka_message_t *m), void *arg,
                         ab_error *err)
{
    int64_t deadline = ab_clock_mono_ms(&ab_clock_real) + TIMEOUT_MS;
    bool over = false;
    ab_err e = AB_ERR_OK;
    while (!over && e == AB_ERR_OK) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(c->rk, POLL_MS);
        if (m == NULL) {
            if (ab_clock_mono_ms(&ab_clock_real) > deadline)
                e = refuse(c, topic, "no broker answers", err);
            continue;
        }
        deadline = ab_clock_mono_ms(&ab_clock_real) + TIMEOUT_MS;
        if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            over = true;
        else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            e = refuse(c, topic, rd_kafka_message_errstr(m), err);
        else
            over = !each(arg, m) || m->offset + 1 >= high;
        rd_kafka_message_destroy(m);
    }
    return e;
}

ab_err ab_log_read(ab_check_client *c, const char *topic, int64_t count,
                   bool (*each)(void *arg, const rd_kafka_message_t *m), void *arg, ab_error *err)
{
    int64_t low = 0, high = 0;
    rd_kafka_resp_err_t code =
        rd_kafka_query_watermark_offsets(c->rk, topic, PARTITION, &low, &high, TIMEOUT_MS);
    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
        code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        return ab_fail(err, AB_ERR_NOTFOUND, "%s: there is no such topic", topic);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return refuse(c, topic, rd_kafka_err2str(code), err);
    if (low >= high)
        return AB_ERR_OK;
    ab_err e = assign(c, topic, high - low > count ? high - count : low, err);
    if (e == AB_ERR_OK)
        e = read_until(c, topic, high, each, arg, err);
    (void)rd_kafka_assign(c->rk, NULL); /* only ends what was assigned */
    return e;
}
