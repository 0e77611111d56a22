/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent that is gone for good leaves at the broker: its topics. The positions in them the
 * broker forgets by itself. Never while a topic check runs: that might make again what is deleted.
 */
#include "transport/kafka/removal_priv.h"

#include "transport/kafka/client/topics.h"
#include "transport/kafka/kafka_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With the back-off, some two minutes. */
#define ATTEMPTS_MAX   8
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS   60000

struct ab_kafka_removal {
    ab_kafka_job job; /* first */
    TAILQ_ENTRY(ab_kafka_removal) at;
    ab_kafka_link *link;     /* removed; its names are what is needed of it */
    ab_kafka_handle *handle; /* of one attempt */
    bool called_off;         /* while its request runs */
    unsigned attempts;
    ab_backoff backoff;
    int64_t due_ms;
    ab_kafka_topic_state topics[AB_KAFKA_TOPICS];
    ab_error error;
};

static ab_kafka_removal *find(const ab_kafka *k, const char *agent)
{
    ab_kafka_removal *r = NULL;
    TAILQ_FOREACH(r, &k->removals, at)
    {
        if (strcmp(r->link->name, agent) == 0)
            return r;
    }
    return NULL;
}

static void drop(ab_kafka_removal *r)
{
    TAILQ_REMOVE(&r->link->kafka->removals, r, at);
    ab_kafka_link_unref(r->link);
    free(r);
}

static void warn(const ab_kafka_removal *r, bool retrying)
{
    const ab_kafka *k = r->link->kafka;
    char topics[AB_TOPIC_NAME_MAX + 32];
    char command[AB_TOPIC_NAME_MAX + 64];
    snprintf(topics, sizeof(topics), "%s.{down,up}.%s.{state,live}", k->settings.prefix,
             r->link->name);
    snprintf(command, sizeof(command), "PREFIX=%s deploy/kafka/provision remove %s",
             k->settings.prefix, r->link->name);
    AB_WARN(k->base.env.log, KAFKA,
            retrying ? "cannot delete the topics of a removed agent; retrying"
                     : "topics of a removed agent are not deleted",
            AB_KV("agent", r->link->name), AB_KV("topics", topics), AB_KV("error", r->error.text),
            AB_KV("command", command));
}

void ab_kafka_removal_want(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    ab_kafka_removal *r = find(k, l->name);
    if (r != NULL) {
        r->called_off = false;
        return;
    }
    r = calloc(1, sizeof(*r));
    if (r == NULL) {
        AB_ERROR(k->base.env.log, KAFKA,
                 "out of memory: the removed agent's topics are not deleted",
                 AB_KV("agent", l->name));
        return;
    }
    r->link = ab_kafka_link_ref(l);
    ab_backoff_init(&r->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_fail(&r->error, AB_ERR_CLOSED, "not begun");
    TAILQ_INSERT_TAIL(&k->removals, r, at);
}

void ab_kafka_removal_call_off(ab_kafka *k, const char *agent)
{
    ab_kafka_removal *r = find(k, agent);
    if (r == NULL)
        return;
    if (r == k->removing)
        r->called_off = true;
    else
        drop(r);
}

bool ab_kafka_removal_holds(const ab_kafka *k, const char *agent)
{
    return k->removing != NULL && strcmp(k->removing->link->name, agent) == 0;
}

static ab_err delete_all(ab_kafka_removal *r, ab_error *err)
{
    rd_kafka_t *rk = ab_kafka_handle_rk(r->handle);
    ab_err e = ab_kafka_topics_delete(rk, r->topics, AB_KAFKA_TOPICS, err);
    /* Or somebody who looks before the brokers all know would take them for usable. */
    if (e == AB_ERR_OK)
        e = ab_kafka_topics_inspect(&r->link->kafka->settings, rk, r->topics, AB_KAFKA_TOPICS, err);
    for (size_t i = 0; i < AB_KAFKA_TOPICS && e == AB_ERR_OK; i++) {
        if (!r->topics[i].missing)
            e = ab_fail(err, AB_ERR_UNAVAILABLE, "topic %s is still there", r->topics[i].name);
    }
    return e;
}

static void run(ab_kafka_job *job)
{
    ab_kafka_removal *r = (ab_kafka_removal *)job;
    for (size_t i = 0; i < AB_KAFKA_TOPICS; i++)
        r->topics[i] = (ab_kafka_topic_state){.name = r->link->topics[i], .agent = r->link->name};
    r->error = (ab_error){0};
    if (r->link->kafka->hurry)
        ab_fail(&r->error, AB_ERR_CLOSED, "stopping");
    else
        r->error.code = delete_all(r, &r->error);
}

static void end(ab_kafka_removal *r)
{
    ab_kafka_link *l = ab_kafka_link_ref(r->link);
    const ab_transport_events *up = &l->kafka->base.env.events;
    bool gone = r->error.code == AB_ERR_OK && !r->called_off;
    drop(r); /* the upcall may begin another */
    if (gone && up->on_cleaned_up != NULL)
        up->on_cleaned_up(up->arg, l->name);
    ab_kafka_link_unref(l);
}

static void finish(ab_kafka_removal *r)
{
    ab_kafka *k = r->link->kafka;
    bool deleted = r->error.code == AB_ERR_OK;
    if (deleted)
        AB_INFO(k->base.env.log, KAFKA, "topics of the removed agent deleted",
                AB_KV("agent", r->link->name));
    if (deleted || r->called_off) {
        end(r);
        return;
    }
    if (k->closed) /* see ab_kafka_removal_leave */
        return;
    if (++r->attempts == ATTEMPTS_MAX) {
        warn(r, false);
        drop(r);
        return;
    }
    warn(r, true);
    r->due_ms = ab_kafka_now(k) + ab_backoff_next(&r->backoff);
}

static void done(ab_kafka_job *job)
{
    ab_kafka_removal *r = (ab_kafka_removal *)job;
    ab_kafka *k = r->link->kafka;
    k->removing = NULL;
    ab_kafka_handle_close(r->handle);
    finish(r);
    uv_async_send(&k->wake); /* for the next one, or a topic check that waited */
}

void ab_kafka_removal_start(ab_kafka *k)
{
    if (!k->running || k->closed || k->topic_check_running || k->renewing || k->removing != NULL)
        return;
    int64_t now = ab_kafka_now(k);
    ab_kafka_removal *r = TAILQ_FIRST(&k->removals);
    while (r != NULL && r->due_ms > now)
        r = TAILQ_NEXT(r, at);
    if (r == NULL || (r->handle = ab_kafka_handle_open_admin(&k->host, &k->settings)) == NULL)
        return;
    r->job.run = run;
    r->job.done = done;
    k->removing = r;
    ab_kafka_job_start(&k->host, &r->job);
}

void ab_kafka_removal_leave(ab_kafka *k)
{
    ab_kafka_removal *r = NULL;
    while ((r = TAILQ_FIRST(&k->removals)) != NULL) {
        warn(r, false);
        drop(r);
    }
}
