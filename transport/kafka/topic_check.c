/* SPDX-License-Identifier: Apache-2.0
 *
 * A topic check asks, in a worker thread and for many links at once, what must be known before they
 * can be served: the topics (made or checked as kafka.topics says), where they begin and end, and
 * what the group has committed. Five requests, however many links; one link's trouble does not
 * touch the others.
 *
 * librdkafka asks for the metadata of one topic, of all topics of the cluster, or of all that a
 * handle knows. So each topic check has a handle of its own, which knows the topics of its links
 * only: the cost grows with the links, not with their square. A broker that leaves one of its
 * requests without an answer answers no later one on the same connection: with the handle that
 * connection goes, and the next topic check may begin with another broker.
 */
#include "transport/kafka/topic_check_priv.h"

#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/topics.h"
#include "transport/kafka/consumer_priv.h"
#include "transport/kafka/group_priv.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/log_replay_priv.h"
#include "transport/kafka/removal_priv.h"

#include <stdlib.h>

#define LINKS_MAX 100
#define PROBE_MS  2000
#define HELD_MS   250
/* A broker that does not answer costs a topic check the time of one request, so for so long others
 * are not kept waiting by it again. */
#define SILENT_MS 10000

typedef struct {
    ab_kafka_link *link;
    ab_error error;
    bool made; /* a topic of it, just now */
    bool missing[AB_KAFKA_TOPICS];
    bool check;
    int64_t in_sent;
    ab_kafka_findings found;
    rd_kafka_topic_t *in[2]; /* at the consumers, until they are assigned */
} entry;

typedef struct {
    ab_kafka_job job; /* first */
    ab_kafka *kafka;
    ab_kafka_handle *handle;
    rd_kafka_t *rk; /* of the handle */
    rd_kafka_t *consumer;
    rd_kafka_t *live_consumer; /* PRINCIPAL; else NULL */
    bool answered;             /* by a broker, to all that was asked */
    unsigned downs;            /* host.downs when it began */
    ab_kafka_silent silent;
    size_t count;
    entry entries[LINKS_MAX];
    ab_kafka_topic_state topics[LINKS_MAX * AB_KAFKA_TOPICS];
} topic_check;

static void fail_all(topic_check *s, const ab_error *why)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->entries[i].error.code == AB_ERR_OK)
            s->entries[i].error = *why;
    }
}

static ab_err inspect(topic_check *s, ab_error *err)
{
    const ab_kafka_settings *settings = &s->kafka->settings;
    size_t count = s->count * AB_KAFKA_TOPICS;
    for (size_t i = 0; i < count; i++) {
        const ab_kafka_link *l = s->entries[i / AB_KAFKA_TOPICS].link;
        size_t which = i % AB_KAFKA_TOPICS;
        s->topics[i].name = l->topics[which];
        s->topics[i].agent = l->name;
        s->topics[i].live = which == AB_KAFKA_OUT_LIVE || which == AB_KAFKA_IN_LIVE;
    }
    ab_err e = ab_kafka_topics_inspect(settings, s->rk, s->topics, count, err);
    if (e != AB_ERR_OK)
        return e;
    for (size_t i = 0; i < count; i++)
        s->entries[i / AB_KAFKA_TOPICS].missing[i % AB_KAFKA_TOPICS] = s->topics[i].missing;
    if (settings->topics == AB_TOPICS_CREATE && settings->role == AB_ROLE_PRINCIPAL)
        ab_kafka_topics_make(settings, s->rk, s->topics, count);
    return AB_ERR_OK;
}

/* Only when a link is new: settings are asked for once, and after its topics seemed to be gone. */
static void check(topic_check *s)
{
    bool wanted = false;
    for (size_t i = 0; i < s->count; i++)
        wanted = wanted || s->entries[i].check;
    if (wanted)
        ab_kafka_topics_check(&s->kafka->settings, s->rk, s->topics, s->count * AB_KAFKA_TOPICS);
}

static void collect_errors(topic_check *s)
{
    for (size_t i = 0; i < s->count * AB_KAFKA_TOPICS; i++) {
        entry *e = &s->entries[i / AB_KAFKA_TOPICS];
        if (!s->topics[i].usable && e->error.code == AB_ERR_OK)
            e->error = s->topics[i].error;
        e->made = e->made || s->topics[i].made;
    }
}

/* The topics whose ends matter, of the links that are well so far. */
static const ab_kafka_topic asked[] = {AB_KAFKA_OUT_STATE, AB_KAFKA_IN_STATE, AB_KAFKA_IN_LIVE};
#define ASKED (sizeof(asked) / sizeof(asked[0]))

static void take_ends(entry *e, const ab_kafka_ends *out)
{
    for (size_t t = 0; t < ASKED && e->error.code == AB_ERR_OK; t++)
        e->error = out[t].error;
    e->found = (ab_kafka_findings){
        .committed = -1,
        .out_low = out[0].low,
        .out_high = out[0].high,
        .in_low = out[1].low,
        .in_high = out[1].high,
        .in_sent = e->in_sent,
        .in_live_high = out[2].high,
    };
}

static ab_err find_ends(topic_check *s, ab_error *err)
{
    (void)err; /* each link has its own */
    ab_kafka_ends ends[LINKS_MAX * ASKED];
    entry *owners[LINKS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const ab_kafka_topic_state *topics = &s->topics[i * AB_KAFKA_TOPICS];
        if (s->entries[i].error.code != AB_ERR_OK)
            continue;
        for (size_t t = 0; t < ASKED; t++)
            ends[n * ASKED + t] =
                (ab_kafka_ends){.name = topics[asked[t]].name, .leader = topics[asked[t]].leader};
        owners[n++] = &s->entries[i];
    }
    if (n > 0)
        ab_kafka_ends_find(s->rk, ends, n * ASKED, &s->silent);
    for (size_t i = 0; i < n; i++)
        take_ends(owners[i], &ends[i * ASKED]);
    return AB_ERR_OK;
}

static ab_err find_committed(topic_check *s, ab_error *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)s->count);
    for (size_t i = 0; i < s->count; i++) {
        if (s->entries[i].error.code == AB_ERR_OK)
            rd_kafka_topic_partition_list_add(list, s->entries[i].link->topics[AB_KAFKA_IN_STATE],
                                              0);
    }
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (list->cnt > 0)
        code = rd_kafka_committed(s->consumer, list, AB_KAFKA_REQUEST_MS);
    for (size_t i = 0; i < s->count; i++) {
        entry *e = &s->entries[i];
        const rd_kafka_topic_partition_t *p =
            rd_kafka_topic_partition_list_find(list, e->link->topics[AB_KAFKA_IN_STATE], 0);
        if (p == NULL || code != RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        if (p->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            ab_kafka_fail(&e->error, p->err, "no broker returned the committed offsets");
        e->found.committed = p->offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return AB_ERR_OK;
    /* To a client without the right to read the group, librdkafka says no more than that. */
    ab_error why = {0};
    ab_kafka_fail(&why, code, "no broker returned the committed offsets");
    return ab_fail(err, why.code,
                   "%s; is the right Read of group %s missing? argobusctl check kafka shows every "
                   "right",
                   why.text, s->kafka->settings.group);
}

/* Makes the consumers ask for what they are about to read. Otherwise they would ask at their next
 * look at the cluster: up to a second later. Nobody waits for the answer here. */
static ab_err hold_incoming(topic_check *s, ab_error *err)
{
    (void)err;
    for (size_t i = 0; i < s->count; i++) {
        entry *e = &s->entries[i];
        if (e->error.code != AB_ERR_OK)
            continue;
        e->in[0] = rd_kafka_topic_new(s->consumer, e->link->topics[AB_KAFKA_IN_STATE], NULL);
        if (s->live_consumer != NULL)
            e->in[1] =
                rd_kafka_topic_new(s->live_consumer, e->link->topics[AB_KAFKA_IN_LIVE], NULL);
    }
    return AB_ERR_OK;
}

static void release_incoming(entry *e)
{
    for (size_t i = 0; i < 2; i++) {
        if (e->in[i] != NULL)
            rd_kafka_topic_destroy(e->in[i]);
    }
}

static ab_err check_and_collect(topic_check *s, ab_error *err)
{
    (void)err;
    check(s);
    collect_errors(s);
    return AB_ERR_OK;
}

static void run(ab_kafka_job *job)
{
    static ab_err (*const steps[])(topic_check *, ab_error *) = {
        inspect, check_and_collect, find_ends, find_committed, hold_incoming};
    topic_check *s = (topic_check *)job;
    ab_error err = {0};
    s->answered = true;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        ab_err e = s->kafka->hurry ? ab_fail(&err, AB_ERR_CLOSED, "stopping") : steps[i](s, &err);
        if (e == AB_ERR_OK)
            continue;
        fail_all(s, &err);
        s->answered = false;
        return;
    }
}

static bool is_over(const ab_kafka_link *l)
{
    return l->removed || l->displaced || l->kafka->closed;
}

static void assign(entry *e)
{
    ab_kafka_link *l = e->link;
    if (is_over(l))
        return;
    l->lost_in = l->lost_in || e->missing[AB_KAFKA_IN_STATE];
    l->lost_out = l->lost_out || e->missing[AB_KAFKA_OUT_STATE];
    if (e->error.code != AB_ERR_OK)
        return;
    ab_err code = ab_kafka_consumer_assign(l, &e->found, &e->error);
    (void)code; /* `finish` sees it in the entry */
}

/* All at once: a call for each topic would wait 200 times for librdkafka's thread. */
static void assign_all(topic_check *s)
{
    ab_kafka *k = s->kafka;
    ab_error err = {0};
    for (size_t i = 0; i < s->count; i++)
        assign(&s->entries[i]);
    if (ab_kafka_group_assign_all(&k->groups, &err) != AB_ERR_OK ||
        ab_kafka_group_assign_all(&k->live_groups, &err) != AB_ERR_OK)
        fail_all(s, &err);
}

static void serve(ab_kafka_link *l, const ab_kafka_findings *found)
{
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    l->verified = true;
    l->phase = AB_LINK_READ;
    ab_backoff_reset(&l->backoff);
    ab_kafka_consumer_begin(l, found);
    /* Telling of a gap may have led to the link's removal. */
    if (l->removed || l->phase != AB_LINK_READ)
        return;
    if (l->has_epoch)
        ab_kafka_link_ready(l);
    else
        e = ab_kafka_log_replay_start(l, found, &err);
    if (e != AB_ERR_OK)
        ab_kafka_link_failed(l, &err);
}

/* Its agent is served: only what is larger than that is not sent (send.c). */
static void tell_limits(const topic_check *s, size_t which)
{
    ab_kafka *k = s->kafka;
    for (size_t i = 0; i < AB_KAFKA_TOPICS; i++) {
        const ab_kafka_topic_state *t = &s->topics[which * AB_KAFKA_TOPICS + i];
        int64_t held = 0;
        if (t->usable && t->error.code != AB_ERR_OK &&
            ab_limiter_pass(&k->host.limiter, "limit", t->name, ab_kafka_now(k), &held))
            AB_WARN(k->base.env.log, KAFKA,
                    "topic takes less than kafka.message-max; larger events are refused",
                    AB_KV("agent", t->agent), AB_KV("error", t->error.text),
                    AB_KV("held_back", held));
    }
}

static void finish(ab_kafka *k, entry *e)
{
    ab_kafka_link *l = e->link;
    l->surveying = false;
    ab_kafka_link_look_at(l, 0);
    if (is_over(l))
        return;
    if (e->made)
        l->made_ms = ab_kafka_now(k);
    if (e->error.code == AB_ERR_OK) {
        serve(l, &e->found);
    } else {
        ab_kafka_link_add_remedy(l, &e->error);
        ab_kafka_link_failed(l, &e->error);
    }
}

static void remember_silent(ab_kafka *k, const topic_check *s)
{
    if (s->silent.count == k->silent.count)
        return;
    k->silent = s->silent;
    k->silent_until_ms = ab_kafka_now(k) + SILENT_MS;
}

static void done(ab_kafka_job *job)
{
    topic_check *s = (topic_check *)job;
    ab_kafka *k = s->kafka;
    ab_kafka_handle_close(s->handle);
    k->topic_check_running = false;
    remember_silent(k, s);
    if (s->answered && s->downs == k->host.downs)
        k->host.broker = RD_KAFKA_RESP_ERR_NO_ERROR;
    assign_all(s);
    for (size_t i = 0; i < s->count; i++) {
        tell_limits(s, i);
        finish(k, &s->entries[i]);
        release_incoming(&s->entries[i]);
        ab_kafka_link_unref(s->entries[i].link);
    }
    free(s);
    uv_async_send(&k->wake); /* for the next one, or a removal that waited */
}

static void take_up(topic_check *s, ab_kafka_link *l)
{
    l->surveying = true;
    s->entries[s->count++] = (entry){
        .link = ab_kafka_link_ref(l),
        .in_sent = l->peer.sent,
        .check = !l->verified && s->kafka->settings.topics != AB_TOPICS_EXTERNAL,
    };
}

static topic_check *new_topic_check(ab_kafka *k)
{
    topic_check *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->handle = ab_kafka_handle_open_admin(&k->host, &k->settings);
    if (s->handle == NULL) {
        free(s);
        return NULL;
    }
    s->kafka = k;
    s->rk = ab_kafka_handle_rk(s->handle);
    s->consumer = ab_kafka_handle_rk(TAILQ_FIRST(&k->groups.list)->handle);
    if (!TAILQ_EMPTY(&k->live_groups.list))
        s->live_consumer = ab_kafka_handle_rk(TAILQ_FIRST(&k->live_groups.list)->handle);
    s->downs = k->host.downs;
    if (ab_kafka_now(k) >= k->silent_until_ms)
        k->silent.count = 0;
    s->silent = k->silent;
    s->job.run = run;
    s->job.done = done;
    return s;
}

int64_t ab_kafka_topic_check_look(ab_kafka_link *l, int64_t now)
{
    if (l->phase != AB_LINK_ASK || l->surveying || l->displaced)
        return INT64_MAX;
    if (now < l->retry_ms)
        return l->retry_ms;
    if (!ab_link_is_in_use(&l->check_at))
        ab_list_append(&l->kafka->to_check, &l->check_at);
    return INT64_MAX;
}

/* Those whose topics are being deleted wait until they are. */
static void take_up_due(topic_check *s, int64_t now)
{
    ab_link *at = NULL;
    while (s->count < LINKS_MAX && (at = ab_list_pop(&s->kafka->to_check)) != NULL) {
        ab_kafka_link *l = AB_LINK_OF(at, ab_kafka_link, check_at);
        if (ab_kafka_removal_holds(s->kafka, l->name))
            ab_kafka_link_look_at(l, now + HELD_MS);
        else if (l->phase == AB_LINK_ASK && !l->displaced)
            take_up(s, l);
    }
}

void ab_kafka_topic_check_start(ab_kafka *k)
{
    int64_t now = ab_kafka_now(k);
    /* Without a broker also to see whether there is one again. */
    bool probes = k->host.broker != RD_KAFKA_RESP_ERR_NO_ERROR && now >= k->probe_due_ms;
    if (!k->running || k->closed || k->topic_check_running || k->renewing ||
        !(ab_link_is_in_use(&k->to_check) || probes))
        return;
    topic_check *s = new_topic_check(k);
    if (s == NULL)
        return;
    take_up_due(s, now);
    k->probe_due_ms = now + PROBE_MS;
    k->topic_check_running = true;
    ab_kafka_job_start(&k->host, &s->job);
}
