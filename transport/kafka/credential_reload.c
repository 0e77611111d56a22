/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates, their key and passwords change while we run. librdkafka reads them when a handle is
 * made, and never again; so all handles are made again: what is on its way arrives first, then
 * every link goes on from where it is. Likewise when many agents were removed: of every topic that
 * a handle has ever known it keeps 5 KB, and asks the brokers for it for ever.
 */
#include "transport/kafka/credential_reload_priv.h"

#include "transport/kafka/commit_priv.h"
#include "transport/kafka/group_priv.h"
#include "transport/kafka/live_priv.h"
#include "transport/kafka/log_replay_priv.h"
#include "transport/kafka/positions_priv.h"
#include "transport/kafka/producer_priv.h"

#define CHECK_MS 1000
/* How long what is on its way may take. The old connections may not work any more. */
#define DRAIN_MS 5000
/* So many agents are removed, and as many as are left, before all the others reconnect for them. */
#define REMOVED_MAX 500

static ab_metric *renewals(const ab_kafka *k)
{
    return ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_kafka_renewals_total",
                         "Reconnections to Kafka because certificates or passwords changed, or "
                         "many agents were removed.",
                         NULL, 0);
}

/* @return false: they have not changed, or cannot be loaded */
static bool take_changed_files(ab_kafka *k)
{
    ab_error err = {0};
    if (!ab_file_stamps_changed(&k->settings.files))
        return false;
    ab_err e = ab_kafka_settings_reload(&k->settings, &err);
    if (e == AB_ERR_OK)
        AB_INFO(k->base.env.log, KAFKA, "certificates or passwords changed: reconnecting");
    else
        AB_WARN(k->base.env.log, KAFKA,
                "cannot load new certificates or passwords; still using the previous ones",
                AB_KV("error", err.text));
    return e == AB_ERR_OK;
}

static bool is_full_of_removed(const ab_kafka *k)
{
    if (k->removed < REMOVED_MAX || k->removed < ab_map_count(k->links_by_name))
        return false;
    AB_INFO(k->base.env.log, KAFKA, "many agents were removed: reconnecting",
            AB_KV("agents", (int64_t)k->removed));
    return true;
}

static void check(ab_kafka *k)
{
    int64_t now = ab_kafka_now(k);
    if (now < k->check_at_ms)
        return;
    k->check_at_ms = now + CHECK_MS;
    k->renewing = take_changed_files(k) || is_full_of_removed(k);
    k->renew_by_ms = now + DRAIN_MS;
}

static bool is_idle(const ab_kafka *k)
{
    return !k->topic_check_running && k->removing == NULL && !k->member.asking;
}

bool ab_kafka_credential_reload_is_drained(ab_kafka *k)
{
    bool committed = ab_kafka_commit(k);
    return committed && ab_kafka_producers_are_idle(&k->producers[AB_LANE_STATE]) &&
           ab_kafka_producers_are_idle(&k->producers[AB_LANE_LIVE]) && TAILQ_EMPTY(&k->failed);
}

void ab_kafka_credential_reload_close(ab_kafka *k, ab_err code)
{
    ab_kafka_link *l = NULL;
    TAILQ_FOREACH(l, &k->links, at)
    {
        /* Its partitions need not be unassigned one by one: their handles go. */
        ab_kafka_commit_end(l);
        l->in.paused = false;
        l->live = NULL;
        if (!l->removed)
            ab_kafka_link_renew(l);
    }
    ab_kafka_log_replay_run(k);
    ab_kafka_positions_close(k);
    ab_kafka_group_close_all(&k->groups);
    ab_kafka_group_close_all(&k->live_groups);
    ab_kafka_producers_close(&k->producers[AB_LANE_STATE], code);
    ab_kafka_producers_close(&k->producers[AB_LANE_LIVE], code);
}

void ab_kafka_credential_reload_tick(ab_kafka *k)
{
    ab_error err = {0};
    if (!k->renewing)
        check(k);
    if (!k->renewing || !is_idle(k) ||
        (!ab_kafka_credential_reload_is_drained(k) && ab_kafka_now(k) < k->renew_by_ms))
        return;
    ab_kafka_credential_reload_close(k, AB_ERR_UNAVAILABLE);
    k->renewing = ab_kafka_group_start(&k->groups, &err) != AB_ERR_OK ||
                  ab_kafka_live_start(k, &err) != AB_ERR_OK;
    if (k->renewing) {
        AB_ERROR(k->base.env.log, KAFKA, "cannot connect; retrying", AB_KV("error", err.text));
        return;
    }
    k->removed = 0;
    ab_metric_add(renewals(k), 1);
}
