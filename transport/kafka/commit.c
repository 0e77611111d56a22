/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits of positions. A group has a list of the links whose position has moved since its last
 * commit, and one of the others, in the order in which they were committed: a broker forgets what
 * is not committed for days. So a commit looks at nothing but what it commits.
 *
 *   moved --commit--> at_rest --position moves, commit failed, a day has passed--> moved
 */
#include "transport/kafka/commit_priv.h"

#include "schema/topics.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/kafka_priv.h"

#include <stdio.h>

#define RECOMMIT_MS (24LL * 3600 * 1000)

static ab_kafka_link *link_of(ab_link *at)
{
    return AB_LINK_OF(at, ab_kafka_link, in.commit_at);
}

void ab_kafka_commit_note(ab_kafka_link *l)
{
    if (l->in.group != NULL && ab_offsets_position(&l->in.offsets) != l->in.committed)
        ab_list_append(&l->in.group->moved, &l->in.commit_at);
}

void ab_kafka_commit_begin(ab_kafka_link *l, int64_t committed)
{
    l->in.committed = committed;
    l->in.committed_ms = ab_kafka_now(l->kafka);
    ab_list_append(&l->in.group->at_rest, &l->in.commit_at);
    ab_kafka_commit_note(l);
    /* Who looks at what it has committed is to see at once that it reads it again. */
    if (ab_offsets_position(&l->in.offsets) < committed)
        l->kafka->commit_due_ms = 0;
}

void ab_kafka_commit_end(ab_kafka_link *l)
{
    ab_link_remove(&l->in.commit_at);
    l->in.group = NULL;
}

static void forget(ab_kafka_link *l)
{
    l->in.committed = -1;
    ab_kafka_commit_note(l);
}

static void take_up_old(ab_kafka_group *g, int64_t now)
{
    for (ab_list_iter i = ab_list_first(&g->at_rest);
         i.link != NULL && now - link_of(i.link)->in.committed_ms >= RECOMMIT_MS; ab_list_next(&i))
        ab_list_append(&g->moved, i.link);
}

static void add_moved(ab_kafka_group *g, rd_kafka_topic_partition_list_t *list, int64_t now)
{
    for (ab_link *at = ab_list_pop(&g->moved); at != NULL; at = ab_list_pop(&g->moved)) {
        ab_kafka_link *l = link_of(at);
        l->in.committed = ab_offsets_position(&l->in.offsets);
        l->in.committed_ms = now;
        rd_kafka_topic_partition_list_add(list, l->topics[AB_KAFKA_IN_STATE], 0)->offset =
            l->in.committed;
        ab_list_append(&g->at_rest, at);
    }
}

static bool is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

static void log_failed(ab_kafka *k, const ab_kafka_link *l, rd_kafka_resp_err_t code)
{
    ab_error err = {0};
    char what[AB_TOPIC_NAME_MAX + 64];
    (void)snprintf(what, sizeof(what), "cannot commit positions to group %s", k->settings.group);
    ab_kafka_fail(&err, code, what);
    if (l != NULL)
        ab_kafka_link_add_remedy(l, &err);
    ab_kafka_host_error(&k->host, code, err.text);
}

/* What could not be committed is committed again with the next, except where a stop would wait for
 * a right that is missing. `code`: of all of it. */
static void take_back(ab_kafka_group *g, rd_kafka_resp_err_t code,
                      const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; list != NULL && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        ab_kafka_topic which = AB_KAFKA_TOPICS;
        rd_kafka_resp_err_t failed = code == RD_KAFKA_RESP_ERR_NO_ERROR ? p->err : code;
        if (failed == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        ab_kafka_link *l = ab_kafka_link_of_topic(g->kafka, p->topic, &which);
        if (l != NULL && !(g->kafka->closed && is_denied(failed)))
            forget(l);
        log_failed(g->kafka, l, failed);
    }
}

void ab_kafka_commit_done(ab_kafka_group *g, rd_kafka_event_t *event)
{
    g->committing = false;
    take_back(g, rd_kafka_event_error(event), rd_kafka_event_topic_partition_list(event));
}

static void commit_group(ab_kafka_group *g, int64_t now)
{
    take_up_old(g, now);
    if (!ab_link_is_in_use(&g->moved))
        return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(16);
    add_moved(g, list, now);
    rd_kafka_resp_err_t code = rd_kafka_commit_queue(ab_kafka_handle_rk(g->handle), list,
                                                     ab_kafka_handle_queue(g->handle), NULL, NULL);
    g->committing = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!g->committing)
        take_back(g, code, list);
    rd_kafka_topic_partition_list_destroy(list);
}

bool ab_kafka_commit(ab_kafka *k)
{
    bool finished = true;
    ab_kafka_group *g = NULL;
    TAILQ_FOREACH(g, &k->groups.list, at)
    {
        if (!g->committing)
            commit_group(g, ab_kafka_now(k));
        finished = finished && !g->committing && !ab_link_is_in_use(&g->moved);
    }
    return finished;
}
