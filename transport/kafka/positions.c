/* SPDX-License-Identifier: Apache-2.0
 *
 * Kafka forgets what a group without members has committed, by default after seven days, and then
 * the lag of an agent that is away for longer is shown no more. An agent that runs commits its
 * position again each day (consumer.c); for one that is away the principal does. One job at a time,
 * some agents each, two requests for an agent and day.
 */
#include "transport/kafka/positions_priv.h"

#include "transport/kafka/client/coordinator.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/pending_priv.h"

#include <stdlib.h>

#define FIRST_MS (10LL * 60 * 1000) /* an agent that is only restarted does it itself */
#define EVERY_MS (24LL * 3600 * 1000)
#define SCAN_MS  (60LL * 1000)
#define BATCH    20

typedef struct {
    ab_kafka_link *link;
    char group[AB_TOPIC_NAME_MAX];
    bool kept;
    ab_error error;
} position;

typedef struct {
    ab_kafka_job job; /* first */
    ab_kafka *kafka;
    rd_kafka_t *asker;
    size_t count;
    position positions[BATCH];
} keeping;

static void run(ab_kafka_job *job)
{
    keeping *w = (keeping *)job;
    for (size_t i = 0; i < w->count && !w->kafka->hurry; i++) {
        position *p = &w->positions[i];
        p->kept =
            ab_kafka_coordinator_recommit(w->asker, p->group, p->link->topics[AB_KAFKA_OUT_STATE],
                                          &p->error) == AB_ERR_OK;
    }
}

static void finish(const position *p)
{
    ab_kafka *k = p->link->kafka;
    int64_t held = 0;
    if (p->kept) {
        ab_metric_add(
            ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_positions_kept_total",
                          "Positions of absent agents that were committed again.", NULL, 0),
            1);
        return;
    }
    bool failed = p->error.code != AB_ERR_OK && p->error.code != AB_ERR_NOTFOUND;
    if (failed && ab_limiter_pass(&k->host.limiter, "positions", "kept", ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA,
                "cannot commit the position of an absent agent again; grant the right with "
                "deploy/kafka/provision principal, or its lag disappears after the broker's "
                "offsets.retention.minutes",
                AB_KV("agent", p->link->name), AB_KV("error", p->error.text),
                AB_KV("held_back", held));
}

static void done(ab_kafka_job *job)
{
    keeping *w = (keeping *)job;
    w->kafka->keeping = false;
    for (size_t i = 0; i < w->count; i++) {
        finish(&w->positions[i]);
        ab_kafka_link_unref(w->positions[i].link);
    }
    free(w);
}

/* Is it time for this one, which is away? */
static bool is_due(ab_kafka_link *l, int64_t now)
{
    if (l->removed)
        return false;
    if (l->peer.up)
        l->keep_due_ms = now + EVERY_MS;
    else if (l->keep_due_ms == 0)
        l->keep_due_ms = now + FIRST_MS;
    return l->phase == AB_LINK_READY && now >= l->keep_due_ms;
}

static void take_up(keeping *w, ab_kafka_link *l, int64_t now)
{
    position *p = &w->positions[w->count];
    l->keep_due_ms = now + EVERY_MS;
    if (!ab_group_agent(w->kafka->settings.prefix, l->name, p->group))
        return;
    p->link = ab_kafka_link_ref(l);
    w->count++;
}

static void begin(ab_kafka *k, keeping *w)
{
    w->kafka = k;
    w->job.run = run;
    w->job.done = done;
    w->asker = w->count > 0 ? ab_kafka_asker(k) : NULL;
    k->keeping = w->asker != NULL && ab_kafka_job_start(&k->host, &w->job) == AB_ERR_OK;
    if (k->keeping)
        return;
    for (size_t i = 0; i < w->count; i++)
        ab_kafka_link_unref(w->positions[i].link);
    free(w);
}

void ab_kafka_positions_tick(ab_kafka *k)
{
    int64_t now = ab_kafka_now(k);
    if (k->keeping || k->renewing || now < k->keep_scan_ms)
        return;
    k->keep_scan_ms = now + SCAN_MS;
    keeping *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return;
    w->kafka = k;
    ab_kafka_link *l = NULL;
    TAILQ_FOREACH(l, &k->links, at)
    {
        if (w->count < BATCH && is_due(l, now))
            take_up(w, l, now);
    }
    if (w->count == BATCH)
        k->keep_scan_ms = now; /* there may be more */
    begin(k, w);
}
