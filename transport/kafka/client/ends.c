/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/ends.h"

#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/errors.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_silent(const ab_kafka_silent *silent, int32_t leader)
{
    for (size_t i = 0; i < silent->count; i++) {
        if (silent->brokers[i] == leader)
            return true;
    }
    return false;
}

static void add_silent(ab_kafka_silent *silent, int32_t leader)
{
    if (silent->count < AB_KAFKA_SILENT_MAX)
        silent->brokers[silent->count++] = leader;
}

/* When the time is up, the call succeeds, and what was not answered is still the question. */
static rd_kafka_resp_err_t outcome(const rd_kafka_topic_partition_t *p)
{
    if (p->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return p->err;
    return p->offset < 0 ? RD_KAFKA_RESP_ERR__TIMED_OUT : RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t take_offsets(const rd_kafka_topic_partition_list_t *list,
                                        ab_kafka_ends *const *of, int64_t which)
{
    for (int i = 0; i < list->cnt; i++) {
        rd_kafka_resp_err_t code = outcome(&list->elems[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return code;
        *(which == RD_KAFKA_OFFSET_END ? &of[i]->high : &of[i]->low) = list->elems[i].offset;
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* `which` is a logical offset; in a ListOffsets request that is a time stamp: -1 the end, -2 the
 * beginning. */
static rd_kafka_resp_err_t list_offsets(rd_kafka_t *rk, ab_kafka_ends *const *of, size_t count,
                                        int64_t which)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++)
        rd_kafka_topic_partition_list_add(list, of[i]->name, 0)->offset = which;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(rk, list, AB_KAFKA_REQUEST_MS);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = take_offsets(list, of, which);
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

/* All of one leader. */
static void ask_leader(rd_kafka_t *rk, ab_kafka_ends *const *of, size_t count,
                       ab_kafka_silent *silent)
{
    int32_t leader = of[0]->leader;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!is_silent(silent, leader)) {
        code = list_offsets(rk, of, count, RD_KAFKA_OFFSET_BEGINNING);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            code = list_offsets(rk, of, count, RD_KAFKA_OFFSET_END);
        if (code == RD_KAFKA_RESP_ERR__TIMED_OUT)
            add_silent(silent, leader);
    }
    for (size_t i = 0; i < count && code != RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        ab_fail(&of[i]->error, ab_kafka_err(code),
                "broker %" PRId32 ", which leads topic %s, did not return its offsets: %s", leader,
                of[i]->name, rd_kafka_err2str(code));
}

void ab_kafka_ends_find(rd_kafka_t *rk, ab_kafka_ends *ends, size_t count, ab_kafka_silent *silent)
{
    ab_kafka_ends **of = calloc(count, sizeof(ab_kafka_ends *));
    if (of == NULL) {
        for (size_t i = 0; i < count; i++)
            ab_fail(&ends[i].error, AB_ERR_NOMEM, "out of memory asking where topics end");
        return;
    }
    for (size_t first = 0; first < count; first++) {
        size_t n = 0;
        for (size_t i = first; i < count; i++) {
            if (ends[i].asked || ends[i].leader != ends[first].leader)
                continue;
            ends[i].asked = true;
            of[n++] = &ends[i];
        }
        if (n > 0)
            ask_leader(rk, of, n, silent);
    }
    free(of);
}
