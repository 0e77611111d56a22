/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/link_priv.h"

#include "schema/attributes.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/kafka_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS   10000
#define NEW_MS         5000

static bool name_topics(ab_kafka_link *l)
{
    bool principal = l->kafka->settings.role == AB_ROLE_PRINCIPAL;
    ab_direction out = principal ? AB_DOWN : AB_UP;
    ab_direction in = principal ? AB_UP : AB_DOWN;
    for (int i = 0; i < AB_KAFKA_TOPICS; i++) {
        bool ours = i == AB_KAFKA_OUT_STATE || i == AB_KAFKA_OUT_LIVE;
        bool live = i == AB_KAFKA_OUT_LIVE || i == AB_KAFKA_IN_LIVE;
        char name[AB_TOPIC_NAME_MAX];
        if (!ab_topic_format(l->kafka->settings.prefix, ours ? out : in, l->name, live, name))
            return false;
        l->topics[i] = strdup(name);
        if (l->topics[i] == NULL)
            return false;
    }
    return true;
}

static void get_metrics(ab_kafka_link *l)
{
    ab_metrics *m = l->kafka->base.env.metrics;
    ab_kafka_link_metrics *s = &l->metrics;
    ab_label labels[] = {{"agent", ab_str_of(l->name)}, {"lane", AB_STR("state")}};
    for (int lane = AB_LANE_STATE; lane <= AB_LANE_LIVE; lane++) {
        labels[1].value = lane == AB_LANE_STATE ? AB_STR("state") : AB_STR("live");
        s->received[lane] = ab_metric_get(m, AB_METRIC_COUNTER, "argobus_events_received_total",
                                          "Events received from peers.", labels, 2);
        s->sent[lane] =
            ab_metric_get(m, AB_METRIC_COUNTER, "argobus_events_sent_total",
                          "Events that the transport has accepted for delivery.", labels, 2);
    }
    s->lag = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_offset_lag",
                           "Records written by the peer and not yet in effect.", labels, 1);
    s->unacknowledged = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_unacknowledged",
                                      "Events delivered and not yet in effect.", labels, 1);
    s->peer_up = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_peer_up",
                               "1 while the peer's hello arrives in time.", labels, 1);
    s->last_seen =
        ab_metric_get(m, AB_METRIC_GAUGE, "argobus_peer_last_seen_timestamp_seconds",
                      "When the peer was last heard, seconds since 1970; 0: not yet.", labels, 1);
    s->duplicates = ab_metric_get(
        m, AB_METRIC_GAUGE, "argobus_peer_rivals",
        "1 while two processes use the peer's name, or a newer one the agent's own.", labels, 1);
}

static void leave_lists(ab_kafka_link *l)
{
    ab_wheel_timer_stop(&l->timer);
    ab_link_remove(&l->check_at);
    ab_link_remove(&l->measure_at);
}

static void free_link(ab_kafka_link *l)
{
    for (int i = 0; i < AB_KAFKA_TOPICS; i++)
        free(l->topics[i]);
    for (int lane = AB_LANE_STATE; lane <= AB_LANE_LIVE; lane++) {
        if (l->producer[lane] != NULL)
            l->producer[lane]->links--;
        if (l->out[lane] != NULL)
            rd_kafka_topic_destroy(l->out[lane]);
    }
    ab_link_remove(&l->in.commit_at);
    leave_lists(l);
    ab_offsets_fini(&l->in.offsets);
    ab_pending_fini(&l->down);
    ab_pending_fini(&l->up);
    free(l->peer.refused);
    free(l);
}

ab_err ab_kafka_link_new(ab_kafka *k, const char *name, ab_kafka_link **out, ab_error *err)
{
    if (!ab_str_is_dns_label(ab_str_of(name)))
        return ab_fail(err, AB_ERR_INVALID, "agent name \"%s\" is not a DNS label", name);
    if (ab_kafka_link_find(k, name) != NULL)
        return ab_fail(err, AB_ERR_EXISTS, "agent %s is already served", name);
    ab_kafka_link *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", name);
    bool principal = k->settings.role == AB_ROLE_PRINCIPAL;
    l->kafka = k;
    l->refs = 1;
    l->sent_offset = -1;
    l->epoch = k->epoch;
    l->in.committed = -1;
    l->in.end = -1;
    l->peer.sent = -1;
    TAILQ_INIT(&l->refused);
    TAILQ_INIT(&l->held);
    ab_link_init(&l->in.commit_at);
    ab_link_init(&l->check_at);
    ab_link_init(&l->ask_at);
    ab_pending_init(&l->down, principal ? k->base.env.clock : NULL, AB_PENDING_UNKNOWN);
    ab_pending_init(&l->up, principal ? k->base.env.clock : NULL, 0);
    ab_link_init(&l->measure_at);
    ab_wheel_timer_init(&l->timer);
    l->in.caught_up_at = -1;
    ab_backoff_init(&l->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_fail(&l->why, AB_ERR_UNAVAILABLE, "checking topics");
    snprintf(l->name, sizeof(l->name), "%s", name);
    snprintf(l->source, sizeof(l->source), "%s%s",
             principal ? AB_SOURCE_AGENT : AB_SOURCE_PRINCIPAL, principal ? name : "");
    if (!name_topics(l) || ab_map_put(k->links_by_name, ab_str_of(name), l, NULL) != AB_ERR_OK) {
        free_link(l);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", name);
    }
    get_metrics(l);
    TAILQ_INSERT_TAIL(&k->links, l, at);
    ab_kafka_link_look_at(l, 0);
    *out = l;
    return AB_ERR_OK;
}

ab_kafka_link *ab_kafka_link_find(const ab_kafka *k, const char *name)
{
    return ab_map_find(k->links_by_name, ab_str_of(name));
}

ab_kafka_link *ab_kafka_link_of_topic(const ab_kafka *k, const char *topic, ab_kafka_topic *which)
{
    ab_direction direction = AB_DOWN;
    char agent[64];
    bool live = false;
    if (!ab_topic_parse(k->settings.prefix, topic, &direction, agent, &live))
        return NULL;
    bool ours = (direction == AB_DOWN) == (k->settings.role == AB_ROLE_PRINCIPAL);
    if (live)
        *which = ours ? AB_KAFKA_OUT_LIVE : AB_KAFKA_IN_LIVE;
    else
        *which = ours ? AB_KAFKA_OUT_STATE : AB_KAFKA_IN_STATE;
    return ab_kafka_link_find(k, agent);
}

ab_kafka_link *ab_kafka_link_ref(ab_kafka_link *l)
{
    l->refs++;
    return l;
}

void ab_kafka_link_unref(ab_kafka_link *l)
{
    assert(l->refs > 0);
    if (--l->refs > 0)
        return;
    TAILQ_REMOVE(&l->kafka->links, l, at);
    free_link(l);
}

void ab_kafka_link_look_at(ab_kafka_link *l, int64_t due_ms)
{
    if (!l->removed)
        ab_wheel_set(&l->kafka->wheel, &l->timer, due_ms);
}

void ab_kafka_link_measure(ab_kafka_link *l)
{
    if (!l->removed)
        ab_list_append(&l->kafka->to_measure, &l->measure_at);
}

static void retry_at(ab_kafka_link *l, int64_t due_ms)
{
    l->retry_ms = due_ms;
    ab_kafka_link_look_at(l, due_ms);
}

static void withdraw(ab_kafka_link *l)
{
    l->kafka->withdraw(l);
    l->phase = AB_LINK_ASK;
}

void ab_kafka_link_remove(ab_kafka_link *l)
{
    withdraw(l);
    l->removed = true;
    l->kafka->removed++;
    leave_lists(l);
    /* Added again, with a log that does not tell, it must not get the same one. */
    if (l->epoch > l->kafka->epoch)
        l->kafka->epoch = l->epoch;
    ab_map_take(l->kafka->links_by_name, ab_str_of(l->name));
    ab_metrics_drop_agent(l->kafka->base.env.metrics, ab_str_of(l->name));
    l->metrics = (ab_kafka_link_metrics){0};
    ab_kafka_link_unref(l);
}

void ab_kafka_link_restart(ab_kafka_link *l, const char *reason)
{
    if (l->phase == AB_LINK_ASK || l->removed)
        return;
    int64_t held = 0;
    if (ab_limiter_pass(&l->kafka->host.limiter, "restart", l->name, ab_kafka_now(l->kafka), &held))
        AB_WARN(l->kafka->base.env.log, KAFKA, "checking topics again", AB_KV("agent", l->name),
                AB_KV("reason", reason), AB_KV("held_back", held));
    withdraw(l);
    l->verified = false;
    ab_fail(&l->why, AB_ERR_UNAVAILABLE, "%s", reason);
    retry_at(l, ab_kafka_now(l->kafka) + ab_backoff_next(&l->backoff));
}

/* Where somebody must do something first: to ask at once would not help. */
static void restart_later(ab_kafka_link *l, const char *reason)
{
    ab_kafka_link_restart(l, reason);
    retry_at(l, ab_kafka_now(l->kafka) + RETRY_MAX_MS);
}

void ab_kafka_link_add_remedy(const ab_kafka_link *l, ab_error *err)
{
    ab_error why = *err;
    bool principal = l->kafka->settings.role == AB_ROLE_PRINCIPAL;
    if (why.foreign != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
        why.foreign != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        return;
    (void)ab_fail(err, why.code,
                  "%s: run deploy/kafka/provision %s%s (the Kafka user has no right to it, nor "
                  "learns whether it exists); argobusctl check kafka shows every right",
                  why.text, principal ? "principal" : "agent ", principal ? "" : l->name);
    err->foreign = why.foreign;
}

void ab_kafka_link_unread(ab_kafka_link *l, const char *topic, rd_kafka_resp_err_t code,
                          const char *text)
{
    ab_error err = {0};
    char what[AB_TOPIC_NAME_MAX + 16];
    if (code != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        ab_kafka_link_restart(l, text);
        return;
    }
    (void)snprintf(what, sizeof(what), "topic %s", topic);
    ab_kafka_fail(&err, code, what);
    ab_kafka_link_add_remedy(l, &err);
    restart_later(l, err.text);
}

void ab_kafka_link_renew(ab_kafka_link *l)
{
    withdraw(l);
    ab_fail(&l->why, AB_ERR_UNAVAILABLE, "connecting again");
    retry_at(l, 0);
}

void ab_kafka_link_displace(ab_kafka_link *l, const char *why)
{
    withdraw(l);
    l->displaced = true;
    l->has_epoch = false;
    ab_fail(&l->why, AB_ERR_UNAVAILABLE, "%s", why);
}

void ab_kafka_link_return(ab_kafka_link *l)
{
    l->displaced = false;
    retry_at(l, 0);
}

void ab_kafka_link_ready(ab_kafka_link *l)
{
    l->phase = AB_LINK_READY;
    l->why = (ab_error){0};
    ab_kafka_link_look_at(l, 0);
}

/* What was just made may not be seen at once, or have no leader yet. */
static bool is_new(const ab_kafka_link *l)
{
    return l->made_ms > 0 && ab_kafka_now(l->kafka) - l->made_ms < NEW_MS;
}

void ab_kafka_link_failed(ab_kafka_link *l, const ab_error *why)
{
    withdraw(l);
    l->why = *why;
    retry_at(l, ab_kafka_now(l->kafka) + ab_backoff_next(&l->backoff));
    if (is_new(l)) {
        AB_INFO(l->kafka->base.env.log, KAFKA, "creating the agent's topics",
                AB_KV("agent", l->name), AB_KV("why", why->text));
        return;
    }
    int64_t held = 0;
    if (ab_limiter_pass(&l->kafka->host.limiter, "link", l->name, ab_kafka_now(l->kafka), &held))
        AB_WARN(l->kafka->base.env.log, KAFKA, "cannot use the agent's topics",
                AB_KV("agent", l->name), AB_KV("error", why->text));
}
