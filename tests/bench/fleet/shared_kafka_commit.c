/* SPDX-License-Identifier: Apache-2.0
 *
 * Each agent has a consumer group of its own, and a consumer of librdkafka only one: so positions
 * are committed by requests of an administrator, as for a group without members. As a real agent
 * does, one commits at most once in kafka.commit-interval.
 */
#include "tests/bench/fleet/shared_kafka_priv.h"

#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/coordinator.h"

#define UNDER_WAY_MAX 64

static void on_result(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    ab_bench_shared_kafka *k = arg;
    (void)h;
    if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT)
        return;
    size_t n = 0;
    ab_error err = {0};
    ab_bench_shared_member *m = rd_kafka_event_opaque(event);
    const rd_kafka_group_result_t **groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event), &n);
    k->commits--;
    m->committing = false;
    if (ab_kafka_coordinator_position(event, groups, n, &err) == NULL)
        m->committed = -1; /* again */
    ab_bench_shared_commit_note(m);
}

ab_kafka_handle *ab_bench_shared_commit_open(ab_bench_shared_kafka *k)
{
    ab_error err = {0};
    ab_kafka_handle *h = NULL;
    /* Of a consumer: positions.c says why. */
    ab_bench_must(
        ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_READER, on_result, k, &h, &err),
        "no handle for commits", &err);
    return h;
}

void ab_bench_shared_commit_note(ab_bench_shared_member *m)
{
    if (!m->committing && ab_offsets_position(&m->offsets) != m->committed)
        ab_list_append(&m->shared->moved, &m->in_moved);
}

static void commit(ab_bench_shared_member *m)
{
    ab_bench_shared_kafka *k = m->shared;
    rd_kafka_t *rk = ab_kafka_handle_rk(k->committer);
    rd_kafka_AdminOptions_t *options = ab_kafka_admin_options(
        rk, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, AB_KAFKA_COORDINATOR_MS);
    m->committed = ab_offsets_position(&m->offsets);
    m->committing = true;
    k->commits++;
    rd_kafka_topic_partition_list_t *list =
        ab_kafka_handle_partition(m->down[AB_LANE_STATE], m->committed);
    rd_kafka_AlterConsumerGroupOffsets_t *altered =
        rd_kafka_AlterConsumerGroupOffsets_new(m->group, list);
    rd_kafka_AdminOptions_set_opaque(options, m);
    rd_kafka_AlterConsumerGroupOffsets(rk, &altered, 1, options,
                                       ab_kafka_handle_queue(k->committer));
    rd_kafka_AlterConsumerGroupOffsets_destroy(altered);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
}

void ab_bench_shared_commit_tick(ab_bench_shared_kafka *k, int64_t now_ms)
{
    ab_link *at = NULL;
    if (now_ms < k->commit_due_ms)
        return;
    while (k->commits < UNDER_WAY_MAX && (at = ab_list_pop(&k->moved)) != NULL)
        commit(AB_LINK_OF(at, ab_bench_shared_member, in_moved));
    if (!ab_link_is_in_use(&k->moved))
        k->commit_due_ms = now_ms + k->settings.commit_ms;
}
