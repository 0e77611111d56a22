/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports go by the live lane: an old one is worth nothing. One that was not sent is sent after the
 * next read, if the principal has not heard the same by then.
 */
#include "services/agent/live_counts.h"

#include "base/core/digest.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "services/agent/live_redis.h"

#include <stdlib.h>

#define SEND_MS 10000

struct ab_agent_live_counts {
    ab_service *service;
    const char *source;
    ab_redis_cluster_reader *reader;
    bool is_known; /* they were read */
    ab_redis_cluster_counts counts;
    bool is_sending;
    bool is_told; /* the principal has `told`, or will have it when it is sent */
    ab_redis_cluster_counts told;
};

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    ab_agent_live_counts *c = arg;
    (void)err;
    c->is_sending = false;
    if (code != AB_ERR_OK)
        c->is_told = false;
}

static ab_err make_event(const ab_agent_live_counts *c, ab_event **out)
{
    char id[37];
    ab_event_draft d = {0};
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    ab_buf data = ab_buf_up_to(AB_REDIS_CLUSTER_REPORT_MAX);
    ab_redis_cluster_counts_write(&c->counts, &data);
    d.data = ab_buf_str(&data);
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, c->source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_CLUSTER_CACHE_INFO_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_CLUSTER_CACHE_INFO));
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_RESOURCEID, id); /* argocd-agent's principal needs both */
    ab_event_set_text(&d, AB_CE_EVENTID, id);
    e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_event_new(&d, out, NULL);
    ab_buf_fini(&data);
    return e;
}

static ab_err send_event(ab_agent_live_counts *c)
{
    ab_event *event = NULL;
    ab_err e = make_event(c, &event);
    if (e == AB_ERR_OK)
        e = ab_transport_send(c->service->transport, NULL, AB_LANE_LIVE, event, SEND_MS, on_sent,
                              c);
    ab_event_unref(event);
    return e;
}

static void report(ab_agent_live_counts *c)
{
    bool is_new = !c->is_told || !ab_redis_cluster_counts_are_same(&c->counts, &c->told);
    if (!c->is_known || !is_new || c->is_sending || !c->service->connecting)
        return;
    c->told = c->counts;
    c->is_told = true;
    c->is_sending = true;
    if (send_event(c) != AB_ERR_OK)
        c->is_told = c->is_sending = false;
}

static void on_counts(void *arg, const ab_redis_cluster_counts *counts)
{
    ab_agent_live_counts *c = arg;
    c->counts = *counts;
    c->is_known = true;
    report(c);
}

void ab_agent_live_counts_connected(ab_agent_live_counts *c)
{
    if (c == NULL)
        return;
    c->is_told = false;
    report(c);
}

ab_err ab_agent_live_counts_new(ab_service *service, const char *source, ab_agent_live_counts **out,
                                ab_error *err)
{
    ab_agent_live_counts *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    c->service = service;
    c->source = source;
    ab_err e = ab_agent_live_redis_reader_new(service->daemon, on_counts, c, &c->reader, err);
    *out = c->reader == NULL ? NULL : c;
    if (c->reader == NULL)
        free(c);
    return e;
}

void ab_agent_live_counts_stop(ab_agent_live_counts *c)
{
    if (c == NULL)
        return;
    ab_redis_cluster_reader_close(c->reader);
    c->reader = NULL;
}

void ab_agent_live_counts_free(ab_agent_live_counts *c)
{
    ab_agent_live_counts_stop(c);
    free(c);
}
